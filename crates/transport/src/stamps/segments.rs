//! A stamped round trip, from one stamp to the next: our stamps, and the kernel's, converted to our
//! clock.

use super::KernelStamps;
use clock::Clock;
use clock::wall::{Wall, WallLine};
use plan::segments::SEGMENTS;

/// How often the wall clock is read again.
const REFRESH_NS: u64 = 1_000_000_000;

/// Converts the kernel's stamps.
pub struct Segments {
    wall: Wall,
    next_ns: u64,
}

impl Segments {
    /// Takes 200 ms, since it reads the wall clock twice.
    pub fn new(clock: Clock) -> Segments {
        Segments { wall: Wall::read(clock), next_ns: clock.now_ns() + REFRESH_NS }
    }

    /// Off the path: reads the wall clock again, if it is time.
    pub fn refresh(&mut self, now_ns: u64) {
        if now_ns >= self.next_ns {
            self.wall.refresh();
            self.next_ns = now_ns + REFRESH_NS;
        }
    }

    /// Off the path: reads the wall clock again. Returns how good the line was until then.
    pub fn check(&mut self) -> WallLine {
        self.wall.refresh();
        self.wall.line()
    }

    /// The lengths of [`SEGMENTS`] of a message that we sent and whose answer we read at these
    /// times, ns. `None`: a stamp at one of its ends is missing.
    pub fn of(&self, stamps: (u64, KernelStamps, u64)) -> [Option<u64>; SEGMENTS.len()] {
        lengths(stamps, |wall_ns| self.wall.clock_ns(wall_ns))
    }

    /// The line by which stamps are converted, with its bound.
    pub fn wall(&self) -> &Wall {
        &self.wall
    }
}

/// A conversion may be off by some 100 ns, so that a stamp seems to precede the one before: that
/// is 0.
fn lengths(
    (start_ns, kernel, end_ns): (u64, KernelStamps, u64),
    clock_ns: impl Fn(u64) -> u64,
) -> [Option<u64>; SEGMENTS.len()] {
    let kernel = [kernel.queued_ns, kernel.driver_ns, kernel.received_ns];
    let [queued, driver, received] = kernel.map(|stamp| stamp.map(&clock_ns));
    let points = [Some(start_ns), queued, driver, received, Some(end_ns)];
    std::array::from_fn(|at| Some(points[at + 1]?.saturating_sub(points[at]?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEEN: KernelStamps = KernelStamps {
        queued_ns: Some(1_110),
        driver_ns: Some(1_150),
        card_sent_ns: None,
        received_ns: Some(1_900),
        card_received_ns: None,
    };

    #[test]
    fn segments_add_up_and_one_without_its_stamp_is_not_there() {
        let on_ours = |wall_ns| wall_ns - 1_000;
        let all = lengths((100, SEEN, 950), on_ours);
        assert_eq!(all, [Some(10), Some(40), Some(750), Some(50)]);
        // A device without a queueing discipline; then a driver that doesn't stamp.
        let no_queue = lengths((100, KernelStamps { queued_ns: None, ..SEEN }, 950), on_ours);
        assert_eq!(no_queue, [None, None, Some(750), Some(50)]);
        let no_driver = KernelStamps { driver_ns: None, card_sent_ns: Some(7), ..SEEN };
        assert_eq!(lengths((100, no_driver, 950), on_ours), [Some(10), None, None, Some(50)]);
    }
}
