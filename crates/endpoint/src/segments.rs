//! A stamped ping, from one stamp to the next: our stamps, and the kernel's laid on our clock.

use crate::timed::StepTimer;
use clock::Clock;
use clock::wall::Wall;
use plan::process::endpoint::SEGMENTS;
use transport::datagram::KernelStamps;

/// How often the wall clock is read again.
const REFRESH_NS: u64 = 1_000_000_000;
/// The stamp that is missing where the end of a segment was not seen.
const STAMPS: [&str; 4] = [
    "transmit stamp at the queue (SCHED)",
    "transmit stamp of the driver (SND, software)",
    "receive stamp (software)",
    "receive stamp (software)",
];

/// Converts the kernel's stamps.
pub(crate) struct Segments {
    wall: Wall,
    next_ns: u64,
}

impl Segments {
    /// Takes 200 ms, since it reads the wall clock twice.
    pub(crate) fn new(clock: Clock) -> Segments {
        Segments { wall: Wall::read(clock), next_ns: clock.now_ns() + REFRESH_NS }
    }

    /// Between probes: reads the wall clock again, if it is time.
    pub(crate) fn refresh(&mut self, timed: &StepTimer<'_>) {
        let now_ns = timed.clock.now_ns();
        if now_ns >= self.next_ns {
            self.wall.refresh();
            self.next_ns = now_ns + REFRESH_NS;
        }
    }

    /// The lengths of [`SEGMENTS`], ns. `None`: a stamp at one of its ends is missing.
    pub(crate) fn of(&self, stamps: (u64, KernelStamps, u64)) -> [Option<u64>; SEGMENTS.len()] {
        lengths(stamps, |wall_ns| self.wall.clock_ns(wall_ns))
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

/// How many pings were stamped, and which segments were seen.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SegmentCounts {
    stamped: u64,
    seen: [u64; SEGMENTS.len()],
    card: u64,
}

impl SegmentCounts {
    pub(crate) fn add(&mut self, lengths: &[Option<u64>; SEGMENTS.len()], kernel: &KernelStamps) {
        self.stamped += 1;
        for (count, length) in self.seen.iter_mut().zip(lengths) {
            *count += u64::from(length.is_some());
        }
        self.card += u64::from(kernel.card_sent_ns.or(kernel.card_received_ns).is_some());
    }

    /// A sentence about each segment that some pings lack, and about the card's stamps.
    pub(crate) fn notes(&self) -> Vec<String> {
        let stamped = self.stamped;
        let lacking = |(at, seen): (usize, &u64)| {
            let (name, stamp) = (SEGMENTS[at], STAMPS[at]);
            (*seen < stamped).then(|| match seen {
                0 => format!("{name} is not judged: the kernel or the driver gave no {stamp}"),
                _ => {
                    format!("{name} holds {seen} of {stamped} stamped pings: others had no {stamp}")
                }
            })
        };
        let mut notes: Vec<String> = self.seen.iter().enumerate().filter_map(lacking).collect();
        if self.card > 0 {
            notes.push(
                "the network card stamped as well, by its own clock: segments between driver and \
                 wire are not judged"
                    .to_owned(),
            );
        }
        notes
    }
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
    fn segments_add_up_and_one_without_its_stamp_is_not_judged() {
        let on_ours = |wall_ns| wall_ns - 1_000;
        let all = lengths((100, SEEN, 950), on_ours);
        assert_eq!(all, [Some(10), Some(40), Some(750), Some(50)]);
        // As of a device without a queueing discipline, and of a driver that doesn't stamp.
        let no_queue = lengths((100, KernelStamps { queued_ns: None, ..SEEN }, 950), on_ours);
        assert_eq!(no_queue, [None, None, Some(750), Some(50)]);
        let no_driver = KernelStamps { driver_ns: None, card_sent_ns: Some(7), ..SEEN };
        let no_driver_lengths = lengths((100, no_driver, 950), on_ours);
        assert_eq!(no_driver_lengths, [Some(10), None, None, Some(50)]);
        let mut counts = SegmentCounts::default();
        counts.add(&all, &SEEN);
        assert_eq!(counts.notes(), Vec::<String>::new());
        counts.add(&no_driver_lengths, &no_driver);
        let notes = counts.notes();
        assert_eq!(notes.len(), 3, "{notes:?}");
        assert!(notes[0].starts_with("queue_to_driver holds 1 of 2 stamped pings"), "{notes:?}");
        assert!(notes[2].contains("by its own clock"), "{notes:?}");
        let mut never = SegmentCounts::default();
        never.add(&no_driver_lengths, &no_driver);
        assert!(never.notes()[0].starts_with("queue_to_driver is not judged"));
    }
}
