//! The future of a market: what happens next.

use crate::random::generator;
use clock::random::SplitMix64;
use engine::Side;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// High bits of the streams that order the makers of a batch.
const BATCHES: u64 = u64::MAX << 32;

/// Something that will happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Happening {
    /// The fair value jumps.
    News,
    /// A noise trader's order arrives.
    Noise,
    /// A passive order of others arrives.
    Rest,
    /// It leaves.
    Leave { order_id: u64, venue: u16 },
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
    /// Place in its batch: quotes 1, other messages 2. Outside of batches 0.
    rank: u8,
    tie: u64,
    /// Place among all entries ever; only of entries with the same tie.
    number: u64,
    happening: Happening,
}

impl Entry {
    fn key(&self) -> (u64, u8, u64, u64) {
        (self.time_ns, self.rank, self.tie, self.number)
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
    seed: u64,
    ties: SplitMix64,
    added: u64,
    /// Length of a batch; 0: no batches.
    batch_ns: u64,
}

impl Queue {
    pub fn new(seed: u64, batch_ns: u64) -> Queue {
        let ties = generator(seed, u64::MAX, 0);
        Queue { heap: BinaryHeap::new(), seed, ties, added: 0, batch_ns }
    }

    pub fn add(&mut self, time_ns: u64, happening: Happening) {
        let tie = self.ties.bits();
        self.push(time_ns, 0, tie, happening);
    }

    /// Adds a message that arrives at the exchange: with batches, at the end of its batch. Quotes
    /// come first there. Those of one maker keep their order.
    pub fn add_message(&mut self, time_ns: u64, happening: Happening) {
        if self.batch_ns == 0 {
            return self.add(time_ns, happening);
        }
        let time_ns = time_ns.next_multiple_of(self.batch_ns);
        match happening {
            Happening::Quote { who, .. } => {
                let tie = generator(self.seed, BATCHES ^ who as u64, time_ns).bits();
                self.push(time_ns, 1, tie, happening);
            }
            _ => {
                let tie = self.ties.bits();
                self.push(time_ns, 2, tie, happening);
            }
        }
    }

    fn push(&mut self, time_ns: u64, rank: u8, tie: u64, happening: Happening) {
        self.added += 1;
        let number = self.added;
        self.heap.push(Reverse(Entry { time_ns, rank, tie, number, happening }));
    }

    /// The next one, if it is due by `end_ns`.
    pub fn next(&mut self, end_ns: u64) -> Option<(u64, Happening)> {
        let Reverse(entry) = self.heap.pop()?;
        (entry.time_ns <= end_ns).then_some((entry.time_ns, entry.happening))
    }
}
