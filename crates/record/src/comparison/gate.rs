//! Conditions that a record or a comparison must meet: `order.response.p95 <= 112us`,
//! `order.response.p50 / floor <= 1.2`, `order.service.p99 <= +5%`.

use crate::RunRecord;
use crate::comparison::compared::ComparedFigure;
use crate::comparison::selector::Selector;
use crate::objective::Objective;
use crate::unit::Unit;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A limit for a figure.
#[derive(Clone, Debug, PartialEq)]
pub enum Gate {
    /// Limit for the difference of B's figure from A's.
    Change {
        /// The figure.
        figure: Selector,
        /// Largest difference in percent; a negative limit requires an improvement. Kept as
        /// written, because a share would print 7.000000000000001 for 7.
        percent_max: f64,
    },
    /// Limit for a figure of a record, or of B, or for its ratio to the floor.
    Limit(Objective),
}

/// Result of a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum GateOutcome {
    /// The whole confidence interval keeps the limit, whatever disturbed the runs.
    Passed,
    /// The whole confidence interval is past the limit, whatever disturbed the runs.
    Failed,
    /// The limit lies within what chance and disturbance allow, or there is no such figure.
    Inconclusive,
}

impl GateOutcome {
    /// The name in a record.
    pub fn name(self) -> &'static str {
        match self {
            GateOutcome::Passed => "passed",
            GateOutcome::Failed => "failed",
            GateOutcome::Inconclusive => "inconclusive",
        }
    }
}

/// A gate and its result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct GateResult {
    /// The gate as the user wrote it.
    pub gate: String,
    /// Its result.
    pub outcome: GateOutcome,
    /// The figures that decided it.
    pub why: String,
}

impl Gate {
    /// The figure that it is about.
    pub fn selector(&self) -> &Selector {
        match self {
            Gate::Change { figure, .. } => figure,
            Gate::Limit(objective) => &objective.selector,
        }
    }

    /// Decides the gate by the figures of a comparison; `of_b` are the records of B.
    pub(crate) fn judge(
        &self,
        figures: &[ComparedFigure],
        of_b: &[&RunRecord],
        comparable: bool,
    ) -> GateResult {
        let (figure, percent_max) = match self {
            Gate::Change { figure, percent_max } => (figure, percent_max),
            Gate::Limit(_) => return self.judge_records(of_b),
        };
        let Some(compared) = figures.iter().find(|one| is_of(figure, one)) else {
            let why = "no figure of that name has enough samples and runs in both".to_owned();
            return self.result(GateOutcome::Inconclusive, why);
        };
        let change_max = percent_max / 100.0;
        let decided = |[low, high]: [f64; 2]| match (high <= change_max, low > change_max) {
            (true, _) => GateOutcome::Passed,
            (_, true) => GateOutcome::Failed,
            _ => GateOutcome::Inconclusive,
        };
        let outcome = match compared.range {
            Some(range) if comparable => decided(range),
            _ => GateOutcome::Inconclusive,
        };
        let between = |[low, high]: [f64; 2]| {
            format!("between {:+.1} % and {:+.1} %", low * 100.0, high * 100.0)
        };
        let (effect, disturbance) = (&compared.effect, &compared.disturbance);
        let mut why = format!(
            "{}: {:+.1} %, {}",
            compared.name(),
            effect.change * 100.0,
            between(effect.interval)
        );
        if outcome == GateOutcome::Inconclusive && decided(effect.interval) != outcome {
            why.push_str(&match compared.range {
                Some(range) if comparable => {
                    format!("; not known: {} with the disturbance of {disturbance}", between(range))
                }
                None if comparable => format!("; not known: {disturbance}"),
                _ => "; A and B can't be compared".to_owned(),
            });
        }
        self.result(outcome, why)
    }

    /// Decides a limit by the brackets of records: of several, by the median of each end. A void
    /// record never passes.
    pub fn judge_records(&self, records: &[&RunRecord]) -> GateResult {
        if let Some(void) = records.iter().find(|record| record.is_void()) {
            let why = format!("the record is void: {}", void.void_because.join("; "));
            return self.result(GateOutcome::Inconclusive, why);
        }
        let Gate::Limit(objective) = self else {
            let why = "a limit in percent needs two records: use compare".to_owned();
            return self.result(GateOutcome::Inconclusive, why);
        };
        let Some([low, high]) = median_ends(records, |record| objective.bracket(record)) else {
            let why = "the record has no such figure, or it was not judged".to_owned();
            return self.result(GateOutcome::Inconclusive, why);
        };
        let said = match objective.unit {
            Unit::Ns => latency as fn(u64) -> String,
            Unit::Ppm => ratio,
        };
        let name = format!("{}{}", objective.selector, objective.over_floor());
        let why = format!("{name} is between {} and {}", said(low), said(high));
        let outcome = match (objective.is_met_by(high), objective.is_met_by(low)) {
            (true, _) => GateOutcome::Passed,
            (_, false) => GateOutcome::Failed,
            _ => GateOutcome::Inconclusive,
        };
        self.result(outcome, why)
    }

