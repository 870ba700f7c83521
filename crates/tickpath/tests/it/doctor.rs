//! `tickpath doctor` on the machine that runs the tests, whatever it is.

use crate::support::*;
use record::doctor::{Findings, Grade, SCHEMA};
use std::collections::BTreeSet;

#[test]
fn the_exit_status_is_that_of_the_findings() {
    let done = output(&["doctor", "--json"]);
    let found = valid_by(include_str!("../../../../docs/doctor.schema.json"), &done.stdout);
    let found: Findings = serde_json::from_value(found).unwrap();
    assert_eq!(found.schema, SCHEMA);
    assert_eq!(found.fit, found.count(Grade::Bad) == 0);
    assert_eq!(done.status.code(), Some(if found.fit { 0 } else { 1 }), "{}", text(&done.stderr));
    assert!(found.watched_seconds > 1.0, "{}", found.watched_seconds);
    assert_eq!(found.machine.len(), 4);
    let ids: BTreeSet<&str> = found.findings.iter().map(|one| one.id.as_str()).collect();
    assert_eq!(ids.len(), found.findings.len(), "ids are told apart");
    let of = |id: &str| found.findings.iter().find(|one| one.id == id).unwrap();
    // Findings that this process measures itself are known on any machine.
    assert_ne!(of("clock.cost").grade, Grade::Unknown, "{:?}", of("clock.cost"));
    assert_ne!(of("cores.count").grade, Grade::Unknown);
    assert_ne!(of("permission.real_time").grade, Grade::Unknown);
    let timer = vec!["tick", "softirq.timer", "softirq.sched"];
    assert_eq!(of("kernel.nohz_full").removes, timer);
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    assert!(of("kernel.release").found.starts_with(kernel.trim()), "{:?}", of("kernel.release"));
}

/// Ids in doctor's findings are those of noise's table: a setting is looked up by the cause it
/// removes.
#[test]
fn what_a_setting_removes_is_a_cause_of_noise() {
    for setting in tune::settings::all() {
        for id in setting.removes {
            assert!(noise::is_cause(id), "{} removes {id:?}, which noise never gives", setting.id);
        }
    }
}

#[test]
fn the_cores_that_are_named_are_judged() {
    let core = host::thread::allowed().unwrap()[0];
    let done = output(&["doctor", "--cores", &core.to_string()]);
    let said = text(&done.stdout);
    assert!(said.starts_with("doctor · "), "{said}{}", text(&done.stderr));
    assert!(said.contains(&format!("  core {core} · machine ")), "{said}");
    assert!(said.contains("they need two cores"), "the probes were left out: {said}");
    assert!(said.lines().all(|line| line.chars().count() <= 100), "{said}");
    assert!(matches!(done.status.code(), Some(0 | 1)));
}

/// A scenario over sockets lacks nothing without CAP_NET_ADMIN.
#[test]
fn a_missing_capability_is_a_warning_where_the_scenario_takes_it() {
    let below = ["--set", "network=veth", "--set", "subject.rust.backend=af_xdp"];
    for (sets, grade) in [(&[][..], Grade::Ok), (&below[..], Grade::Warn)] {
        let mut command = std::process::Command::new("setpriv");
        command.args(["--inh-caps=-net_admin", "--bounding-set=-net_admin"]);
        command.arg(tickpath().get_program()).args(["doctor", "--json", "--scenario", "ping-pong"]);
        let done = command.args(sets).output();
        let done = match done {
            Ok(done) if done.stderr.is_empty() => done,
            Ok(done) => testing::skip!(Root, "setpriv: {}", text(&done.stderr)),
            Err(error) => testing::skip!(Root, "setpriv: {error}"),
        };
        let found: Findings = serde_json::from_slice(&done.stdout).unwrap();
        let of = |id: &str| found.findings.iter().find(|one| one.id == id).unwrap();
        let found = of("permission.net_admin");
        assert_eq!(found.grade, grade, "{found:?}");
        assert!(found.found.contains("no CAP_NET_ADMIN"), "{found:?}");
    }
    let done = output(&["doctor", "--scenario", "no-such"]);
    assert_eq!(done.status.code(), Some(2));
    assert!(text(&done.stderr).contains("no scenario \"no-such\""), "{}", text(&done.stderr));
}

#[test]
fn wrong_cores_are_rejected() {
    for (list, expected) in [
        ("9999", "9999"),
        ("8191", "core 8191 can't be used"),
        ("x", "\"x\" is not a list of cores"),
        ("", "the list of cores is empty"),
        ("3-1", "not a list of cores"),
    ] {
        let done = output(&["doctor", "--cores", list]);
        let said = text(&done.stderr);
        assert_eq!(done.status.code(), Some(2), "{list}: {said}");
        assert!(said.contains("--cores") && said.contains(expected), "{list}: {said}");
        assert!(done.stdout.is_empty());
    }
}
