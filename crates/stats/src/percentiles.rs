//! Percentiles, curves and medians of a sample or of a few runs, as far as their size supports
//! them.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// A percentile is given if at least this many samples lie beyond it.
pub const SAMPLES_BEYOND_MIN: f64 = 10.0;
/// A percentile is marked as uncertain if fewer than this many samples lie beyond it.
pub const SAMPLES_BEYOND_CERTAIN: f64 = 100.0;

/// Fewer runs have no interval: see [`median_interval`].
pub const RUNS_FOR_INTERVAL_MIN: usize = 6;

/// The percentiles of a record: name and quantile.
pub const PERCENTILES: [(&str, f64); 7] = [
    ("p50", 0.5),
    ("p90", 0.9),
    ("p95", 0.95),
    ("p99", 0.99),
    ("p99_9", 0.999),
    ("p99_99", 0.9999),
    ("p99_999", 0.99999),
];

/// Percentiles of one sample; `None` where it is too small (`n (1 - p) < 10`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
#[allow(missing_docs)]
pub struct Percentiles {
    pub count: u64,
    pub min: u64,
    pub p50: Option<u64>,
    pub p90: Option<u64>,
    pub p95: Option<u64>,
    pub p99: Option<u64>,
    pub p99_9: Option<u64>,
    pub p99_99: Option<u64>,
    pub p99_999: Option<u64>,
    pub max: u64,
    /// Samples below 1 us.
    #[serde(skip_serializing_if = "is_zero")]
    pub below_1us: u64,
}

impl Percentiles {
    /// The percentiles in the order of [`PERCENTILES`].
    pub fn values(&self) -> [Option<u64>; 7] {
        [self.p50, self.p90, self.p95, self.p99, self.p99_9, self.p99_99, self.p99_999]
    }

    /// Share of the samples below 1 us; `None` without samples.
    pub fn share_below_1us(&self) -> Option<f64> {
        (self.count > 0).then(|| self.below_1us as f64 / self.count as f64)
    }
}

/// For serde: leaves a count of zero out of a record.
pub fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// How many of `count` samples lie beyond `quantile`.
fn samples_beyond(count: u64, quantile: f64) -> f64 {
    // The factor makes up for rounding: 10 000 * (1 - 0.999) is 9.99..9 in binary.
    count as f64 * (1.0 - quantile) * (1.0 + 1e-9)
}

/// Whether `count` samples support `quantile`: `n (1 - p) >= 10` (invariant 8).
pub fn is_supported(count: u64, quantile: f64) -> bool {
    samples_beyond(count, quantile) >= SAMPLES_BEYOND_MIN
}

/// One percentile of `histogram`, if its sample supports it.
pub fn percentile(histogram: &Histogram<u64>, quantile: f64) -> Option<u64> {
    is_supported(histogram.len(), quantile).then(|| histogram.value_at_quantile(quantile))
}

/// Percentiles of `histogram` that `n (1 - p) >= 10` supports (invariant 8), and the names of the
/// uncertain ones, `n (1 - p) < 100`.
pub fn percentiles(histogram: &Histogram<u64>) -> (Percentiles, Vec<String>) {
    let count = histogram.len();
    let mut uncertain = Vec::new();
    let mut at = |(name, quantile): (&str, f64)| {
        let value = percentile(histogram, quantile)?;
        if samples_beyond(count, quantile) < SAMPLES_BEYOND_CERTAIN {
            uncertain.push(name.to_owned());
        }
        Some(value)
    };
    let [p50, p90, p95, p99, p99_9, p99_99, p99_999] = PERCENTILES.map(&mut at);
    let (min, max) = if count == 0 { (0, 0) } else { (histogram.min(), histogram.max()) };
    let below_1us = histogram.count_between(0, 999);
    let summary =
        Percentiles { count, min, p50, p90, p95, p99, p99_9, p99_99, p99_999, max, below_1us };
    (summary, uncertain)
}

/// Points of a curve per nine of its quantile.
const CURVE_POINTS_PER_NINE: f64 = 20.0;

/// The sample as a curve: quantile and value, at equal steps of `log10(1 / (1 - quantile))`, from
/// the minimum as far as the sample supports. Empty where it doesn't support the median.
pub fn curve(histogram: &Histogram<u64>) -> Vec<(f64, u64)> {
    let count = histogram.len() as f64;
    if count * 0.5 < SAMPLES_BEYOND_MIN {
        return Vec::new();
    }
    let nines = (count / SAMPLES_BEYOND_MIN).log10();
    let steps = (nines * CURVE_POINTS_PER_NINE).floor() as i32;
    let between = (0..=steps).map(|step| f64::from(step) / CURVE_POINTS_PER_NINE);
    let quantiles: Vec<f64> =
        between.chain([nines]).map(|nines| 1.0 - 10f64.powf(-nines)).collect();
    let values = histogram.value_at_quantiles(quantiles.iter().copied());
    quantiles.iter().copied().zip(values).collect()
}

