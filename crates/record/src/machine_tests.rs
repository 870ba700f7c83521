use super::*;

/// Every optional field filled, so that each can be changed.
fn filled() -> Fingerprint {
    let text = |text: &str| Some(text.to_owned());
    let state = |name: &str| IdleState {
        name: name.to_owned(),
        is_disabled: Some(false),
        exit_latency_us: Some(2),
    };
    let fixed = FixedFacts {
        architecture: text("x86_64"),
        cpu_model: text("EPYC"),
        cpu_vendor: text("AuthenticAMD"),
        microcode: text("0x1"),
        cores_online: Some(vec![0, 1]),
        cores_isolated: Some(vec![1]),
        cores_nohz_full: Some(vec![1]),
        smt: text("on"),
        siblings: BTreeMap::from([(0, vec![0, 1]), (1, vec![0, 1])]),
        numa_nodes: Some(BTreeMap::from([(0, vec![0, 1])])),
        frequency_driver: text("acpi-cpufreq"),
        governors: BTreeMap::from([(0, text("powersave")), (1, None)]),
        turbo: Some(true),
        idle_driver: text("acpi_idle"),
        idle_governor: text("menu"),
        idle_states: BTreeMap::from([(0, vec![state("POLL"), state("C1")])]),
        kernel_release: text("6.8.0"),
        kernel_version: text("#1 SMP"),
        kernel_command_line: text("quiet"),
        mitigations: Some(BTreeMap::from([("mds".to_owned(), "Not affected".to_owned())])),
        clock_source: text("tsc"),
        clock_sources_available: Some(vec!["tsc".to_owned()]),
        rt_runtime_us: Some(950_000),
        rt_period_us: Some(1_000_000),
        fair_server_runtime_ns: Some(50_000_000),
        transparent_huge_pages: text("madvise"),
        autogroup: Some(true),
        tcp_congestion_control: Some("cubic".into()),
        cgroup_cpu_max: text("max 100000"),
        is_virtual: Some(true),
        hypervisor: text("kvm"),
        dmi_vendor: text("Amazon EC2"),
        dmi_product: text("c7i.large"),
        container: text("docker"),
        memory_total_kib: Some(1),
        nics: Some(vec![Nic { name: "eth0".to_owned(), ..Nic::default() }]),
    };
    let probes = Probes {
        cores: Some((0, 1)),
        cache_line_round_trip_ns_p50: Some(130),
        blocking_round_trip_ns_p50: Some(14_000),
        clock_cost_ns: Some(14),
        clock_counter: text("tsc"),
        missing_because: vec![],
    };
    let load = Load {
        load_average: Some([0.5, 0.25, 0.0]),
        threads_runnable: Some(1),
        uptime_seconds: Some(561.96),
        ticks: BTreeMap::from([(0, Ticks { steal: 9, total: 1000, ..Ticks::default() })]),
        interfaces_virtual: vec![Nic { name: "veth0".to_owned(), ..Nic::default() }],
    };
    Fingerprint { fixed, probes, load, instance: Instance::default() }
}

#[test]
fn written_and_read_again_is_the_same() {
    let machine = Machine { before: filled(), after: Some(filled()) };
    let text = serde_json::to_string(&machine).unwrap();
    assert_eq!(serde_json::from_str::<Machine>(&text).unwrap(), machine);
    let empty = serde_json::to_string(&Machine::default()).unwrap();
    assert_eq!(serde_json::from_str::<Machine>(&empty).unwrap(), Machine::default());
}

#[test]
fn records_of_other_versions_open() {
    assert_eq!(serde_json::from_str::<Machine>("{}").unwrap(), Machine::default());
    let text = r#"{"before": {"fixed": {"smt": "off", "colour": [1], "nics": [{"name": "lo",
        "age": 3}]}, "mood": {}}, "after": {"load": {"ticks": {"7": {"steal": 1}}}}}"#;
    let machine: Machine = serde_json::from_str(text).unwrap();
    assert_eq!(machine.before.fixed.smt.as_deref(), Some("off"));
    assert_eq!(machine.before.fixed.nics.as_ref().map(|nics| nics[0].name.as_str()), Some("lo"));
    let after = machine.after.unwrap();
    assert_eq!(after.load.ticks[&7], Ticks { steal: 1, total: 0, ..Ticks::default() });
}

