//! A sweep, `sweep.json`: one scenario at several rates, and which rates met an objective. Each
//! rate has its own run record in a directory next to it.

use crate::directory::write_whole;
use crate::measure::Measure;
use crate::objective::Objective;
use crate::unit::Unit;
use crate::{Kind, Load, RunRecord, Series, Subject};
use serde::{Deserialize, Serialize};
use std::io;
use std::path::Path;

/// Version of the schema that this code writes.
pub const SCHEMA: u32 = 1;
/// Below this ratio of sent to offered messages, the load was not the requested one.
pub const RATE_SHARE_MIN: f64 = 0.999;

/// Result of a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The upper end of the figure's bracket is within the objective; without an objective, p50
    /// or its ratio to the floor holds.
    Met,
    /// The lower end of its bracket is not within the objective.
    Missed,
    /// The limit lies within the bracket, or neither p50 nor its ratio holds, because the machine
    /// was too disturbed.
    Undecided,
    /// Less than 99.9 % of the rate was reached, not only because of a pause at the end: more than
    /// this trader or that exchange can handle.
    Overloaded,
    /// A rule of integrity was broken.
    Void,
}

/// One rate.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Point {
    /// Messages per second of the schedule.
    pub rate_per_second_offered: f64,
    /// Messages per second sent by the subject of the objective; `None` if the record has no such
    /// subject.
    pub rate_per_second_achieved: Option<f64>,
    /// Directory of its run record, next to `sweep.json`.
    pub record: String,
    /// Why its record is void, or can't decide the objective; empty otherwise.
    #[serde(default, alias = "invalid_because")]
    pub void_because: Vec<String>,
    /// Its result.
    pub outcome: Outcome,
    /// The objective's figure, ns, pooled over runs; `None` without an objective, with one for a
    /// ratio, or if the sample can't support it.
    #[serde(default)]
    pub objective_ns: Option<u64>,
    /// The objective's ratio to the floor, parts per million, the median over runs; `None` without
    /// such an objective, or if the sample can't support it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objective_ppm: Option<u64>,
    /// The subjects and floors of its record, with response and service times only.
    pub subjects: Vec<Subject>,
}

/// `sweep.json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SweepRecord {
    /// Version of this schema.
    pub schema: u32,
    /// The program that wrote it, with its version.
    pub tool: String,
    /// The scenario's name.
    pub scenario: String,
    /// When it started, UTC, RFC 3339.
    #[serde(default)]
    pub started: String,
    /// The command line that repeats it.
    #[serde(default)]
    pub command: Vec<String>,
    /// Whether every rate was measured without an interruption.
    pub complete: bool,
    /// Why it ended early.
    #[serde(default)]
    pub failures: Vec<String>,
    /// Runs at each rate.
    pub runs: u32,
    /// The condition for a rate, such as `p99 < 100us`.
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub objective: Option<Objective>,
    /// Largest share of messages that the client may send late, 0 to 1, where that decides instead
    /// of an objective.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late_share_max: Option<f64>,
    /// Faults that were injected on purpose.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub injected: Vec<String>,
    /// By rate, ascending.
    pub points: Vec<Point>,
}

impl Point {
    /// The point of `record` in `directory`.
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
        let achieved = subject.map(|subject| subject.load.rate_per_second_achieved);
        let value =
            objective.and_then(|objective| Some((objective.unit, objective.value(record)?)));
        let in_unit = |asked| value.and_then(|(unit, value)| (unit == asked).then_some(value));
        let mut void_because = record.void_because.clone();
        // Not every tick leads to an order, so orders per tick are no measure of the load.
        let of_ticks = record.measure() == Ok(Some(Measure::Ticks));
        let is_overloaded = !of_ticks
            && subject
                .is_some_and(|subject| is_overloaded(&subject.load, rate_per_second, record.runs));
        let bracket = objective.and_then(|objective| objective.bracket(record));
        let loses = objective.zip(subject).and_then(|(one, subject)| one.loses(&subject.load));
        let outcome = match (objective, bracket) {
            // Unsent messages count as lost, but the load is the cause.
            _ if is_overloaded => Outcome::Overloaded,
            _ if record.is_void() => Outcome::Void,
            _ if loses == Some(true) => Outcome::Missed,
            _ if loses == Some(false) => Outcome::Met,
            (None, _) if record.holds(0.5) || record.ratio_holds(0.5) => Outcome::Met,
            (None, _) => Outcome::Undecided,
            (Some(objective), Some([_, high])) if objective.is_met_by(high) => Outcome::Met,
            (Some(objective), Some([low, _])) if !objective.is_met_by(low) => Outcome::Missed,
            (Some(_), Some(_)) => Outcome::Undecided,
            (Some(objective), None) if value.is_none() => {
                let figure = objective.figure();
                void_because.push(format!("the sample is too small to give its {figure}"));
                Outcome::Void
            }
            (Some(_), None) => Outcome::Undecided,
        };
        Point {
            rate_per_second_offered: rate_per_second,
            rate_per_second_achieved: achieved,
            record: directory,
            void_because,
            outcome,
            objective_ns: in_unit(Unit::Ns),
            objective_ppm: in_unit(Unit::Ppm),
            subjects: record.subjects.iter().filter_map(timed).collect(),
        }
    }
}

