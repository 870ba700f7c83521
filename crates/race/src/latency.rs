//! Latencies: from what a participant sees to its order at the matching engine.

use crate::random::generator;
use clock::random::exponential;
use record::race::RaceLatency;

/// Length of a block of recorded latencies: a log has an interval a second.
const BLOCK_NS: u64 = 1_000_000_000;
/// The percentile that divides body and tail.
const TAIL: f64 = 0.99;
/// The longest latency, 1000 s.
pub const LATENCY_NS_MAX: f64 = 1e12;

/// Values with their counts, ascending, as intervals of a log have them.
pub type Block = Vec<(u64, u64)>;

/// A distribution of latencies.
///
/// Recorded ones are drawn in blocks: for each second of the market, one second of the log is
/// chosen, and all latencies of that second come from it. So bad seconds stay together. The order
/// within a second is not in the log; there, draws are independent.
#[derive(Clone, Debug)]
pub struct Latency {
    base: Base,
    text: String,
    times: f64,
    plus_ns: f64,
    /// The p99 of the distribution, ns.
    tail_ns: f64,
    change: Change,
}

#[derive(Clone, Debug)]
enum Base {
    Constant(f64),
    /// With this mean, ns.
    Exponential(f64),
    Recorded(Vec<CumulativeBlock>),
}

/// A block: its values, and how many are up to each one.
#[derive(Clone, Debug)]
pub(crate) struct CumulativeBlock {
    values: Vec<u64>,
    up_to: Vec<u64>,
}

impl CumulativeBlock {
    pub(crate) fn new(block: &[(u64, u64)]) -> CumulativeBlock {
        let mut so_far = 0_u64;
        let mut add = |count: u64| {
            so_far = so_far.saturating_add(count);
            so_far
        };
        CumulativeBlock {
            values: block.iter().map(|(value, _)| *value).collect(),
            up_to: block.iter().map(|(_, count)| add(*count)).collect(),
        }
    }

    /// The value at a share of the block, `(0, 1]`.
    pub(crate) fn at(&self, share: f64) -> u64 {
        let total = self.up_to.last().copied().unwrap_or(0);
        let rank = ((share * total as f64).ceil() as u64).clamp(1, total.max(1));
        let place = self.up_to.partition_point(|up_to| *up_to < rank);
        self.values.get(place).copied().unwrap_or(0)
    }
}

/// A change of all draws of a latency, for a question such as "and if the tail were shorter?".
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// Added to latencies up to the p99, ns. No latency gets below 0.
    pub body_ns: f64,
    /// Added to latencies above the p99, ns.
    pub tail_ns: f64,
    /// Whether latencies above the p99 become the p99.
    pub cut_tail: bool,
    /// Factor of the result.
    pub times: f64,
}

impl Change {
    /// No change.
    pub const NONE: Change = Change { body_ns: 0.0, tail_ns: 0.0, cut_tail: false, times: 1.0 };

    fn apply(&self, ns: f64, p99_ns: f64) -> f64 {
        let changed = match ns <= p99_ns {
            true => ns + self.body_ns,
            false if self.cut_tail => p99_ns,
            false => ns + self.tail_ns,
        };
        changed.max(0.0) * self.times
    }
}

impl Latency {
    /// Always `ns`.
    #[must_use]
    pub fn constant(ns: u64) -> Latency {
        Latency::new(Base::Constant(ns as f64), format!("constant {} us", ns as f64 / 1e3))
    }

    /// Exponential with this mean.
    #[must_use]
    pub fn exponential(mean_ns: u64) -> Latency {
        let text = format!("exponential {} us", mean_ns as f64 / 1e3);
        Latency::new(Base::Exponential(mean_ns as f64), text)
    }

    /// Recorded: a block per second of a log. `None` if all blocks are empty. `text` names the log.
    #[must_use]
    pub fn recorded(blocks: &[Block], text: &str) -> Option<Latency> {
        let has_values = |block: &&Block| block.iter().any(|(_, count)| *count > 0);
        let blocks: Vec<CumulativeBlock> =
            blocks.iter().filter(has_values).map(|block| CumulativeBlock::new(block)).collect();
        (!blocks.is_empty()).then(|| Latency::new(Base::Recorded(blocks), text.to_owned()))
    }