/// The middle value, or the mean of the two middle ones (rounded down).
pub fn median(values: &[u64]) -> Option<u64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        n if n % 2 == 1 => Some(sorted[middle]),
        _ => Some(sorted[middle - 1].midpoint(sorted[middle])),
    }
}

/// A confidence interval of at least 95 % for the median of the distribution behind `values`, by
/// order statistics: no assumption about its shape. `None` for fewer than six values, because even
/// their whole range covers less.
pub fn median_interval(values: &[u64]) -> Option<[u64; 2]> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    Some(median_ranks(sorted.len())?.map(|rank| sorted[rank]))
}

/// The ranks from 0 of that interval's ends among `n` sorted values.
///
/// The interval between the k-th smallest and the k-th largest of n covers the median with
/// probability `1 - 2 * P(Binomial(n, 1/2) < k)`; six values give 96.9 %.
pub fn median_ranks(n: usize) -> Option<[usize; 2]> {
    let mut below = 0.0;
    let mut chosen = None;
    let mut ways = 0.5f64.powi(n as i32);
    for k in 0..n / 2 {
        below += ways;
        if 1.0 - 2.0 * below < 0.95 {
            break;
        }
        chosen = Some([k, n - 1 - k]);
        ways *= (n - k) as f64 / (k + 1) as f64;
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;
    use clock::recorder::histogram;
    use proptest::prelude::*;

    fn of(count: u64) -> Histogram<u64> {
        let mut histogram = histogram();
        (1..=count).for_each(|value| histogram.record(value).unwrap());
        histogram
    }

    #[test]
    fn a_percentile_needs_ten_samples_beyond_it() {
        let (summary, uncertain) = percentiles(&of(10_000));
        assert!(summary.p99_9.is_some());
        assert_eq!(summary.p99_99, None);
        assert_eq!(uncertain, ["p99_9"]);
        assert_eq!(percentiles(&of(9_999)).0.p99_9, None);
        assert_eq!(percentiles(&of(19)).0.p50, None);
        assert!(percentiles(&of(20)).0.p50.is_some());
        assert!(is_supported(20, 0.5) && !is_supported(19, 0.5));
    }

    #[test]
    fn a_curve_ends_where_the_sample_does() {
        let sample = of(10_000);
        let curve = curve(&sample);
        assert_eq!(curve[0], (0.0, 1));
        let (deepest, last) = curve[curve.len() - 1];
        assert!((deepest - 0.999).abs() < 1e-9);
        assert_eq!(last, sample.value_at_quantile(deepest));
        assert!(curve.windows(2).all(|pair| pair[0].0 <= pair[1].0 && pair[0].1 <= pair[1].1));
        assert!(super::curve(&of(19)).is_empty());
    }

    #[test]
    fn an_empty_sample_has_no_percentiles() {
        let (summary, uncertain) = percentiles(&histogram());
        assert_eq!((summary.count, summary.p50, summary.max), (0, None, 0));
        assert!(uncertain.is_empty());
    }

    #[test]
    fn six_runs_are_the_fewest_with_an_interval() {
        assert_eq!(median_interval(&[1, 2, 3, 4, 5]), None);
        assert_eq!(median_interval(&[6, 2, 3, 5, 4, 1]), Some([1, 6]));
        // n = 9: dropping one at each end still covers 96.1 %, two only 82 %.
        assert_eq!(median_interval(&[1, 2, 3, 4, 5, 6, 7, 8, 9]), Some([2, 8]));
    }

    #[test]
    fn the_median_of_few() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3]), Some(3));
        assert_eq!(median(&[9, 1, 4]), Some(4));
        assert_eq!(median(&[1, 3]), Some(2));
        assert_eq!(median(&[u64::MAX, u64::MAX]), Some(u64::MAX));
    }

    proptest! {
        /// Over many draws of a known distribution, the interval covers its median at least 95 % of
        /// the time, less five standard errors of 400 draws.
        #[test]
        fn the_interval_covers_the_true_median(seed: u64, n in 6usize..30) {
            let mut random = clock::random::SplitMix64::new(seed);
            let covered = (0..400)
                .filter(|_| {
                    let values: Vec<u64> = (0..n).map(|_| random.bits() >> 32).collect();
                    let [low, high] = median_interval(&values).unwrap();
                    (low..=high).contains(&(1 << 31))
                })
                .count();
            prop_assert!(covered as f64 >= 400.0 * 0.95 - 5.0 * 4.36, "covered {covered} of 400");
        }
    }
}
