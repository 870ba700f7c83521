//! An echo on "another machine" that is stopped again and again while its clock is measured, as a
//! hypervisor, a debugger or Ctrl-Z stops a process.

use crate::support::*;
use crate::two_machines::{elsewhere, keeper};
use rustix::process::Signal;
use std::process::Stdio;
use std::thread::sleep;
use std::time::Duration;

/// Its monotonic clock is a day ahead; both clocks were calibrated for themselves.
const AHEAD_NS: i64 = 86_400_000_000_000;
const CALIBRATION_NS: i64 = 500_000;
const PAUSE: Duration = Duration::from_millis(200);

#[test]
fn a_far_end_that_is_stopped_for_200_ms_leaves_the_bracket_true_and_narrow() {
    let directory = tempfile::tempdir().unwrap();
    let probe = elsewhere(directory.path()).arg("true").output();
    if !probe.as_ref().is_ok_and(|probe| probe.status.success()) {
        testing::skip!(Root, "namespaces of time and mounts can't be made here: {probe:?}");
    }
    let path = keeper(directory.path(), "0.100000000");
    let mut program = elsewhere(directory.path());
    program.arg(tickpath().get_program()).env("PATH", &path);
    let echo = Exchange::start_by(program, &["--echo", "--datagrams"]);
    let [pid] = children(echo.child.id(), "--echo")[..] else { panic!("one echo") };
    let mut command = tickpath();
    command.args(["run", "net-one-way", "--quiet", "--one-way", "bracket"]);
    command.args(["--connect", &echo.address]).env("PATH", &path);
    for set in [
        "exchange.start=false",
        "runs=1",
        "warm_up_seconds=0.1",
        "seconds=1.5",
        "hiccup_seconds=0",
        "load.rate_per_second=1000",
        "subject.rust.backend=block",
    ] {
        command.args(["--set", set]);
    }
    let runs = directory.path().join("runs");
    let command = command.arg("--out").arg(&runs).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    while child.try_wait().unwrap().is_none() {
        sleep(PAUSE);
        signal(pid, Signal::STOP);
        sleep(PAUSE);
        signal(pid, Signal::CONT);
    }
    let done = child.wait_with_output().unwrap();
    assert!(runs.is_dir(), "{}", text(&done.stderr));
    let record = record(&only_run(&runs));
    let load = &rust(&record)["load"];
    assert_eq!((&load["lost"], &load["received"]), (&0.into(), &load["sent"]), "{load}");
    let request = &series(&record, "rust", "request", "service")["pooled"];
    let pause_ns = PAUSE.as_nanos() as u64;
    assert!(request["max"].as_u64().unwrap() > pause_ns * 3 / 4, "it was not stopped: {request}");
    let between = &load["between"][0];
    let bracket = &between["bracket"];
    let [low, high] = [0, 1].map(|end| bracket["offset_ns"][end].as_i64().unwrap());
    let is_near = low - CALIBRATION_NS <= AHEAD_NS && AHEAD_NS <= high + CALIBRATION_NS;
    assert!(low < high && is_near, "{bracket}");
    assert_eq!((&bracket["steps"], &bracket["windows_contradicted"]), (&0.into(), &0.into()));
    assert!(bracket["width_ns_p50"].as_u64().unwrap() < pause_ns / 10, "{bracket}");
    assert!(between["errors_ns"]["forward.service"].as_u64().is_some(), "{between}");
}
