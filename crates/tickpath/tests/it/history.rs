//! `tickpath report` of a directory of records.

use crate::support::*;
use serde_json::Value;
use std::fs;
use std::path::Path;

fn report(runs: &Path, more: &[&str]) -> String {
    let done = tickpath().arg("report").arg(runs).args(more).output().unwrap();
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    text(&done.stdout)
}

/// A copy of the record in `from`, made another time and of another scenario.
fn copy(from: &Path, to: &Path, change: impl FnOnce(&mut Value)) {
    fs::create_dir(to).unwrap();
    fs::copy(from.join("machine.json"), to.join("machine.json")).unwrap();
    let mut record = record(from);
    change(&mut record);
    fs::write(to.join("run.json"), record.to_string()).unwrap();
}

#[test]
fn a_directory_lists_its_records_and_nothing_in_it_is_fatal() {
    let home = tempfile::tempdir().unwrap();
    let runs = home.path().join("runs");
    let out = runs.display().to_string();
    assert!(report(home.path(), &[]).contains("no records here; `tickpath run` makes one"));
    tickpath().args(SHORT).args(["--out", &out, "--set", "floor_seconds=0"]).output().unwrap();
    let first = only_run(&runs);
    copy(&first, &runs.join("older"), |record| {
        record["started"] = "2020-01-01T00:00:00Z".into();
    });
    copy(&first, &runs.join("other"), |record| {
        record["started"] = "2021-01-01T00:00:00Z".into();
        record["scenario"] = "ping-pong".into();
        record["void_because"] = serde_json::json!(["3 replies lost"]);
        record["merged_from"] = serde_json::json!([{"machine": "abcd"}, {"machine": "efgh"}]);
    });
    fs::create_dir(runs.join("damaged")).unwrap();
    fs::write(runs.join("damaged/run.json"), [0xff, b'{', 0]).unwrap();
    fs::create_dir(runs.join("a-sweep")).unwrap();
    fs::write(runs.join("a-sweep/sweep.json"), "{}").unwrap();

    let listed = report(&runs, &[]);
    assert!(listed.lines().all(|line| line.chars().count() <= 100), "{listed}");
    let at = |what: &str| listed.find(what).unwrap_or_else(|| panic!("no {what:?} in {listed}"));
    let newest = first.file_name().unwrap().to_str().unwrap();
    assert!(at(newest) < at("\nother (ping-pong") && at("\nother ") < at("\nolder "), "{listed}");
    for what in ["3 records, 2 other entries", "a sweep", "no record: ", "mixed", "VOID"] {
        at(what);
    }
    let over_time = &listed[at("p50 over time")..];
    assert!(over_time.contains("order-to-ack") && !over_time.contains("ping-pong"), "{over_time}");

    let some = report(&runs, &["--scenario", "ping-pong", "--json"]);
    let some: Value = serde_json::from_str(&some).unwrap();
    assert_eq!(some["entries"].as_array().map(Vec::len), Some(1));
    let other = &some["entries"][0];
    assert_eq!(other["name"], "other");
    assert_eq!(other["void_because"], serde_json::json!(["3 replies lost"]));
    assert_eq!(other["machine"], "mixed");
    let kept = &record(&first)["subjects"][0]["series"][0]["pooled"];
    assert_eq!(&other["headline"]["pooled"], kept);

    // The page's figures are those of the records.
    let file = home.path().join("history.html");
    report(&runs, &["--html", &file.display().to_string()]);
    let page = fs::read_to_string(&file).unwrap();
    let figure = format!("data-percentile=\"p50\" data-ns=\"{}\"", kept["p50"]);
    assert_eq!(page.matches(&figure).count(), 3, "{figure}");
    assert!(page.contains("a sweep"));

    // One record has no scenario to choose among; and what a killed run left is no directory of
    // records.
    for (arguments, expected) in [
        (["report", &first.display().to_string(), "--scenario", "x"], "--scenario chooses among"),
        (["report", &out, "--html", "/no/such/place/x.html"], "choose another place"),
    ] {
        let failed = output(&arguments);
        assert_eq!(failed.status.code(), Some(2));
        assert!(text(&failed.stderr).contains(expected), "{}", text(&failed.stderr));
    }
    fs::remove_file(first.join("run.json")).unwrap();
    let gone = output(&["report", &first.display().to_string()]);
    assert_eq!(gone.status.code(), Some(2), "{}", text(&gone.stdout));
}
