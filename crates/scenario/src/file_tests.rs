//! What ships, what can be set, and what is said of what can't.

use super::*;
use expect_test::{Expect, expect};

#[test]
fn what_ships_is_right_and_named_as_its_file() {
    for (name, text) in SHIPPED {
        let scenario = Scenario::parse(name, text, &[]).unwrap();
        assert_eq!(scenario.name, *name);
        assert!(!scenario.about.is_empty());
    }
}

#[test]
fn any_key_can_be_set() {
    let set = |sets: &[&str]| {
        let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
        Scenario::find("order-to-ack", &sets).unwrap()
    };
    assert_eq!(set(&["load.rate_per_second=400000"]).load.rate_per_second, 400_000.0);
    assert_eq!(set(&["load.price=59000.5"]).load.price, "59000.5");
    assert_eq!(set(&["runs=2", "seconds=0.5"]).runs, 2);
    assert_eq!(set(&["subject.rust.backend=block"]).subject[0].backend, "block");
    assert_eq!(set(&["subject.0.cores=[1]"]).subject[0].cores, Cores::List(vec![1]));
    assert_eq!(set(&["exchange.book=/data/a=b.dbn"]).exchange.book, "/data/a=b.dbn");
    let harm = set(&["exchange.inject.delay_us=50", "subject.rust.inject.stall_ms=10"]);
    let lines = ["exchange delay_us=50", "rust stall_ms=10 stall_every_ms=1000"];
    assert_eq!(harm.injected(), lines);
    assert_eq!(set(&[]).injected(), [""; 0]);
}

#[test]
fn a_resolved_scenario_reads_back_as_itself() {
    for (name, _) in SHIPPED {
        let scenario = Scenario::find(name, &["runs=2".to_owned()]).unwrap();
        let text = toml::to_string(&scenario.table().unwrap()).unwrap();
        assert_eq!(Scenario::parse("again", &text, &[]).unwrap(), scenario);
    }
}

/// What a kind doesn't have is neither there to be set nor kept in a record.
#[test]
fn a_scenario_has_the_keys_of_its_kind_alone() {
    let keys = |name: &str| {
        let table = Scenario::find(name, &[]).unwrap().table().unwrap();
        table.keys().cloned().collect::<Vec<String>>().join(" ")
    };
    expect!["about exchange floor_seconds hiccup_seconds kind load name runs seconds subject warm_up_seconds"]
        .assert_eq(&keys("order-to-ack"));
    expect!["about hiccup_seconds ipc kind load name runs seconds subject warm_up_seconds"]
        .assert_eq(&keys("ring"));
    expect!["about hiccup_seconds kind name runs seconds subject"].assert_eq(&keys("core-to-core"));
}

#[test]
fn a_key_of_another_kind_is_refused() {
    let complaint =
        |name: &str, set: &str| Scenario::find(name, &[set.to_owned()]).unwrap_err().to_string();
    expect![[r#"--set exchange.start=false: there is no "exchange" in exchange.start; there are: about, hiccup_seconds, ipc, kind, load, name, runs, seconds, subject, warm_up_seconds"#]]
        .assert_eq(&complaint("ring", "exchange.start=false"));
    expect!["subject.0.backend = pigeon: this client knows ring, ring-many, queue, queue-unchecked, distributor, rtrb, crossbeam"]
        .assert_eq(&complaint("ring", "subject.0.backend=pigeon"));
    expect!["subject.0.processes = 3: its ends are in 1 process, or in 2"]
        .assert_eq(&complaint("ring", "subject.0.processes=3"));
    expect!["subject.2.backend = rtrb: it lies in one process's memory; between two are ring, ring-many, queue, queue-unchecked, distributor"]
        .assert_eq(&complaint("ring", "subject.rtrb.processes=2"));
    expect![[r#"subject.0.cores = 1: name the producer's core and the consumer's"#]]
        .assert_eq(&complaint("ring", "subject.0.cores=[1]"));
    expect![[r#"ipc.message_bytes = 8: a message has 16 to 4096 bytes"#]]
        .assert_eq(&complaint("ring", "ipc.message_bytes=8"));
    expect![[r#"subject.0.cores = 3: a pair takes two cores, and 32 are paired at most"#]]
        .assert_eq(&complaint("core-to-core", "subject.0.cores=[3]"));
    let text = SHIPPED.iter().find(|(name, _)| *name == "ring").unwrap().1;
    let with_exchange = format!("{text}\n[exchange]\nstart = true\n");
    expect!["scenario mine: scenarios of kind ipc have no exchange; leave it out"]
        .assert_eq(&Scenario::parse("mine", &with_exchange, &[]).unwrap_err().to_string());
}

#[track_caller]
fn complains(sets: &[&str], expected: Expect) {
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    let error = Scenario::find("order-to-ack", &sets).unwrap_err();
    expected.assert_eq(&error.to_string());
}

#[test]
fn errors_say_what_why_and_what_to_try() {
    complains(
        &["runs"],
        expect![[r#"--set runs: write KEY=VALUE, such as load.rate_per_second=400000"#]],
    );
    complains(&["runs=0"], expect![[r#"runs = 0: there must be 1 to 1000"#]]);
    complains(
        &["subject.java.backend=spin"],
        expect![[
            r#"--set subject.java.backend=spin: there is no "java" in subject.java.backend; there are: rust"#
        ]],
    );
    complains(
        &["subject.rust.name=floor"],
        expect![[r#"subject.0.name = floor: floor… and hiccup… are tickpath's own names"#]],
    );
    complains(
        &["exchange.backend=dpdk"],
        expect![[r#"there is no backend "dpdk"; there are: spin, block"#]],
    );
    complains(
        &["load.accounts=3"],
        expect![[
            r#"load.connections = 16: 3 accounts can use at most as many connections; set load.accounts too"#
        ]],
    );
    complains(
        &["subject.rust.inject.stall_ms=2000"],
        expect![[r#"subject.0.inject.stall_ms = 2000: a stall lasts 0 (none) to 1000 ms"#]],
    );
    complains(
        &["subject.rust.inject.drop_every=10", r#"subject.rust.command=["java"]"#],
        expect![[
            r#"subject.0.inject = drop_every=10: tickpath can inject faults into its own client only"#
        ]],
    );
    complains(
        &["exchange.start=false", "exchange.inject.delay_us=5"],
        expect![[
            r#"exchange.inject = delay_us=5: tickpath can inject faults into an exchange that it starts only"#
        ]],
    );
    complains(&["load=3"], expect![[r#"--set load=3: load is a table; set one of its keys"#]]);
    complains(&["seconds=nan"], expect![[r#"seconds = NaN: from 0.001 to 30 days"#]]);
    let error = Scenario::find("no-such", &[]).unwrap_err().to_string();
    assert!(error.contains("order-to-ack, ping-pong"), "{error}");
    let error = Scenario::find("order-to-ack", &["load.rat=1".to_owned()]).unwrap_err();
    assert!(error.to_string().contains("there is no \"rat\" in load.rat"), "{error}");
}
