use super::*;
use crate::setting::{Judgement, Value};
use expect_test::expect;
use host::{Root, Topology};
use record::machine::{Fingerprint, FixedFacts, Nic};
use std::collections::BTreeMap;

/// Cores 2 and 3 of four are measured.
fn plain() -> Inspection {
    Inspection { cores: vec![2, 3], allowed: vec![0, 1, 2, 3], ..Inspection::default() }
}

fn with_topology(topology: Topology) -> Inspection {
    Inspection { topology, ..plain() }
}

fn with_fixed(fixed: FixedFacts) -> Inspection {
    Inspection { machine: Fingerprint { fixed, ..Fingerprint::default() }, ..plain() }
}

fn isolated_machine() -> Inspection {
    with_topology(Topology { isolated: Some(vec![2, 3]), ..Topology::default() })
}

/// The judgement of each value, a line each.
fn tell<R: Fn(&str, &Inspection) -> Judgement>(
    rule: R,
    seen: &Inspection,
    values: &[&str],
) -> String {
    let name = std::any::type_name::<R>().rsplit("::").next().unwrap();
    let line = |value: &&str| {
        let (grade, found) = rule(value, seen);
        format!("{name} {value:?} -> {}: {found}\n", grade.name())
    };
    values.iter().map(line).collect()
}

