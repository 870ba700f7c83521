//! A sweep: one scenario at several rates, and which of them met an objective. What `sweep.json`
//! holds; each rate has a run record of its own beside it.

use crate::directory::write_whole;
use crate::objective::Objective;
use crate::record::{Kind, RunRecord, Subject};
use serde::{Deserialize, Serialize};
use std::io;
use std::path::Path;

/// Version of the schema that this code writes.
pub const SCHEMA: u32 = 1;
/// Sent over offered, below which the load was another one than asked.
pub const RATE_SHARE_MIN: f64 = 0.999;

/// How a rate came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Valid, and within the objective; without an objective, valid.
    Met,
    /// Valid, and not within the objective.
    Missed,
    /// Less than 99.9 % of the rate was reached: more than this trader or that exchange can take.
    Overloaded,
    /// No result, for another reason.
    Void,
}

/// One rate.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Point {
    /// Messages a second that the schedule asked for.
    pub rate_per_second_offered: f64,
    /// Messages a second that were sent, by the subject that the objective is about.
    pub rate_per_second_achieved: f64,
    /// Directory of its run record, beside `sweep.json`.
    pub record: String,
    /// Its record is valid.
    pub valid: bool,
    /// Why not, in words.
    #[serde(default)]
    pub invalid_because: Vec<String>,
    /// How it came out.
    pub outcome: Outcome,
    /// The objective's figure, ns, pooled over runs; `None` without an objective, or where the sample
    /// can't support it.
    #[serde(default)]
    pub objective_ns: Option<u64>,
    /// The subjects and floors of its record, with response and service times only.
    pub subjects: Vec<Subject>,
}

/// `sweep.json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SweepRecord {
    /// Version of this schema.
    pub schema: u32,
    /// Who wrote it, with its version.
    pub tool: String,
    /// The scenario's name.
    pub scenario: String,
    /// When it started, UTC, RFC 3339.
    #[serde(default)]
    pub started: String,
    /// The command line that repeats it.
    #[serde(default)]
    pub command: Vec<String>,
    /// Every rate was measured, and nobody interrupted it.
    pub complete: bool,
    /// What ended it early, in words.
    #[serde(default)]
    pub failures: Vec<String>,
    /// Runs at each rate.
    pub runs: u32,
    /// What a rate must meet beside being valid.
    pub objective: Option<Objective>,
    /// Faults that were injected on purpose.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub injected: Vec<String>,
    /// By rate, ascending.
    pub points: Vec<Point>,
}

impl Point {
    /// The point that `record` makes; `directory` is where it is.
    pub fn of(
        record: &RunRecord,
        directory: String,
        rate_per_second: f64,
        objective: Option<&Objective>,
    ) -> Point {
        let judged = objective.and_then(|objective| objective.selector.subject.as_deref());
        let subject = match judged {
            Some(name) => record.subject(name),
            None => record.subjects.first(),
        };
        // Not every tick leads to an order: orders over ticks say nothing of a load.
        let of_ticks = subject.is_some_and(|subject| !subject.load.tick.is_empty());
        let achieved = subject.map_or(0.0, |subject| subject.load.rate_per_second_achieved);
        let objective_ns = objective.and_then(|objective| objective.value_ns(record));
        let mut invalid_because = record.invalid_because.clone();
        let outcome = match (record.valid, objective, objective_ns) {
            // 0 is what a subject has that died before it measured.
            (false, ..)
                if !of_ticks && achieved > 0.0 && achieved < rate_per_second * RATE_SHARE_MIN =>
            {
                Outcome::Overloaded
            }
            (false, ..) => Outcome::Void,
            (true, None, _) => Outcome::Met,
            (true, Some(objective), Some(ns)) if objective.is_met_by(ns) => Outcome::Met,
            (true, Some(_), Some(_)) => Outcome::Missed,
            (true, Some(objective), None) => {
                let figure = objective.selector.figure.name();
                invalid_because.push(format!("the sample is too small to tell its {figure}"));
                Outcome::Void
            }
        };
        Point {
            rate_per_second_offered: rate_per_second,
            rate_per_second_achieved: achieved,
            record: directory,
            valid: record.valid,
            invalid_because,
            outcome,
            objective_ns,
            subjects: record.subjects.iter().filter_map(timed).collect(),
        }
    }
}

/// A subject with its response and service times; `None` if it has none.
fn timed(subject: &Subject) -> Option<Subject> {
    let mut subject = subject.clone();
    subject.series.retain(|series| matches!(series.kind, Kind::Response | Kind::Service));
    (!subject.series.is_empty()).then_some(subject)
}

/// The highest rate that was good, and the one above it that was not.
#[derive(Clone, Copy, Debug)]
pub struct Knee<'a> {
    /// The last point before the first that did not meet the objective.
    pub met: Option<&'a Point>,
    /// That first one.
    pub next: Option<&'a Point>,
    /// A higher rate met it again: between runs the machine changes more than between rates.
    pub again: Option<&'a Point>,
}

impl SweepRecord {
    /// Adds a point where its rate belongs.
    pub fn insert(&mut self, point: Point) {
        let rate = point.rate_per_second_offered;
        let at = self.points.partition_point(|other| other.rate_per_second_offered < rate);
        self.points.insert(at, point);
    }

