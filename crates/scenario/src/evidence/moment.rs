//! The clock of the messages' stamps beside the kernel's, on which the kernel reports its events.

use clock::{Clock, monotonic_ns};

/// Readings of both clocks; the closest pair counts.
const READINGS: usize = 64;

/// Both clocks at the same time, ns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Moment {
    pub clock_ns: u64,
    pub monotonic_ns: u64,
}

impl Moment {
    pub(crate) fn now(clock: Clock) -> Moment {
        let read = |_| {
            let before_ns = clock.now_ns();
            let monotonic_ns = monotonic_ns();
            let width_ns = clock.now_ns() - before_ns;
            (width_ns, Moment { clock_ns: before_ns + width_ns / 2, monotonic_ns })
        };
        let closest = (0..READINGS).map(read).min_by_key(|(width_ns, _)| *width_ns);
        closest.map_or(Moment { clock_ns: 0, monotonic_ns: 0 }, |(_, moment)| moment)
    }
}

/// Converts `CLOCK_MONOTONIC` to the clock of the stamps, by a line through two moments.
pub(crate) fn on_clock(start: Moment, end: Moment, monotonic_ns: u64) -> u64 {
    let (length_ns, its_ns) =
        (end.clock_ns - start.clock_ns, end.monotonic_ns - start.monotonic_ns);
    let since_ns = monotonic_ns as i128 - i128::from(start.monotonic_ns);
    let on =
        i128::from(start.clock_ns) + since_ns * i128::from(length_ns) / i128::from(its_ns.max(1));
    u64::try_from(on).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_clocks_run_straight_between_two_moments() {
        let moment = |clock_ns, monotonic_ns| Moment { clock_ns, monotonic_ns };
        let (start, end) = (moment(1_000, 500), moment(3_000, 1_500));
        let on: Vec<u64> = [500, 501, 1_000, 1_500, 400].map(|ns| on_clock(start, end, ns)).into();
        assert_eq!(on, [1_000, 1_002, 2_000, 3_000, 800]);
        assert_eq!(on_clock(start, start, 500), 1_000);
    }
}
