//! `tickpath report` of several records.

use crate::support::*;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// A record with one figure, in `runs/NAME`.
fn keep(runs: &Path, name: &str, zone: &str, connections: u32, p50: u64) -> PathBuf {
    let path = runs.join(name);
    fs::create_dir_all(&path).unwrap();
    let pooled =
        |p50: u64| json!({"count": 20_000, "min": 1, "p50": p50, "p90": 2 * p50, "max": 90_000});
    let series = json!({"name": "order", "kind": "response", "unit": "ns", "pooled": pooled(p50),
        "holds_to": 0.5, "per_run": [pooled(p50 - 100), pooled(p50 + 100)]});
    let floor = json!({"name": "order", "kind": "response", "unit": "ns", "pooled": pooled(5_000)});
    let record = json!({"schema": 2, "tool": "tickpath 0.3.0", "scenario": "s", "complete": true, "runs": 2,
        "warnings": [], "void_because": [], "resolved": {"name": "s", "load": {"connections": connections}},
        "subjects": [{"name": "rust", "series": [series]}, {"name": "floor", "series": [floor]}]});
    let machine = json!({"before": {"fixed": {"kernel_release": "6.1"}, "instance": {"zone_id": zone,
        "instance_type": "c7i.large"}}});
    fs::write(path.join("run.json"), record.to_string()).unwrap();
    fs::write(path.join("machine.json"), machine.to_string()).unwrap();
    path
}

fn report(paths: &[&PathBuf], more: &[&str]) -> std::process::Output {
    tickpath().arg("report").args(paths).args(more).output().unwrap()
}

#[test]
fn several_records_are_one_table_and_one_page() {
    let runs = tempfile::tempdir().unwrap();
    let a = keep(runs.path(), "a", "euc1-az1", 4, 10_000);
    let b = keep(runs.path(), "b", "euc1-az2", 4, 12_000);
    let again = keep(runs.path(), "c", "euc1-az1", 4, 10_200);
    let done = report(&[&a, &b, &again], &[]);
    let said = text(&done.stdout);
    assert_eq!(done.status.code(), Some(0), "{said}{}", text(&done.stderr));
    assert!(said.starts_with("3 records side by side · by zone\n"), "{said}");
    assert!(said.lines().all(|line| line.chars().count() <= 100), "{said}");
    let row = |what: &str| -> Vec<String> {
        let line =
            said.lines().find(|line| line.contains(what)).unwrap_or_else(|| panic!("{said}"));
        line.split_whitespace().map(str::to_owned).collect()
    };
    let first = row("rust order response");
    assert_eq!(first[3..6], ["euc1-az1", "10.1", "20.2?"], "median of the two records: {said}");
    assert_eq!(row("euc1-az2")[..3], ["euc1-az2", "12.0", "24.0?"], "{said}");
    assert!(said.contains("9.90-10.3") && said.contains("+19%"), "{said}");

    // A directory that holds records gives all of them; the scenario chooses.
    let more = keep(&runs.path().join("more"), "d", "euc1-az1", 16, 9_000);
    let done = report(&[&a, &runs.path().join("more")], &[]);
    assert!(text(&done.stdout).contains("by load.connections"), "{}", text(&done.stdout));
    let none = report(&[&a, &more], &["--scenario", "x"]);
    assert_eq!(none.status.code(), Some(2), "{}", text(&none.stdout));

    let page = runs.path().join("page.html");
    let done = report(&[&a, &b], &["--html", &page.display().to_string()]);
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    let html = fs::read_to_string(&page).unwrap();
    assert!(html.contains("2 records side by side") && html.matches("<svg").count() > 2, "{html}");
    assert!(html.contains("euc1-az2") && !html.contains("://"), "{html}");
    // JSON stays an array of the records.
    let array: Value = serde_json::from_slice(&report(&[&a, &b], &["--json"]).stdout).unwrap();
    assert_eq!(array.as_array().map(Vec::len), Some(2));
}

#[test]
fn a_void_record_is_named_and_has_no_row() {
    let runs = tempfile::tempdir().unwrap();
    let a = keep(runs.path(), "a", "euc1-az1", 4, 10_000);
    let b = keep(runs.path(), "b", "euc1-az2", 4, 12_000);
    let mut void: Value =
        serde_json::from_str(&fs::read_to_string(b.join("run.json")).unwrap()).unwrap();
    void["void_because"] = json!(["3 replies lost"]);
    fs::write(b.join("run.json"), void.to_string()).unwrap();
    let done = report(&[&a, &b], &[]);
    let said = text(&done.stdout);
    assert_eq!(done.status.code(), Some(3), "{said}");
    assert!(said.contains("left out:") && said.contains("void: 3 replies lost"), "{said}");
    assert!(!said.contains("euc1-az2"), "{said}");
}
