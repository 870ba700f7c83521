//! Bracket of a figure: the two values between which the undisturbed percentile lies, if at most a
//! given share of the sample was disturbed. docs/METHODOLOGY.md derives it.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// A figure holds if its bracket is narrower than this share of the figure.
pub const WIDTH_SHARE_MAX: f64 = 0.1;

/// Direction in which a disturbance may move a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Moves {
    /// Only up: it adds time.
    #[default]
    Up,
    /// Up or down: it may also keep a blocking end awake, or gather messages in one batch after a
    /// stall.
    UpOrDown,
}

/// The two values between which the undisturbed `quantile` of `sample` lies, if at most `share` of
/// it was disturbed.
///
/// A disturbance of that share moves the percentile's rank by at most that share. If values only
/// grew, the undisturbed percentile is not above the measured one.
pub fn bracket(sample: &Histogram<u64>, quantile: f64, share: f64, moves: Moves) -> [u64; 2] {
    let at = |rank: f64| match rank {
        rank if rank <= 0.0 => sample.min(),
        rank => sample.value_at_quantile(rank.min(1.0)),
    };
    let high = match moves {
        Moves::Up => quantile,
        Moves::UpOrDown => quantile + share,
    };
    [at(quantile - share), at(high)]
}

/// Whether a figure with this bracket holds.
pub fn holds(figure: u64, [low, high]: [u64; 2]) -> bool {
    high.saturating_sub(low) as f64 <= figure as f64 * WIDTH_SHARE_MAX
}

#[cfg(test)]
mod tests {
    use super::*;
    use clock::random::SplitMix64;
    use clock::recorder::histogram;
    use proptest::prelude::*;

    fn of(values: impl IntoIterator<Item = u64>) -> Histogram<u64> {
        let mut histogram = histogram();
        values.into_iter().for_each(|value| histogram.record(value).unwrap());
        histogram
    }

    #[test]
    fn without_disturbance_a_figure_is_its_own_bracket() {
        let sample = of(1..=1000);
        assert_eq!(bracket(&sample, 0.5, 0.0, Moves::Up), [500, 500]);
        assert!(holds(500, [500, 500]));
        assert!(holds(500, [450, 500]) && !holds(500, [449, 500]));
    }

    #[test]
    fn more_disturbance_than_rank_leaves_the_minimum() {
        let sample = of(1..=1000);
        assert_eq!(bracket(&sample, 0.5, 0.7, Moves::Up), [1, 500]);
        assert_eq!(bracket(&sample, 0.95, 0.1, Moves::UpOrDown), [850, 1000]);
    }

    proptest! {
        /// For any disturbed values, the undisturbed percentile lies in the bracket.
        #[test]
        fn it_holds_whatever_is_disturbed(
            seed: u64, disturbed in 0usize..200, quantile in 0.05f64..0.95, both: bool
        ) {
            let mut random = SplitMix64::new(seed);
            let undisturbed: Vec<u64> = (0..1000).map(|_| 1000 + u64::from(random.below(5000))).collect();
            let mut seen = undisturbed.clone();
            for _ in 0..disturbed {
                let at = random.below(1000) as usize;
                let by = u64::from(random.below(1_000_000));
                let shrinks = both && by & 1 == 1;
                seen[at] = if shrinks { seen[at].saturating_sub(by).max(1) } else { seen[at] + by };
            }
            let moves = if both { Moves::UpOrDown } else { Moves::Up };
            let [low, high] = bracket(&of(seen), quantile, disturbed as f64 / 1000.0, moves);
            let truth = of(undisturbed).value_at_quantile(quantile);
            // A rank falls between two values, and a histogram keeps three digits.
            prop_assert!(low <= truth + truth / 500, "{low} {truth}");
            prop_assert!(truth <= high + high / 500, "{truth} {high}");
        }
    }
}
