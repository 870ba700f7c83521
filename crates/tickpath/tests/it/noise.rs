//! `tickpath noise`, as a person would run it.

use crate::support::{SHORT, output, printed_record, signal, text, tickpath, wait_for};
use std::time::{Duration, Instant};

#[test]
fn a_profile_is_printed_and_recorded() {
    let runs = tempfile::tempdir().unwrap();
    let out = runs.path().to_str().unwrap();
    let done = output(&["noise", "--seconds", "0.5", "--out", out, "--quiet"]);
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    let table = text(&done.stdout);
    for word in ["noise · holds", ">= 100 us", "lost by", "longest", "lost together", "record: "] {
        assert!(table.contains(word), "{word} in {table}");
    }
    assert!(table.lines().all(|line| line.starts_with("record: ") || line.chars().count() <= 100));
    let run = crate::support::only_run(runs.path());
    let record = crate::support::record(&run);
    assert_eq!(record["scenario"], "noise");
    for file in ["001.hlog", "machine.json", "report.html"] {
        assert!(run.join(file).exists(), "{file}");
    }
    let gaps: u64 = record["noise"]["cores"]
        .as_array()
        .unwrap()
        .iter()
        .map(|core| core["gaps"].as_u64().unwrap())
        .sum();
    let counted: u64 = record["subjects"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["series"][0]["pooled"]["count"].as_u64().unwrap_or(0))
        .sum();
    assert_eq!(gaps, counted);
    // `report` prints what `noise` printed.
    let again = output(&["report", run.to_str().unwrap()]);
    assert!(table.starts_with(text(&again.stdout).trim_end()), "{}", text(&again.stdout));
}

#[test]
fn json_is_the_record() {
    let runs = tempfile::tempdir().unwrap();
    let out = runs.path().to_str().unwrap();
    let done =
        output(&["noise", "--seconds", "0.3", "--threshold-ns", "1000", "--out", out, "--json"]);
    let record = printed_record(&done);
    let core = &record["noise"]["cores"][0];
    assert!(core["gap_from_ns"].as_f64().unwrap() > 1000.0);
    assert!(
        core["gap_from_ns"].as_f64().unwrap() < 1000.0 + core["look_ns"].as_f64().unwrap() * 3.0
    );
}

#[test]
fn an_interrupt_leaves_what_was_measured_until_then() {
    let runs = tempfile::tempdir().unwrap();
    let mut child = tickpath()
        .args(["noise", "--seconds", "30", "--quiet", "--out"])
        .arg(runs.path())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    // It spins by then, in a control stretch or the measurement.
    wait_for("a spinning thread", || {
        let threads = std::fs::read_dir(format!("/proc/{}/task", child.id())).ok()?;
        (threads.count() >= 3).then_some(())
    });
    std::thread::sleep(Duration::from_millis(300));
    let began = Instant::now();
    signal(child.id(), rustix::process::Signal::INT);
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(3));
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    let record = crate::support::record(&crate::support::only_run(runs.path()));
    assert_eq!(record["complete"], false);
    assert!(record["void_because"][0].as_str().unwrap().contains("interrupted after"));
}

#[test]
fn a_run_can_have_it_beside() {
    let runs = tempfile::tempdir().unwrap();
    let mut arguments = SHORT.to_vec();
    let out = runs.path().to_str().unwrap();
    arguments.extend(["--noise", "--json", "--out", out]);
    let record = printed_record(&output(&arguments));
    let noise = &record["noise"];
    let cores = noise["cores"].as_array().unwrap();
    assert!(!cores.is_empty() && cores[0]["looks"].as_u64().unwrap() > 0, "{noise}");
    let hiccup = record["subjects"].as_array().unwrap().iter().find(|one| one["name"] == "hiccup");
    assert!(hiccup.unwrap()["series"][0]["pooled"]["count"].as_u64().unwrap() > 50);
    if noise["attribution"]["traced"] == false {
        testing::skip!(Tracepoints, "{}", noise["attribution"]["missing"]);
    }
    // Each core has its tick while it waits for orders.
    let under_load = noise["under_load"].as_array().unwrap();
    assert!(!under_load.is_empty(), "{noise}");
    let longest = noise["longest"].as_array().unwrap();
    let subjects = ["rust", "floor", "hiccup"];
    assert!(longest.iter().all(|one| subjects.contains(&one["subject"].as_str().unwrap())));
    assert!(text(record["warnings"].to_string().as_bytes()).contains("--noise"));
}

#[test]
fn what_cannot_be_is_rejected_with_advice() {
    for (arguments, words) in [
        (&["noise", "--seconds", "0"][..], "take more than 0"),
        (&["noise", "--seconds", "nan"], "take more than 0"),
        (&["noise", "--cores", "7999"], "this process may use cores"),
        (&["noise", "--cores", "two"], "two"),
        (&["noise", "--scheduling", "fast"], "write \"other\""),
    ] {
        let done = output(arguments);
        assert_eq!(done.status.code(), Some(2), "{arguments:?}");
        assert!(text(&done.stderr).contains(words), "{}", text(&done.stderr));
    }
}