    fn new(base: Base, text: String) -> Latency {
        let mut latency =
            Latency { base, text, times: 1.0, plus_ns: 0.0, tail_ns: 0.0, change: Change::NONE };
        latency.tail_ns = latency.quantile(TAIL);
        latency
    }

    /// Every latency `times` this one and then `plus_ns` longer; never below 0.
    #[must_use]
    pub fn shifted(mut self, times: f64, plus_ns: f64) -> Latency {
        if (times, plus_ns) != (1.0, 0.0) {
            (self.times, self.plus_ns) = (self.times * times, self.plus_ns * times + plus_ns);
            self.text = format!("{} x {times} {:+} us", self.text, plus_ns / 1e3);
            self.tail_ns = self.quantile(TAIL);
        }
        self
    }

    /// This latency with a change.
    #[must_use]
    pub fn changed(&self, change: Change) -> Latency {
        Latency { change, ..self.clone() }
    }

    /// A draw at a time of the market, ns; equal arguments give equal latencies.
    #[must_use]
    pub fn draw_ns(&self, seed: u64, stream: u64, number: u64, at_ns: u64) -> u64 {
        let mut random = generator(seed, stream, number);
        let base = match &self.base {
            Base::Constant(ns) => *ns,
            Base::Exponential(mean) => mean * exponential(&mut random),
            Base::Recorded(blocks) => {
                // All streams of a participant share its seconds.
                let second = at_ns / BLOCK_NS;
                let block =
                    generator(seed, stream >> STREAM_BITS, !second).below(blocks.len() as u32);
                blocks[block as usize].at(random.unit_open()) as f64
            }
        };
        self.adapt(base).min(LATENCY_NS_MAX) as u64
    }

    fn adapt(&self, base_ns: f64) -> f64 {
        let ns = (base_ns * self.times + self.plus_ns).max(0.0);
        self.change.apply(ns, self.tail_ns)
    }

    /// A quantile, ns, before any change.
    fn quantile(&self, quantile: f64) -> f64 {
        let base = match &self.base {
            Base::Constant(ns) => *ns,
            Base::Exponential(mean) => -mean * libm::log(1.0 - quantile),
            Base::Recorded(blocks) => pooled(blocks, quantile),
        };
        (base * self.times + self.plus_ns).max(0.0)
    }

    /// Its percentiles, with the change.
    #[must_use]
    pub fn summary(&self) -> RaceLatency {
        let at = |quantile| self.change.apply(self.quantile(quantile), self.tail_ns) as u64;
        RaceLatency {
            source: self.text.clone(),
            p50_ns: at(0.5),
            p99_ns: at(0.99),
            p99_9_ns: at(0.999),
        }
    }
}

/// Low bits of a stream's number: which of a participant's streams it is.
pub(crate) const STREAM_BITS: u32 = 3;

/// A quantile over blocks of equal weight, since each is chosen as often as any other.
fn pooled(blocks: &[CumulativeBlock], quantile: f64) -> f64 {
    let share_up_to = |value: u64| {
        let of_block = |block: &CumulativeBlock| {
            let place = block.values.partition_point(|one| *one <= value);
            let up_to = if place == 0 { 0 } else { block.up_to[place - 1] };
            up_to as f64 / block.up_to.last().copied().unwrap_or(1).max(1) as f64
        };
        blocks.iter().map(of_block).sum::<f64>() / blocks.len() as f64
    };
    let mut values: Vec<u64> = blocks.iter().flat_map(|block| block.values.clone()).collect();
    values.sort_unstable();
    values.dedup();
    let place = values.partition_point(|value| share_up_to(*value) < quantile - 1e-12);
    values.get(place).or(values.last()).copied().unwrap_or(0) as f64
}

#[cfg(test)]
#[path = "latency_tests.rs"]
mod tests;
