//! Which ratios to the floor hold.

use super::*;
use crate::{DisturbedShare, Moves};

/// A record of two subjects with these p50 of each run, ns; every value of a run within 4 % of it.
fn paired(ours: &[u64], floor: &[u64], share: [f64; 2], unknown: &str) -> OverFloor {
    let histogram = |p50: u64| {
        let mut samples = clock::recorder::histogram();
        (0..=2_000).for_each(|at| samples.record(p50 * (48_000 + at * 2) / 50_000).unwrap());
        samples
    };
    let runs: Vec<Totals> = (0..ours.len())
        .map(|at| {
            let tag = |name: &str| format!("{name}.order.response");
            Totals::from([(tag("a"), histogram(ours[at])), (tag("floor"), histogram(floor[at]))])
        })
        .collect();
    let runs: Vec<&Totals> = runs.iter().collect();
    let subject = |name: &str, share: f64| {
        let disturbed = |_: &str, _, _| DisturbedShare {
            share: Some(share),
            unknown: unknown.to_owned(),
            ..DisturbedShare::NONE
        };
        let judging = crate::merge::pooling::FigureJudge {
            disturbed: &disturbed,
            moves: &|_, _| Moves::Up,
            spread: false,
        };
        let series = crate::merge::pooling::series(name, &runs, runs.len() as u32, &judging);
        Subject { name: name.to_owned(), series, ..Subject::default() }
    };
    let mut subjects = [subject("a", share[0]), subject("floor", share[1])];
    pair(&mut subjects, &runs, &[]);
    assert_eq!(subjects[1].series[0].over_floor, None, "nothing lies below the floor");
    subjects[0].series[0].over_floor.clone().unwrap()
}

/// The host slowed both cores from the fourth run on. No p50 over all runs is true there, and the
/// table printed dashes, although each run says the same of the software.
#[test]
fn a_ratio_holds_where_the_machine_changed_between_runs() {
    let ours = [8_340, 8_350, 8_330, 11_660, 11_670, 11_650];
    let floor = [7_800, 7_800, 7_800, 10_900, 10_900, 10_900];
    let over = paired(&ours, &floor, [0.03, 0.03], "");
    let p50 = over.figures["p50"];
    assert!((p50.ratio - 1.07).abs() < 0.005, "{p50:?}");
    let [low, high] = p50.ratio_interval.unwrap();
    assert!(low > 1.06 && high < 1.08, "{p50:?}");
    assert!((540..=770).contains(&p50.added) && p50.added_interval.is_some(), "{p50:?}");
    assert!(over.holds(0.9), "{over:?}");
}

/// Pairs of a record whose two halves lay in different regimes in two of six runs, and of one in
/// which one run did.
#[test]
fn one_pair_in_four_may_lie_anywhere_and_no_more() {
    let floor = [10_000; 6];
    let one = paired(&[10_700, 10_600, 11_400, 11_200, 8_300, 10_600], &floor, [0.0; 2], "");
    assert!(one.holds(0.5), "{one:?}");
    let [low, high] = one.figures["p50"].ratio_interval.unwrap();
    assert!(low < 0.84 && high > 1.13, "the interval still shows all: {low} {high}");
    let two = paired(&[8_300, 8_100, 10_800, 10_800, 11_000, 10_600], &floor, [0.0; 2], "");
    assert_eq!(two.holds_to, Some(0.0), "{two:?}");
}

#[test]
fn disturbance_of_one_half_alone_counts_in_full() {
    let (ours, floor) = ([10_700; 6], [10_000; 6]);
    assert!(paired(&ours, &floor, [0.4, 0.4], "").holds(0.5));
    let alone = paired(&ours, &floor, [0.6, 0.0], "");
    let [low, high] = alone.figures["p50"].ratio_bracket.unwrap();
    assert!(low < 1.035 && high > 1.065, "{low} {high}");
}

#[test]
fn what_is_not_known_of_a_half_is_not_judged() {
    let over = paired(&[10_700; 6], &[10_000; 6], [0.0; 2], "nobody watched the exchange");
    assert_eq!((over.holds_to, over.not_judged.as_str()), (None, "nobody watched the exchange"));
    assert!((over.figures["p50"].ratio - 1.07).abs() < 0.01, "the figure itself is known");
}

