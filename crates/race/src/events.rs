//! The future of a market: what happens next.

use crate::random::generator;
use clock::random::SplitMix64;
use engine::Side;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Something that will happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Happening {
    /// The fair value jumps.
    News,
    /// A noise trader's order arrives.
    Noise,
    /// An input of the recorded day arrives.
    Input { index: usize },
    /// A maker's message arrives: it quotes around this fair value, in half ticks.
    Quote { who: usize, fair: i64 },
    /// An order arrives that trades at once or not at all.
    Take { who: usize, venue: u16, side: Side, price_ticks: i64, lots: u64 },
}

/// An entry of the queue. Entries of the same time come in random order: no participant is first
/// because of its place in the file.
#[derive(Clone, Copy, Debug)]
struct Entry {
    time_ns: u64,
    tie: u64,
    happening: Happening,
}

impl Entry {
    fn key(&self) -> (u64, u64) {
        (self.time_ns, self.tie)
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Entry) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Entry) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Entry) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

/// All that will happen, by time.
#[derive(Debug)]
pub(crate) struct Queue {
    heap: BinaryHeap<Reverse<Entry>>,
    ties: SplitMix64,
}

impl Queue {
    pub fn new(seed: u64) -> Queue {
        Queue { heap: BinaryHeap::new(), ties: generator(seed, u64::MAX, 0) }
    }

    pub fn add(&mut self, time_ns: u64, happening: Happening) {
        let tie = self.ties.bits();
        self.heap.push(Reverse(Entry { time_ns, tie, happening }));
    }

    /// The next one, if it is due by `end_ns`.
    pub fn next(&mut self, end_ns: u64) -> Option<(u64, Happening)> {
        let Reverse(entry) = self.heap.pop()?;
        (entry.time_ns <= end_ns).then_some((entry.time_ns, entry.happening))
    }
}
