//! `tickpath run` with messages between threads: real threads and shared memory, and what happens
//! when the client goes, or its files can't be made.

use crate::support::*;
use rustix::process::Signal;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Slow enough for cores that others use too.
const SHORT_RING: &[&str] = &[
    "run",
    "ring",
    "--quiet",
    "--set",
    "runs=2",
    "--set",
    "warm_up_seconds=0.1",
    "--set",
    "seconds=0.5",
    "--set",
    "hiccup_seconds=0.1",
    "--set",
    "load.rate_per_second=2000",
];

fn ring(out: &Path, files: &Path) -> Command {
    let mut command = tickpath();
    let files = format!("ipc.directory={}", files.display());
    command.args(SHORT_RING).args(["--set", &files]).arg("--out").arg(out);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn is_empty(directory: &Path) -> bool {
    std::fs::read_dir(directory).unwrap().next().is_none()
}

#[test]
fn every_structure_carries_every_message_and_leaves_nothing_behind() {
    let (runs, files) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let done = ring(runs.path(), files.path()).output().unwrap();
    let table = text(&done.stdout);
    let run = only_run(runs.path());
    let record = record(&run);
    assert_eq!(record["complete"], true, "{}{table}", text(&done.stderr));
    assert_eq!(done.status.code(), Some(status_of(&record)));
    for name in ["ring", "ring-processes", "rtrb", "crossbeam"] {
        for held in ["complete", "replies", "recorded"] {
            let rule = rule(&record, &format!("{name}.{held}"));
            assert_eq!(rule["verdict"], "held", "{rule}");
        }
        for kind in ["response", "service"] {
            assert_eq!(series(&record, name, "message", kind)["pooled"]["count"], 2_000, "{name}");
        }
    }
    let subjects = record["subjects"].as_array().unwrap();
    let ring = subjects.iter().find(|subject| subject["name"] == "ring").unwrap();
    assert_eq!(ring["cores"].as_array().unwrap().len(), 2, "{ring}");
    // Where the kernel lets threads be watched it is known how many messages nothing disturbed.
    let undisturbed = ring["series"]
        .as_array()
        .unwrap()
        .iter()
        .find(|series| series["name"] == "undisturbed" && series["kind"] == "response");
    match undisturbed {
        Some(series) => assert!(series["pooled"]["count"].as_u64() <= Some(2_000), "{series}"),
        None => assert!(record["warnings"].to_string().contains("perf_event"), "{record}"),
    }
    assert!(table.lines().all(|line| line.chars().count() <= 100), "{table}");
    for word in ["message response", "p50", "hiccup"] {
        assert!(table.contains(word), "no {word:?} in {table}");
    }
    assert!(record["resolved"].get("exchange").is_none(), "{}", record["resolved"]);
    assert!(is_empty(files.path()), "files of a structure stayed");
    let left: Vec<_> = std::fs::read_dir(&run).unwrap().flatten().map(|one| one.path()).collect();
    let is_sample =
        |path: &std::path::PathBuf| path.extension().is_some_and(|one| one == "samples");
    assert!(!left.iter().any(is_sample), "{left:?}");
}

#[test]
fn ctrl_c_leaves_what_was_measured_and_no_files() {
    let (runs, files) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let run = ring(runs.path(), files.path()).args(["--set", "seconds=60"]).spawn().unwrap();
    wait_for("a client", || children(run.id(), "ipc-bench").first().copied());
    std::thread::sleep(Duration::from_millis(1500));
    signal(run.id(), Signal::INT);
    let asked = Instant::now();
    let done = run.wait_with_output().unwrap();
    assert!(asked.elapsed() < Duration::from_secs(10), "{:?}", asked.elapsed());
    assert_eq!(done.status.code(), Some(3), "{}", text(&done.stderr));
    let record = record(&only_run(runs.path()));
    assert_eq!(record["complete"], false);
    assert!(record["void_because"].to_string().contains("interrupted"), "{record}");
    let measured = series(&record, "ring", "message", "response")["pooled"]["count"].as_u64();
    assert!(measured > Some(500), "{measured:?}");
    assert!(is_empty(files.path()), "files of a structure stayed");
}

#[test]
fn a_client_that_is_killed_makes_an_invalid_record_that_says_so() {
    let (runs, files) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let run = ring(runs.path(), files.path())
        .args(["--set", "hiccup_seconds=0", "--set", "subject.rtrb.backend=ring-many"])
        .spawn()
        .unwrap();
    // The second run's log is the sign that the first run is on disk.
    wait_for("the second run", || {
        let entry = std::fs::read_dir(runs.path()).ok()?.next()?.ok()?;
        entry.path().join("002.hlog").exists().then_some(())
    });
    let client = wait_for("a client", || children(run.id(), "ipc-bench").first().copied());
    signal(client, Signal::KILL);
    let done = run.wait_with_output().unwrap();
    assert_eq!(done.status.code(), Some(3), "{}", text(&done.stderr));
    let record = record(&only_run(runs.path()));
    assert!(record["void_because"].to_string().contains("signal: 9"), "{record}");
    assert!(is_empty(files.path()), "files of a structure stayed");
}

/// Every subject in two processes; the producer is not left to wait for a consumer that is gone.
#[test]
fn of_two_processes_neither_outlives_the_other() {
    let (runs, files) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let apart = ["ring", "rtrb", "crossbeam"];
    let sets = apart.iter().flat_map(|name| {
        let set = |key: &str| format!("subject.{name}.{key}");
        ["--set".to_owned(), set("backend=ring"), "--set".to_owned(), set("processes=2")]
    });
    let run = ring(runs.path(), files.path())
        .args(["--set", "hiccup_seconds=0"])
        .args(sets)
        .spawn()
        .unwrap();
    // The second run's log is the sign that the first run is on disk.
    wait_for("the second run", || {
        let entry = std::fs::read_dir(runs.path()).ok()?.next()?.ok()?;
        entry.path().join("002.hlog").exists().then_some(())
    });
    let both = wait_for("two clients", || {
        let clients = children(run.id(), "ipc-bench");
        (clients.len() == 2).then_some(clients)
    });
    signal(both[1], Signal::KILL);
    let killed = Instant::now();
    let done = run.wait_with_output().unwrap();
    // A producer whose ring stays full would try for half a minute.
    assert!(killed.elapsed() < Duration::from_secs(15), "{:?}", killed.elapsed());
    assert_eq!(done.status.code(), Some(3), "{}", text(&done.stderr));
    let record = record(&only_run(runs.path()));
    assert!(record["void_because"].to_string().contains("signal: 9"), "{record}");
    assert!(is_empty(files.path()), "files of a structure stayed");
}

#[test]
fn what_cannot_be_done_is_said_before_anything_is_measured() {
    let runs = tempfile::tempdir().unwrap();
    let nowhere = runs.path().join("nowhere");
    let done = ring(runs.path(), &nowhere).output().unwrap();
    assert_eq!(done.status.code(), Some(2));
    let said = text(&done.stderr);
    assert!(said.contains("nowhere") && said.contains("ipc.directory="), "{said}");
    let slots = ring(runs.path(), runs.path()).args(["--set", "ipc.slots=1000"]).output().unwrap();
    assert_eq!(slots.status.code(), Some(2));
    assert!(text(&slots.stderr).contains("a power of two"), "{}", text(&slots.stderr));
    assert!(is_empty(runs.path()), "nothing was measured, and something is left");
    let processes = ["--set", "subject.rtrb.processes=2"];
    let peer = ring(runs.path(), runs.path()).args(processes).output().unwrap();
    assert_eq!(peer.status.code(), Some(2));
    assert!(text(&peer.stderr).contains("one process's memory"), "{}", text(&peer.stderr));
    let connect = tickpath().args(["run", "ring", "--connect", "127.0.0.1:1"]).output().unwrap();
    assert_eq!(connect.status.code(), Some(2));
    assert!(text(&connect.stderr).contains("--connect"), "{}", text(&connect.stderr));
}

#[test]
fn each_two_cores_have_a_figure() {
    let runs = tempfile::tempdir().unwrap();
    let cores = host::thread::allowed().unwrap();
    let done = tickpath()
        .args(["run", "core-to-core", "--set", "runs=1", "--set", "seconds=0.5", "--out"])
        .arg(runs.path())
        .output()
        .unwrap();
    if cores.len() < 2 {
        testing::skip!(Cores, "one core has no pair");
    }
    let record = record(&only_run(runs.path()));
    let pairs = cores.len().min(32) * (cores.len().min(32) - 1) / 2;
    let measured = record["subjects"][0]["series"].as_array().unwrap().len();
    let table = text(&done.stdout);
    assert!(table.lines().all(|line| line.chars().count() <= 100), "{table}");
    // Cores that are busy otherwise, or that a probe does not get in time, are told by name, and
    // then the map is no result.
    if measured < pairs {
        assert!(is_void(&record), "{record}");
        let why = record["void_because"].to_string();
        assert!(why.contains("busy") || why.contains("did not run in time"), "{record}");
    } else {
        assert!(table.contains("one way"), "{table}");
    }
}

/// The client's command was `tickpath relay` until it took the name of its crate.
#[test]
fn the_clients_old_name_still_starts_it() {
    for name in ["relay", "ipc-bench"] {
        let done = output(&[name, "--plan", "-"]);
        let said = text(&done.stderr);
        assert!(said.contains("IPC.md"), "{name}: {said}");
    }
}
