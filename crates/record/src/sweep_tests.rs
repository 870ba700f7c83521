//! Points of a sweep, and the knee.

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
