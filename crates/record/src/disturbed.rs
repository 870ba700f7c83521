//! The share of a series that was disturbed, and which of its figures hold.

use crate::{Kind, Series};
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use stats::PERCENTILES;
use stats::bracket::{bracket, holds};

/// Share of a series' messages in one run that anything except the subject disturbed, and its
/// parts. Shares are from 0 to 1; docs/METHODOLOGY.md defines each. `None` is not measured, which
/// is not 0; records of before schema 3 have 0 there.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct DisturbedShare {
    /// All parts that are known together, at most 1; `None` if the share is unknown.
    pub share: Option<f64>,
    /// Messages that the pacer sent late, 0 without a schedule; `None` if a schedule's log has no
    /// lateness.
    pub late: Option<f64>,
    /// Messages that were due, waiting or under way while another thread had a measured core.
    pub preempted: Option<f64>,
    /// Messages that a page fault of a measured thread hit.
    pub faulted: Option<f64>,
    /// Messages hit by an interrupt or by the hypervisor, from the idle checks around the run and
    /// from steal time during it; `None` if a measured core had no idle check (`hiccup_seconds =
    /// 0`). Time that was stolen then still counts in `share`.
    pub interrupted: Option<f64>,
    /// Why the share is unknown; empty if it is known.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub unknown: String,
}

/// The program, or other cause, that took most of the measured cores' time from the main series.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Disturber {
    /// Its name: `thread.NAME`, `hypervisor or interrupts`, …
    pub name: String,
    /// The cores that it took.
    pub cores: Vec<usize>,
    /// Largest share of a core's measured time that it took, 0 to 1.
    pub time_share: f64,
    /// Number of times it ran, all runs.
    pub times: u64,
    /// The longest of these times, ns.
    pub longest_ns: u64,
    /// How to remove it.
    pub remedy: String,
}

impl DisturbedShare {
    /// No message was disturbed.
    pub const NONE: DisturbedShare = DisturbedShare {
        share: Some(0.0),
        late: Some(0.0),
        preempted: Some(0.0),
        faulted: Some(0.0),
        interrupted: Some(0.0),
        unknown: String::new(),
    };

    /// It can't be judged, for this reason.
    pub fn not_known(why: impl Into<String>) -> DisturbedShare {
        DisturbedShare { unknown: why.into(), ..DisturbedShare::default() }
    }

    /// The share, if it is known.
    pub fn known(&self) -> Option<f64> {
        self.share.filter(|_| self.unknown.is_empty())
    }

    /// Why it is not known.
    fn why_not_known(&self) -> String {
        match self.unknown.is_empty() {
            true => "the record does not give its disturbed share".to_owned(),
            false => self.unknown.clone(),
        }
    }
}

impl Series {
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Moves, Percentiles};
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
