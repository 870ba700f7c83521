//! A series beside the same of its floor: ratio and difference are figures of their own, from pairs
//! of the same run. docs/METHODOLOGY.md says when they hold.

use serde::{Deserialize, Serialize};
use stats::bracket::WIDTH_SHARE_MAX;
use stats::regimes::Regime;
use stats::{PERCENTILES, median_ranks};
use std::collections::BTreeMap;

/// A series over its floor.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct OverFloor {
    /// The subject below it: a floor, or for a floor the bare echo.
    pub floor: String,
    /// The two halves of each run, and of each regime in it, that has both.
    pub pairs: Vec<Pair>,
    /// Per percentile that all pairs have, the figures over pairs.
    pub figures: BTreeMap<String, PairedPercentile>,
    /// The highest percentile up to which all ratios hold, as a rank from 0 to 1; 0 if that of p50
    /// does not hold; `None` if it can't be judged.
    pub holds_to: Option<f64>,
    /// Why it can't be judged; empty if it can.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub not_judged: String,
}

/// A series and its floor in one run, or in one regime of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Pair {
    /// The run, from 1.
    pub run: u32,
    /// The machine's regime; `None` if it had one, and both halves are the whole run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub regime: Option<Regime>,
    /// By percentile.
    pub halves: BTreeMap<String, Halves>,
}

/// A percentile in both halves of a pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Halves {
    /// The series' own, ns.
    pub ours: u64,
    /// The floor's, ns.
    pub floor: u64,
    /// The two values between which the undisturbed ratio lies; `None` if unknown.
    pub ratio_bracket: Option<[f64; 2]>,
    /// The two values between which the undisturbed difference lies, ns; `None` if unknown.
    pub added_bracket: Option<[i64; 2]>,
}

/// A percentile over its floor, over all pairs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct PairedPercentile {
    /// Median of the floor's halves, ns.
    pub floor: u64,
    /// Median of the ratios.
    pub ratio: f64,
    /// A confidence interval of at least 95 % for it; `None` with fewer than six pairs.
    pub ratio_interval: Option<[f64; 2]>,
    /// Between the lower quartile of the brackets' lower ends and the upper quartile of the upper.
    pub ratio_bracket: Option<[f64; 2]>,
    /// Median of the differences, ns.
    pub added: i64,
    /// As `ratio_interval`, ns.
    pub added_interval: Option<[i64; 2]>,
    /// As `ratio_bracket`, ns.
    pub added_bracket: Option<[i64; 2]>,
}

impl OverFloor {
    /// The figures of these pairs; `not_judged` says why no pair could be judged, if so.
    pub(crate) fn of(floor: String, pairs: Vec<Pair>, not_judged: String) -> OverFloor {
        let mut over =
            OverFloor { floor, pairs, figures: BTreeMap::new(), holds_to: None, not_judged };
        let judged = over.not_judged.is_empty() && !over.pairs.is_empty();
        let (mut holds_to, mut all_hold) = (0.0, true);
        for (name, quantile) in PERCENTILES {
            let halves = over.pairs.iter().map(|pair| pair.halves.get(name).copied());
            // The remaining pairs would be biased.
            let Some(halves) = halves.collect::<Option<Vec<Halves>>>() else { break };
            let Some(figure) = PairedPercentile::of(&halves) else { break };
            all_hold &= figure.holds();
            if all_hold {
                holds_to = quantile;
            }
            over.figures.insert(name.to_owned(), figure);
        }
        over.holds_to = (judged && !over.figures.is_empty()).then_some(holds_to);
        over
    }

    /// The figures of the run `run`, from 1: of its one pair, or of one for each regime in it.
    pub(crate) fn of_run(&self, run: u32) -> BTreeMap<String, PairedPercentile> {
        let pairs = self.pairs.iter().filter(|pair| pair.run == run).cloned().collect();
        OverFloor::of(String::new(), pairs, String::new()).figures
    }

    /// Whether the ratio at the percentile of rank `quantile` holds.
    pub fn holds(&self, quantile: f64) -> bool {
        self.holds_to.is_some_and(|to| quantile <= to)
    }
}

impl PairedPercentile {
    /// `None` without pairs.
    fn of(halves: &[Halves]) -> Option<PairedPercentile> {
        let ratios = halves.iter().map(|pair| pair.ours as f64 / pair.floor as f64);
        let ratios: Vec<f64> = sorted(ratios, f64::total_cmp);
        let added = halves.iter().map(|pair| pair.ours.cast_signed() - pair.floor.cast_signed());
        let added: Vec<i64> = sorted(added, i64::cmp);
        let floors: Vec<u64> = halves.iter().map(|pair| pair.floor).collect();
        let ranks = median_ranks(halves.len());
        let (low, high) = (halves.len().checked_sub(1)? / 2, halves.len() / 2);
        Some(PairedPercentile {
            floor: stats::median(&floors)?,
            ratio: f64::midpoint(ratios[low], ratios[high]),
            ratio_interval: ranks.map(|ends| ends.map(|rank| ratios[rank])),
            ratio_bracket: quartiles(halves, |pair| pair.ratio_bracket, f64::total_cmp),
            added: added[low].midpoint(added[high]),
            added_interval: ranks.map(|ends| ends.map(|rank| added[rank])),
            added_bracket: quartiles(halves, |pair| pair.added_bracket, i64::cmp),
        })
    }

    /// Whether its bracket is narrower than a tenth of it.
    fn holds(&self) -> bool {
        self.ratio_bracket.is_some_and(|[low, high]| high - low <= self.ratio * WIDTH_SHARE_MAX)
    }
}

fn sorted<T>(values: impl Iterator<Item = T>, order: fn(&T, &T) -> std::cmp::Ordering) -> Vec<T> {
    let mut values: Vec<T> = values.collect();
    values.sort_by(order);
    values
}

/// Between the lower quartile of the lower ends and the upper quartile of the upper ones: one pair
/// in four may lie anywhere. `None` if the bracket of any pair is unknown.
fn quartiles<T: Copy>(
    halves: &[Halves],
    bracket: fn(&Halves) -> Option<[T; 2]>,
    order: fn(&T, &T) -> std::cmp::Ordering,
) -> Option<[T; 2]> {
    let brackets: Vec<[T; 2]> = halves.iter().map(bracket).collect::<Option<_>>()?;
    let end = |end: usize| sorted(brackets.iter().map(|bracket| bracket[end]), order);
    let quarter = brackets.len() / 4;
    Some([*end(0).get(quarter)?, *end(1).iter().nth_back(quarter)?])
}
