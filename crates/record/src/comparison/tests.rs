use super::*;
use crate::RunRecord;
use crate::comparison::compared::ComparedFigure;
use crate::unit::Unit;
use serde_json::{Value, json};
use stats::compare::Design;
use stats::verdict::Outcome;

/// A series whose runs are each a nanosecond slower than the one before; `None` for a run without
/// samples.
fn series(name: &str, runs: &[Option<u64>]) -> Value {
    let run = |ns: &Option<u64>| json!({"count": if ns.is_some() { 100 } else { 0 }, "p50": ns});
    json!({"name": name, "kind": "service", "unit": "ns", "pooled": run(&runs[0]),
        "per_run": runs.iter().map(run).collect::<Vec<_>>()})
}

fn record(runs: usize, series: &[Value]) -> RunRecord {
    let record = json!({
        "schema": 1, "tool": "", "scenario": "", "complete": true, "valid": true, "invalid_because": [],
        "runs": runs, "runs_void": 0, "warnings": [], "resolved": {
            "flow": {"rate_per_second": 1_000}, "feed": {"transport": "udp"}, "network": {"start": false},
            "exchange": {"backend": "spin", "gateways": 0, "cores": [0]}
        },
        "subjects": [
            {"name": "rust", "series": series},
            {"name": "floor", "backend": "spin", "cores": [0, 1], "series": series}
        ]
    });
    RunRecord::from_json(&record.to_string()).unwrap()
}

fn compared(a: &Runs, b: &Runs) -> Vec<String> {
    let figures = ["p50"].map(|name| name.parse().unwrap()).to_vec();
    let question =
        Question { design: Design::Interleaved, figures, floor_is_control: false, forced: false };
    compare(&question, a, b).iter().map(ComparedFigure::name).collect()
}

/// Runs paired by position must be runs made next to each other.
#[test]
fn what_a_run_lacks_is_not_compared() {
    let all: Vec<Option<u64>> = (0..8).map(|at| Some(1_000 + at)).collect();
    let mut lacks = all.clone();
    lacks[3] = None;
    let shorter: Vec<Option<u64>> = lacks.iter().copied().filter(Option::is_some).collect();
    let whole = Runs::of_record(&record(8, &[series("order", &all), series("cancel", &all)]));
    assert_eq!(compared(&whole, &whole).len(), 2);
    for incomplete in [lacks, shorter] {
        let one = [series("order", &all), series("cancel", &incomplete)];
        let one = Runs::of_record(&record(8, &one));
        for names in [compared(&whole, &one), compared(&one, &one)] {
            assert_eq!(names, ["rust.order.service.p50"]);
        }
    }
}

/// A lacks run 2, B lacks run 5: both have as many runs, but they are not pairs.
#[test]
fn records_of_which_each_lacks_another_run_are_no_pairs() {
    let records = |without: Option<usize>| -> Vec<RunRecord> {
        let of = |at| {
            let order = series("order", &[Some(1_000 + at as u64)]);
            let cancel = (without != Some(at)).then(|| series("cancel", &[Some(500)]));
            record(1, &[order].into_iter().chain(cancel).collect::<Vec<_>>())
        };
        (0..8).map(of).collect()
    };
    let of = |without| Runs::of_records(&records(without));
    assert_eq!(of(Some(2)).count(), 8);
    assert_eq!(compared(&of(None), &of(None)).len(), 2);
    let names = compared(&of(Some(2)), &of(Some(5)));
    assert_eq!(names, ["rust.order.service.p50"]);
}

#[test]
fn the_floor_is_no_control_where_it_goes_another_way() {
    let one = record(6, &[]);
    assert!(same_floor(&one, &one));
    let with = |pointer: &str, value: Value| {
        let mut other = one.clone();
        *other.resolved.pointer_mut(pointer).unwrap() = value;
        same_floor(&one, &other)
    };
    assert!(with("/exchange/cores", json!([5])), "the cores that it had stand with it");
    for (pointer, value) in [
        ("/flow/rate_per_second", json!(2_000)),
        ("/feed/transport", json!("multicast")),
        ("/network/start", json!(true)),
        ("/exchange/gateways", json!(2)),
        ("/exchange/backend", json!("epoll")),
    ] {
        assert!(!with(pointer, value), "{pointer}");
    }
    let mut moved = one.clone();
    moved.subjects[1].cores = vec![0, 2];
    assert!(!same_floor(&one, &moved));
    let mut bare = one.clone();
    bare.subjects.pop();
    assert!(!same_floor(&bare, &bare));
}