    fn result(&self, outcome: GateOutcome, why: String) -> GateResult {
        GateResult { gate: self.to_string(), outcome, why }
    }
}

/// The median of each end of the records' brackets; `None` if one of them has none.
fn median_ends(
    records: &[&RunRecord],
    bracket: impl Fn(&RunRecord) -> Option<[u64; 2]>,
) -> Option<[u64; 2]> {
    let brackets: Vec<[u64; 2]> =
        records.iter().map(|record| bracket(record)).collect::<Option<_>>()?;
    let end = |end: usize| {
        stats::median(&brackets.iter().map(|bracket| bracket[end]).collect::<Vec<_>>())
    };
    Some([end(0)?, end(1)?])
}

/// A latency in the notation of a gate.
fn latency(ns: u64) -> String {
    format!("{:.2}us", ns as f64 / 1e3)
}

/// A ratio in the notation of a gate.
fn ratio(ppm: u64) -> String {
    format!("{:.3}", ppm as f64 / 1e6)
}

fn is_of(wanted: &Selector, figure: &ComparedFigure) -> bool {
    wanted.subject.as_ref().is_none_or(|subject| *subject == figure.subject)
        && wanted.series == figure.series
        && wanted.kind.is_none_or(|kind| kind == figure.kind)
        && wanted.figure.name() == figure.figure
}

impl fmt::Display for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Gate::Change { figure, percent_max } => write!(f, "{figure} <= {percent_max:+}%"),
            Gate::Limit(objective) => write!(f, "{objective}"),
        }
    }
}

impl FromStr for Gate {
    type Err = String;