#[test]
fn the_same_machine_has_no_differences_whatever_its_load() {
    let before = filled();
    let mut after = filled();
    after.load = Load::default();
    assert_eq!(differences(&before, &after, 1.5), Vec::<String>::new());
}

/// Removes each field in turn: fails if `differences` forgets one.
#[test]
fn every_fixed_field_that_changes_gives_one_sentence_with_its_name() {
    let before = filled();
    let Value::Object(fields) = serde_json::to_value(&before.fixed).unwrap() else { panic!() };
    assert!(fields.len() > 30);
    for name in fields.keys() {
        let mut changed = fields.clone();
        assert_ne!(changed.remove(name), Some(Value::Null), "{name} is not filled");
        let fixed = serde_json::from_value(Value::Object(changed)).unwrap();
        let after = Fingerprint { fixed, ..before.clone() };
        for sentences in [differences(&before, &after, 1.5), differences(&after, &before, 1.5)] {
            assert_eq!(sentences.len(), 1, "{name}: {sentences:?}");
            assert!(sentences[0].starts_with(name), "{name}: {sentences:?}");
        }
    }
}

fn sentence(change: impl FnOnce(&mut Fingerprint)) -> String {
    let mut after = filled();
    change(&mut after);
    differences(&filled(), &after, 1.5).join("\n")
}

#[test]
fn sentences_name_the_leaf_that_changed() {
    assert_eq!(
        sentence(|after| after.fixed.turbo = Some(false)),
        "turbo changed: true before, false after"
    );
    assert_eq!(
        sentence(|after| after.fixed.clock_source = None),
        "clock_source changed: \"tsc\" before, absent or unreadable after"
    );
    assert_eq!(
        sentence(|after| after.fixed.cores_online = Some(vec![0])),
        "cores_online changed: [0,1] before, [0] after"
    );
    assert_eq!(
        sentence(|after| {
            after.fixed.governors.insert(0, Some("performance".to_owned()));
        }),
        "governors.0 changed: \"powersave\" before, \"performance\" after"
    );
    assert_eq!(
        sentence(|after| {
            for state in after.fixed.idle_states.get_mut(&0).unwrap() {
                state.is_disabled = Some(true);
            }
        }),
        "idle_states.0.POLL.is_disabled changed: false before, true after (and 1 more change there)"
    );
}

#[test]
fn probes_may_differ_by_the_ratio_and_no_more() {
    let blocking = |ns| sentence(|after| after.probes.blocking_round_trip_ns_p50 = ns);
    assert_eq!(blocking(Some(21_000)), "");
    assert_eq!(
        blocking(Some(21_700)),
        "a blocking round trip took 14000 ns before the run and 21700 ns after it: a ratio of \
         1.55, above 1.5"
    );
    assert_eq!(blocking(Some(9_334)), "");
    assert_ne!(blocking(Some(9_300)), "", "faster by more than the ratio counts too");
    assert_ne!(blocking(Some(0)), "");
    assert_eq!(
        blocking(None),
        "a blocking round trip took 14000 ns before the run and could not be measured after it"
    );
}

#[test]
fn a_tick_of_a_slow_counter_is_no_difference() {
    let clock = |ns| sentence(|after| after.probes.clock_cost_ns = Some(ns));
    assert_eq!(clock(0), "");
    assert_eq!(clock(14 + PROBE_SLACK_NS), "");
    assert_ne!(clock(15 + PROBE_SLACK_NS), "");
}

#[test]
fn probes_of_other_cores_are_not_compared() {
    let sentences = sentence(|after| {
        after.probes.cores = Some((2, 3));
        after.probes.cache_line_round_trip_ns_p50 = Some(1_000);
    });
    assert_eq!(
        sentences,
        "the probes ran on cores 0 and 1 before, on 2 and 3 after: they can't be compared"
    );
}
