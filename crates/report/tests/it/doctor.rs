//! Doctor's findings, as a person reads them.

use expect_test::expect;
use record::doctor::{Finding, Findings, Grade};

fn finding(id: &str, grade: Grade, found: &str) -> Finding {
    Finding {
        id: id.to_owned(),
        grade,
        found: found.to_owned(),
        why: "Threads that spin use whole cores. When the group has used up its quota, all of them stand still."
            .to_owned(),
        what_to_do: "Lift the limit: docker --cpus, systemd CPUQuota=.".to_owned(),
        ..Finding::default()
    }
}

fn findings(findings: Vec<Finding>) -> Findings {
    Findings {
        fit: findings.iter().all(|one| one.grade != Grade::Bad),
        machine: "abcd".to_owned(),
        cores: vec![2, 3],
        watched_seconds: 2.0004,
        findings,
        ..Findings::default()
    }
}

#[test]
fn the_worst_comes_first_and_is_explained() {
    let found = findings(vec![
        finding("clock.source", Grade::Ok, "tsc"),
        finding("cpu.governor", Grade::Unknown, "not seen from here"),
        finding("kernel.mitigations", Grade::Warn, &"mds: Clear CPU buffers; ".repeat(5)),
        finding("sysctl.net.ipv4.tcp_congestion_control", Grade::Warn, "bbr"),
        finding("cgroup.cpu_max", Grade::Bad, "1.5 cores' worth"),
        finding("cores.count", Grade::Ok, "8 of 8 may be used"),
    ]);
    expect![[r#"
        doctor · NOT FIT to measure on · 1 bad, 2 warn, 1 unknown, 2 ok
          cores 2 3 · machine abcd · watched for 2 s

        bad      cgroup.cpu_max         1.5 cores' worth
                 why  Threads that spin use whole cores. When the group has used up its quota, all of them
                      stand still.
                 do   Lift the limit: docker --cpus, systemd CPUQuota=.

        warn     kernel.mitigations     mds: Clear CPU buffers; mds: Clear CPU buffers; mds: Clear CPU
                                        buffers; mds: Clear CPU buffers; mds: Clear CPU buffers;
                 why  Threads that spin use whole cores. When the group has used up its quota, all of them
                      stand still.
                 do   Lift the limit: docker --cpus, systemd CPUQuota=.
        warn     sysctl.net.ipv4.tcp_congestion_control
                                        bbr
                 why  Threads that spin use whole cores. When the group has used up its quota, all of them
                      stand still.
                 do   Lift the limit: docker --cpus, systemd CPUQuota=.

        unknown  cpu.governor           not seen from here

        ok       clock.source           tsc
        ok       cores.count            8 of 8 may be used
    "#]].assert_eq(&report::doctor(&found, 100));
}

#[test]
fn the_headline_says_no_more_than_is_known() {
    let headline = |grades: &[Grade]| {
        let found = findings(grades.iter().map(|&grade| finding("x", grade, "y")).collect());
        report::doctor(&found, 100).lines().next().unwrap().to_owned() + "\n"
    };
    let told: String = [
        &[Grade::Ok][..],
        &[Grade::Ok, Grade::Warn],
        &[Grade::Ok, Grade::Unknown],
        &[Grade::Unknown, Grade::Warn],
        &[Grade::Bad, Grade::Unknown],
    ]
    .map(headline)
    .concat();
    expect![[r#"
        doctor · fit to measure on · 1 ok
        doctor · fit to measure on, with a wider tail than it has to be · 1 warn, 1 ok
        doctor · fit to measure on, as far as can be read · 1 unknown, 1 ok
        doctor · fit to measure on, as far as can be read, with a wider tail than it has to be · 1 warn, 1
        doctor · NOT FIT to measure on · 1 bad, 1 unknown
    "#]].assert_eq(&told);
}

#[test]
fn no_line_is_longer_than_the_table() {
    let long = findings(vec![finding("a".repeat(30).as_str(), Grade::Bad, &"word ".repeat(60))]);
    assert!(report::doctor(&long, 100).lines().all(|line| line.chars().count() <= 100));
}
