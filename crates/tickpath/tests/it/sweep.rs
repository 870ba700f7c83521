//! `tickpath sweep` as a whole: short real sweeps, an objective that a stall spoils, Ctrl-C.

use crate::support::*;
use rustix::process::Signal;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A sweep of the short scenario with one run a rate, and no floor.
fn sweep(out: &Path, arguments: &[&str]) -> Command {
    let mut command = tickpath();
    command.args(["sweep", "order-to-ack", "--out", &out.display().to_string()]);
    command.args(&SHORT[2..]).args(["--set", "floor_seconds=0", "--set", "hiccup_seconds=0"]);
    command.args(arguments);
    command
}

fn sweep_json(directory: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(directory.join("sweep.json")).unwrap()).unwrap()
}

fn points(sweep: &Value) -> &[Value] {
    sweep["points"].as_array().unwrap()
}

/// Where a rate's record is; the page and sweep.json lie beside it.
fn record_of(directory: &Path, point: &Value) -> PathBuf {
    directory.join(point["record"].as_str().unwrap())
}

#[test]
fn listed_rates_leave_a_record_each_and_agree_with_them() {
    let runs = tempfile::tempdir().unwrap();
    let done = sweep(runs.path(), &["--rates", "1k,500", "--slo", "service.p50 < 1s"]);
    let done = { done }.output().unwrap();
    let directory = only_run(runs.path());
    assert!(directory.to_string_lossy().ends_with("-sweep-order-to-ack"), "{directory:?}");
    let sweep = sweep_json(&directory);
    assert_eq!((&sweep["schema"], &sweep["complete"]), (&json!(1), &json!(true)), "{sweep}");
    assert_eq!((&sweep["runs"], &sweep["objective"]), (&json!(1), &json!("service.p50 < 1s")));
    let decided = |point: &Value| !matches!(point["outcome"].as_str(), Some("void" | "undecided"));
    let is_result = points(&sweep).iter().any(decided);
    assert_eq!(done.status.code(), Some(if is_result { 0 } else { 3 }), "{}", text(&done.stderr));
    let offered: Vec<f64> = points(&sweep)
        .iter()
        .map(|point| point["rate_per_second_offered"].as_f64().unwrap())
        .collect();
    assert_eq!(offered, [500.0, 1000.0]);
    for point in points(&sweep) {
        let record = record(&record_of(&directory, point));
        // A second is more than any machine takes; but the machine may be too busy to judge, or to
        // keep the rate.
        let outcome = point["outcome"].as_str();
        assert!(matches!(outcome, Some("met" | "undecided" | "overloaded")), "{point}");
        let rate = &point["rate_per_second_offered"];
        assert_eq!(record["resolved"]["load"]["rate_per_second"], *rate);
        let pooled = &series(&record, "rust", "order", "service")["pooled"];
        assert_eq!(point["objective_ns"], pooled["p50"]);
        let kept = point["subjects"][0]["series"].as_array().unwrap();
        assert!(kept.iter().any(|one| one["kind"] == "service" && one["pooled"] == *pooled));
        // Its command repeats this rate alone.
        let command = record["command"].to_string();
        assert!(record_of(&directory, point).join("report.html").exists());
        assert!(command.contains("\"run\"") && !command.contains("--slo"), "{command}");
        assert!(command.contains(&format!("load.rate_per_second={rate}").replace(".0", "")));
    }
    let table = text(&done.stdout);
    assert!(table.lines().all(|line| line.chars().count() <= 100), "{table}");
    assert!(table.contains("service.p50 < 1s") && table.contains("sweep: "), "{table}");
    let page = std::fs::read_to_string(directory.join("report.html")).unwrap();
    assert!(page.contains("<svg") && !page.contains("NaN"));
}

/// A client that stands still for 40 ms of every 100 can't hold a p90 below 5 ms, at any rate: the
/// search goes down as far as a p90 can be told, and says that nothing did. Service time alone
/// would not have told.
#[test]
fn a_stall_makes_the_objective_fail() {
    let runs = tempfile::tempdir().unwrap();
    let arguments = [
        "--json",
        "--slo",
        "response.p90 < 5ms",
        "--set",
        "subject.rust.inject.stall_ms=40",
        "--set",
        "subject.rust.inject.stall_every_ms=100",
    ];
    let done = sweep(runs.path(), &arguments).output().unwrap();
    let directory = only_run(runs.path());
    let sweep = sweep_json(&directory);
    assert_eq!(serde_json::from_slice::<Value>(&done.stdout).unwrap(), sweep);
    assert_eq!(sweep["complete"], true);
    assert_eq!(sweep["injected"], json!(["rust stall_ms=40 stall_every_ms=100"]));
    // At 250/s there are too few orders to tell a p90.
    let offered = |point: &Value| point["rate_per_second_offered"].as_f64().unwrap();
    assert_eq!(points(&sweep).iter().map(offered).collect::<Vec<f64>>(), [500.0, 1000.0]);
    for point in points(&sweep) {
        assert_ne!(point["outcome"], "met", "{point}");
        assert!(point["objective_ns"].as_u64() > Some(5_000_000), "{point}");
    }
    let page = std::fs::read_to_string(directory.join("report.html")).unwrap();
    assert!(page.contains("no rate met response.p90 &lt; 5ms"));
}