    /// Where the sweep bends.
    pub fn knee(&self) -> Knee<'_> {
        let bad = |point: &&Point| point.outcome != Outcome::Met;
        let at = self.points.iter().take_while(|point| !bad(point)).count();
        let (below, above) = self.points.split_at(at);
        let again = above.iter().rev().find(|point| !bad(point));
        Knee { met: below.last(), next: above.first(), again }
    }

    /// Whether it is one that can be used: complete, and at least one rate was valid.
    pub fn is_result(&self) -> bool {
        self.complete && self.points.iter().any(|point| point.valid)
    }

    /// Writes `sweep.json`, whole or not at all.
    ///
    /// # Errors
    /// If the file system refuses.
    pub fn save(&self, directory: &Path) -> io::Result<()> {
        write_whole(&directory.join("sweep.json"), &serde_json::to_string_pretty(self)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(valid: bool, achieved: f64, p99: Option<u64>) -> RunRecord {
        let value = serde_json::json!({
            "schema": 1, "tool": "", "scenario": "s", "complete": true, "valid": valid,
            "invalid_because": if valid { vec![] } else { vec!["rust.replies: 3 lost"] },
            "runs": 3, "runs_void": 0, "warnings": [],
            "subjects": [
                {"name": "rust", "load": {"rate_per_second_achieved": achieved}, "series": [
                    {"name": "order", "kind": "response", "unit": "ns",
                     "pooled": {"count": 2000, "p99": p99}},
                    {"name": "send", "kind": "lateness", "unit": "ns", "pooled": {"count": 2000}}]},
                {"name": "hiccup", "series": [
                    {"name": "core1", "kind": "noise", "unit": "ns", "pooled": {"count": 2000}}]}]
        });
        serde_json::from_value(value).unwrap()
    }

    fn point(rate: f64, record: &RunRecord) -> Point {
        let objective: Objective = "p99 < 100us".parse().unwrap();
        Point::of(record, "x".to_owned(), rate, Some(&objective))
    }

    fn outcome(valid: bool, achieved: f64, p99: Option<u64>) -> Outcome {
        point(1000.0, &record(valid, achieved, p99)).outcome
    }

    #[test]
    fn a_void_point_never_meets_an_objective() {
        assert_eq!(outcome(true, 1000.0, Some(99_999)), Outcome::Met);
        assert_eq!(outcome(true, 1000.0, Some(100_000)), Outcome::Missed);
        assert_eq!(outcome(false, 1000.0, Some(5)), Outcome::Void);
        assert_eq!(outcome(false, 0.0, None), Outcome::Void);
        assert_eq!(outcome(false, 998.9, Some(5)), Outcome::Overloaded);
        let mut of_ticks = record(false, 10.0, Some(5));
        of_ticks.subjects[0].load.tick = vec![crate::tick::Tick::default()];
        assert_eq!(point(1000.0, &of_ticks).outcome, Outcome::Void);
        assert_eq!(outcome(true, 1000.0, None), Outcome::Void);
        let untold = point(1000.0, &record(true, 1000.0, None));
        assert!(untold.invalid_because[0].contains("too small to tell its p99"));
        let free = Point::of(&record(true, 1000.0, None), "x".to_owned(), 1000.0, None);
        assert_eq!(free.outcome, Outcome::Met);
    }

    #[test]
    fn the_knee_lies_below_the_first_rate_that_did_not_meet_it() {
        let (good, bad) = (record(true, 1e9, Some(1)), record(true, 1e9, Some(1_000_000)));
        let sweep = |points: &[(f64, &RunRecord)]| {
            let mut sweep = SweepRecord {
                schema: SCHEMA,
                tool: String::new(),
                scenario: String::new(),
                started: String::new(),
                command: Vec::new(),
                complete: true,
                failures: Vec::new(),
                runs: 3,
                objective: Some("p99 < 100us".parse().unwrap()),
                injected: Vec::new(),
                points: Vec::new(),
            };
            points.iter().for_each(|(rate, record)| sweep.insert(point(*rate, record)));
            let text = serde_json::to_string(&sweep).unwrap();
            let sweep: SweepRecord = serde_json::from_str(&text).unwrap();
            let rate = |point: Option<&Point>| point.map(|point| point.rate_per_second_offered);
            let knee = sweep.knee();
            (rate(knee.met), rate(knee.next), rate(knee.again))
        };
        assert_eq!(sweep(&[]), (None, None, None));
        assert_eq!(sweep(&[(1.0, &good), (4.0, &bad), (2.0, &good)]), (Some(2.0), Some(4.0), None));
        assert_eq!(sweep(&[(1.0, &bad)]), (None, Some(1.0), None));
        let noisy = [(1.0, &good), (2.0, &bad), (4.0, &good)];
        assert_eq!(sweep(&noisy), (Some(1.0), Some(2.0), Some(4.0)));
    }

    #[test]
    fn a_point_keeps_latencies_only() {
        let point = point(1000.0, &record(true, 1000.0, Some(5)));
        assert_eq!(point.subjects.len(), 1);
        assert_eq!(point.subjects[0].series.len(), 1);
    }
}
