//! Whether a machine ran at two speeds: splits the medians of slices of time into two clusters, if
//! they are two.

use serde::{Deserialize, Serialize};

/// Fewer slices are not split.
pub const SLICES_MIN: usize = 12;
/// Each regime needs this many slices: fewer are outliers.
const SLICES_OF_REGIME_MIN: usize = 3;
/// Slow over fast, at least.
const SEPARATION_MIN: f64 = 1.15;
/// The empty space between both clusters is at least this share of their distance, so a drift or
/// one wide cluster is not split.
const SPACE_SHARE_MIN: f64 = 0.5;
/// Squared distances within the clusters, at most this share of all: two halves of one wide cluster
/// leave a quarter to a third.
const WITHIN_SHARE_MAX: f64 = 0.12;
/// A slice within this share of the distance around the middle lies in neither regime: the switch
/// happened in it.
const BETWEEN_SHARE: f64 = 0.25;

/// Two speeds of a machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Regimes {
    /// Logarithms of the medians of both clusters, the fast one first.
    levels: [f64; 2],
}

/// The place of a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Regime {
    /// The lower latencies.
    Fast,
    /// The higher latencies.
    Slow,
}

impl Regime {
    /// Its name in words and records.
    pub fn name(self) -> &'static str {
        match self {
            Regime::Fast => "fast",
            Regime::Slow => "slow",
        }
    }
}

impl Regimes {
    /// Splits `values`, one latency for each slice, where the squared distances within both parts
    /// are least; `None` if they are one cluster, a drift, or too few.
    pub fn split(values: &[u64]) -> Option<Regimes> {
        let mut logs: Vec<f64> = values.iter().map(|value| (*value as f64).max(1.0).ln()).collect();
        logs.sort_by(f64::total_cmp);
        let n = logs.len();
        if n < SLICES_MIN {
            return None;
        }
        let (mut sum, mut squares) = (0.0, 0.0);
        let total = logs.iter().fold((0.0, 0.0), |(sum, squares), x| (sum + x, squares + x * x));
        let mut best = (f64::INFINITY, 0);
        for (at, value) in logs.iter().enumerate() {
            // The first `at` values are the fast cluster.
            if (SLICES_OF_REGIME_MIN..=n - SLICES_OF_REGIME_MIN).contains(&at) {
                let within =
                    |count: usize, sum: f64, squares: f64| squares - sum * sum / count as f64;
                let both =
                    within(at, sum, squares) + within(n - at, total.0 - sum, total.1 - squares);
                if both < best.0 {
                    best = (both, at);
                }
            }
            (sum, squares) = (sum + value, squares + value * value);
        }
        let (fast, slow) = logs.split_at(best.1);
        let at =
            |part: &[f64], share: f64| part[((part.len() - 1) as f64 * share).round() as usize];
        let levels = [at(fast, 0.5), at(slow, 0.5)];
        let distance = levels[1] - levels[0];
        // A tenth of each may lie between them.
        let space = at(slow, 0.1) - at(fast, 0.9);
        let all = total.1 - total.0 * total.0 / n as f64;
        let are_two = distance >= SEPARATION_MIN.ln()
            && space >= distance * SPACE_SHARE_MIN
            && best.0 <= all * WITHIN_SHARE_MAX;
        are_two.then_some(Regimes { levels })
    }

    /// The regime of a slice; `None` if it lies between both.
    pub fn of(&self, value: u64) -> Option<Regime> {
        let [fast, slow] = self.levels;
        let place = ((value as f64).max(1.0).ln() - fast) / (slow - fast);
        match place - 0.5 {
            place if place.abs() < BETWEEN_SHARE / 2.0 => None,
            place if place < 0.0 => Some(Regime::Fast),
            _ => Some(Regime::Slow),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clock::random::SplitMix64;

    const SEEDS: u64 = 200;

    /// `n` slices around what `level` says, each off by a few per cent (a sum of four uniforms).
    fn slices(seed: u64, n: usize, spread: f64, level: impl Fn(usize) -> f64) -> Vec<u64> {
        let mut random = SplitMix64::new(seed);
        let mut normal = || {
            let sum: f64 = (0..4).map(|_| f64::from(random.below(1_000_000)) / 1e6).sum();
            (sum - 2.0) * 3f64.sqrt()
        };
        (0..n).map(|at| (level(at) * (1.0 + spread * normal())) as u64).collect()
    }

    fn found(n: usize, spread: f64, level: impl Fn(usize) -> f64 + Copy) -> u64 {
        let split = |seed: &u64| Regimes::split(&slices(*seed, n, spread, level)).is_some();
        (0..SEEDS).filter(split).count() as u64
    }

    #[test]
    fn one_speed_is_one_regime_however_wide() {
        for spread in [0.01, 0.05, 0.1, 0.2] {
            for n in [12, 24, 60] {
                let found = found(n, spread, |_| 7_800.0);
                assert!(found <= SEEDS / 20, "{found} of {SEEDS} at {spread}, {n} slices");
            }
        }
    }

    /// 7.8 and 10.9 us for the same round trip, minutes each: the host that this was written for.
    #[test]
    fn two_speeds_are_found_with_their_shares() {
        for (n, slow) in [(12, 6), (12, 3), (24, 9), (60, 6)] {
            let level = |at: usize| if at < slow { 10_900.0 } else { 7_800.0 };
            let found = found(n, 0.03, level);
            assert!(found >= SEEDS * 19 / 20, "{found} of {SEEDS}: {slow} of {n}");
            let values = slices(7, n, 0.03, level);
            let regimes = Regimes::split(&values).unwrap();
            let of: Vec<_> = values.iter().map(|value| regimes.of(*value)).collect();
            let count = |regime| of.iter().filter(|of| **of == Some(regime)).count();
            assert_eq!((count(Regime::Slow), count(Regime::Fast)), (slow, n - slow), "{values:?}");
        }
    }

    #[test]
    fn a_drift_is_no_switch() {
        let found = found(24, 0.02, |at| 7_800.0 * (1.0 + at as f64 / 40.0));
        assert!(found <= SEEDS / 20, "{found} of {SEEDS}");
    }

    #[test]
    fn outliers_are_no_regime() {
        let one_or_two = |at: usize| if at == 3 || at == 11 { 40_000.0 } else { 7_800.0 };
        let found = found(24, 0.03, one_or_two);
        assert!(found <= SEEDS / 20, "{found} of {SEEDS}");
    }

    #[test]
    fn a_slice_with_the_switch_in_it_is_in_neither_regime() {
        let level = |at: usize| match at {
            0..11 => 7_800.0,
            11 => 9_220.0,
            _ => 10_900.0,
        };
        let values = slices(1, 24, 0.01, level);
        let regimes = Regimes::split(&values).unwrap();
        assert_eq!(regimes.of(values[11]), None);
        assert_eq!(regimes.of(7_700), Some(Regime::Fast));
        assert_eq!(regimes.of(30_000), Some(Regime::Slow));
        assert_eq!(Regimes::split(&values[..11]), None, "too few to say");
    }
}