impl Point {
    /// Judges the rate by the client's lateness alone, in place of the figures of `record`: met if
    /// every run sent at most `late_share_max` of the main series' messages late. Disturbance by
    /// others does not count then. A rate stays as it was if it was overloaded or void, or if its
    /// lateness is unknown.
    pub fn judge_by_lateness(&mut self, record: &RunRecord, late_share_max: f64) {
        let late = |series: &Series| {
            let shares = series.disturbed.iter().map(|share| share.late);
            shares.collect::<Option<Vec<f64>>>()?.into_iter().reduce(f64::max)
        };
        let Some(late) = record.main_series().and_then(late) else { return };
        if !matches!(self.outcome, Outcome::Overloaded | Outcome::Void) {
            self.outcome = if late <= late_share_max { Outcome::Met } else { Outcome::Missed };
        }
    }

    /// Whether it decides the objective: met, missed, or overloaded.
    pub fn is_decided(&self) -> bool {
        !matches!(self.outcome, Outcome::Void | Outcome::Undecided)
    }
}

/// Whether the load of `runs` runs fell behind its rate.
///
/// The achieved rate is measured up to the last send, so one pause at the end of a short run lowers
/// it. A real backlog grows until the end, and so also delays 1 % of the messages by the missing
/// share of the run.
fn is_overloaded(load: &Load, rate_per_second: f64, runs: u32) -> bool {
    let achieved = load.rate_per_second_achieved;
    if achieved <= 0.0 || achieved >= rate_per_second * RATE_SHARE_MIN {
        return false;
    }
    let run_ns = load.sent as f64 / f64::from(runs.max(1)) / rate_per_second * 1e9;
    let late_ns = run_ns * (1.0 - RATE_SHARE_MIN);
    load.lateness_ns_p99.is_none_or(|p99| p99 as f64 > late_ns)
}

/// The subject with only its response and service times; `None` if it has none.
fn timed(subject: &Subject) -> Option<Subject> {
    let mut subject = subject.clone();
    subject.series.retain(|series| matches!(series.kind, Kind::Response | Kind::Service));
    (!subject.series.is_empty()).then_some(subject)
}

/// The highest rate that met the objective, and the next one that did not.
#[derive(Clone, Copy, Debug)]
pub struct Knee<'a> {
    /// The last point before the first one that did not meet the objective.
    pub met: Option<&'a Point>,
    /// The first point that did not meet it.
    pub next: Option<&'a Point>,
    /// A higher rate that met it again: between runs the machine changes more than between rates.
    pub again: Option<&'a Point>,
}

impl SweepRecord {
    /// Inserts a point in order of rate.
    pub fn insert(&mut self, point: Point) {
        let rate = point.rate_per_second_offered;
        let at = self.points.partition_point(|other| other.rate_per_second_offered < rate);
        self.points.insert(at, point);
    }

    /// The knee of the sweep.
    pub fn knee(&self) -> Knee<'_> {
        let bad = |point: &&Point| point.outcome != Outcome::Met;
        let at = self.points.iter().take_while(|point| !bad(point)).count();
        let (below, above) = self.points.split_at(at);
        let again = above.iter().rev().find(|point| !bad(point));
        Knee { met: below.last(), next: above.first(), again }
    }

    /// Whether it is usable: complete, with at least one decided rate.
    pub fn is_result(&self) -> bool {
        self.complete && self.points.iter().any(Point::is_decided)
    }

    /// Writes `sweep.json`, whole or not at all.
    ///
    /// # Errors
    /// If the file system returns one.
    pub fn save(&self, directory: &Path) -> io::Result<()> {
        write_whole(&directory.join("sweep.json"), &serde_json::to_string_pretty(self)?)
    }
}

#[cfg(test)]
#[path = "sweep_tests.rs"]
mod tests;
