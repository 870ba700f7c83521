//! `tickpath run` with orders through an engine: back to back, on a schedule, for as long as asked,
//! and what happens when that is broken off.

use crate::support::*;
use rustix::process::Signal;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn run(out: &Path, scenario: &str, sets: &[&str]) -> Command {
    let mut command = tickpath();
    command.args(["run", scenario, "--quiet", "--set", "hiccup_seconds=0"]);
    sets.iter().for_each(|set| {
        command.args(["--set", set]);
    });
    command.arg("--out").arg(out).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// The record that a command left in `out`, which must be its only one.
#[track_caller]
fn left(out: &Path, done: &Output) -> Value {
    let record = record(&only_run(out));
    let said = format!("{}{}", text(&done.stdout), text(&done.stderr));
    assert_eq!(record["complete"], true, "{said}");
    // A machine that others use may change its regime, and then it is no result.
    assert_eq!(done.status.code(), Some(status_of(&record)), "{said}");
    assert!(text(&done.stdout).lines().all(|line| line.chars().count() <= 100), "{said}");
    record
}

fn subject<'a>(record: &'a Value, name: &str) -> &'a Value {
    let subjects = record["subjects"].as_array().unwrap();
    subjects.iter().find(|subject| subject["name"] == name).unwrap()
}

/// Twenty thousand operations: the first of W1, whose published counts the tests of `engine-bench`
/// check.
const SHORT: &[&str] = &["runs=2", "engine.operations=20000", "engine.passes=2"];

#[test]
fn every_book_does_the_same_with_risk_and_without_beside_the_floor() {
    let out = tempfile::tempdir().unwrap();
    let done = run(out.path(), "engine", SHORT).output().unwrap();
    let record = left(out.path(), &done);
    let matching = |name: &str| subject(&record, name)["load"]["engine"].clone();
    for name in
        ["shallow", "shallow-risk", "shallow-look-ahead", "deep", "deep-risk", "deep-look-ahead"]
    {
        for held in ["complete", "replies", "recorded", "accepted", "replay"] {
            let rule = rule(&record, &format!("{name}.{held}"));
            assert_eq!(rule["verdict"], "held", "{rule}");
        }
        let of_runs = matching(name);
        assert_eq!(of_runs.as_array().unwrap().len(), 2);
        assert_eq!(of_runs[0]["counts"], of_runs[1]["counts"]);
        assert_eq!(of_runs[0]["state_hash"], of_runs[1]["state_hash"]);
        assert_eq!(of_runs[0]["passes_ns"].as_array().unwrap().len(), 2);
        assert_eq!(
            (&of_runs[0]["replays"], &of_runs[0]["replays_unequal"]),
            (&3.into(), &0.into())
        );
        assert_eq!(series(&record, name, "operation", "service")["pooled"]["count"], 40_000);
    }
    for book in ["shallow", "deep"] {
        let with_risk = matching(&format!("{book}-risk"));
        assert_eq!(matching(book)[0]["counts"], with_risk[0]["counts"]);
        assert_eq!(with_risk[0]["counts"]["refused"], 0);
        // A prefetch changes no result.
        let looking_ahead = matching(&format!("{book}-look-ahead"));
        assert_eq!(matching(book)[0]["state_hash"], looking_ahead[0]["state_hash"]);
    }
    assert_ne!(matching("shallow")[0]["counts"], matching("deep")[0]["counts"]);
    assert_eq!(subject(&record, "floor")["backend"], "empty-dispatch");
    let table = text(&done.stdout);
    for word in ["Mops/s", "over the floor", "late cancels", "nothing is subtracted"] {
        assert!(table.contains(word), "no {word:?} in {table}");
    }
    let page = std::fs::read_to_string(only_run(out.path()).join("report.html")).unwrap();
    assert!(page.contains("Latency, ns") && page.contains("late cancels"));
}

#[test]
fn on_a_schedule_the_ideal_server_burns_what_the_engine_takes() {
    let out = tempfile::tempdir().unwrap();
    let sets = ["runs=1", "load.rate_per_second=20000", "warm_up_seconds=0.2", "seconds=0.5"];
    let done = run(out.path(), "engine-open-loop", &sets).output().unwrap();
    let record = left(out.path(), &done);
    for name in ["engine", "ideal"] {
        for kind in ["response", "service"] {
            let pooled = &series(&record, name, "operation", kind)["pooled"];
            assert_eq!(pooled["count"], 10_000, "{name} {kind}");
        }
        let recorded = rule(&record, &format!("{name}.recorded"));
        assert_eq!(recorded["verdict"], "held", "{recorded}");
    }
    assert_eq!(rule(&record, "engine.replay")["verdict"], "held");
    assert_eq!(rule(&record, "ideal.replay")["verdict"], "not_applicable");
    let burns = subject(&record, "ideal")["load"]["engine"][0]["burn_ns"].as_u64().unwrap();
    let takes = series(&record, "ideal", "operation", "service")["pooled"]["p50"].as_u64().unwrap();
    // It looks at the clock while it burns, and so can be a look late.
    assert!(takes >= burns / 2 && takes <= 3 * burns, "it burns {burns} ns, and took {takes}");
    assert!(text(&done.stdout).contains("to the ideal, points"), "{}", text(&done.stdout));
}

const OPERATIONS: &str = "engine.operations=2000000";

fn state_hash(record: &Value) -> String {
    let hash = subject(record, "soak")["load"]["engine"][0]["state_hash"].as_str().unwrap();
    assert_eq!(hash.len(), 16);
    hash.to_owned()
}

