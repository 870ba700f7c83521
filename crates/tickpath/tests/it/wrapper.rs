//! Clients that another program starts over another stack.

use crate::support::*;
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};
use testing::quiet::or_doubled;
use testing::unless;

const SHORT: [&str; 7] = [
    "runs=1",
    "warm_up_seconds=0.1",
    "seconds=0.3",
    "hiccup_seconds=0",
    "bare_seconds=0",
    "exchange.backend=block",
    "subject.rust.backend=block",
];

fn run(out: &Path, wrapper: &[&str], sets: &[&str]) -> Output {
    let wrapper = format!("subject.rust.wrapper={}", serde_json::to_string(wrapper).unwrap());
    let mut command = tickpath();
    command.args(["run", "ping-pong", "--quiet", "--set", &wrapper, "--out"]).arg(out);
    SHORT.iter().chain(sets).for_each(|set| {
        command.args(["--set", set]);
    });
    command.output().unwrap()
}

/// The record of a run under that wrapper, over its floor.
///
/// Where the machine had two regimes in a run as short as that, neither may have enough of both.
fn measured(wrapper: &[&str]) -> Value {
    or_doubled("0.2 s of client and floor have a p50 in the same regime", |factor| {
        let out = tempfile::tempdir().unwrap();
        let seconds = 0.2 * f64::from(factor);
        let sets = [format!("seconds={seconds}"), format!("floor_seconds={seconds}")];
        let done = run(out.path(), wrapper, &sets.each_ref().map(String::as_str));
        assert!(matches!(done.status.code(), Some(0 | 3)), "{}", text(&done.stderr));
        let record = record(&only_run(out.path()));
        let over_floor = &subject(&record, "rust")["series"][0]["over_floor"];
        unless!(over_floor.is_object(), "{record:#}");
        Ok::<_, String>(record)
    })
}

/// The program is named, its floor runs under it too, and a library that it preloads is found.
#[test]
fn a_wrapper_starts_the_client_and_its_floor() {
    let folder = tempfile::tempdir().unwrap();
    let library = folder.path().join("libonload.so");
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-x", "c", "/dev/null", "-o"]).arg(&library);
    assert!(compiler.status().unwrap().success());
    let preload = format!("LD_PRELOAD={}", library.display());
    for (wrapper, said) in [
        (vec!["env", "ONE=1"], "client: started by env ONE=1, whose effect can't be checked"),
        (vec!["env", preload.as_str()], "with libonload.so in its memory"),
        // The client is the child of a shell that stays.
        (vec!["sh", "-c", "\"$@\"; exit $?", "sh"], "whose effect can't be checked"),
    ] {
        let record = measured(&wrapper);
        assert_eq!(record["complete"], true, "{record:#}");
        for subject in [subject(&record, "rust"), subject(&record, "floor")] {
            let words: Vec<&str> =
                subject["wrapper"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
            assert_eq!(words, wrapper, "{subject:#}");
            assert!(subject["load"]["stacks"][0].as_str().unwrap().ends_with(said), "{subject:#}");
        }
    }
}

/// Otherwise the kernel's stack would be measured under the name of another one.
#[test]
fn a_wrapper_without_effect_voids_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let onload = folder.path().join("onload");
    std::fs::write(&onload, "#!/bin/sh\nshift\nexec \"$@\"\n").unwrap();
    std::fs::set_permissions(&onload, PermissionsExt::from_mode(0o755)).unwrap();
    let out = tempfile::tempdir().unwrap();
    let wrapper = [&onload.display().to_string(), "--profile=latency"];
    let done = run(out.path(), &wrapper, &["floor_seconds=0", "seconds=3"]);
    let said = format!("{}{}", text(&done.stdout), text(&done.stderr));
    assert_eq!(done.status.code(), Some(3), "{said}");
    assert!(record(&only_run(out.path()))["void_because"].to_string().contains("libonload"));
    assert!(said.contains("did not take effect"), "{said}");
}

#[test]
fn a_wrapper_that_is_missing_or_has_no_sockets_is_an_error() {
    let out = tempfile::tempdir().unwrap();
    let said = |wrapper: &[&str], sets: &[&str]| {
        let done = run(out.path(), wrapper, sets);
        assert_eq!(done.status.code(), Some(2), "{}", text(&done.stdout));
        text(&done.stderr).to_owned()
    };
    let missing = said(&["no-such-stack", "--profile=latency"], &[]);
    assert!(missing.contains("there is no program no-such-stack"), "{missing}");
    assert!(
        missing.contains("subject.rust.wrapper") && missing.contains("install it"),
        "{missing}"
    );
    let below = said(&["env"], &["network=veth", "subject.rust.backend=af_xdp"]);
    assert!(below.contains("takes over sockets of the kernel, and af_xdp has none"), "{below}");
}

/// Runs under a wrapper and without one are of two stacks.
#[test]
fn wrapped_and_plain_runs_are_not_merged() {
    let out = tempfile::tempdir().unwrap();
    for (name, wrapper) in [("plain", &[][..]), ("wrapped", &["env"])] {
        run(&out.path().join(name), wrapper, &["floor_seconds=0"]);
    }
    let [plain, wrapped] =
        ["plain", "wrapped"].map(|name| only_run(&out.path().join(name)).display().to_string());
    let merged = out.path().join("merged").display().to_string();
    let done = output(&["report", "--merge", "--force", "--out", &merged, &plain, &wrapped]);
    let said = text(&done.stderr);
    assert_ne!(done.status.code(), Some(0), "{said}");
    assert!(said.contains("wrapper"), "{said}");
}
