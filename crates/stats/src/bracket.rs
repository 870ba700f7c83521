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

/// One half of a pair: a sample, its disturbed share, and where disturbance may move its values.
#[derive(Clone, Copy)]
pub struct Half<'a> {
    /// All of its values.
    pub sample: &'a Histogram<u64>,
    /// Its disturbed share, 0 to 1.
    pub share: f64,
    /// Direction in which disturbance may move a value.
    pub moves: Moves,
}

/// The two values between which the undisturbed ratio of `ours` to `floor` lies at `quantile`, and
/// those of the difference; `None` if the floor's sample reaches 0.
///
/// The share that both halves have in common moves both ranks alike, so both are read at the same
/// rank, anywhere within it. What one half has beyond that moves its own rank, in the worst case
/// against the other's.
pub fn paired_brackets(ours: Half, floor: Half, quantile: f64) -> Option<([f64; 2], [i64; 2])> {
    let common = ours.share.min(floor.share);
    let mut ranks = vec![quantile - common, quantile];
    if Moves::UpOrDown == ours.moves || Moves::UpOrDown == floor.moves {
        ranks.push(quantile + common);
    }
    let (mut ratio, mut added) = ([f64::INFINITY, 0.0_f64], [i64::MAX, i64::MIN]);
    for rank in ranks {
        let ends = |half: Half| bracket(half.sample, rank, half.share - common, half.moves);
        let (ours, floor) = (ends(ours), ends(floor));
        if floor[0] == 0 {
            return None;
        }
        ratio[0] = ratio[0].min(ours[0] as f64 / floor[1] as f64);
        ratio[1] = ratio[1].max(ours[1] as f64 / floor[0] as f64);
        added[0] = added[0].min(ours[0].cast_signed() - floor[1].cast_signed());
        added[1] = added[1].max(ours[1].cast_signed() - floor[0].cast_signed());
    }
    Some((ratio, added))
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

    fn half(sample: &Histogram<u64>, share: f64) -> Half<'_> {
        Half { sample, share, moves: Moves::Up }
    }

    /// 20 % disturbed in both halves leaves neither p50 within a tenth, and the ratio as it is.
    #[test]
    fn what_disturbs_both_halves_alike_cancels_in_the_ratio() {
        let (floor, ours) = (of(1_000..2_000), of((1_000..2_000).map(|ns| ns * 11 / 10)));
        let [low, high] = bracket(&ours, 0.5, 0.2, Moves::Up);
        assert!(!holds(high, [low, high]));
        let (ratio, _) = paired_brackets(half(&ours, 0.2), half(&floor, 0.2), 0.5).unwrap();
        assert!(ratio.iter().all(|end| (1.098..1.102).contains(end)), "{ratio:?}");
    }

    #[test]
    fn what_disturbs_one_half_alone_widens_the_ratio() {
        let (floor, ours) = (of(1_000..2_000), of(1_000..2_000));
        let (ratio, added) = paired_brackets(half(&ours, 0.3), half(&floor, 0.1), 0.5).unwrap();
        // Our rank may be 0.2 too high: 1 300 against 1 500, or 1 200 against 1 400.
        assert!(
            (0.855..0.86).contains(&ratio[0]) && (0.999..1.002).contains(&ratio[1]),
            "{ratio:?}"
        );
        assert!((-202..=-198).contains(&added[0]) && (-2..=2).contains(&added[1]), "{added:?}");
        let nothing = of([0; 100]);
        assert_eq!(paired_brackets(half(&ours, 0.0), half(&nothing, 0.0), 0.5), None);
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