/// A soak that was interrupted between its first operation and its last. When that is depends on
/// the machine: a try that came too late is repeated earlier, one that came too early later.
fn broken_off() -> tempfile::TempDir {
    let mut wait = std::time::Duration::from_millis(200);
    for _ in 0..10 {
        let out = tempfile::tempdir().unwrap();
        let soak = run(out.path(), "soak", &[OPERATIONS]).spawn().unwrap();
        wait_for("a client", || children(soak.id(), "engine-bench").first().copied());
        std::thread::sleep(wait);
        signal(soak.id(), Signal::INT);
        let done = soak.wait_with_output().unwrap();
        let directory = only_run(out.path());
        let part = record(&directory);
        let executed = part["subjects"][0]["load"]["engine"][0]["operations"].as_u64();
        let has_state = directory.join("001.soak.soak.state").exists();
        if part["complete"] == true {
            wait /= 2;
        } else if !has_state || executed.unwrap_or(0) == 0 {
            wait = wait * 3 / 2;
        } else {
            assert_eq!(done.status.code(), Some(3), "{}", text(&done.stderr));
            assert!(part["void_because"].to_string().contains("interrupted"), "{part}");
            return out;
        }
    }
    panic!("ten interrupts came too early or too late, the last after {wait:?}");
}

#[test]
fn a_soak_that_was_broken_off_goes_on_to_the_same_end() {
    let whole = tempfile::tempdir().unwrap();
    let done = run(whole.path(), "soak", &[OPERATIONS]).output().unwrap();
    let expected = left(whole.path(), &done);
    assert_eq!(series(&expected, "soak", "operation", "service")["pooled"]["count"], 2_000_000);
    assert!(
        series(&expected, "soak", "reference", "service")["pooled"]["count"].as_u64()
            >= Some(20_000)
    );
    let stretches = subject(&expected, "soak")["load"]["engine"][0]["stretches"].clone();
    let sum: u64 =
        stretches.as_array().unwrap().iter().map(|one| one["operations"].as_u64().unwrap()).sum();
    assert_eq!(sum, 2_000_000, "{stretches}");
    assert!(text(&done.stdout).contains("would take"), "{}", text(&done.stdout));

    let (broken, resumed) = (broken_off(), tempfile::tempdir().unwrap());
    let directory = only_run(broken.path());
    let done = tickpath()
        .args(["run", "--quiet", "--resume"])
        .arg(&directory)
        .arg("--out")
        .arg(resumed.path())
        .output()
        .unwrap();
    let rest = left(resumed.path(), &done);
    assert_eq!(state_hash(&rest), state_hash(&expected));
    let matching = &subject(&rest, "soak")["load"]["engine"][0];
    let (before, here) = (&matching["operations_before"], &matching["operations"]);
    assert_eq!(before.as_u64().unwrap() + here.as_u64().unwrap(), 2_000_000, "{matching}");
}

#[test]
fn a_journal_is_measured_in_each_mode_and_nothing_of_it_stays() {
    let (out, files) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let directory = format!("journal.directory={}", files.path().display());
    let sets =
        ["runs=1", "load.rate_per_second=5000", "warm_up_seconds=0.1", "seconds=0.4", &directory];
    let done = run(out.path(), "journal", &sets).output().unwrap();
    let record = left(out.path(), &done);
    for name in ["none", "async", "sync"] {
        for held in ["replies", "recorded", "accepted", "replay"] {
            let rule = rule(&record, &format!("{name}.{held}"));
            assert_eq!(rule["verdict"], "held", "{rule}");
        }
        assert_eq!(series(&record, name, "operation", "response")["pooled"]["count"], 2_000);
    }
    let storage = &subject(&record, "sync")["load"]["engine"][0]["storage"];
    assert!(storage["file_system"].as_str().is_some_and(|name| !name.is_empty()), "{storage}");
    assert!(std::fs::read_dir(files.path()).unwrap().next().is_none(), "a journal stayed");
}

#[test]
fn what_cannot_be_done_is_said_before_anything_is_measured() {
    let out = tempfile::tempdir().unwrap();
    let fails_with = |command: &mut Command, words: &[&str]| {
        let done = command.output().unwrap();
        let said = text(&done.stderr);
        assert_eq!(done.status.code(), Some(2), "{said}");
        assert!(words.iter().all(|word| said.contains(word)), "{said}");
    };
    fails_with(&mut run(out.path(), "engine", &["subject.0.backend=wide"]), &["shallow-risk"]);
    fails_with(&mut run(out.path(), "engine", &["subject.0.backend=ideal"]), &["schedule"]);
    fails_with(
        &mut run(out.path(), "engine", &["engine.operations=0"]),
        &["engine.operations = 0"],
    );
    fails_with(&mut run(out.path(), "engine", &["seconds=3"]), &["seconds"]);
    fails_with(&mut run(out.path(), "soak", &["subject.0.backend=ideal"]), &["no state"]);
    fails_with(
        &mut run(out.path(), "soak", &["engine.resume=/nowhere"]),
        &["/nowhere", "left its state"],
    );
    fails_with(tickpath().args(["run", "--resume", "/nowhere"]), &["--resume takes"]);
    fails_with(tickpath().args(["sweep", "soak"]), &["nothing to sweep"]);
    assert!(std::fs::read_dir(out.path()).unwrap().next().is_none(), "something is left");
}

/// The client's command was `tickpath workload` until it took the name of its crate.
#[test]
fn the_clients_old_name_still_starts_it() {
    for name in ["workload", "engine-bench"] {
        let done = output(&[name, "--plan", "-"]);
        let said = text(&done.stderr);
        assert!(said.contains("plan"), "{name}: {said}");
        assert!(!said.contains("unrecognized"), "{name}: {said}");
    }
}