#[test]
fn lists_of_cores() {
    let mut told = String::new();
    let lists = ["2-3", "0-7", "3", "", "x"];
    told += &tell(isolated, &plain(), &lists);
    told += &tell(nohz_full, &plain(), &["2-3", ""]);
    told += &tell(rcu_nocbs, &plain(), &["2,3", "0-N", ""]);
    let eight = with_topology(Topology { last_possible: Some(7), ..Topology::default() });
    told += &tell(rcu_nocbs, &eight, &["all", "0-N", "3-N", "0-7:1/2"]);
    let tickless = with_topology(Topology { nohz_full: Some(vec![2, 3]), ..Topology::default() });
    told += &tell(rcu_nocbs, &tickless, &[""]);
    told += &tell(workqueue_cpumask, &plain(), &["3", "ffffffff,ffffffff", "8", "what"]);
    told += &tell(watchdog_cores, &plain(), &["0-3", "0-1", "", "?"]);
    told += &tell(watchdog_cores, &isolated_machine(), &["0-3", "0-1"]);
    expect![[r#"
        isolated "2-3" -> ok: cores 2-3 isolated
        isolated "0-7" -> ok: cores 2-3 isolated
        isolated "3" -> warn: core 2 not isolated
        isolated "" -> warn: cores 2-3 not isolated
        isolated "x" -> unknown: "x" is not understood
        nohz_full "2-3" -> ok: cores 2-3 without a tick while one thread runs there
        nohz_full "" -> warn: cores 2-3 with a tick
        rcu_nocbs "2,3" -> ok: cores 2-3 offloaded
        rcu_nocbs "0-N" -> unknown: rcu_nocbs=0-N: "0-N" needs the number of the last core, which can't be read here
        rcu_nocbs "" -> warn: cores 2-3 with callbacks of their own
        rcu_nocbs "all" -> ok: cores 2-3 offloaded
        rcu_nocbs "0-N" -> ok: cores 2-3 offloaded
        rcu_nocbs "3-N" -> warn: core 2 with callbacks of their own
        rcu_nocbs "0-7:1/2" -> warn: core 3 with callbacks of their own
        rcu_nocbs "" -> ok: offloaded from cores 2-3
        workqueue_cpumask "3" -> ok: deferred work keeps off cores 2-3
        workqueue_cpumask "ffffffff,ffffffff" -> warn: deferred work may run on cores 2-3
        workqueue_cpumask "8" -> warn: deferred work may run on core 3
        workqueue_cpumask "what" -> unknown: "what" is not understood
        watchdog_cores "0-3" -> ok: looks at cores 2-3
        watchdog_cores "0-1" -> ok: keeps off cores 2-3
        watchdog_cores "" -> ok: keeps off cores 2-3
        watchdog_cores "?" -> unknown: "?" is not understood
        watchdog_cores "0-3" -> warn: looks at cores 2-3
        watchdog_cores "0-1" -> ok: keeps off cores 2-3
    "#]]
    .assert_eq(&told);
}

#[test]
fn second_hardware_threads() {
    let mut told = String::new();
    let words = ["on", "off", "notsupported", "notimplemented"];
    let alone =
        || Topology { siblings: (0..4).map(|n| (n, vec![n])).collect(), ..Topology::default() };
    let with = |is_virtual| Inspection {
        topology: alone(),
        ..with_fixed(FixedFacts { is_virtual: Some(is_virtual), ..FixedFacts::default() })
    };
    told += &tell(smt, &with(true), &words);
    told += &tell(smt, &with(false), &["notsupported"]);
    told += &tell(smt, &plain(), &["on"]);
    let siblings = (0..4).map(|core| (core, vec![core % 4, core % 4 + 4])).collect();
    let mut threads = with_topology(Topology { siblings, ..Topology::default() });
    told += &tell(smt, &threads, &["on"]);
    threads.topology.isolated = Some(vec![2, 3, 6, 7]);
    told += &tell(smt, &threads, &["on"]);
    expect![[r#"
        smt "on" -> ok: on; no second threads
        smt "off" -> ok: off; no second threads
        smt "notsupported" -> unknown: no second threads are shown, but a hypervisor may hide them
        smt "notimplemented" -> ok: notimplemented; no second threads
        smt "notsupported" -> ok: notsupported; no second threads
        smt "on" -> unknown: on; which cores are siblings can't be read
        smt "on" -> warn: others may run on the second hardware threads, cores 6-7
        smt "on" -> ok: on; the second threads, cores 6-7, are isolated
    "#]]
    .assert_eq(&told);
}

#[test]
fn frequency() {
    let mut told = String::new();
    let with = |driver: &str, turbo| {
        let frequency_driver = Some(driver.to_owned());
        with_fixed(FixedFacts { frequency_driver, turbo, ..FixedFacts::default() })
    };
    let governors = ["performance", "powersave", "schedutil", "performance powersave"];
    told += &tell(governor, &with("intel_pstate", Some(true)), &governors);
    told += &tell(governor, &with("intel_pstate", Some(false)), &governors);
    told += &tell(governor, &with("acpi-cpufreq", None), &governors);
    expect![[r#"
        governor "performance" -> ok: performance (intel_pstate, turbo on)
        governor "powersave" -> warn: powersave (intel_pstate, turbo on): the processor chooses, and slows down when it waits
        governor "schedutil" -> warn: schedutil (intel_pstate, turbo on): the frequency follows the load
        governor "performance powersave" -> warn: performance powersave (intel_pstate, turbo on): the processor chooses, and slows down when it waits
        governor "performance" -> ok: performance (intel_pstate, turbo off)
        governor "powersave" -> bad: powersave (intel_pstate, turbo off): it slows down when it waits, and is slow to rise
        governor "schedutil" -> warn: schedutil (intel_pstate, turbo off): the frequency follows the load
        governor "performance powersave" -> bad: performance powersave (intel_pstate, turbo off): it slows down when it waits, and is slow to rise
        governor "performance" -> ok: performance (acpi-cpufreq)
        governor "powersave" -> bad: powersave (acpi-cpufreq): the lowest frequency, always
        governor "schedutil" -> warn: schedutil (acpi-cpufreq): the frequency follows the load
        governor "performance powersave" -> bad: performance powersave (acpi-cpufreq): the lowest frequency, always
    "#]].assert_eq(&told);
}

#[test]
fn idling() {
    let mut told = String::new();
    let state = |name: &str, us, is_disabled| IdleState {
        name: name.to_owned(),
        is_disabled: Some(is_disabled),
        exit_latency_us: Some(us),
    };
    let with = |deep_is_disabled| {
        let states = vec![state("C1", 2, false), state("C6", 170, deep_is_disabled)];
        let idle_states = BTreeMap::from([(2, states.clone()), (3, states)]);
        with_fixed(FixedFacts { idle_states, is_virtual: Some(false), ..FixedFacts::default() })
    };
    told += &tell(super::idle_states, &with(false), &["C1, C6"]);
    told += &tell(super::idle_states, &with(true), &["C1", "halt", "poll"]);
    let fixed = FixedFacts {
        is_virtual: Some(true),
        idle_driver: Some("haltpoll".to_owned()),
        ..FixedFacts::default()
    };
    told += &tell(super::idle_states, &with_fixed(fixed), &["halt", "POLL, haltpoll idle"]);
    expect![[r#"
        idle_states "C1, C6" -> warn: C1, C6; the deepest, C6, takes 170 us to leave
        idle_states "C1" -> ok: C1; the deepest, C1, takes 2 us to leave
        idle_states "halt" -> ok: idle cores halt (C1)
        idle_states "poll" -> ok: idle cores poll
        idle_states "halt" -> warn: an idle core halts into the hypervisor, which wakes it
        idle_states "POLL, haltpoll idle" -> warn: an idle core halts into the hypervisor, which wakes it
    "#]].assert_eq(&told);
}

#[test]
fn clocks() {
    let mut told = String::new();
    let clock_sources_available = Some(vec!["tsc".to_owned(), "hpet".to_owned()]);
    let seen = with_fixed(FixedFacts { clock_sources_available, ..FixedFacts::default() });
    let sources = ["tsc", "arch_sys_counter", "kvm-clock", "hpet", "acpi_pm", "xen", "riscv"];
    told += &tell(clock_source, &seen, &sources);
    expect![[r#"
        clock_source "tsc" -> ok: tsc
        clock_source "arch_sys_counter" -> ok: arch_sys_counter
        clock_source "kvm-clock" -> warn: kvm-clock (available: tsc hpet): no system call, but more than the counter alone
        clock_source "hpet" -> bad: hpet (available: tsc hpet): a system call for each stamp
        clock_source "acpi_pm" -> bad: acpi_pm (available: tsc hpet): a system call for each stamp
        clock_source "xen" -> bad: xen (available: tsc hpet): a system call for each stamp
        clock_source "riscv" -> unknown: riscv (available: tsc hpet): the cost of a stamp is unknown
    "#]].assert_eq(&told);
}

#[test]
fn real_time_classes() {
    let mut told = String::new();
    let with = |release: &str| {
        let kernel_release = Some(release.to_owned());
        with_fixed(FixedFacts {
            kernel_release,
            rt_period_us: Some(1_000_000),
            ..FixedFacts::default()
        })
    };
    let values = ["-1", "950000", "1000000", "0", "much"];
    told += &tell(rt_runtime, &with("6.8.0-45-generic"), &values);
    told += &tell(rt_runtime, &with("6.12.1"), &["950000"]);
    told += &tell(fair_server, &plain(), &["0", "50000000", ""]);
    told += &tell(autogroup, &plain(), &["0", "1"]);
    told += &tell(autogroup, &isolated_machine(), &["1"]);
    expect![[r#"
        rt_runtime "-1" -> ok: -1: no throttling
        rt_runtime "950000" -> warn: real-time threads get 950000 of each 1000000 us
        rt_runtime "1000000" -> ok: 1000000: no throttling
        rt_runtime "0" -> warn: real-time threads get 0 of each 1000000 us
        rt_runtime "much" -> unknown: "much" is not understood
        rt_runtime "950000" -> ok: 950000, but from Linux 6.12 on sched.fair_server counts
        fair_server "0" -> ok: off
        fair_server "50000000" -> warn: 50000000 ns of each second are kept for other threads
        fair_server "" -> unknown: "" is not understood
        autogroup "0" -> ok: off
        autogroup "1" -> warn: on
        autogroup "1" -> ok: on, without effect on isolated cores
    "#]]
    .assert_eq(&told);
}

#[test]
fn memory() {
    let mut told = String::new();
    told += &tell(thp_enabled, &plain(), &["always", "madvise", "never"]);
    told += &tell(thp_defrag, &plain(), &["always", "defer+madvise"]);
    let never =
        FixedFacts { transparent_huge_pages: Some("never".to_owned()), ..FixedFacts::default() };
    told += &tell(thp_defrag, &with_fixed(never), &["always"]);
    let with = |nodes: usize| {
        let nodes = Some((0..nodes).map(|node| (node, vec![node])).collect());
        with_topology(Topology { nodes, ..Topology::default() })
    };
    told += &tell(numa_balancing, &with(2), &["0", "1", "2"]);
    told += &tell(numa_balancing, &with(1), &["1"]);
    told += &tell(numa_balancing, &plain(), &["1"]);
    told += &tell(ksm, &plain(), &["0", "1", "2"]);
    told += &tell(stat_interval, &plain(), &["1"]);
    told += &tell(stat_interval, &isolated_machine(), &["1", "120", "-1"]);
    expect![[r#"
        thp_enabled "always" -> warn: always
        thp_enabled "madvise" -> ok: madvise
        thp_enabled "never" -> ok: never
        thp_defrag "always" -> warn: always
        thp_defrag "defer+madvise" -> ok: defer+madvise
        thp_defrag "always" -> ok: always, but huge pages are off
        numa_balancing "0" -> ok: off
        numa_balancing "1" -> warn: on, over 2 nodes
        numa_balancing "2" -> warn: on, over 2 nodes
        numa_balancing "1" -> ok: on, without effect on one node
        numa_balancing "1" -> unknown: on; how many nodes there are can't be read
        ksm "0" -> ok: off
        ksm "1" -> warn: runs
        ksm "2" -> ok: off
        stat_interval "1" -> ok: every 1 s
        stat_interval "1" -> warn: every 1 s, on isolated cores too
        stat_interval "120" -> ok: every 120 s
        stat_interval "-1" -> unknown: "-1" is not understood
    "#]]
    .assert_eq(&told);
}

#[test]
fn network() {
    let mut told = String::new();
    let values = ["0", "50", "often"];
    told += &tell(busy_polling, &plain(), &values);
    let nics = Some(vec![Nic { name: "ens5".to_owned(), ..Nic::default() }]);
    told += &tell(busy_polling, &with_fixed(FixedFacts { nics, ..FixedFacts::default() }), &values);
    told += &tell(congestion_control, &plain(), &["cubic", "bbr", "bbr2"]);
    told += &tell(mitigations, &plain(), &["", "meltdown: Mitigation: PTI"]);
    expect![[r#"
        busy_polling "0" -> ok: off; there is no NIC to poll
        busy_polling "50" -> ok: 50 us
        busy_polling "often" -> unknown: "often" is not understood
        busy_polling "0" -> warn: off
        busy_polling "50" -> ok: 50 us
        busy_polling "often" -> unknown: "often" is not understood
        congestion_control "cubic" -> ok: cubic
        congestion_control "bbr" -> warn: bbr
        congestion_control "bbr2" -> warn: bbr2
        mitigations "" -> ok: none works at every entry to the kernel
        mitigations "meltdown: Mitigation: PTI" -> warn: meltdown: Mitigation: PTI
    "#]]
    .assert_eq(&told);
}

#[test]
fn interrupts_that_come_and_that_may() {
    let mut told = String::new();
    let device = |id: &str, counts: [u64; 4], cores: Option<&[usize]>| Interrupt {
        id: id.to_owned(),
        name: format!("eth0-{id}"),
        counts: (0..4).zip(counts).collect(),
        allowed: cores.map(<[usize]>::to_vec),
        ..Interrupt::default()
    };
    let with = |interrupts| Inspection { interrupts: Some(interrupts), ..plain() };
    let elsewhere = [
        device("30", [9, 0, 0, 0], Some(&[0, 1])),
        device("31", [0; 4], Some(&[0, 1, 2, 3])),
        Interrupt { kind: InterruptKind::Timer, ..device("LOC", [9; 4], None) },
    ];
    told += &tell(irq_affinity, &with(elsewhere.to_vec()), &[""]);
    let mut here: Vec<Interrupt> =
        (40..45).map(|id| device(&id.to_string(), [0, 0, id, 1], Some(&[2]))).collect();
    here.push(device("50", [1, 0, 0, 0], Some(&[0, 1, 2, 3])));
    here.push(device("51", [0, 0, 0, 99], None));
    told += &tell(irq_affinity, &with(here), &[""]);
    expect![[r#"
        irq_affinity "" -> ok: no active device interrupt can reach cores 2-3
        irq_affinity "" -> warn: may come to cores 2-3: 51 eth0-51, 44 eth0-44, 43 eth0-43 and 4 more
    "#]].assert_eq(&told);
}

#[test]
fn without_a_core_to_judge_a_setting_is_not_known() {
    let root = Root::at("/no/such/root");
    for setting in crate::settings::all() {
        let Some(judged) = setting.judge(&root, &Inspection::default()) else { continue };
        assert_eq!(judged.grade, Grade::Unknown, "{}", setting.id);
        assert!(!matches!(judged.value, Value::Absent), "{}", setting.id);
    }
}