    fn from_str(text: &str) -> Result<Gate, String> {
        let usage = "write FIGURE <= LIMIT, such as \"order.response.p95 <= 112us\", as a ratio, such as \
                     \"order.response.p50 / floor <= 1.2\", or in percent of A, such as \
                     \"order.service.p99 <= +5%\"";
        let Some(relative) = text.trim().strip_suffix('%') else {
            return text.parse().map(Gate::Limit).map_err(|error| format!("{error}; {usage}"));
        };
        let (figure, percent) = relative.split_once("<=").ok_or(format!("no <=; {usage}"))?;
        let percent_max: f64 = percent
            .trim()
            .parse()
            .map_err(|_| format!("{:?} is no number of percent; {usage}", percent.trim()))?;
        if !(-100.0..=1e6).contains(&percent_max) {
            return Err(format!(
                "{percent_max} % is out of range, from -100 to a million; {usage}"
            ));
        }
        let figure = figure.trim().parse::<Selector>().map_err(|error| error.to_string())?;
        Ok(Gate::Change { figure, percent_max })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kind;
    use stats::compare::Effect;
    use stats::verdict::Outcome;

    fn figure(interval: [f64; 2]) -> ComparedFigure {
        ComparedFigure {
            subject: "rust".to_owned(),
            series: "order".to_owned(),
            kind: Kind::Service,
            unit: crate::unit::Unit::Ns,
            figure: "p99".to_owned(),
            effect: Effect {
                a: 100,
                b: 102,
                change: f64::midpoint(interval[0], interval[1]),
                interval,
                added_ns: 2,
                added_ns_interval: [1, 3],
                noise_floor: 0.01,
                p: 0.5,
            },
            range: Some(interval),
            held: Some([6, 6]),
            holds: true,
            disturbance: String::new(),
            one_way: String::new(),
            p_adjusted: 1.0,
            outcome: Outcome::NoDifference,
        }
    }

    fn judged(gate: &str, interval: [f64; 2]) -> GateOutcome {
        gate.parse::<Gate>().unwrap().judge(&[figure(interval)], &[], true).outcome
    }

    #[test]
    fn the_whole_interval_decides() {
        assert_eq!(judged("order.service.p99 <= +5%", [-0.02, 0.04]), GateOutcome::Passed);
        assert_eq!(judged("rust.order.p99 <= 5%", [0.02, 0.08]), GateOutcome::Inconclusive);
        assert_eq!(judged("p99 <= 5 %", [0.06, 0.08]), GateOutcome::Failed);
        assert_eq!(judged("p99 <= -10%", [-0.2, -0.11]), GateOutcome::Passed);
        assert_eq!(judged("p50 <= +5%", [-0.02, 0.04]), GateOutcome::Inconclusive);
        assert_eq!(judged("java.order.p99 <= +5%", [0.1, 0.2]), GateOutcome::Inconclusive);
    }

    /// Disturbance widens what is allowed: a gate is decided only where that changes nothing.
    #[test]
    fn a_gate_is_open_where_disturbance_may_have_decided_it() {
        let gate: Gate = "order.service.p99 <= +5%".parse().unwrap();
        let judged = |interval, range| {
            let disturbance = "B, mostly by stress".to_owned();
            let one = ComparedFigure { range, disturbance, ..figure(interval) };
            gate.judge(&[one], &[], true)
        };
        let open = judged([0.06, 0.08], Some([-0.1, 0.08]));
        assert_eq!(open.outcome, GateOutcome::Inconclusive);
        assert!(open.why.contains("between -10.0 % and +8.0 %"), "{}", open.why);
        assert!(open.why.contains("disturbance of B, mostly by stress"), "{}", open.why);
        assert_eq!(judged([2.0, 2.2], Some([0.5, 3.0])).outcome, GateOutcome::Failed);
        assert_eq!(judged([0.0, 0.01], Some([-0.1, 0.04])).outcome, GateOutcome::Passed);
        let unknown = judged([0.06, 0.08], None);
        assert_eq!(unknown.outcome, GateOutcome::Inconclusive);
    }

    #[test]
    fn it_is_said_as_it_was_asked() {
        let said = |text: &str| text.parse::<Gate>().unwrap().to_string();
        for percent in -100..=100 {
            let gate = format!("order.p99 <= {percent:+}%");
            assert_eq!(said(&gate), gate);
        }
        assert_eq!(said("p99 <= 0.7 %"), "order.p99 <= +0.7%");
    }

    #[test]
    fn what_cannot_be_compared_passes_no_gate() {
        let gate: Gate = "p99 <= +5%".parse().unwrap();
        let judged = gate.judge(&[figure([-0.02, 0.04])], &[], false);
        assert_eq!(judged.outcome, GateOutcome::Inconclusive);
    }

    #[test]
    fn what_is_no_gate_says_how_to_write_one() {
        for text in [
            "p99",
            "p99 <= 5",
            "p99 <= 5 parsecs",
            "p99 <= many%",
            "p99 <= nan%",
            "p98 <= 5%",
            "p50 / floor",
            "p50 / bare <= 1.2",
            "p50 / floor <= 5us",
            "p98 / floor <= 2",
            "max / floor <= 2",
            "p50 / floor <= 0",
        ] {
            let error = text.parse::<Gate>().unwrap_err();
            assert!(error.contains("such as"), "{text}: {error}");
        }
    }

    fn record(low: u64, high: u64) -> RunRecord {
        serde_json::from_value(serde_json::json!({
            "schema": 2, "tool": "", "scenario": "s", "complete": true, "runs": 1, "warnings": [],
            "subjects": [{"name": "rust", "series": [{"name": "order", "kind": "response", "unit": "ns",
                "pooled": {"count": 2000, "p95": high}, "bracket": {"p95": [low, high]}}]}]
        }))
        .unwrap()
    }

    #[test]
    fn an_absolute_limit_is_decided_by_both_ends_of_the_bracket() {
        let gate: Gate = "order.response.p95 <= 112us".parse().unwrap();
        assert_eq!(gate.to_string(), "order.response.p95 <= 112us");
        let judged = |record: &RunRecord| gate.judge_records(&[record]).outcome;
        assert_eq!(judged(&record(90_000, 112_000)), GateOutcome::Passed);
        assert_eq!(judged(&record(90_000, 112_001)), GateOutcome::Inconclusive);
        assert_eq!(judged(&record(112_001, 130_000)), GateOutcome::Failed);
        let void = RunRecord { void_because: vec!["3 replies lost".into()], ..record(1, 2) };
        assert_eq!(judged(&void), GateOutcome::Inconclusive);
        let relative: Gate = "p95 <= 5%".parse().unwrap();
        assert!(relative.judge_records(&[&record(1, 2)]).why.contains("use compare"));
    }

    /// Every absolute limit was inconclusive on a machine with two speeds, and a ratio could not be
    /// asked for.
    #[test]
    fn a_ratio_is_decided_by_its_own_bracket() {
        let gate: Gate = "order.response.p95/floor<=1.20x".parse().unwrap();
        assert_eq!(gate.to_string(), "order.response.p95 / floor <= 1.2");
        assert_eq!(gate.to_string().parse::<Gate>().unwrap(), gate);
        let judged = |bracket: serde_json::Value| {
            let mut record = record(90_000, 112_000);
            let over = serde_json::json!({"floor": "floor", "holds_to": 0.5,
                "figures": {"p95": {"ratio": 1.1, "ratio_bracket": bracket}}});
            record.subjects[0].series[0].over_floor = serde_json::from_value(over).unwrap();
            gate.judge_records(&[&record])
        };
        assert_eq!(judged(serde_json::json!([1.05, 1.2])).outcome, GateOutcome::Passed);
        let between = judged(serde_json::json!([1.05, 1.25]));
        assert_eq!(between.outcome, GateOutcome::Inconclusive);
        assert_eq!(between.why, "order.response.p95 / floor is between 1.050 and 1.250");
        assert_eq!(judged(serde_json::json!([1.21, 1.25])).outcome, GateOutcome::Failed);
        let unknown = judged(serde_json::Value::Null);
        assert_eq!(unknown.outcome, GateOutcome::Inconclusive);
        assert!(unknown.why.contains("not judged"), "{}", unknown.why);
    }
}
