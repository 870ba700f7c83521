//! Orders that the kernel stamps on their way out, and their replies on the way in.

use crate::stamped::{Lengths, StampedMessages};
use clock::Clock;
use plan::segments::SEGMENTS;
use record::KernelStamped;
use record::tick::{Point, Sample};
use std::collections::HashMap;
use transport::stamps::KernelStamps;

/// The stamped orders of a run.
pub(crate) struct StampedOrders {
    every: u64,
    messages: StampedMessages,
    /// The sample whose order was stamped; there is one at a time.
    awaited: Option<u32>,
    /// The sample whose reply was just read.
    answered: Option<u32>,
    /// By the number of their samples.
    all: Vec<(u64, StampedOrder)>,
}

/// An order and its reply by the kernel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StampedOrder {
    pub(crate) lengths: Lengths,
    /// When the driver got the order and when the kernel had its reply, on our clock.
    pub(crate) times_ns: [Option<u64>; 2],
}

/// The result: stamped orders by the number of a sample, and counts.
pub(crate) struct StampedResult {
    pub(crate) orders: HashMap<u64, StampedOrder>,
    pub(crate) counts: KernelStamped,
}

impl StampedOrders {
    /// One of `every` samples. Takes 200 ms.
    pub(crate) fn new(every: u64, samples_max: usize, clock: Clock) -> StampedOrders {
        // Not zero: memory that is only promised reads as zero too.
        let max = samples_max / every as usize + 1;
        let lengths = [Some(u64::MAX); SEGMENTS.len()];
        let order = StampedOrder { lengths, times_ns: [Some(u64::MAX); 2] };
        let mut all = vec![(u64::MAX, order); max];
        all.clear();
        StampedOrders {
            every,
            messages: StampedMessages::new(clock),
            awaited: None,
            answered: None,
            all,
        }
    }

    /// Whether the order of the next sample shall be stamped.
    #[inline]
    pub(crate) fn has_turn(&self, place: u32) -> bool {
        self.awaited.is_none() && u64::from(place).is_multiple_of(self.every)
    }

    /// The order of that sample left in one piece, stamped.
    pub(crate) fn left(&mut self, place: u32) {
        self.awaited = Some(place);
    }

    /// The reply to the order of that sample was read.
    #[inline]
    pub(crate) fn replied(&mut self, place: u32) {
        if self.awaited == Some(place) {
            (self.awaited, self.answered) = (None, Some(place));
        }
    }

    /// After a read: the sample whose stamps are to be taken.
    #[inline]
    pub(crate) fn answered(&self) -> Option<u32> {
        self.answered
    }

    /// Keeps the stamps of the sample's order; see [`StampedMessages::take`].
    pub(crate) fn take(&mut self, sample: &Sample, stamps: KernelStamps, ended_read: bool) {
        self.answered = None;
        let [sent_ns, replied_ns] =
            [Point::Sent, Point::Replied].map(|point| sample.stamps[point as usize]);
        if self.all.len() < self.all.capacity() {
            let times_ns = self.messages.times(&stamps, ended_read);
            let lengths = self.messages.take((sent_ns, stamps, replied_ns), ended_read);
            self.all.push((sample.number, StampedOrder { lengths, times_ns }));
        }
        self.messages.segments.refresh(replied_ns);
    }

    /// After the run.
    pub(crate) fn finish(self) -> StampedResult {
        StampedResult { counts: self.messages.finish(), orders: self.all.into_iter().collect() }
    }
}
