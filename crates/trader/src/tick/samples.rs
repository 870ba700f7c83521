//! Stamps of ticks that led to orders, one sample per tick, in memory that exists before the start.

use record::tick::{POINTS, Point, Sample};
use wire::reply::Stamps;

/// All samples of a run, in the order in which their orders left.
pub(crate) struct Samples {
    all: Vec<Sample>,
    max: usize,
    /// Ticks without room.
    pub(crate) lost: u64,
}

impl Samples {
    /// Makes and touches room for that many.
    pub(crate) fn with_room(max: usize) -> Samples {
        // Not zero: memory that is only promised reads as zero too.
        let mut all = vec![Sample { number: u64::MAX, stamps: [u64::MAX; POINTS] }; max];
        all.clear();
        Samples { all, max, lost: 0 }
    }

    /// The index of the next sample.
    pub(crate) fn next_place(&self) -> u32 {
        self.all.len() as u32
    }

    /// Adds a tick whose order is about to leave; returns its index.
    #[inline]
    pub(crate) fn begin(&mut self, sample: &Sample) -> Option<u32> {
        if self.all.len() >= self.max {
            self.lost += 1;
            return None;
        }
        self.all.push(*sample);
        Some((self.all.len() - 1) as u32)
    }

    /// Notes that its order left.
    #[inline]
    pub(crate) fn sent(&mut self, place: u32, sent_ns: u64) {
        if let Some(sample) = self.all.get_mut(place as usize) {
            sample.stamps[Point::Sent as usize] = sent_ns;
        }
    }

    /// Notes the reply to its order.
    #[inline]
    pub(crate) fn replied(&mut self, place: u32, stamps: Option<Stamps>, replied_ns: u64) {
        if let Some(sample) = self.all.get_mut(place as usize) {
            if let Some(stamps) = stamps {
                let from = Point::GatewayIn as usize;
                sample.stamps[from..from + stamps.len()].copy_from_slice(&stamps);
            }
            sample.stamps[Point::Replied as usize] = replied_ns;
        }
    }

    pub(crate) fn get(&self, place: u32) -> Option<&Sample> {
        self.all.get(place as usize)
    }

    pub(crate) fn into_all(self) -> Vec<Sample> {
        self.all
    }
}
