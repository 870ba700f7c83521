//! The cost of a dialect's codec: encoding an order, and decoding its acknowledgement.

use serde::{Deserialize, Serialize};
use stats::{median, median_interval};

/// One run: measured in memory, before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct CodecRun {
    /// Orders that were encoded, and acknowledgements that were decoded.
    pub orders: u64,
    /// An order, ps: the median of batches.
    pub encode_ps: u64,
    /// An acknowledgement, ps: the median of batches.
    pub decode_ps: u64,
}

/// A cost over several runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CodecTime {
    /// The median run, ns.
    pub ns: f64,
    /// Its interval, ns; `None` with fewer than six runs.
    pub interval_ns: Option<[f64; 2]>,
}

impl CodecTime {
    /// The time of one part; `None` without runs.
    pub fn of(runs: &[CodecRun], part: fn(&CodecRun) -> u64) -> Option<CodecTime> {
        let values: Vec<u64> = runs.iter().map(part).collect();
        let ns = |ps: u64| ps as f64 / 1e3;
        let interval_ns = median_interval(&values).map(|interval| interval.map(ns));
        Some(CodecTime { ns: ns(median(&values)?), interval_ns })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_needs_a_run_and_an_interval_six() {
        let run = |encode_ps| CodecRun { orders: 1, encode_ps, decode_ps: 0 };
        let of = |runs: &[CodecRun]| CodecTime::of(runs, |run| run.encode_ps);
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[run(1_500)]), Some(CodecTime { ns: 1.5, interval_ns: None }));
        let six = [1_000, 2_000, 3_000, 3_000, 5_000, 6_000].map(run);
        let found = of(&six).unwrap();
        assert_eq!((found.ns, found.interval_ns), (3.0, Some([1.0, 6.0])));
    }
}
