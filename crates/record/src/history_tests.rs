use super::*;
use crate::directory::save_record;
use crate::machine::Machine;
use serde_json::json;

fn record(started: &str, change: impl FnOnce(&mut Value)) -> RunRecord {
    let mut value = json!({
        "schema": 1, "tool": "tickpath 0.1.0", "scenario": "order-to-ack", "complete": true,
        "started": started, "valid": true, "invalid_because": [], "runs": 2, "runs_void": 0,
        "warnings": [], "resolved": {"load": {"rate_per_second": 1000.0, "seed": 1}, "runs": 2},
        "subjects": [{"name": "rust", "series": [
            {"name": "order", "kind": "service", "unit": "ns", "pooled": {"count": 9, "p50": 3}},
            {"name": "order", "kind": "response", "unit": "ns", "pooled": {"count": 9, "p50": 5},
             "per_run": [{"p50": 7, "p99": 9}, {"p50": 4}]}]}]
    });
    change(&mut value);
    RunRecord::from_json(&value.to_string()).unwrap()
}

fn write(runs: &Path, name: &str, record: &RunRecord) {
    fs::create_dir(runs.join(name)).unwrap();
    save_record(&runs.join(name), record, &Machine::default()).unwrap();
}

#[test]
fn records_come_newest_first_and_others_say_what_they_are() {
    let runs = tempfile::tempdir().unwrap();
    let at = |name: &str| runs.path().join(name);
    write(runs.path(), "baseline", &record("2026-11-21T20:00:00Z", |_| ()));
    write(
        runs.path(),
        "2026-11-21T19-00-00Z-order-to-ack",
        &record("2026-11-21T19:00:00Z", |_| ()),
    );
    for name in ["2026-11-21T19-30-00Z-sweep-x", "2026-a", "2026-b", "2026-c", "2026-d", "2026-e"] {
        fs::create_dir(at(name)).unwrap();
    }
    fs::write(at("2026-11-21T19-30-00Z-sweep-x/sweep.json"), "{}").unwrap();
    fs::write(at("2026-a/run.json"), "{\"schema\": 1").unwrap();
    fs::write(at("2026-b/run.json"), "{\"schema\": 99, \"tool\": \"tickpath 9\"}").unwrap();
    fs::write(at("2026-c/001.hlog"), "").unwrap();
    write(&at("2026-d"), "x", &record("", |_| ()));
    fs::write(at("a-file"), "").unwrap();

    let history = read(runs.path()).unwrap();
    let told: Vec<String> = history
        .entries
        .iter()
        .map(|entry| match &entry.what {
            EntryContent::Record(summary) => format!("{}: {}", entry.name, summary.started),
            EntryContent::Other { is, .. } => format!("{}: {is}", entry.name),
        })
        .collect();
    expect_test::expect![[r#"
        2026-e: no record
        2026-d: a directory of records
        2026-c: no record: logs without a run.json, of a run that lasts or was killed
        2026-b: no record: run.json has schema 99, this tickpath knows 3: use tickpath 9 or later
        2026-a: no record: run.json is no run record: EOF while parsing an object at line 1 column 12
        baseline: 2026-11-21T20:00:00Z
        2026-11-21T19-30-00Z-sweep-x: a sweep
        2026-11-21T19-00-00Z-order-to-ack: 2026-11-21T19:00:00Z"#]]
    .assert_eq(&told.join("\n"));
    assert_eq!(history.clone().of_scenario("order-to-ack").entries.len(), 2);
    assert_eq!(history.of_scenario("ping-pong").entries.len(), 0);
    assert!(read(&at("nowhere")).is_err());
}

#[test]
fn the_headline_is_the_first_subjects_orders() {
    let response = headline(&record("", |_| ())).unwrap();
    assert_eq!((response.series.kind, response.series.pooled.p50), (Kind::Response, Some(5)));
    // One run has no p99, so there is no range.
    assert_eq!(response.over_runs, BTreeMap::from([("p50".to_owned(), [4, 7])]));
    let ping_pong = record("", |value| {
        value["subjects"][0]["series"].as_array_mut().unwrap().pop();
    });
    assert_eq!(headline(&ping_pong).unwrap().series.kind, Kind::Service);
    assert!(headline(&record("", |value| value["subjects"] = json!([]))).is_none());
}

#[test]
fn letters_tell_settings_and_machines_apart() {
    let runs = tempfile::tempdir().unwrap();
    let summary =
        |change: &dyn Fn(&mut Value)| summary(&record("", |value| change(value)), runs.path());
    let one = summary(&|_| ());
    let same = summary(&|value| {
        value["resolved"]["load"]["seed"] = json!(7);
        value["resolved"]["runs"] = json!(60);
        value["resolved"]["exchange"] = json!({"inject": {"delay_us": 0}});
    });
    assert_eq!(one.settings, same.settings);
    let other = summary(&|value| value["resolved"]["load"]["rate_per_second"] = json!(5.0));
    assert_ne!(one.settings, other.settings);
    let changes = settings_changes(&one, &other);
    assert_eq!(changes, [("load.rate_per_second".into(), "1000.0".into(), "5.0".into())]);
    assert_eq!((one.machine.clone(), machine_changes(&one, &other)), (None, vec![]));
    let merged = summary(&|value| {
        value["merged_from"] = json!([{"machine": "abcd"}, {"machine": "efgh"}]);
    });
    assert_eq!(merged.machine.as_deref(), Some("mixed"));
}
