//! Records of engines, as a person sees them.

use record::RunRecord;
use serde_json::{Value, json};

fn series(kind: &str, p50: u64, below_1us: u64) -> Value {
    let run = json!({"count": 1_000_000, "p50": p50, "p99": 4 * p50, "below_1us": below_1us});
    let mut pooled = run.clone();
    pooled["max"] = json!(40_000);
    json!({"name": "operation", "kind": kind, "unit": "ns", "pooled": pooled, "per_run": [run]})
}

fn record(kind: &str, subjects: &Value) -> RunRecord {
    let record = json!({
        "schema": 1, "tool": "tickpath 0.1.0", "scenario": kind, "complete": true, "valid": true,
        "invalid_because": [], "runs": 1, "runs_void": 0, "warnings": [],
        "clock": {"source": "tsc", "cost_ns": 13}, "resolved": {"kind": kind}, "subjects": subjects
    });
    RunRecord::from_json(&record.to_string()).unwrap()
}

fn shown(record: &RunRecord) -> String {
    let table = report::table(record, 100);
    assert!(table.lines().all(|line| line.chars().count() <= 100), "{table}");
    table
}

/// A line of these words in this order, and others behind them or between.
#[track_caller]
fn has(table: &str, words: &[&str]) {
    let fits = |line: &str| {
        let mut rest = line;
        words.iter().all(|word| match rest.find(word) {
            Some(at) => {
                rest = &rest[at + word.len()..];
                true
            }
            None => false,
        })
    };
    assert!(table.lines().any(fits), "no line with {words:?} in {table}");
}

#[test]
fn throughput_stands_beside_the_floors_and_counts_are_whole() {
    let subject = |name: &str, backend: &str, pass_ns: u64, counts: Value, p50: u64| {
        json!({"name": name, "backend": backend, "cores": [1],
            "load": {"model": "back-to-back", "sent": 2_000_000, "rate_per_second_achieved": 2e15 / pass_ns as f64,
                "engine": [{"operations": 2_000_000, "passes_ns": [pass_ns], "counts": counts}]},
            "series": [series("service", p50, 0)]})
    };
    let counts = json!({"acks": 1_058_830, "trades": 291_142, "cancel_acks": 724_170, "expired": 6_586,
        "modify_acks": 86_377, "cancel_rejects": 116_625, "modify_rejects": 13_998});
    let record = record(
        "engine",
        &json!([
            subject("shallow-with-a-long-name", "shallow", 125_000_000, counts, 61),
            subject("floor", "empty-dispatch", 25_000_000, json!({}), 11)
        ]),
    );
    let table = shown(&record);
    has(&table, &["shallo~g-name", "16.0", "62.5", "20.0 %", "1"]);
    has(&table, &["floor", "80.0", "12.5", "1"]);
    has(&table, &["1058830", "291142", "724170", "6586", "86377", "116625", "13998", "0"]);
    assert!(table.contains("Outcomes of 2 000 000 operations"), "{table}");
    assert!(table.contains("one, 13 ns, is in the figure"), "{table}");
    assert!(table.contains("5.55x"), "{table}");
}

#[test]
fn the_share_below_a_microsecond_stands_beside_the_ideal_servers() {
    let subject = |backend: &str, below_1us: u64, matching: Value| {
        json!({"name": backend, "backend": backend, "load": {"model": "open", "engine": [matching]},
            "series": [series("response", 110, below_1us), series("service", 100, 999_000)]})
    };
    let record = record(
        "engine",
        &json!([
            subject("shallow-risk", 990_500, json!({"operations": 1_000_000})),
            subject("ideal", 991_800, json!({"operations": 1_000_000, "burn_ns": 97}))
        ]),
    );
    let table = shown(&record);
    has(&table, &["shallow-risk", "99.050 %", "-0.130"]);
    has(&table, &["ideal", "99.180 %", "97"]);
}

#[test]
fn a_soak_is_told_stretch_by_stretch() {
    let stretch = |end_seconds: f64, p50_ns: u64| {
        json!({"end_seconds": end_seconds, "operations": 40_000_000, "p50_ns": p50_ns, "p99_ns": 5 * p50_ns,
            "reference_operations": 120_000, "reference_p50_ns": 60, "reference_p99_ns": 300,
            "resident_bytes": 35_000_000})
    };
    let record = record(
        "soak",
        &json!([{"name": "soak", "backend": "shallow-risk",
            "load": {"model": "back-to-back", "sent": 80_000_000, "rate_per_second_achieved": 6.5e6,
                "engine": [{"operations": 80_000_000, "operations_before": 7, "busy_ns": 10_400_000_000_u64,
                    "state_hash": "00112233aabbccdd", "stretches": [stretch(6.0, 90), stretch(12.3, 91)]}]},
            "series": [series("service", 90, 0)]}]),
    );
    let table = shown(&record);
    has(&table, &["0:06", "40.0M", "90", "450", "60", "300", "33.4"]);
    has(&table, &["0:12", "40.0M", "91", "455", "60", "300", "33.4"]);
    let flat = table.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in ["after 7 of an earlier run", "busy 10.4 s", "00112233aabbccdd", "1:42:3"] {
        assert!(flat.contains(words), "no {words:?} in {table}");
    }
}

/// Records from elsewhere may hold anything.
#[test]
fn odd_records_are_only_odd() {
    for matching in [json!([]), json!([{}]), json!([{"passes_ns": [0]}, {"passes_ns": [1, 2]}])] {
        for kind in ["engine", "soak", "journal"] {
            let load = json!({"model": "open", "engine": matching});
            let record = record(kind, &json!([{"name": "x", "backend": "ideal", "load": load}]));
            let table = report::table(&record, 100);
            assert!(table.lines().all(|line| line.chars().count() <= 100), "{table}");
        }
    }
}
