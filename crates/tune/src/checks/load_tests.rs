use super::*;
use crate::watch::Activity;
use expect_test::{Expect, expect};
use host::Topology;
use record::machine::{Fingerprint, FixedFacts, Load, Probes, Ticks};

fn plain() -> Inspection {
    Inspection { cores: vec![2, 3], ..Inspection::default() }
}

fn check(rule: fn(&Inspection) -> Judgement, machines: &[Inspection], expected: Expect) {
    let line = |seen: &Inspection| {
        let (grade, found) = rule(seen);
        format!("{}: {found}\n", grade.name())
    };
    expected.assert_eq(&machines.iter().map(line).collect::<String>());
}

/// Two seconds in which each core was idle for the given number of 200 ticks.
fn watched(idle: &[(usize, u64)]) -> Inspection {
    let ticks = |&(core, idle): &(usize, u64)| (core, Ticks { idle, total: 200, steal: 0 });
    let ticks = idle.iter().map(ticks).collect();
    let busy = vec![(812, Process { name: "rustc".to_owned(), ticks: 57, started_ticks: 0 })];
    let watched = Activity { seconds: 2.0, ticks, busy, interrupts: None };
    Inspection { watched: Some(watched), ..plain() }
}

#[test]
fn load_of_others() {
    let machines = [
        watched(&[(0, 0), (2, 200), (3, 199)]),
        watched(&[(2, 200), (3, 197)]),
        watched(&[(2, 180), (3, 197)]),
        watched(&[(0, 0)]),
        plain(),
    ];
    check(
        on_cores,
        &machines,
        expect![[r#"
            ok: 0.5 % of 2.0 s on core 3, the busiest
            warn: 1.5 % of 2.0 s on core 3, the busiest; busiest on any core: rustc (812) 0.57 s
            bad: 10.0 % of 2.0 s on core 2, the busiest; busiest on any core: rustc (812) 0.57 s
            unknown: the kernel's time counters can't be read or stand still
            unknown: nobody watched
        "#]],
    );
    let mut with_siblings = watched(&[(2, 200), (3, 200), (6, 20), (7, 200)]);
    with_siblings.topology.siblings = [(2, vec![2, 6]), (3, vec![3, 7])].into();
    let alone = Topology { siblings: [(2, vec![2])].into(), ..Topology::default() };
    let machines = [with_siblings, Inspection { topology: alone, ..plain() }, plain()];
    check(
        on_siblings,
        &machines,
        expect![[r#"
            bad: 90.0 % of 2.0 s on core 6, the busiest; busiest on any core: rustc (812) 0.57 s
            ok: no second hardware threads are shown
            unknown: which cores are siblings can't be read
        "#]],
    );
}

/// In a sandbox, counters may stand still or step back.
#[test]
fn counters_that_do_not_count_say_nothing() {
    let mut seen = watched(&[(2, 200)]);
    for ticks in [Ticks::default(), Ticks { idle: 10, total: 20, steal: 0 }] {
        seen.watched.as_mut().unwrap().ticks.insert(2, ticks);
        assert_eq!(on_cores(&seen).0, Grade::Unknown);
    }
    let odd = Ticks { idle: 300, total: 200, steal: 300 };
    seen.watched.as_mut().unwrap().ticks.insert(2, odd);
    assert_eq!(on_cores(&seen).0, Grade::Ok);
}

#[test]
fn stolen_time() {
    let with = |steal, is_virtual| {
        let ticks = Ticks { steal, idle: 90_000, total: 100_000 };
        let load = Load { ticks: [(0, ticks), (2, ticks)].into(), ..Load::default() };
        let fixed = FixedFacts { is_virtual, ..FixedFacts::default() };
        Inspection { machine: Fingerprint { load, fixed, ..Fingerprint::default() }, ..plain() }
    };
    let machines = [
        with(0, Some(true)),
        with(9, None),
        with(10, Some(true)),
        with(100, Some(true)),
        with(100, Some(false)),
        plain(),
    ];
    check(
        steal,
        &machines,
        expect![[r#"
        ok: 0.00 % of the time that core 2 wanted, since the start
        ok: 0.09 % of the time that core 2 wanted, since the start
        warn: 0.10 % of the time that core 2 wanted, since the start
        bad: 1.00 % of the time that core 2 wanted, since the start
        ok: no hypervisor to steal
        unknown: the cores have not run long enough to tell
    "#]],
    );
}

#[test]
fn averages() {
    let with = |minute| {
        let load = Load { load_average: Some([minute, 0.0, 0.0]), ..Load::default() };
        Inspection { machine: Fingerprint { load, ..Fingerprint::default() }, ..plain() }
    };
    check(
        load_average,
        &[with(0.1), with(0.5), plain()],
        expect![[r#"
        ok: 0.10 threads in the last minute
        warn: 0.50 threads in the last minute
        unknown: the load average can't be read
    "#]],
    );
}

#[test]
fn interrupts_in_two_seconds() {
    let one = |name: &str, kind, count| Interrupt {
        id: name.to_uppercase(),
        name: name.to_owned(),
        kind,
        counts: [(0, 1_000), (2, count), (3, 0)].into(),
        ..Interrupt::default()
    };
    let with = |interrupts: &[Interrupt]| {
        let watched =
            Activity { seconds: 2.0, interrupts: Some(interrupts.to_vec()), ..Activity::default() };
        Inspection { watched: Some(watched), ..plain() }
    };
    let timer = one("timer", InterruptKind::Timer, 500);
    let machines = [
        with(&[timer.clone(), one("eth0", InterruptKind::Device, 0)]),
        with(&[timer.clone(), one("tlb", InterruptKind::Internal, 100)]),
        with(&[
            timer,
            one("eth0", InterruptKind::Device, 1),
            one("nvme0q3", InterruptKind::Device, 6),
        ]),
        with(&[one("tlb", InterruptKind::Internal, 100), one("cal", InterruptKind::Internal, 900)]),
        plain(),
    ];
    check(
        interrupts,
        &machines,
        expect![[r#"
        ok: on cores 2-3 in 2.0 s: none
        ok: on cores 2-3 in 2.0 s: tlb (TLB) 50.0/s
        warn: on cores 2-3 in 2.0 s: nvme0q3 3.0/s, eth0 0.5/s
        warn: on cores 2-3 in 2.0 s: cal (CAL) 450.0/s, tlb (TLB) 50.0/s
        unknown: the interrupts can't be read
    "#]],
    );
}

#[test]
fn probes() {
    let with = |probes| Inspection {
        machine: Fingerprint { probes, ..Fingerprint::default() },
        ..plain()
    };
    let cost = |ns| {
        let clock_counter = Some("tsc".to_owned());
        with(Probes { clock_cost_ns: Some(ns), clock_counter, ..Probes::default() })
    };
    check(
        clock_cost,
        &[cost(18), cost(41), cost(900), plain()],
        expect![[r#"
        ok: 18 ns a stamp, from tsc
        warn: 41 ns a stamp, from tsc
        bad: 900 ns a stamp, from tsc
        unknown: was not measured
    "#]],
    );
    let pair = |ns| {
        with(Probes {
            cores: Some((2, 3)),
            cache_line_round_trip_ns_p50: Some(ns),
            blocking_round_trip_ns_p50: Some(ns * 100),
            ..Probes::default()
        })
    };
    let missing_because = vec![
        "no cache line round trip: late".to_owned(),
        "no blocking round trip: late".to_owned(),
    ];
    let missing = with(Probes { missing_because, ..Probes::default() });
    let machines = [pair(110), pair(450), pair(9_000), missing, plain()];
    check(
        cache_line,
        &machines,
        expect![[r#"
        ok: 110 ns between cores 2 and 3
        warn: 450 ns between cores 2 and 3
        bad: 9000 ns between cores 2 and 3
        unknown: no cache line round trip: late
        unknown: was not measured
    "#]],
    );
    check(
        blocking,
        &machines,
        expect![[r#"
        ok: 11000 ns between cores 2 and 3
        ok: 45000 ns between cores 2 and 3
        warn: 900000 ns between cores 2 and 3
        unknown: no blocking round trip: late
        unknown: was not measured
    "#]],
    );
}
