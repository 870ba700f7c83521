use super::*;
use expect_test::{Expect, expect};
use host::Topology;
use record::machine::{Fingerprint, FixedFacts};
use std::collections::BTreeMap;

fn with_cores(cores: &[usize], allowed: usize) -> Inspection {
    let allowed = (0..allowed).collect();
    Inspection { cores: cores.to_vec(), allowed, ..Inspection::default() }
}

fn with_fixed(fixed: FixedFacts) -> Inspection {
    let machine = Fingerprint { fixed, ..Fingerprint::default() };
    Inspection { machine, ..with_cores(&[2, 3], 4) }
}

fn check(rule: fn(&Inspection) -> Judgement, machines: &[Inspection], expected: Expect) {
    let line = |seen: &Inspection| {
        let (grade, found) = rule(seen);
        format!("{}: {found}\n", grade.name())
    };
    expected.assert_eq(&machines.iter().map(line).collect::<String>());
}

#[test]
fn too_few_cores_mislead() {
    let machines = [
        with_cores(&[], 0),
        with_cores(&[0], 1),
        with_cores(&[0, 1], 2),
        with_cores(&[1, 2], 3),
        with_cores(&[0, 1, 2, 3], 4),
    ];
    check(
        cores_count,
        &machines,
        expect![[r#"
        bad: 0 of 0 may be used, none would be measured on
        bad: 1 of 1 may be used, 0 would be measured on
        warn: 2 of 2 may be used, 0-1 would be measured on
        ok: 3 of 3 may be used, 1-2 would be measured on
        warn: 4 of 4 may be used, 0-3 would be measured on
    "#]],
    );
}

#[test]
fn cores_that_share_or_lie_apart() {
    let topology =
        |siblings: fn(usize) -> Vec<usize>, nodes: &[&[usize]], caches: usize| Topology {
            siblings: (0..8).map(|core| (core, siblings(core))).collect(),
            nodes: Some(nodes.iter().map(|list| list.to_vec()).enumerate().collect()),
            cache_l3: (0..8).map(|core| (core, vec![core / (8 / caches)])).collect(),
            ..Topology::default()
        };
    let with = |topology| Inspection { topology, ..with_cores(&[2, 4], 8) };
    let machines = [
        with(topology(|core| vec![core], &[&[0, 1, 2, 3, 4, 5, 6, 7]], 1)),
        with(topology(|core| vec![core % 2, core % 2 + 2, core % 2 + 4], &[&[2, 4]], 1)),
        with(topology(|core| vec![core], &[&[0, 1, 2, 3], &[4, 5, 6, 7]], 2)),
        with(topology(|core| vec![core], &[&[0, 1, 2, 3, 4, 5, 6, 7]], 2)),
        with(Topology::default()),
    ];
    check(
        placement,
        &machines,
        expect![[r#"
        ok: cores 2,4 lie on one NUMA node, no two are siblings
        bad: cores 2,4 are threads of one physical core
        warn: cores 2,4 lie on 2 NUMA nodes
        warn: cores 2,4 lie behind 2 level 3 caches
        unknown: which cores are siblings can't be read
    "#]],
    );
}

#[test]
fn quotas_that_throttle() {
    let with = |limit: &str| {
        with_fixed(FixedFacts { cgroup_cpu_max: Some(limit.to_owned()), ..FixedFacts::default() })
    };
    let mut machines =
        ["max 100000", "400000 100000", "300000 100000", "200000 100000", "150000 100000"]
            .map(with)
            .to_vec();
    machines.extend(["", "x 1", "100000", "1 0", "nan nan", "inf 1"].map(with));
    machines.push(Inspection::default());
    machines.push(Inspection { has_control_groups: true, ..Inspection::default() });
    check(
        cgroup_quota,
        &machines,
        expect![[r#"
            ok: no limit
            ok: 4.0 cores' worth: 400000 us of each 100000 us, as much as there is
            warn: 3.0 cores' worth: 300000 us of each 100000 us, enough while nothing else runs in the group
            bad: 2.0 cores' worth: 200000 us of each 100000 us, for cores 2-3 that spin
            bad: 1.5 cores' worth: 150000 us of each 100000 us, for cores 2-3 that spin
            unknown: "" is not understood
            unknown: "x 1" is not understood
            unknown: "100000" is not understood
            unknown: "1 0" is not understood
            unknown: "nan nan" is not understood
            unknown: "inf 1" is not understood
            unknown: the control groups can't be read
            ok: no limit
        "#]],
    );
}

#[test]
fn metal_guests_and_containers() {
    let text = |text: &str| Some(text.to_owned());
    let nitro = FixedFacts {
        is_virtual: Some(true),
        hypervisor: text("kvm"),
        dmi_vendor: text("Amazon EC2"),
        dmi_product: text("c7i.4xlarge"),
        ..FixedFacts::default()
    };
    let metal = FixedFacts { is_virtual: Some(false), ..FixedFacts::default() };
    check(
        hypervisor,
        &[nitro, metal, FixedFacts::default()].map(with_fixed),
        expect![[r#"
        warn: a virtual machine on kvm (Amazon EC2 c7i.4xlarge)
        ok: bare metal
        unknown: whether it is bare metal can't be told
    "#]],
    );
    let release = text("6.8.0");
    let nics = Some(vec![Nic { name: "eth0".to_owned(), ..Nic::default() }]);
    let machines = [
        FixedFacts { container: None, kernel_release: release, ..FixedFacts::default() },
        FixedFacts { container: text("docker"), ..FixedFacts::default() },
        FixedFacts { container: text("docker"), nics, ..FixedFacts::default() },
        FixedFacts::default(),
    ];
    check(
        container,
        &machines.map(with_fixed),
        expect![[r#"
        ok: nothing hints at one
        warn: docker, without a NIC of its own
        ok: docker, with a NIC of its own
        unknown: there is no /proc to tell
    "#]],
    );
}

#[test]
fn kernels() {
    let with = |release: &str| {
        with_fixed(FixedFacts {
            kernel_release: Some(release.to_owned()),
            kernel_version: Some("#1 SMP PREEMPT_DYNAMIC Tue".to_owned()),
            ..FixedFacts::default()
        })
    };
    let releases = ["6.12.3", "5.10.0-30-cloud", "4.14.336", "custom"];
    let mut machines = releases.map(with).to_vec();
    machines.push(Inspection::default());
    check(
        kernel,
        &machines,
        expect![[r#"
        ok: 6.12.3, PREEMPT_DYNAMIC
        ok: 5.10.0-30-cloud, PREEMPT_DYNAMIC
        warn: 4.14.336, PREEMPT_DYNAMIC: out of support
        unknown: custom, PREEMPT_DYNAMIC is not understood
        unknown: the kernel's release can't be read
    "#]],
    );
}

#[test]
fn nics_and_where_they_are() {
    let nic = |name: &str, driver: Option<&str>| Nic {
        name: name.to_owned(),
        driver: driver.map(str::to_owned),
        driver_version: driver.filter(|name| *name == "ena").map(|_| "2.13.0g".to_owned()),
        ..Nic::default()
    };
    let with = |nics: &[Nic]| {
        with_fixed(FixedFacts { nics: Some(nics.to_vec()), ..FixedFacts::default() })
    };
    let machines = [
        with(&[nic("ens5", Some("ena")), nic("lo", None)]),
        with(&[nic("eth0", Some("virtio_net"))]),
        with(&[nic("eth0", None)]),
        with(&[nic("lo", None)]),
        Inspection::default(),
    ];
    check(
        nic_driver,
        &machines,
        expect![[r#"
            ok: ens5: ena 2.13.0g
            warn: eth0: virtio_net, played by the host's software
            unknown: eth0: unknown driver
            warn: none: only loopback can be measured
            unknown: the interfaces can't be listed
        "#]],
    );
    let placed = |nodes: &[&[usize]], nic_nodes: &[(&str, usize)]| {
        let nodes = nodes.iter().map(|list| list.to_vec()).enumerate().collect();
        let nic_nodes: BTreeMap<String, usize> =
            nic_nodes.iter().map(|(name, node)| ((*name).to_owned(), *node)).collect();
        let topology = Topology { nodes: Some(nodes), ..Topology::default() };
        Inspection { topology, nic_nodes, ..with(&[nic("ens5", Some("ena"))]) }
    };
    let machines = [
        placed(&[&[0, 1, 2, 3]], &[]),
        placed(&[&[0, 1], &[2, 3]], &[("ens5", 1)]),
        placed(&[&[0, 1], &[2, 3]], &[("ens5", 0)]),
        placed(&[&[0, 1], &[2, 3]], &[("ens5", 7)]),
        placed(&[&[0, 1], &[2, 3]], &[]),
        Inspection::default(),
    ];
    check(
        nic_node,
        &machines,
        expect![[r#"
        ok: one NUMA node
        ok: the NICs are on the measured cores' node
        warn: ens5 is on node 0, cores 2-3 are not
        warn: ens5 is on node 7, cores 2-3 are not
        unknown: 2 NUMA nodes, and no NIC that says on which it is
        unknown: the NUMA nodes can't be read
    "#]],
    );
}

#[test]
fn interrupts_that_are_deferred_for_long_or_for_ever() {
    let with = |polls, timeout_ns| {
        let deferral = Deferral { polls, timeout_ns };
        let quiet = ("eth1".to_owned(), Deferral::default());
        let nic_deferral = BTreeMap::from([("eth0".to_owned(), deferral), quiet]);
        Inspection { nic_deferral, ..Inspection::default() }
    };
    let machines = [
        Inspection::default(),
        with(0, 0),
        // Without deferral the time-out only ends the joining of packets.
        with(0, 200_000),
        with(2, 0),
        with(2, 10_000),
        with(2, 200_000),
    ];
    check(
        nic_deferral,
        &machines,
        expect![[r#"
            unknown: no interface says it
            ok: interrupts are not deferred
            ok: interrupts are not deferred
            warn: eth0 defers interrupts without a time-out: packets strand
            ok: eth0: deferred for a short time
            warn: eth0 defers interrupts for up to 200 us where nobody polls
        "#]],
    );
}
