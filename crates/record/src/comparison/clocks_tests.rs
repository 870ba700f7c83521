use crate::between::HostClocks;
use crate::comparison::compared::ComparedFigure;
use crate::comparison::{Question, Runs, compare};
use crate::{Kind, Load, RunRecord, Series, Subject};
use stats::Percentiles;
use stats::compare::Design;
use stats::verdict::Outcome;
use std::collections::BTreeMap;

/// How far the other clock is ahead, and how much it gains in a second.
const AHEAD_NS: f64 = 1e12;
const DRIFT_NS: f64 = 30_000.0;

/// A run at a second of the client's clock: its true way there takes `way_ns`, and its offset is
/// wrong by `wrong_ns`, as where both directions' fastest datagrams differ by twice that.
fn run(second: u64, way_ns: u64, wrong_ns: i64, echo: &str) -> RunRecord {
    let at_ns = second * 1_000_000_000;
    let offset_ns = (AHEAD_NS + DRIFT_NS * second as f64) as i64 + wrong_ns;
    let p50 = Some(way_ns.saturating_add_signed(-wrong_ns));
    let percentiles = Percentiles { count: 1_000, p50, ..Percentiles::default() };
    let series = Series {
        name: "forward".to_owned(),
        kind: Kind::Service,
        unit: "ns".to_owned(),
        pooled: percentiles,
        uncertain: Vec::new(),
        per_run: vec![percentiles],
        interval: BTreeMap::new(),
        bracket: p50.map(|ns| ("p50".to_owned(), [ns; 2])).into_iter().collect(),
        holds_to: Some(0.5),
        moves: Default::default(),
        not_judged: String::new(),
        disturbed: Vec::new(),
        regimes: Vec::new(),
        over_floor: None,
    };
    let between = HostClocks {
        clocks: ["client".to_owned(), echo.to_owned()],
        at_ns,
        offset_ns: Some(offset_ns),
        errors_ns: BTreeMap::from([("forward.service".to_owned(), 20_000)]),
        ..HostClocks::default()
    };
    let load = Load { between: vec![between], ..Load::default() };
    let subject =
        Subject { name: "rust".to_owned(), load, series: vec![series], ..Subject::default() };
    RunRecord { subjects: vec![subject], runs: 1, ..RunRecord::default() }
}

/// B is faster by 2 us one way. Its own bracket gives half of that to the other direction, so the
/// figures of its runs show 1 us. `echo` is the other end's clock in B.
fn compared(echo: &str) -> ComparedFigure {
    let noise = |turn: u64| (turn * 37) % 100;
    let a: Vec<RunRecord> =
        (0..12).map(|turn| run(4 * turn + 1, 30_000 + noise(turn), 5_000, "echo")).collect();
    let b: Vec<RunRecord> =
        (0..12).map(|turn| run(4 * turn + 3, 28_000 + noise(turn + 3), 4_000, echo)).collect();
    let question = Question {
        design: Design::Interleaved,
        figures: vec!["p50".parse().unwrap()],
        floor_is_control: false,
        forced: false,
    };
    let mut found = compare(&question, &Runs::of_records(&a), &Runs::of_records(&b));
    assert_eq!(found.len(), 1);
    found.remove(0)
}

#[test]
fn between_the_same_clocks_the_offset_cancels() {
    let figure = compared("echo");
    let added_ns = figure.effect.b as f64 - figure.effect.a as f64;
    assert!((-2_150.0..-1_850.0).contains(&added_ns), "{figure:?}");
    assert_eq!(figure.outcome, Outcome::Better, "{figure:?}");
    assert!(figure.one_way.contains("cancels in the difference"), "{}", figure.one_way);
    assert!(figure.one_way.contains("20000 ns"), "{}", figure.one_way);
}

#[test]
fn with_another_clock_the_difference_is_not_known() {
    let figure = compared("another echo");
    assert_eq!(figure.outcome, Outcome::NotKnown, "{figure:?}");
    assert!(figure.one_way.contains("does not cancel"), "{}", figure.one_way);
    assert!(figure.disturbance.contains("offset of two hosts' clocks"), "{figure:?}");
}

#[test]
fn each_series_between_clocks_has_its_direction() {
    use super::{Way, way};
    for (tag, of_tag) in [
        ("forward.response", Some(Way::FromClient)),
        ("reverse.service", Some(Way::ToClient)),
        ("network_in.stage", Some(Way::ToClient)),
        ("network_out.stage", Some(Way::FromClient)),
        ("gateway_to_trade.service", Some(Way::ToClient)),
        ("tick_to_ack.response", Some(Way::ToClient)),
        ("request.service", None),
    ] {
        assert_eq!(way(tag), of_tag, "{tag}");
    }
}
