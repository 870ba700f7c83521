//! Load in bursts, through whole processes.

use crate::support::*;
use serde_json::Value;

fn count(record: &Value, subject: &str, name: &str) -> u64 {
    let rows = record["subjects"].as_array().unwrap();
    let subject = rows.iter().find(|row| row["name"] == subject).unwrap();
    let all = subject["series"].as_array().unwrap().iter();
    let of_name = all.filter(|one| one["name"].as_str().unwrap().starts_with(name));
    let responses = of_name.filter(|one| one["kind"] == "response");
    responses.map(|one| one["pooled"]["count"].as_u64().unwrap()).sum()
}

/// All orders of a run, and of its floor, stand by their intensity in record and table.
#[test]
fn a_record_has_latency_by_intensity() {
    let runs = tempfile::tempdir().unwrap();
    let out = runs.path().display().to_string();
    let sets = ["load.arrival=hawkes", "load.branching=0.8", "load.decay_us=2000"];
    let sets = sets.iter().flat_map(|set| ["--set", set]);
    let done = tickpath().args(SHORT).args(["--out", &out]).args(sets).output().unwrap();
    let (record, table) = (record(&only_run(runs.path())), text(&done.stdout));
    assert!(!is_void(&record), "{table}{}", text(&done.stderr));
    for subject in ["rust", "floor"] {
        let orders = count(&record, subject, "order") - count(&record, subject, "order@");
        assert!(orders >= 100, "{table}");
        assert_eq!(count(&record, subject, "order@"), orders, "{table}");
        assert!(count(&record, subject, "order@4-7") > 0, "{table}");
    }
    assert!(table.contains("Orders by messages in the millisecond before: response"), "{table}");
    assert_eq!(record["resolved"]["load"]["branching"], 0.8);
}

#[test]
fn bursts_that_nobody_could_send_are_rejected() {
    for (arguments, expected) in [
        (
            &["run", "ring", "--set", "load.arrival=hawkes"][..],
            "load.arrival = hawkes: only orders",
        ),
        (&["run", "tick-to-trade", "--set", "flow.arrival=hawkes"], "flow.arrival = hawkes"),
        (&["run", "--set", "load.branching=1"], "load.branching = 1: a message causes 0 to 0.99"),
        (&["run", "--set", "load.arrival=hawkes", "--set", "seconds=10000"], "at most 50000000"),
        (
            &["run", "--set", "load.arrival=hawkes", "--set", "subject.rust.command=[\"x\"]"],
            "only tickpath's own client sends such a load",
        ),
        (&["exchange", "--any-token", "--flow-arrival", "hawkes"], "uniform, poisson and burst"),
    ] {
        let done = output(arguments);
        let said = text(&done.stderr);
        assert_eq!(done.status.code(), Some(2), "{arguments:?}: {said}");
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains(expected), "{arguments:?}: {said}");
    }
}
