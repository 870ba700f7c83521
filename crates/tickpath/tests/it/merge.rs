//! `tickpath report --merge` over real short records.

use crate::support::*;
use serde_json::Value;
use std::path::{Path, PathBuf};

fn short_run(out: &Path, more: &[&str]) -> PathBuf {
    let done = tickpath()
        .args(SHORT)
        .args(["--out", &out.display().to_string(), "--set", "seconds=0.3"])
        .args(["--set", "floor_seconds=0.2"])
        .args(more)
        .output()
        .unwrap();
    assert!(matches!(done.status.code(), Some(0 | 3)), "{}", text(&done.stderr));
    only_run(out)
}

/// Tests share their machine: a record may be invalid, and is merged all the same.
fn merge(parts: &[&Path], out: &Path) -> std::process::Output {
    tickpath()
        .args(["report", "--merge", "--force"])
        .args(parts)
        .arg("--out")
        .arg(out)
        .output()
        .unwrap()
}

fn orders(record: &Value) -> &Value {
    &record["subjects"][0]["series"][0]["pooled"]
}

#[track_caller]
fn fails_with(parts: &[&Path], expected: &str) {
    let nothing = tempfile::tempdir().unwrap();
    let done = merge(parts, nothing.path());
    let said = text(&done.stderr);
    assert_eq!(done.status.code(), Some(2), "{said}");
    assert!(said.contains(expected), "{said}");
    assert_eq!(std::fs::read_dir(nothing.path()).unwrap().count(), 0, "something was left");
}

#[test]
fn a_merged_record_is_a_record_like_any_other() {
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name);
    let one = short_run(&at("one"), &["--set", "runs=2"]);
    // Cores, seed and tokens are each host's own.
    let other =
        short_run(&at("other"), &["--set", "load.seed=7", "--set", "load.first_token=9000"]);

    let done = merge(&[&other, &one.join("run.json")], &at("merged"));
    let table = text(&done.stdout);
    let path = only_run(&at("merged"));
    let merged = record(&path);
    assert_eq!(done.status.code(), Some(status_of(&merged)), "{table}");
    assert_eq!(orders(&merged)["count"], 450, "{}", text(&done.stderr));
    assert_eq!(merged["runs"], 3);
    assert_eq!(merged["merged_from"][0]["name"], one.file_name().unwrap().to_str().unwrap());
    assert_eq!(merged["merged_from"][1]["runs"], 1);
    assert!(table.lines().all(|line| line.chars().count() <= 100), "{table}");
    assert!(table.contains("merged from 2") && table.contains("(2 runs, machine "), "{table}");

    let page = std::fs::read_to_string(path.join("report.html")).unwrap();
    assert!(page.contains("merged from 2") && page.contains("<svg"), "no whole page");

    // Its figures are those of its own logs, which are all there.
    let mut all = clock::recorder::histogram();
    for number in ["001", "002", "003"] {
        let log = std::fs::read(path.join(format!("{number}.hlog"))).unwrap();
        let totals = record::hlog::totals(&log[..]).unwrap();
        all.add(&totals["rust.order.response"]).unwrap();
    }
    assert_eq!(orders(&merged)["p50"], all.value_at_quantile(0.5));
    assert_eq!(orders(&merged)["max"], all.max());
    let again = output(&["report", &path.display().to_string()]);
    assert_eq!(text(&again.stdout), table.split("\nrecord: ").next().unwrap());

    // It merges again with a third, and not with what it holds already.
    let third = short_run(&at("third"), &[]);
    let done = merge(&[&path, &third], &at("all"));
    let all = record(&only_run(&at("all")));
    assert_eq!(orders(&all)["count"], 600, "{}", text(&done.stderr));
    assert_eq!(all["merged_from"].as_array().map(Vec::len), Some(3));
    fails_with(&[&path, &other], "a run counts once");
    fails_with(&[&one, &one], "a run counts once");

    // Logs that are cut off, missing, or unreadable.
    let log = third.join("001.hlog");
    let whole = std::fs::read(&log).unwrap();
    std::fs::write(&log, &whole[..whole.len() - 30]).unwrap();
    fails_with(&[&one, &third], "is cut off or damaged");
    std::fs::remove_file(&log).unwrap();
    fails_with(&[&one, &third], "and logs of 0");
    std::fs::write(third.join("machine.json"), "{").unwrap();
    fails_with(&[&one, &third], "is no fingerprint");
}

#[test]
fn records_of_different_things_are_rejected() {
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name);
    let one = short_run(&at("one"), &[]);
    let faster = short_run(&at("faster"), &["--set", "load.rate_per_second=2000"]);
    fails_with(&[&one, &faster], "load.rate_per_second is 1000.0 in");
    fails_with(&[&one], "name two or more");
    fails_with(&[&one, &at("nowhere")], "nowhere");

    // A void one needs to be asked for; a record from outside can't name another place.
    let file = faster.join("run.json");
    let mut forged = record(&one);
    forged["void_because"] = serde_json::json!(["rust.replies: 3 lost"]);
    std::fs::write(&file, forged.to_string()).unwrap();
    let out = at("out");
    let arguments = |runs: [&Path; 2]| {
        let mut command = tickpath();
        command.args(["report", "--merge"]).args(runs).arg("--out").arg(&out);
        command.output().unwrap()
    };
    let failed = arguments([&faster, &one]);
    assert_eq!(failed.status.code(), Some(3));
    assert!(text(&failed.stderr).contains("is void"), "{}", text(&failed.stderr));

    for path in [&one, &faster] {
        let mut forged = record(path);
        forged["scenario"] = "../../elsewhere".into();
        std::fs::write(path.join("run.json"), forged.to_string()).unwrap();
    }
    std::fs::copy(one.join("001.hlog"), faster.join("001.hlog")).unwrap();
    let mut forged = record(&faster);
    forged["started"] = "2020-01-01T00:00:00Z".into();
    std::fs::write(&file, forged.to_string()).unwrap();
    fails_with(&[&one, &faster], "is no scenario's name");
}
