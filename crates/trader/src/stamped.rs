//! Messages that the kernel stamps, of a load and of ticks alike: their segments and counts.

use clock::Clock;
use clock::recorder::Series;
use plan::segments::SEGMENTS;
use record::{KernelStamped, Kind};
use transport::stamps::{KernelStamps, Segments};

/// Lengths of [`SEGMENTS`], ns.
pub(crate) type Lengths = [Option<u64>; SEGMENTS.len()];

/// The series of stamped messages.
pub(crate) fn series() -> impl Iterator<Item = Series> {
    SEGMENTS.iter().map(|name| Series::new(name, Kind::Service))
}

/// Lays stamps on our clock, and counts the messages.
pub(crate) struct StampedMessages {
    pub(crate) segments: Segments,
    counts: KernelStamped,
}

impl StampedMessages {
    /// Takes 200 ms.
    pub(crate) fn new(clock: Clock) -> StampedMessages {
        StampedMessages { segments: Segments::new(clock), counts: KernelStamped::default() }
    }

    /// Counts a message that we sent and whose reply we read at these times, ns. The receive stamp
    /// is that of the last byte of the read, so that it counts only if the reply `ended_read`.
    pub(crate) fn take(
        &mut self,
        (sent_ns, mut stamps, replied_ns): (u64, KernelStamps, u64),
        ended_read: bool,
    ) -> Lengths {
        if !ended_read {
            stamps.received_ns = None;
        }
        self.counts.messages += 1;
        self.counts.by_card += u64::from(stamps.are_by_card());
        self.segments.of((sent_ns, stamps, replied_ns))
    }

    /// Counts and the bound, after the run.
    pub(crate) fn finish(self) -> KernelStamped {
        let wall = self.segments.wall();
        KernelStamped { bound_ns: wall.bound_ns(), clock_steps: wall.steps(), ..self.counts }
    }
}
