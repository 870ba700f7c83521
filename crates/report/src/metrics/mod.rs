//! Figures for a monitoring system: families of metrics, as OpenMetrics text or, for Prometheus'
//! native histograms, which the text can't hold, as protobuf.

mod protobuf;
mod text;

pub use protobuf::protobuf;
pub use text::text;

use stats::buckets::{PER_DOUBLING, bound_seconds};
use std::collections::BTreeMap;

/// Bounds of classic buckets, as exponents of two: 119 ns to 8 s, two for every doubling.
const CLASSIC: std::ops::RangeInclusive<i32> = -46..=6;
const CLASSIC_PER_DOUBLING: i32 = 2;

/// Metrics of one name.
#[derive(Clone, Debug, PartialEq)]
pub struct Family {
    /// Without the suffixes `_total` and `_bucket`; ends with the unit where there is one.
    pub name: &'static str,
    /// Meaning of a value.
    pub help: &'static str,
    /// `seconds`; empty where there is none.
    pub unit: &'static str,
    /// Kind of its values.
    pub kind: FamilyKind,
    /// A metric for each set of labels.
    pub metrics: Vec<Metric>,
}

/// Kind of a family's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FamilyKind {
    /// It goes up and down.
    Gauge,
    /// It only grows.
    Counter,
    /// Buckets that only grow.
    Histogram,
}

/// One metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Metric {
    /// Name and value of each label.
    pub labels: Vec<(&'static str, String)>,
    /// Its value.
    pub value: Value,
}

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A gauge or a counter has one.
    Number(f64),
    /// A histogram has these.
    Latencies(Latencies),
}

/// Latencies by bucket.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Latencies {
    /// By [`stats::buckets`].
    pub buckets: BTreeMap<i32, u64>,
    /// Sum of all latencies, ns.
    pub sum_ns: u64,
}

impl Family {
    /// A family without metrics.
    pub fn new(name: &'static str, kind: FamilyKind, help: &'static str) -> Family {
        let unit = if name.ends_with("_seconds") { "seconds" } else { "" };
        Family { name, help, unit, kind, metrics: Vec::new() }
    }

    /// Adds a number.
    pub fn number(&mut self, labels: Vec<(&'static str, String)>, value: f64) {
        self.metrics.push(Metric { labels, value: Value::Number(value) });
    }

    /// The same family with one number without labels.
    #[must_use]
    pub fn of(mut self, value: f64) -> Family {
        self.number(Vec::new(), value);
        self
    }
}

impl Latencies {
    /// Adds what a client reported of a second.
    pub fn add(&mut self, buckets: &[(i32, u64)], sum_ns: u64) {
        for (bucket, count) in buckets {
            let so_far = self.buckets.entry(*bucket).or_default();
            *so_far = so_far.saturating_add(*count);
        }
        self.sum_ns = self.sum_ns.saturating_add(sum_ns);
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.buckets.values().sum()
    }

    fn sum_seconds(&self) -> f64 {
        self.sum_ns as f64 / 1e9
    }

    /// Upper bound in seconds and the number of latencies up to it; the bound +Inf is left out.
    fn classic(&self) -> Vec<(f64, u64)> {
        let step = PER_DOUBLING / CLASSIC_PER_DOUBLING;
        let cumulative = |bound: i32| {
            let bucket = bound * step;
            (bound_seconds(bucket), self.buckets.range(..=bucket).map(|(_, count)| count).sum())
        };
        CLASSIC.map(cumulative).collect()
    }
}

#[cfg(test)]
pub(crate) fn example() -> Vec<Family> {
    let mut latency = Family::new("x_latency_seconds", FamilyKind::Histogram, "Latency.");
    let mut latencies = Latencies::default();
    latencies.add(&[(-132, 3), (-131, 2), (-120, 1)], 70_000);
    let labels = vec![("subject", "ru\"st".to_owned())];
    latency.metrics.push(Metric { labels, value: Value::Latencies(latencies) });
    vec![
        latency,
        Family::new("x_messages", FamilyKind::Counter, "Messages.").of(7.0),
        Family::new("x_up", FamilyKind::Gauge, "Whether.").of(1.0),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classic_buckets_are_cumulative_and_lose_nothing_below_their_last_bound() {
        let mut latencies = Latencies::default();
        latencies.add(&[(-132, 3), (-131, 2), (-120, 1)], 0);
        latencies.add(&[(-132, 1)], 0);
        let classic = latencies.classic();
        assert!(classic.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1));
        assert_eq!((classic.last().unwrap().1, latencies.count()), (7, 7));
        let up_to = |bucket: i32| {
            let bound = bound_seconds(bucket);
            classic.iter().find(|(at, _)| (at - bound).abs() < 1e-12).unwrap().1
        };
        assert_eq!((up_to(-136), up_to(-132), up_to(-128), up_to(-120)), (0, 4, 6, 7));
    }
}
