//! Requests one way between two hosts. The far end is an echo in this process whose clock is an
//! hour ahead and whose boot is another one; all else is real, and on one machine, so that it is
//! known what must come out.

use crate::support::*;
use clock::Clock;
use clock::time_base::{EchoClock, TimeBase};
use clock::utc::{Claim, Utc};
use serde_json::Value;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use transport::echo::datagrams::{EchoSocket, serve};

const AHEAD_NS: i64 = 3_600_000_000_000;
/// Two clocks that were calibrated for themselves may drift apart by this much in a test.
const CALIBRATION_NS: i64 = 500_000;
/// The bound of either end's wall clock by chrony, ns.
const CHRONY_NS: u64 = 100;

/// The record of a run against a far end whose wall clock is wrong by this much, and what was said.
fn measured(wall_wrong_ns: u64, arguments: &[&str]) -> (Value, String) {
    let mut ahead = serde_json::to_value(Clock::calibrate()).unwrap();
    ahead["origin_ns"] = (ahead["origin_ns"].as_u64().unwrap() + AHEAD_NS as u64).into();
    let clock: Clock = serde_json::from_value(ahead).unwrap();
    let describe = |kernel| {
        let mut time = TimeBase { boot_id: "elsewhere".to_owned(), ..host::utc::time_base(clock) };
        time.wall.wall_ns += wall_wrong_ns;
        time.utc = Utc { claims: vec![Claim::of("chrony", Ok(CHRONY_NS))], ..Utc::default() };
        serde_json::to_string(&EchoClock { time, kernel }).unwrap()
    };
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let address = socket.local_addr().unwrap();
        let far =
            scope.spawn(|| serve(EchoSocket::Kernel(socket), false, (clock, &describe), &stop));
        let measured = near(address, arguments);
        stop.store(true, Ordering::Relaxed);
        far.join().unwrap().unwrap();
        measured
    })
}

fn near(far: SocketAddr, arguments: &[&str]) -> (Value, String) {
    let directory = tempfile::tempdir().unwrap();
    let path = crate::two_machines::keeper(directory.path(), "0.000000100");
    let mut command = tickpath();
    command
        .args(["run", "net-one-way", "--quiet", "--connect", &far.to_string()])
        .env("PATH", path);
    for set in [
        "exchange.start=false",
        "runs=1",
        "warm_up_seconds=0.1",
        "seconds=0.4",
        "hiccup_seconds=0",
        "load.rate_per_second=2000",
        "subject.rust.backend=block",
    ] {
        command.args(["--set", set]);
    }
    let runs = directory.path().join("runs");
    let done = command.args(arguments).arg("--out").arg(&runs).output().unwrap();
    let said = format!("{}{}", text(&done.stdout), text(&done.stderr));
    assert!(runs.is_dir(), "{said}");
    (record(&only_run(&runs)), said)
}

fn between(record: &Value) -> &Value {
    &record["subjects"][0]["load"]["between"][0]
}

/// Lowest and highest offset.
fn bracket_of(between: &Value) -> [i64; 2] {
    [0, 1].map(|end| between["bracket"]["offset_ns"][end].as_i64().unwrap())
}

const WAYS: [&str; 3] = ["forward.response", "forward.service", "reverse.service"];

/// The p50 of a way, if it is given.
fn p50(record: &Value, tag: &str) -> Option<u64> {
    let all = record["subjects"][0]["series"].as_array().unwrap();
    let is_it = |one: &&Value| tag == format!("{}.{}", one["name"], one["kind"]).replace('"', "");
    all.iter().find(is_it).and_then(|one| one["pooled"]["p50"].as_u64())
}

#[test]
fn the_bracket_holds_the_truth_and_ways_are_intervals_as_wide() {
    let (record, said) = measured(0, &["--one-way", "bracket"]);
    assert_eq!(record["void_because"].as_array().map_or(0, Vec::len), 0, "{said}");
    let between = between(&record);
    let bracket = &between["bracket"];
    let [low, high] = bracket_of(between);
    let is_near = low - CALIBRATION_NS <= AHEAD_NS && AHEAD_NS <= high + CALIBRATION_NS;
    assert!(low < high && is_near, "{bracket}");
    assert_eq!(between["claims"][0]["from"], "chrony");
    let error_ns = between["error_ns"].as_u64().unwrap();
    assert!(error_ns >= 2 * CHRONY_NS, "{between}");
    for way in WAYS {
        assert!(p50(&record, way).is_some(), "{way}: {said}");
        assert_eq!(between["errors_ns"][way], error_ns, "{way}: {between}");
    }
    assert!(said.contains("leave the offset of both ends' clocks open by"), "{said}");
    assert!(said.contains("forward.service of 800 values is known to within"), "{said}");
    assert_eq!(rule(&record, "rust.clocks")["verdict"], "held", "{record}");
}

#[test]
fn a_way_that_the_clocks_are_too_far_apart_for_is_left_out() {
    let (record, said) = measured(0, &[]);
    let between = between(&record);
    let error_ns = between["error_ns"].as_u64().unwrap();
    for way in WAYS {
        match p50(&record, way) {
            Some(ns) => assert!(error_ns <= ns / 10, "{way}: {ns} ns, {between}"),
            None => {
                let why = between["withheld"][way].as_str().unwrap();
                assert!(why.contains("--one-way bracket"), "{why}");
                assert!(said.contains("left out of rust"), "{said}");
            }
        }
    }
}

/// chrony says 100 ns of a wall clock that is a second off: its figure was taken as it was.
#[test]
fn a_false_claim_makes_the_record_void() {
    let (record, said) = measured(1_000_000_000, &["--one-way", "bracket"]);
    let rule = rule(&record, "rust.clocks");
    assert_eq!(rule["verdict"], "broken", "{rule}");
    let why = record["void_because"].to_string();
    assert!(why.contains("by chrony the other end's clock is ahead"), "{why}");
    assert!(why.contains("chronyc tracking"), "{why}");
    assert_eq!(between(&record)["error_from"], "bracket", "{said}");
}
