//! Ticks between two machines: one of them is a namespace whose clock began long before, and that
//! says another boot is its own. What the clocks' keepers say is a script's; all else is real, and
//! on one machine, so that it is known what must come out.

use crate::support::*;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use testing::unless;

/// Both keepers say that their clock is off by this much at most.
pub fn keeper(directory: &Path, bound: &str) -> String {
    let client = directory.join("chronyc");
    let word = format!("CB00710F,203.0.113.15,3,1485509367.1,{bound},0,0,0,0,0,0,0,64.2,Normal");
    fs::write(&client, format!("#!/bin/sh\necho '{word}'\n")).unwrap();
    fs::set_permissions(&client, fs::Permissions::from_mode(0o755)).unwrap();
    format!("{}:{}", directory.display(), std::env::var("PATH").unwrap_or_default())
}

/// Starts what follows on "another machine": its monotonic clock is a day ahead, its boot another.
pub fn elsewhere(directory: &Path) -> Command {
    let boot_id = directory.join("boot_id");
    fs::write(&boot_id, "00000000-0000-4000-8000-000000000000\n").unwrap();
    let mut command = Command::new("unshare");
    command.args([
        "--time",
        "--monotonic",
        "86400",
        "--mount",
        "--fork",
        "--kill-child",
        "sh",
        "-c",
    ]);
    command.arg("mount --bind \"$0\" /proc/sys/kernel/random/boot_id && exec \"$@\"").arg(boot_id);
    command
}

/// The record of a trader here that follows an exchange there, for `factor` seconds after a fifth
/// of that.
fn followed(bound: &str, factor: u32, arguments: &[&str]) -> Option<Value> {
    let directory = tempfile::tempdir().unwrap();
    let probe = elsewhere(directory.path()).arg("true").output();
    if !probe.as_ref().is_ok_and(|probe| probe.status.success()) {
        testing::skipped(
            testing::Need::Root,
            format_args!("namespaces of time and mounts can't be made here: {probe:?}"),
        );
        return None;
    }
    let path = keeper(directory.path(), bound);
    let mut program = elsewhere(directory.path());
    program.arg(tickpath().get_program()).env("PATH", &path);
    let flow_seconds = format!("{}", f64::from(factor) * 1.2);
    let flow = ["--flow", "synthetic", "--flow-rate", "500", "--flow-seconds", &flow_seconds];
    let feed = ["--any-token", "--book", "empty", "--feed", "unicast"];
    let exchange = Exchange::start_by(program, &[&feed[..], &flow[..]].concat());
    let mut command = tickpath();
    command.args(["run", "tick-to-trade", "--quiet", "--connect", &exchange.address, "--out"]);
    command.arg(directory.path().join("runs")).env("PATH", &path);
    let seconds = [
        format!("warm_up_seconds={}", f64::from(factor) * 0.2),
        format!("seconds={factor}"),
        "exchange.start=false".to_owned(),
    ];
    for set in SHORT_TICKS.iter().copied().chain(seconds.iter().map(String::as_str)) {
        command.args(["--set", set]);
    }
    let done = command.args(arguments).output().unwrap();
    assert!(!done.stdout.is_empty(), "{}", text(&done.stderr));
    Some(record(&only_run(&directory.path().join("runs"))))
}

fn p50(record: &Value, name: &str, kind: &str) -> Option<u64> {
    let all = rust(record)["series"].as_array().unwrap();
    let is_given = all.iter().any(|one| one["name"] == name && one["kind"] == kind);
    is_given.then(|| series(record, "rust", name, kind)["pooled"]["p50"].as_u64()).flatten()
}

#[test]
fn clocks_that_are_close_give_figures_between_them() {
    let assumption = "a message comes within 40 ms, and a clock is read within 10 us";
    testing::quiet::or_doubled(assumption, |factor| {
        followed("0.000000100", factor, &[]).map_or(Ok(()), |record| gives_figures(&record, factor))
    });
}

