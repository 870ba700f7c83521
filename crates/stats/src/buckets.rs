//! Buckets of latencies as Prometheus' native histograms have them: bucket `i` holds latencies
//! above `2^((i-1)/8)` s and up to `2^(i/8)` s, so each is 9 % wider than the one before.

use hdrhistogram::Histogram;
use std::collections::BTreeMap;

/// Prometheus' name for this width: `2^SCHEMA` buckets for every doubling.
pub const SCHEMA: i32 = 3;
/// Buckets for every doubling.
pub const PER_DOUBLING: i32 = 1 << SCHEMA;

/// The upper bound of bucket `index`, seconds.
pub fn bound_seconds(index: i32) -> f64 {
    (f64::from(index) / f64::from(PER_DOUBLING)).exp2()
}

/// The bucket of a latency. One of less than 1 ns counts as 1 ns.
pub fn bucket(ns: u64) -> i32 {
    let seconds = ns.max(1) as f64 / 1e9;
    (seconds.log2() * f64::from(PER_DOUBLING)).ceil() as i32
}

/// Index and count of every bucket that has values, ascending. A value within 0.1 % of a bound may
/// count in the neighbour.
pub fn buckets(values: &Histogram<u64>) -> Vec<(i32, u64)> {
    let mut counts: BTreeMap<i32, u64> = BTreeMap::new();
    for value in values.iter_recorded() {
        *counts.entry(bucket(value.value_iterated_to())).or_default() += value.count_at_value();
    }
    counts.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_holds_its_upper_bound_and_not_its_lower_one() {
        for index in [-150, -132, -8, -1, 0, 1, 24] {
            let ns = bound_seconds(index) * 1e9;
            assert_eq!(bucket(ns.floor() as u64), index, "{index}");
            assert_eq!(bucket(ns.ceil() as u64 + 2), index + 1, "{index}");
        }
        assert_eq!(bucket(0), bucket(1));
    }

    #[test]
    fn every_value_is_counted_once() {
        let mut values = Histogram::<u64>::new_with_bounds(1, 1_000_000_000, 3).unwrap();
        for ns in [900, 1_000, 1_001, 40_000, 40_001, 900_000_000] {
            values.record(ns).unwrap();
        }
        let found = buckets(&values);
        assert_eq!(found.iter().map(|(_, count)| count).sum::<u64>(), 6);
        assert!(found.windows(2).all(|pair| pair[0].0 < pair[1].0), "{found:?}");
        assert!(found.contains(&(bucket(40_000), 2)), "{found:?}");
    }
}