/// The bare loop of ticks has datagrams only.
#[test]
fn a_floor_and_bare_are_of_the_same_market_data() {
    let subject = |name: &str, feed: &str| Subject {
        name: name.to_owned(),
        feed: feed.to_owned(),
        ..Subject::default()
    };
    let (sbe, json) = (subject("a", ""), subject("b", "json"));
    let floors = [subject("floor", ""), subject("floor-2", "json")];
    let bare = subject("bare", "");
    let below = |one: &Subject| floors.each_ref().map(|floor| floor.is_below(one));
    assert_eq!((below(&sbe), below(&json)), ([true, false], [false, true]));
    assert_eq!(floors.each_ref().map(|floor| bare.is_below(floor)), [true, false]);
}

/// Records of schema 1 and 2 have percentiles of each run, and no brackets of each.
#[test]
fn an_older_record_has_the_ratio_of_its_runs_and_no_judgement() {
    let record = |schema: u32, per_run: serde_json::Value| {
        let series = |per_run| {
            serde_json::json!([{"name": "order", "kind": "response", "unit": "ns",
                "pooled": {"count": 2_000, "p50": 1, "p99": 2}, "per_run": per_run}])
        };
        let floor = serde_json::json!([{"count": 1_000, "p50": 100, "p99": 200},
            {"count": 1_000, "p50": 200, "p99": null}]);
        let value = serde_json::json!({"schema": schema, "tool": "", "scenario": "s",
            "complete": true, "runs": 2, "warnings": [],
            "subjects": [{"name": "rust", "series": series(per_run)},
                {"name": "floor", "series": series(floor)}]});
        RunRecord::from_json(&value.to_string()).unwrap()
    };
    let per_run = serde_json::json!([{"count": 1_000, "p50": 110, "p99": 300},
        {"count": 1_000, "p50": 220, "p99": 300}]);
    for schema in [1, 2] {
        let record = record(schema, per_run.clone());
        assert_eq!(record.schema, crate::SCHEMA);
        let over = record.main_series().unwrap().over_floor.as_ref().unwrap();
        assert_eq!((over.holds_to, over.figures["p50"].ratio_bracket), (None, None));
        assert!((over.figures["p50"].ratio - 1.1).abs() < 1e-9 && !over.not_judged.is_empty());
        assert!(!over.figures.contains_key("p99"), "one run of the floor lacks it");
        assert!(!record.ratio_holds(0.5));
    }
    let without_runs = record(2, serde_json::json!([]));
    assert_eq!(without_runs.main_series().unwrap().over_floor, None);
}

/// A merge takes the pairs of its parts; a part without them leaves the ratio unknown.
#[test]
fn the_pairs_of_merged_records_are_joined_in_the_order_of_their_runs() {
    let series = |over: Option<OverFloor>| {
        let mut series: Series = serde_json::from_value(serde_json::json!({"name": "order",
            "kind": "response", "unit": "ns", "pooled": {"count": 0}}))
        .unwrap();
        series.over_floor = over;
        series
    };
    let first = series(Some(paired(&[10_700; 3], &[10_000; 3], [0.0; 2], "")));
    let second = series(Some(paired(&[10_900; 3], &[10_000; 3], [0.0; 2], "")));
    let order = [(1, 0), (1, 1), (1, 2), (0, 0), (0, 1), (0, 2)];
    let both = joined([Some(&first), Some(&second)].into_iter(), &order).unwrap();
    let runs: Vec<u32> = both.pairs.iter().map(|pair| pair.run).collect();
    assert_eq!(runs, [1, 2, 3, 4, 5, 6]);
    assert!(both.pairs[0].halves["p50"].ours > both.pairs[5].halves["p50"].ours);
    assert!(both.holds(0.9) && both.figures["p50"].ratio_interval.is_some(), "{both:?}");
    let none = series(None);
    assert_eq!(joined([Some(&first), Some(&none)].into_iter(), &order), None);
}