/// A hundred million messages a second are more than anybody takes: the knee, not an error.
#[test]
fn an_overload_is_a_point_and_no_error() {
    let runs = tempfile::tempdir().unwrap();
    let arguments = ["--rates", "500,100M", "--set", "warm_up_seconds=0"];
    let done = sweep(runs.path(), &arguments).output().unwrap();
    let sweep = sweep_json(&only_run(runs.path()));
    assert_eq!(sweep["complete"], true, "{}", text(&done.stderr));
    let overloaded = &points(&sweep)[1];
    assert_eq!(overloaded["outcome"], "overloaded");
    assert!(overloaded["void_because"].to_string().contains("more than this trader"));
    assert!(text(&done.stdout).contains("overloaded ("), "{}", text(&done.stdout));
}

#[test]
fn ctrl_c_leaves_the_rates_that_were_measured() {
    let runs = tempfile::tempdir().unwrap();
    let arguments = ["--rates", "500,501", "--set", "seconds=2.5"];
    let child = sweep(runs.path(), &arguments).stdout(Stdio::piped()).spawn().unwrap();
    let directory = wait_for("the sweep's directory", || {
        std::fs::read_dir(runs.path()).ok()?.next()?.ok().map(|entry| entry.path())
    });
    // After the first rate it is there, and not complete.
    wait_for("the first rate", || directory.join("sweep.json").exists().then_some(()));
    let so_far = sweep_json(&directory);
    assert_eq!((&so_far["complete"], points(&so_far).len()), (&json!(false), 1));
    wait_for("the second rate's client", || children(child.id(), "trade").first().copied());
    signal(child.id(), Signal::INT);
    let done = child.wait_with_output().unwrap();
    assert_eq!(done.status.code(), Some(3));
    let sweep = sweep_json(&directory);
    assert_eq!(sweep["complete"], false);
    assert_eq!(sweep["failures"], json!(["it was interrupted"]));
    assert_eq!(points(&sweep)[0], so_far["points"][0]);
    assert_eq!(points(&sweep).get(1).map_or(&json!("void"), |point| &point["outcome"]), "void");
    assert!(text(&done.stdout).contains("INCOMPLETE"), "{}", text(&done.stdout));
    assert!(directory.join("report.html").exists());
}

#[test]
fn what_makes_no_sense_is_rejected_and_leaves_nothing() {
    let runs = tempfile::tempdir().unwrap();
    let out = runs.path().display().to_string();
    for (arguments, expected) in [
        (&["sweep"][..], "Usage"),
        (&["sweep", "ping-pong"], "which has no rate"),
        (&["sweep", "no-such"], "These ship"),
        (&["sweep", "order-to-ack", "--rates", "10k,x"], "\"x\" is no rate"),
        (&["sweep", "order-to-ack", "--rates", "10k", "--steps", "2"], "cannot be used with"),
        (&["sweep", "order-to-ack", "--steps", "7"], "at most 6 steps"),
        (&["sweep", "order-to-ack", "--slo", "p99 > 1us"], "upper bound"),
        (&["sweep", "order-to-ack", "--slo", "p99 < 100"], "needs a unit"),
        (&["sweep", "order-to-ack", "--slo", "java.order.p99 < 1us"], "There are: rust"),
        (&["sweep", "order-to-ack", "--slo", "p99.999 < 1s"], "--set seconds=N"),
        (&["sweep", "order-to-ack", "--set", "exchange.start=false"], "--connect HOST:PORT"),
        (&["sweep", "order-to-ack", "--set", "exchange.book=/no/such.dbn"], "/no/such.dbn"),
    ] {
        let done = tickpath().args(arguments).current_dir(&out).output().unwrap();
        let said = text(&done.stderr);
        assert_eq!(done.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains(expected), "{arguments:?}: {said}");
    }
    let runs_made = std::fs::read_dir(runs.path().join("runs")).map_or(0, Iterator::count);
    assert_eq!(runs_made, 0);
}

/// An exchange that takes 2 ms a message carries no 4 000 of them in a second.
#[test]
fn a_run_finds_the_rate_that_is_carried() {
    let runs = tempfile::tempdir().unwrap();
    let mut command = tickpath();
    command.args(["run", "order-to-ack", "--json", "--out", &runs.path().display().to_string()]);
    command.args(&SHORT[2..]);
    for set in [
        "find_rate=true",
        "load.rate_per_second=4000",
        "exchange.inject.delay_us=2000",
        "floor_seconds=0",
        "hiccup_seconds=0",
    ] {
        command.args(["--set", set]);
    }
    let done = command.output().unwrap();
    assert!(matches!(done.status.code(), Some(0 | 3)), "{}", text(&done.stderr));
    let record = printed_record(&done);
    let search = &record["rate_search"];
    assert_eq!(search["asked_per_second"], 4000.0, "{search}");
    assert!(search["missed_per_second"].as_f64().unwrap() <= 4000.0, "{search}");
    let sweep = sweep_json(&runs.path().join(search["sweep"].as_str().unwrap()));
    assert!(points(&sweep).len() > 1, "{sweep}");
    assert_eq!(points(&sweep).last().unwrap()["rate_per_second_offered"], 4000.0);
    let measured = record["resolved"]["load"]["rate_per_second"].as_f64().unwrap();
    match search["carried_per_second"].as_f64() {
        Some(carried) => assert!(measured > 0.8 * carried && measured < carried, "{record}"),
        None => assert_eq!(points(&sweep)[0]["rate_per_second_offered"], measured, "{sweep}"),
    }
}

#[test]
fn ping_pong_has_no_rate_to_find() {
    let done = output(&["run", "ping-pong", "--set", "find_rate=true"]);
    assert_eq!(done.status.code(), Some(2));
    assert!(text(&done.stderr).contains("ping-pong has no rate to find"), "{}", text(&done.stderr));
}
