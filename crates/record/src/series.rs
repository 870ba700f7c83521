//! A series of one subject, and which of its figures hold.

use crate::disturbed::DisturbedShare;
use crate::over_floor::OverFloor;
use clock::kind::Kind;
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use stats::bracket::{Moves, bracket, holds};
use stats::regimes::Regime;
use stats::{PERCENTILES, Percentiles};
use std::collections::BTreeMap;

/// One series of one subject, over all valid runs.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Series {
    /// `order`, `cancel`, `cycle`, …
    pub name: String,
    /// Response time, service time, …
    pub kind: Kind,
    /// Always `ns` so far.
    pub unit: String,
    /// All runs merged by histogram.
    pub pooled: Percentiles,
    /// Names of the pooled percentiles with fewer than 100 samples beyond them.
    #[serde(default)]
    pub uncertain: Vec<String>,
    /// Each run alone, in order; without samples for a run that lacks the series.
    #[serde(default)]
    pub per_run: Vec<Percentiles>,
    /// Per percentile, a confidence interval of at least 95 % for the median over runs; absent with
    /// fewer than six runs.
    #[serde(default)]
    pub interval: BTreeMap<String, [u64; 2]>,
    /// Per pooled percentile, the two values between which the undisturbed one lies.
    #[serde(default)]
    pub bracket: BTreeMap<String, [u64; 2]>,
    /// The highest printed percentile up to which all brackets are narrower than 10 %, as a rank
    /// from 0 to 1; 0 if p50 does not hold; `None` if it can't be judged.
    #[serde(default)]
    pub holds_to: Option<f64>,
    /// The direction in which disturbance may move its values.
    #[serde(default)]
    pub moves: Moves,
    /// Why it can't be judged; empty if it can.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub not_judged: String,
    /// The disturbed share of each run, in order.
    #[serde(default)]
    pub disturbed: Vec<DisturbedShare>,
    /// Its figures in the machine's fast and slow regime; empty if the machine had one speed, or if
    /// that is not known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub regimes: Vec<InRegime>,
    /// Its ratio and difference to its floor, or for a floor to the bare echo, paired by run and
    /// regime; `None` without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over_floor: Option<OverFloor>,
}

/// A series in one of the machine's two regimes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct InRegime {
    /// The faster or the slower one.
    pub regime: Regime,
    /// Slices (intervals of the logs, about a second each) in it, all runs.
    pub slices: u32,
    /// Their share of all slices, 0 to 1. The rest lies between both regimes.
    pub share: f64,
    /// These slices merged.
    pub figures: Percentiles,
}

impl Series {
    /// `series.kind`, its tag among those of one subject.
    pub fn own_tag(&self) -> String {
        format!("{}.{}", self.name, self.kind.name())
    }

    /// Sets brackets and the highest rank that holds: `sample` is all runs merged, and the largest
    /// share of its runs counts. With `spread` (the machine changed between runs), each bracket
    /// includes the runs' own figures.
    pub(crate) fn judge(&mut self, sample: &Histogram<u64>, spread: bool) {
        if matches!(self.kind, Kind::Noise | Kind::Lateness) {
            // These series measure the disturbance itself.
            self.hold_all();
            return;
        }
        if let Some(unknown) = self.disturbed.iter().find(|one| one.known().is_none()) {
            self.not_judged = unknown.why_not_known();
            return;
        }
        let share = self.disturbed.iter().filter_map(DisturbedShare::known).fold(0.0, f64::max);
        self.bracket.clear();
        let mut holds_to = 0.0;
        let mut all_hold = true;
        for (index, (name, quantile)) in PERCENTILES.into_iter().enumerate() {
            let Some(figure) = self.pooled.values()[index] else { break };
            let mut ends = bracket(sample, quantile, share, self.moves);
            if spread {
                for value in self.per_run.iter().filter_map(|run| run.values()[index]) {
                    ends = [ends[0].min(value), ends[1].max(value)];
                }
            }
            all_hold &= holds(figure, ends);
            if all_hold {
                holds_to = quantile;
            }
            self.bracket.insert(name.to_owned(), ends);
        }
        self.holds_to = Some(holds_to);
    }

    /// Marks every figure as holding: for series that can't be disturbed, and for records that were
    /// judged as a whole.
    pub fn hold_all(&mut self) {
        let supported = PERCENTILES.iter().zip(self.pooled.values());
        let last = supported.rev().find(|(_, value)| value.is_some());
        self.holds_to = Some(last.map_or(0.0, |((_, quantile), _)| *quantile));
    }

