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
mod tests {
    use super::*;
    use crate::disturbed::DisturbedShare;
    use crate::over_floor::{OverFloor, PairedPercentile};

    fn record(valid: bool, achieved: f64, p99: Option<u64>) -> RunRecord {
        let value = serde_json::json!({
            "schema": 1, "tool": "", "scenario": "s", "complete": true, "valid": valid,
            "invalid_because": if valid { vec![] } else { vec!["rust.replies: 3 lost"] },
            "runs": 3, "runs_void": 0, "warnings": [],
            "subjects": [
                {"name": "rust", "load": {"rate_per_second_achieved": achieved}, "series": [
                    {"name": "order", "kind": "response", "unit": "ns",
                     "pooled": {"count": 2000, "p50": 5, "p99": p99}},
                    {"name": "send", "kind": "lateness", "unit": "ns", "pooled": {"count": 2000}}]},
                {"name": "hiccup", "series": [
                    {"name": "core1", "kind": "noise", "unit": "ns", "pooled": {"count": 2000}}]}]
        });
        RunRecord::from_json(&value.to_string()).unwrap()
    }

    fn point_of(record: &RunRecord, objective: &str) -> Point {
        let objective: Objective = objective.parse().unwrap();
        Point::of(record, "x".to_owned(), 1000.0, Some(&objective))
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
        assert_eq!(outcome(true, 998.9, Some(5)), Outcome::Overloaded);
        let mut of_ticks = record(false, 10.0, Some(5));
        of_ticks.resolved = serde_json::json!({"kind": "tick"});
        assert_eq!(point(1000.0, &of_ticks).outcome, Outcome::Void);
        assert_eq!(outcome(true, 1000.0, None), Outcome::Void);
        let untold = point(1000.0, &record(true, 1000.0, None));
        assert!(untold.void_because[0].contains("too small to give its p99"));
        let free = Point::of(&record(true, 1000.0, None), "x".to_owned(), 1000.0, None);
        assert_eq!(free.outcome, Outcome::Met);
    }

    /// Three runs of a second at 1000/s, which achieved 99.8 %: the last send was 2 ms late.
    #[test]
    fn a_pause_at_the_end_of_a_run_is_no_overload() {
        let with = |achieved: f64, sent: u64, lateness_ns_p99: Option<u64>| {
            let mut record = record(true, achieved, Some(5));
            let load = &mut record.subjects[0].load;
            (load.sent, load.lateness_ns_p99) = (sent, lateness_ns_p99);
            point(1000.0, &record).outcome
        };
        assert_eq!(with(998.0, 3000, Some(60_000)), Outcome::Met);
        // A backlog that grows steadily to 2 ms: the smallest one that lowers the rate enough.
        assert_eq!(with(998.0, 3000, Some(1_980_000)), Outcome::Overloaded);
        assert_eq!(with(998.9, 3000, Some(1_089_000)), Outcome::Overloaded);
        // In a longer run the same lateness lowers the rate less.
        assert_eq!(with(998.0, 30_000, Some(1_980_000)), Outcome::Met);
        assert_eq!(with(998.0, 30_000, Some(19_800_000)), Outcome::Overloaded);
        // Too few messages to decide, and a schedule that was abandoned before its end.
        assert_eq!(with(998.0, 300, None), Outcome::Overloaded);
        assert_eq!(with(500.0, 1500, Some(990_000_000)), Outcome::Overloaded);
        assert_eq!(with(999.0, 3000, Some(1_980_000)), Outcome::Met);
    }

    #[test]
    fn the_lateness_alone_decides_where_it_is_asked() {
        let with = |late: &[Option<f64>], achieved: f64| {
            let mut record = record(true, achieved, Some(5));
            let series = &mut record.subjects[0].series[0];
            series.holds_to = Some(0.0);
            let share = |late| DisturbedShare { late, ..DisturbedShare::NONE };
            series.disturbed = late.iter().copied().map(share).collect();
            let mut point = Point::of(&record, String::new(), 1000.0, None);
            assert_ne!(point.outcome, Outcome::Met);
            point.judge_by_lateness(&record, 0.25);
            point.outcome
        };
        assert_eq!(with(&[Some(0.25), Some(0.1)], 1000.0), Outcome::Met);
        assert_eq!(with(&[Some(0.1), Some(0.26)], 1000.0), Outcome::Missed);
        assert_eq!(with(&[Some(0.1), None], 1000.0), Outcome::Undecided);
        assert_eq!(with(&[], 1000.0), Outcome::Undecided);
        assert_eq!(with(&[Some(0.1)], 500.0), Outcome::Overloaded);
    }

    #[test]
    fn a_limit_within_the_bracket_is_undecided() {
        let with = |low: u64, high: u64| {
            let mut record = record(true, 1000.0, Some(high));
            let series = &mut record.subjects[0].series[0];
            series.bracket.insert("p99".to_owned(), [low, high]);
            series.holds_to = Some(0.0);
            point(1000.0, &record).outcome
        };
        assert_eq!(with(50_000, 99_999), Outcome::Met);
        assert_eq!(with(99_000, 120_000), Outcome::Undecided);
        assert_eq!(with(100_000, 120_000), Outcome::Missed);
    }

    /// The regimes of a machine move the latency at a rate, and leave its ratio to the floor.
    #[test]
    fn an_objective_for_the_ratio_is_met_by_its_bracket() {
        let with = |low: f64, high: f64| {
            let mut record = record(true, 1000.0, Some(5));
            let ratio = f64::midpoint(low, high);
            let figure =
                PairedPercentile { ratio, ratio_bracket: Some([low, high]), ..Default::default() };
            let figures = [("p50".to_owned(), figure)].into();
            let over = OverFloor { figures, ..OverFloor::default() };
            record.subjects[0].series[0].over_floor = Some(over);
            let point = point_of(&record, "p50 / floor <= 1.2");
            (point.outcome, point.objective_ns, point.objective_ppm)
        };
        assert_eq!(with(1.0, 1.2), (Outcome::Met, None, Some(1_100_000)));
        assert_eq!(with(1.1, 1.3), (Outcome::Undecided, None, Some(1_200_000)));
        assert_eq!(with(1.3, 1.5), (Outcome::Missed, None, Some(1_400_000)));
        let without = point_of(&record(true, 1000.0, Some(5)), "p50 / floor <= 1.2");
        assert_eq!(without.outcome, Outcome::Void);
        assert!(without.void_because[0].contains("p50 / floor"), "{:?}", without.void_because);
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
                late_share_max: None,
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