/// Schema 1 compared only runs in which a figure holds. Without its keys of today the figure was
/// said not to hold.
#[test]
fn a_figure_of_schema_1_holds_and_its_range_is_not_known() {
    let old = json!({"subject": "rust", "series": "order", "kind": "service", "figure": "p50",
        "a": 9727, "b": 9767, "change": 0.0029, "interval": [-0.0096, 0.0242], "added_ns": 28,
        "added_ns_interval": [-112, 280], "noise_floor": 0.0184, "p": 0.5528, "p_adjusted": 1.0,
        "outcome": "inconclusive"});
    let figure: ComparedFigure = serde_json::from_value(old).unwrap();
    assert!(figure.holds);
    assert_eq!((figure.range, figure.held), (None, None));
}

/// Six records of one run each, whose subject takes `ratio` times as long as its floor.
fn over_floor(ratio: f64, backend: &str) -> Runs {
    let of = |at: u64| {
        let floor = 1_000 + 400 * at;
        let ours = (floor as f64 * ratio) as u64 + at;
        let mut record = record(1, &[series("order", &[Some(ours)])]);
        record.subjects[1].backend = backend.to_owned();
        record.subjects[0].backend = backend.to_owned();
        record.subjects[0].cores = record.subjects[1].cores.clone();
        record.subjects[1].series =
            serde_json::from_value(json!([series("order", &[Some(floor)])])).unwrap();
        record.subjects[0].series[0].over_floor = None;
        crate::pairing::derive(&mut record);
        record
    };
    Runs::of_records(&(0..8).map(of).collect::<Vec<_>>())
}

/// The ratio stands beside the figure only where the floor is the same in A and B: over floors that
/// differ it would hide what the setting does to both.
#[test]
fn a_ratio_is_compared_over_the_same_floor_only() {
    let (a, b) = (over_floor(1.1, "spin"), over_floor(1.2, "spin"));
    let names = ["rust.order.service.p50", "rust.order.service.p50 / floor"];
    assert_eq!(compared(&a, &b), names);
    assert_eq!(compared(&a, &over_floor(1.2, "block")), names[..1]);
    let question = Question {
        design: Design::Interleaved,
        figures: vec!["p50".parse().unwrap()],
        floor_is_control: false,
        forced: true,
    };
    let ratio = compare(&question, &a, &b).pop().unwrap();
    assert_eq!(ratio.unit, Unit::Ppm);
    assert!((ratio.effect.change - 0.0909).abs() < 0.005, "{ratio:?}");
    assert!((ratio.effect.a as f64 - 1.1e6).abs() < 2e4, "{ratio:?}");
    assert_eq!(ratio.outcome, Outcome::Worse);
    let text = serde_json::to_string(&ratio).unwrap();
    assert!(text.contains(r#""figure":"p50 / floor","unit":"ppm""#), "{text}");
}

/// Neither p50 nor its ratio differs: the one that is known decides, whichever it is.
#[test]
fn of_a_figure_and_its_ratio_the_known_one_counts() {
    let (a, b) = (over_floor(1.1, "spin"), over_floor(1.1, "spin"));
    let question = Question {
        design: Design::Interleaved,
        figures: vec!["p50".parse().unwrap()],
        floor_is_control: false,
        forced: true,
    };
    let mut figures = compare(&question, &a, &b);
    let of = |figures: &[ComparedFigure], outcomes: [Outcome; 2]| {
        let mut figures = figures.to_vec();
        (figures[0].outcome, figures[1].outcome) = outcomes.into();
        let arm = Arm::new("x", Vec::new(), &[], &a);
        let mut comparison = Comparison {
            schema: SCHEMA,
            tool: String::new(),
            started: String::new(),
            command: Vec::new(),
            a: arm.clone(),
            b: arm,
            design: Design::Interleaved,
            pairs_void: 0,
            void_because: Vec::new(),
            differs: Vec::new(),
            incomparable_because: Vec::new(),
            forced: false,
            figures,
            outcome: Outcome::Inconclusive,
            why: String::new(),
            gates: Vec::new(),
            worth: None,
            not_run: Vec::new(),
            others: Vec::new(),
        };
        comparison.decide(&[], &[]);
        comparison.outcome
    };
    figures.iter_mut().for_each(|one| one.disturbance = "A".to_owned());
    use Outcome::{Better, Inconclusive, NoDifference, NotKnown, Worse};
    for (outcomes, expected) in [
        ([NoDifference, NotKnown], NoDifference),
        ([NotKnown, NoDifference], NoDifference),
        ([NotKnown, NotKnown], NotKnown),
        ([NotKnown, Worse], Worse),
        ([Better, NotKnown], Better),
        ([Better, Worse], Inconclusive),
    ] {
        assert_eq!(of(&figures, outcomes), expected, "{outcomes:?}");
    }
}