    /// Whether the percentile of rank `quantile` holds.
    pub fn holds(&self, quantile: f64) -> bool {
        self.holds_to.is_some_and(|to| quantile <= to)
    }

    /// Widens the brackets to span these figures too, and judges them again.
    pub(crate) fn widen(&mut self, others: &[Percentiles]) {
        let (mut holds_to, mut all_hold) = (0.0, true);
        for (index, (name, quantile)) in PERCENTILES.into_iter().enumerate() {
            let (Some(ends), Some(figure)) =
                (self.bracket.get_mut(name), self.pooled.values()[index])
            else {
                break;
            };
            for value in others.iter().filter_map(|other| other.values()[index]) {
                *ends = [ends[0].min(value), ends[1].max(value)];
            }
            all_hold &= stats::bracket::holds(figure, *ends);
            if all_hold {
                holds_to = quantile;
            }
        }
        self.holds_to = self.holds_to.map(|to| to.min(holds_to));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clock::recorder::histogram;
    use stats::percentiles;

    fn series(share: f64, unknown: &str) -> (Series, Histogram<u64>) {
        let mut sample = histogram();
        (10_000..20_000).for_each(|value| sample.record(value).unwrap());
        let share = unknown.is_empty().then_some(share);
        let disturbed =
            DisturbedShare { share, unknown: unknown.to_owned(), ..DisturbedShare::default() };
        let series = Series {
            name: "order".to_owned(),
            kind: Kind::Response,
            unit: "ns".to_owned(),
            pooled: percentiles(&sample).0,
            uncertain: Vec::new(),
            per_run: vec![Percentiles { p50: Some(14_000), ..Percentiles::default() }],
            interval: Default::default(),
            bracket: Default::default(),
            holds_to: None,
            moves: Moves::Up,
            not_judged: String::new(),
            over_floor: None,
            regimes: Vec::new(),
            disturbed: vec![DisturbedShare::NONE, disturbed],
        };
        (series, sample)
    }

    fn judged(share: f64, unknown: &str, spread: bool) -> Series {
        let (mut series, sample) = series(share, unknown);
        series.judge(&sample, spread);
        series
    }

    #[test]
    fn the_worst_run_says_how_far_it_holds() {
        let undisturbed = judged(0.0, "", false);
        assert_eq!(undisturbed.holds_to, Some(0.999));
        assert!(undisturbed.holds(0.5) && !undisturbed.holds(0.9999));
        // 10 % of the samples span 1 000 ns, less than a tenth of p50 (15 000).
        assert_eq!(judged(0.1, "", false).holds_to, Some(0.999));
        // 17 % span 1 700 ns: more than a tenth of 15 000, less than a tenth of 19 000. But no
        // figure holds above one that does not.
        let disturbed = judged(0.17, "", false);
        assert_eq!(disturbed.holds_to, Some(0.0));
        let [low, high] = disturbed.bracket["p90"];
        assert!(low.abs_diff(17_300) < 20 && high.abs_diff(19_000) < 20, "{low} {high}");
    }

    #[test]
    fn a_machine_that_changed_widens_every_bracket_by_its_runs() {
        let series = judged(0.0, "", true);
        assert_eq!(series.bracket["p50"][0], 14_000);
        assert_eq!(series.holds_to, Some(0.999));
    }

    #[test]
    fn what_is_not_known_is_not_judged() {
        let series = judged(0.0, "nobody watched the other end", false);
        assert_eq!(
            (series.holds_to, series.not_judged.as_str()),
            (None, "nobody watched the other end")
        );
        assert!(!series.holds(0.5));
    }

    /// A record of schema 1 or 2 has shares of 0 beside the reason. One that has neither a share
    /// nor a reason counted as undisturbed.
    #[test]
    fn a_share_that_is_absent_is_not_zero() {
        let read = |json: &str| serde_json::from_str::<DisturbedShare>(json).unwrap();
        assert_eq!(read("{}").known(), None);
        assert_eq!(read(r#"{"share": 0.0, "unknown": "nobody watched"}"#).known(), None);
        assert_eq!(read(r#"{"share": 0.0, "late": 0.0, "interrupted": 0.0}"#).known(), Some(0.0));
        let (mut series, sample) = series(0.0, "");
        series.disturbed[1] = read(r#"{"late": 0.0}"#);
        series.judge(&sample, false);
        assert_eq!(series.holds_to, None);
        assert!(series.not_judged.contains("does not give"), "{}", series.not_judged);
        let written = serde_json::to_value(DisturbedShare::not_known("why")).unwrap();
        assert!(written["share"].is_null() && written["interrupted"].is_null(), "{written}");
    }
}