fn gives_figures(record: &Value, factor: u32) -> Result<(), String> {
    let tick = &rust(record)["load"]["tick"][0];
    let time = &tick["time"];
    assert_eq!(time["same_clock"], false, "{time}");
    unless!(time["bound_from"] == "chrony", "{time}");
    holds_the_truth(record);
    // Two keepers, and a reading at each end.
    let bound_ns = time["exchange_bound_ns"].as_u64().unwrap();
    unless!((200..20_000).contains(&bound_ns), "{time}");
    // The warm-up of 0.2 s ends at the same moment by both clocks: 534 of the flow's 641 messages
    // come after it. The first tick tells where the other clock is, give or take its own way, which
    // takes 40 ms (20 messages) where busy loops share the cores. A clock taken for the other one
    // measures all messages, or none. (Not samples: a machine that lags packs more messages into a
    // datagram.)
    let messages = tick["messages"].as_u64().unwrap() / u64::from(factor);
    unless!((420..=620).contains(&messages), "{messages} messages: {tick}");
    assert_eq!(
        (&tick["samples_out_of_order"], &tick["samples_not_adding_up"]),
        (&0.into(), &0.into())
    );
    assert_eq!(tick["book_hash"], tick["exchange_book_hash"]);
    // It is one machine: a way there and back is as long as its parts, and nobody is a day away.
    let [whole, there, back] =
        [("order_to_ack", "service"), ("network_out", "stage"), ("network_back", "stage")].map(
            |(name, kind)| p50(record, name, kind).unwrap_or_else(|| panic!("{name}: {time}")),
        );
    unless!(there + back <= 2 * whole, "{there} there, {back} back, {whole} in all");
    // Where the way is so short that the bound is a tenth of it, it is withheld by name, and not
    // explained.
    let attribution = rust(record)["attribution"].as_array();
    match p50(record, "tick_to_ack", "response") {
        Some(ns) => {
            unless!(ns < 100_000_000, "{ns} ns from a tick to its order's acknowledgement");
            // network_in is the shortest way, and withheld first.
            let is_withheld = time["refused"].to_string().contains("network_in");
            let is_given = attribution.is_some_and(|all| !all.is_empty());
            assert_ne!(is_given, is_withheld, "{record}");
        }
        None => assert!(time["refused"].to_string().contains("tick_to_ack"), "{time}"),
    }
    Ok(())
}

/// The exchange's clock is a day ahead; both clocks were calibrated for themselves.
fn holds_the_truth(record: &Value) {
    let bracket = &rust(record)["load"]["between"][0]["bracket"];
    let [low, high] = [0, 1].map(|end| bracket["offset_ns"][end].as_i64().unwrap());
    let (ahead_ns, calibration_ns) = (86_400_000_000_000, 500_000);
    let is_near = low - calibration_ns <= ahead_ns && ahead_ns <= high + calibration_ns;
    assert!(low < high && is_near, "{bracket}");
}

const BETWEEN: [(&str, &str); 3] =
    [("network_in", "stage"), ("network_out", "stage"), ("tick_to_ack", "response")];

/// The orders and their replies say more than the keepers do, and rarely enough.
#[test]
fn a_figure_that_the_clocks_may_be_too_far_apart_for_is_left_out() {
    let Some(record) = followed("0.100000000", 1, &[]) else { return };
    holds_the_truth(&record);
    let tick = &rust(&record)["load"]["tick"][0];
    let time = &tick["time"];
    assert_eq!(time["bound_from"], "bracket", "{time}");
    let bound_ns = time["exchange_bound_ns"].as_u64().unwrap();
    assert!((1..100_000_000).contains(&bound_ns), "{time}");
    for (name, kind) in BETWEEN {
        if let Some(ns) = p50(&record, name, kind) {
            assert!(bound_ns <= ns / 10, "{name}: {ns} ns, {time}");
            continue;
        }
        let why = &time["refused"][format!("{name}.{kind}")];
        let why = why.as_str().unwrap_or_else(|| panic!("{name}: {tick}"));
        assert!(why.contains("discipline them better"), "{why}");
        let attributed = rust(&record)["attribution"].as_array().map_or(0, Vec::len);
        assert!(kind != "stage" || attributed == 0, "a stage is missing: {record}");
    }
    // One end's own figures need no other clock.
    for (name, kind) in
        [("tick_to_gateway", "response"), ("order_to_ack", "service"), ("decision", "service")]
    {
        assert!(p50(&record, name, kind) > Some(0), "{name}: {record}");
    }
}

#[test]
fn figures_between_clocks_are_intervals_as_wide_as_the_bracket() {
    let Some(record) = followed("0.100000000", 1, &["--one-way", "bracket"]) else { return };
    holds_the_truth(&record);
    let load = &rust(&record)["load"];
    let (time, between) = (&load["tick"][0]["time"], &load["between"][0]);
    assert!(time["refused"].is_null(), "{time}");
    for (name, kind) in BETWEEN {
        assert!(p50(&record, name, kind).is_some(), "{name}: {time}");
        let error_ns = between["errors_ns"][format!("{name}.{kind}")].as_u64();
        assert!(error_ns >= time["exchange_bound_ns"].as_u64(), "{name}: {between}");
    }
    assert!(between["errors_ns"]["order_to_ack.service"].is_null(), "{between}");
}
