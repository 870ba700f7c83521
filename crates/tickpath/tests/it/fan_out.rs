//! `tickpath fan-out` as a process.

use crate::support::*;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::net::UdpSocket;
use std::process::{Command, Stdio};
use std::time::Duration;

#[test]
fn a_replicator_says_where_it_listens_copies_and_says_what_it_did() {
    let subscriber = UdpSocket::bind("127.0.0.1:0").unwrap();
    subscriber.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let to = subscriber.local_addr().unwrap().to_string();
    let arguments = ["fan-out", "--from", "127.0.0.1:0", "--to", &to, "--listen", "127.0.0.1:0"];
    let mut child = tickpath()
        .args(arguments)
        .args(["--backend", "block", "--order", "rotating"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut line = || -> Value { serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap() };
    let ready = line();
    let source = UdpSocket::bind("127.0.0.1:0").unwrap();
    source.send_to(b"tick", ready["listening"].as_str().unwrap()).unwrap();
    assert_eq!(subscriber.recv(&mut [0; 16]).unwrap(), 4);
    assert!(ready["registration"].as_str().unwrap().starts_with("127.0.0.1:"));
    signal(child.id(), rustix::process::Signal::TERM);
    let done = line();
    assert!(child.wait().unwrap().success());
    assert_eq!((&done["received"], &done["rejected"]["foreign"]), (&1.into(), &0.into()));
    let row = &done["subscribers"][0];
    assert_eq!((&row["address"], &row["sent"]), (&to.into(), &1.into()));
    assert_eq!(done["registration"]["accepted"], 0);
}

#[test]
fn a_replicator_ends_after_its_time_and_rejects_what_makes_no_sense() {
    let short = ["fan-out", "--from", "127.0.0.1:0", "--listen", "127.0.0.1:0", "--for", "1s"];
    let done = output(&short);
    assert!(done.status.success(), "{}", text(&done.stderr));
    let last = text(&done.stdout).lines().last().unwrap().to_owned();
    let last: Value = serde_json::from_str(&last).unwrap();
    assert_eq!((&last["received"], &last["copying_ns"]["p50"]), (&0.into(), &Value::Null));
    for (arguments, words) in [
        (&["--to", "nowhere"][..], "no list of addresses"),
        (&["--listen", "127.0.0.1:9", "--parent", "127.0.0.1:9"], "can't feed itself"),
        (&["--to", "127.0.0.1:9", "--tunnel", "add"], "no multicast group"),
        (&["--to", "127.0.0.1:9", "--order", "fair"], "fixed, rotating and random"),
        (&[], "--to"),
    ] {
        let done = output(&[&["fan-out", "--from", "127.0.0.1:0"], arguments].concat());
        let why = text(&done.stderr);
        assert!(!done.status.success() && why.contains(words), "{why}");
    }
}

/// A veth whose other end has neither GRO nor a program drops the copies of XDP programs, and
/// counts nothing: the replicator says so at its start.
#[test]
fn copies_that_a_veth_would_drop_are_told_at_the_start() {
    use host::network::{DEVICE, Networks};
    let networks = match Networks::create() {
        Ok(networks) => networks,
        Err(why) => testing::skip!(Root, "{why}"),
    };
    let from = format!("{}:5000", networks.exchange().address());
    let to = format!("{}:6000", networks.trader().address());
    for (gro, backend, warns) in [(0, "xdp", true), (0, "af_xdp", false), (1, "xdp", false)] {
        let set = networks.trader().within(|| host::ethtool::set(DEVICE, "gro", gro)).unwrap();
        if let Err(why) = set {
            testing::skip!(Kernel, "{why}");
        }
        let arguments = ["fan-out", "--backend", backend, "--from", &from, "--to", &to];
        let arguments = [&arguments[..], &["--for", "1s"]].concat();
        let done = networks.exchange().within(|| output(&arguments)).unwrap();
        let said = text(&done.stderr);
        assert!(done.status.success(), "{backend}: {said}");
        assert_eq!(said.contains("needs GRO"), warns, "{backend}, GRO {gro}: {said}");
    }
}

/// A run of a few seconds: four subscribers, and both ends sleep while they wait.
fn measured(sets: &[&str]) -> (Value, String) {
    let backends =
        ["fixed", "rotating", "random"].map(|name| format!("subject.{name}.backend=block"));
    let sets: Vec<&str> = backends.iter().map(String::as_str).chain(sets.iter().copied()).collect();
    measured_of("fan-out", &sets)
}

fn measured_of(scenario: &str, sets: &[&str]) -> (Value, String) {
    measured_by(tickpath(), scenario, sets)
}

/// `command` starts tickpath.
fn measured_by(mut command: Command, scenario: &str, sets: &[&str]) -> (Value, String) {
    let directory = tempfile::tempdir().unwrap();
    let short = [
        "runs=1",
        "warm_up_seconds=0.2",
        "seconds=1",
        "hiccup_seconds=0",
        "load.rate_per_second=500",
        "fan_out.subscribers=4",
        "exchange.backend=block",
    ];
    command.args(["run", scenario, "--quiet", "--out", directory.path().to_str().unwrap()]);
    let sets = short.iter().chain(sets).flat_map(|set| ["--set", *set]);
    command.args(sets);
    let done = command.output().unwrap();
    let run = std::fs::read_dir(directory.path()).unwrap().next();
    let run = run.unwrap_or_else(|| panic!("{}", text(&done.stderr))).unwrap().path();
    let record = std::fs::read_to_string(run.join("run.json")).unwrap();
    (serde_json::from_str(&record).unwrap(), text(&done.stdout))
}

#[test]
fn a_record_says_who_is_first_and_how_far_apart_arrivals_are() {
    let (record, table) = measured(&[]);
    assert!(!is_void(&record), "{}", record["void_because"]);
    for subject in record["subjects"].as_array().unwrap() {
        let (name, load) = (subject["name"].as_str().unwrap(), &subject["load"]);
        let run = &load["fan_out"][0];
        assert_eq!((&run["order"], &run["messages"]), (&name.into(), &500.into()));
        assert_eq!((&load["received"], &load["lost"]), (&2_000.into(), &0.into()));
        assert_eq!((&run["replicated"], &run["whole"]), (&600.into(), &500.into()));
        let first = |row: &Value| row["first"].as_u64().unwrap();
        let firsts: Vec<u64> = run["subscribers"].as_array().unwrap().iter().map(first).collect();
        assert_eq!(firsts.iter().sum::<u64>(), 500, "{name}");
        // All copies leave in one call, so the order of sending is that of arrival.
        match name {
            "fixed" => assert!(firsts[0] > 450, "{firsts:?}"),
            "rotating" => assert!(firsts.iter().all(|n| n.abs_diff(125) < 15), "{firsts:?}"),
            _ => assert!(firsts.iter().all(|n| n.abs_diff(125) < 60), "{firsts:?}"),
        }
        let p50 = |series: &str| {
            let all = subject["series"].as_array().unwrap();
            let found = all.iter().find(|one| one["name"] == series && one["kind"] != "response");
            found.unwrap_or_else(|| panic!("no {series}"))["pooled"]["p50"].as_u64().unwrap()
        };
        let order = ["hop_1", "first", "median", "last"].map(p50);
        assert!(order.is_sorted() && order[0] > 0, "{name}: {order:?}");
        assert!(p50("spread") <= p50("last") && p50("arrival@4") >= p50("first"), "{name}");
        assert!(run["hold_ns"].as_u64().unwrap() >= p50("last"), "{name}");
    }
    for words in ["Fairness", "most first", "hop 2", "rotating: arrival at each subscriber"] {
        assert!(table.contains(words), "{words}: {table}");
    }
}

/// The replicator and the others in namespaces of their own.
#[test]
fn a_fan_out_crosses_two_namespaces() {
    if let Err(why) = host::network::Networks::create() {
        testing::skip!(Root, "{why}");
    }
    let (record, _) = measured(&["network=veth", "fan_out.subscribers=8", "seconds=0.5"]);
    assert!(!is_void(&record), "{}", record["void_because"]);
    for subject in record["subjects"].as_array().unwrap() {
        assert_eq!(subject["load"]["received"], 250 * 8);
    }
}

/// Every way to copy in one record, each in front of the same subscribers. DPDK is a row with its
/// reason in a build without it.
#[test]
fn ways_to_copy_share_one_record() {
    if let Err(why) = host::network::Networks::create() {
        testing::skip!(Root, "{why}");
    }
    let (record, table) = measured_of("fan-out-ways", &WAYS);
    assert_ways(&record, &["sockets", "af_xdp", "in_place", "xdp"]);
    if cfg!(not(feature = "dpdk")) {
        let missing = &record["unavailable"][0];
        let why = missing["why"].as_str().unwrap();
        assert!(missing["subject"] == "dpdk" && why.contains("built without DPDK"), "{missing}");
        assert!(table.contains("dpdk cannot run: "), "{table}");
    }
}

#[cfg(not(feature = "dpdk"))]
#[test]
fn ways_to_copy_over_dpdk_share_one_record() {
    testing::skip!(Dpdk, "this build has no DPDK");
}

/// Each driver in front of the same subscribers.
#[cfg(feature = "dpdk")]
#[test]
fn ways_to_copy_over_dpdk_share_one_record() {
    if let Err(why) = host::network::Networks::create() {
        testing::skip!(Root, "{why}");
    }
    for driver in ["net_af_packet", "net_af_xdp"] {
        let mut command = tickpath();
        command.env("TICKPATH_DPDK_DRIVER", driver);
        let (record, _) = measured_by(command, "fan-out-ways", &WAYS);
        assert_ways(&record, &["sockets", "af_xdp", "in_place", "dpdk", "xdp"]);
    }
}

/// A short run in which nobody spins but the ways themselves.
const WAYS: [&str; 7] = [
    "seconds=0.5",
    "subject.sockets.replicator=block",
    "subject.sockets.backend=block",
    "subject.af_xdp.backend=block",
    "subject.in_place.backend=block",
    "subject.dpdk.backend=block",
    "subject.xdp.backend=block",
];

/// Checks that all copies arrived in a run with [`WAYS`], by at least the ways of those names.
fn assert_ways(record: &Value, names: &[&str]) {
    assert!(!is_void(record), "{}", record["void_because"]);
    let subjects = record["subjects"].as_array().unwrap();
    let all: Vec<&str> = subjects.iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert!(names.iter().all(|name| all.contains(name)), "{all:?}: {}", record["unavailable"]);
    for (subject, name) in subjects.iter().zip(all) {
        let load = &subject["load"];
        assert_eq!((&load["received"], &load["lost"]), (&1_000.into(), &0.into()), "{name}");
        assert_eq!(load["fan_out"][0]["whole"], 250, "{name}");
        let hops = subject["series"].as_array().unwrap().iter();
        let has_hops = hops.clone().any(|one| one["name"] == "hop_1");
        // No process sees the datagrams that the kernel copies, so none stamps them.
        assert_eq!(has_hops, name != "xdp", "{name}");
    }
}

/// In a user namespace root may make networks, but load no program. The way that needs none runs.
#[test]
fn a_way_that_cannot_run_is_a_row_with_its_reason() {
    let in_user_namespace = || {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--net"]);
        command
    };
    let made = in_user_namespace().args(["unshare", "--net", "true"]).output();
    if !made.as_ref().is_ok_and(|made| made.status.success()) {
        testing::skip!(Root, "user namespaces: {made:?}");
    }
    let mut command = in_user_namespace();
    command.arg(env!("CARGO_BIN_EXE_tickpath")).stdin(Stdio::null());
    command.env("TICKPATH_LOCKS", "").env("TICKPATH_SETTLE_SECONDS", "0");
    let (record, table) = measured_by(command, "fan-out-ways", &WAYS);
    assert!(!is_void(&record), "{}", record["void_because"]);
    let subjects = record["subjects"].as_array().unwrap();
    let names: Vec<&str> = subjects.iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["sockets"]);
    assert_eq!(subjects[0]["load"]["received"], 250 * 4);
    let unavailable = record["unavailable"].as_array().unwrap();
    let missing = if cfg!(feature = "dpdk") { "DPDK on " } else { "without DPDK" };
    let ways = [
        ("af_xdp", "af_xdp", "perm"),
        ("in_place", "af_xdp_in_place", "perm"),
        ("dpdk", "dpdk", missing),
        ("xdp", "xdp", "perm"),
    ];
    assert_eq!(unavailable.len(), ways.len(), "{unavailable:?}");
    for (one, (name, way, words)) in unavailable.iter().zip(ways) {
        let why = one["why"].as_str().unwrap();
        assert_eq!(one["subject"], name);
        assert!(why.contains(&format!("--backend {way}:")) && why.contains(words), "{why}");
        assert!(table.contains(&format!("{name} cannot run: ")), "{table}");
    }
}

/// Each run finds a hold, and applies it to messages of its own.
#[test]
fn a_search_finds_a_hold_and_the_record_says_what_it_did() {
    let (record, table) = measured(&["fan_out.search=true", "fan_out.fair=0.9"]);
    assert!(!is_void(&record), "{}", record["void_because"]);
    for subject in record["subjects"].as_array().unwrap() {
        let (name, load) = (subject["name"].as_str().unwrap(), &subject["load"]);
        assert_eq!((&load["received"], &load["lost"]), (&2_000.into(), &0.into()), "{name}");
        // Two warm-ups, the messages of the search, and the measured ones.
        let run = &load["fan_out"][0];
        assert_eq!((&run["replicated"], &run["messages"]), (&1_200.into(), &500.into()), "{name}");
        let held = &run["held"];
        assert_eq!(held["searched"], 500, "{name}");
        let hold_ns = held["hold_ns"].as_u64().unwrap();
        let series = |series: &str| {
            let all = subject["series"].as_array().unwrap();
            all.iter().find(|one| one["name"] == series).unwrap_or_else(|| panic!("no {series}"))
        };
        let release = &series("release")["pooled"];
        assert_eq!(release["count"], 2_000, "{name}: every copy is handed on");
        // A histogram's lowest value is that of its bucket.
        assert!(release["min"].as_u64().unwrap() >= hold_ns - hold_ns / 500, "{name}: {release}");
        assert_eq!(series("release_spread")["pooled"]["count"], 500, "{name}");
        let late = held["late"].as_u64().unwrap();
        assert_eq!(late == 0, held["simultaneous"] == 500, "{name}: {held}");
    }
    for words in ["spread of releases", "until release", "searched", "runs met"] {
        assert!(table.contains(words), "{words}: {table}");
    }
}

#[test]
fn a_fair_share_on_the_command_line_searches_for_its_hold() {
    let short = ["run", "fan-out", "--fair", "99.9%", "--set", "seconds=1"];
    let why = text(&output(&short).stderr);
    assert!(why.contains("5.0 of them exceed, and needs 10"), "{why}");
    let done = output(&["run", "fan-out", "--fair", "0.999"]);
    let why = text(&done.stderr);
    assert!(!done.status.success() && why.contains("such as 99.9%"), "{why}");
}

#[test]
fn a_fan_out_out_of_range_is_rejected() {
    for (set, words) in [
        ("fan_out.subscribers=65", "1 to 64"),
        ("fan_out.message_bytes=39", "40 to"),
        ("fan_out.fair=1.1", "0.999"),
        ("seconds=100000", "ARRIVALS_MAX"),
        ("fan_out.hold_us=10000001", "10 s"),
        ("fan_out.hold_us=1000000", "HELD_MAX"),
        ("fan_out.search=1", "expected a boolean"),
        ("exchange.backend=io_uring", "spin or block"),
        ("subject.fixed.order=fair", "fixed"),
        ("subject.fixed.replicator=io_uring", "af_xdp_in_place, dpdk or xdp"),
        ("subject.fixed.replicator=xdp", "loopback"),
    ] {
        let done = output(&["run", "fan-out", "--set", set]);
        let why = text(&done.stderr);
        assert!(!done.status.success() && why.contains(words), "{set}: {why}");
    }
}
