//! Messages that the kernel stamps, of a load and of ticks alike: their segments and counts.

use clock::Clock;
use clock::recorder::Series;
use clock::wall::WallLine;
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

    /// When the driver got the message and when the kernel had its reply, on our clock.
    pub(crate) fn times(&self, stamps: &KernelStamps, ended_read: bool) -> [Option<u64>; 2] {
        let wall = self.segments.wall();
        let received_ns = stamps.received_ns.filter(|_| ended_read);
        [stamps.driver_ns, received_ns].map(|stamp| stamp.map(|wall_ns| wall.clock_ns(wall_ns)))
    }

    /// Counts and the bound, after the run, whose last stamps are still to be vouched for.
    pub(crate) fn finish(mut self) -> KernelStamped {
        let WallLine { bound_ns, steps } = self.segments.check();
        KernelStamped { bound_ns, clock_steps: steps, ..self.counts }
    }
}
