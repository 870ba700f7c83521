use super::*;
use serde_json::{Value, json};

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
