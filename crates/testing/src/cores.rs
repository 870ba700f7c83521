//! Whether a core is quiet enough for a test about time. A test whose result is right only on a
//! quiet core asks first: otherwise it fails by luck, on a machine that builds something meanwhile.

use std::time::{Duration, Instant};

use crate::{Need, skipped};

/// A gap between two readings of the clock that no work of the loop explains.
const GAP: Duration = Duration::from_micros(20);

/// Time between two looks of [`is_done_within`].
const LOOK: Duration = Duration::from_millis(1);
/// Threads that share a core with the calling one at most, for [`is_done_within`].
const BUSY: u32 = 20;

/// The share of `time` that something else took from the calling thread, from 0 to 1.
pub fn share_taken(time: Duration) -> f64 {
    let begin = Instant::now();
    let (mut last, mut taken) = (begin, Duration::ZERO);
    while last - begin < time {
        let now = Instant::now();
        if now - last >= GAP {
            taken += now - last;
        }
        last = now;
    }
    taken.as_secs_f64() / (last - begin).as_secs_f64()
}

/// Whether at most a share of `limit` of the calling thread's core is taken by others; counts the
/// test as skipped otherwise. Looks for a fifth of a second, up to five times: a short disturbance
/// shall not skip a test.
pub fn is_quiet(limit: f64) -> bool {
    is_quiet_by(limit, || share_taken(Duration::from_millis(200)))
}

/// As [`is_quiet`] of another core: `look` gives the share that others took there, such as
/// [`share_taken`] in a thread that is pinned to it.
pub fn is_quiet_by(limit: f64, mut look: impl FnMut() -> f64) -> bool {
    let mut least = 1.0_f64;
    for _ in 0..5 {
        least = least.min(look());
        if least <= limit {
            return true;
        }
    }
    let (least, limit) = (least * 100.0, limit * 100.0);
    let detail = format_args!("others took {least:.1} % of the core, limit {limit:.1} %");
    skipped(Need::QuietCore, detail);
    false
}

/// Whether `done` says so before the calling thread has had a core for `limit`. What others take of
/// the core meanwhile does not count, up to [`BUSY`] times the limit: on a busy machine a second of
/// work takes several.
pub fn is_done_within(limit: Duration, mut done: impl FnMut() -> bool) -> bool {
    let begin = Instant::now();
    let mut own = Duration::ZERO;
    while own < limit && begin.elapsed() < limit * BUSY {
        let asked = Instant::now();
        if done() {
            return true;
        }
        own += asked.elapsed() + LOOK.mul_f64(1.0 - share_taken(LOOK));
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn done_is_done_and_a_limit_is_one() {
        let mut looks = 0;
        let done = || {
            looks += 1;
            looks == 3
        };
        assert!(is_done_within(Duration::from_secs(10), done));
        assert!(!is_done_within(Duration::from_millis(5), || false));
    }

    #[test]
    fn time_asleep_is_no_part_of_the_loop_and_a_share_is_one() {
        let share = share_taken(Duration::from_millis(5));
        assert!((0.0..=1.0).contains(&share), "{share}");
    }
}
