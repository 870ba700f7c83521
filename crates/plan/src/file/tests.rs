//! The scenarios that ship, what can be set, and the errors for what can't.

use super::*;
use expect_test::{Expect, expect};
use host::placement::Cores;

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
    assert_eq!(set(&["exchange.gateways=2"]).exchange.gateways, 2);
    assert_eq!(set(&[]).exchange.gateways, 0);
}

#[test]
fn a_resolved_scenario_reads_back_as_itself() {
    for (name, _) in SHIPPED {
        let scenario = Scenario::find(name, &["runs=2".to_owned()]).unwrap();
        let text = toml::to_string(&scenario.table().unwrap()).unwrap();
        assert_eq!(Scenario::parse("again", &text, &[]).unwrap(), scenario);
    }
}

/// An endpoint is probed over plain sockets: a record must not name another backend.
#[test]
fn an_endpoint_is_not_probed_over_io_uring() {
    for (name, is_known) in [("spin", true), ("block", true), ("io_uring", false), ("dpdk", false)]
    {
        let found = Scenario::find("endpoint", &[format!("subject.probe.backend={name}")]);
        assert_eq!(found.is_ok(), is_known, "{name}");
        if let Err(error) = found {
            assert!(error.to_string().contains("spin or block"), "{error}");
        }
    }
}

/// A key that a kind lacks can't be set and is not kept in a record.
#[test]
fn a_scenario_has_the_keys_of_its_kind_alone() {
    let keys = |name: &str| {
        let table = Scenario::find(name, &[]).unwrap().table().unwrap();
        table.keys().cloned().collect::<Vec<String>>().join(" ")
    };
    expect!["about bare_seconds exchange find_rate floor_seconds follower hiccup_seconds journal kind load name network runs seconds subject tls warm_up_seconds"]
        .assert_eq(&keys("order-to-ack"));
    expect!["about hiccup_seconds ipc kind load name runs seconds subject warm_up_seconds"]
        .assert_eq(&keys("ring"));
    expect!["about hiccup_seconds kind name runs seconds subject"].assert_eq(&keys("core-to-core"));
    expect!["about bare_seconds exchange hiccup_seconds kind load name network one_way request runs seconds subject warm_up_seconds"]
        .assert_eq(&keys("irq-topology"));
    expect!["about audit bare_seconds exchange feed floor_seconds flow hiccup_seconds kind load name network one_way risk runs seconds strategy subject tls trace warm_up_seconds"].assert_eq(&keys("tick-to-trade"));
}

/// Somebody else's exchange gets no journal and no follower from a scenario.
#[test]
fn only_an_exchange_that_is_started_has_a_follower() {
    let error = Scenario::find("two-zones", &["exchange.start=false".to_owned()]).unwrap_err();
    expect!["subject.alone.replicate = alone: only an exchange that it starts gets a journal; leave it out"]
        .assert_eq(&error.to_string());
    let far = ["follower.round_trip_us=500001".to_owned()];
    let error = Scenario::find("two-zones", &far).unwrap_err().to_string();
    assert!(error.contains("0 to 500000 us"), "{error}");
    let far = ["follower.jitter_us=499501".to_owned()];
    let error = Scenario::find("two-zones", &far).unwrap_err().to_string();
    assert!(error.contains("0 to 499500 us"), "{error}");
}

#[test]
fn a_cluster_takes_a_program_for_its_processes() {
    let complaint =
        |set: &str| Scenario::find("two-zones", &[set.to_owned()]).unwrap_err().to_string();
    expect![[r#"subject.cluster.replicate = cluster: name the program of its processes in follower.cluster, as the scenario two-zones does"#]]
        .assert_eq(&complaint("follower.cluster=[]"));
    let error = complaint("subject.alone.failure=kill");
    assert!(error.contains("a standby needs subject.replicate = \"sync\""), "{error}");
}

/// The exchange waits for an election, and the run for the exchange.
#[test]
fn a_clusters_leader_is_lost_only_where_orders_go_on_afterwards() {
    Scenario::find("failover-cluster", &[]).unwrap();
    for (set, words) in [
        ("follower.cluster_lost_ms=1700", "1700 ms together"),
        ("follower.cluster_heartbeat_ms=3800", "follower.cluster_lost_ms = 5000"),
        ("follower.cluster_election_ms=19", "20 to 60000 ms"),
        ("seconds=10", "set seconds above twice that"),
        ("subject.kill.failure=end", "kill, stop or cut"),
        ("subject.kill.dialect=sbe-udp", "over TCP"),
        ("load.model=ping-pong", "load.model = \"open\""),
    ] {
        let error = Scenario::find("failover-cluster", &[set.to_owned()]).unwrap_err().to_string();
        assert!(error.contains(words), "{set}: {error}");
    }
}

/// Packets exist only where there is a network between the two.
#[test]
fn losses_between_zones_need_a_network() {
    let lossy = |percent: &str, network: &str| {
        let sets = [format!("follower.loss_percent={percent}"), format!("network={network}")];
        Scenario::find("two-zones", &sets).map_err(|error| error.to_string())
    };
    assert_eq!(lossy("0.5", "veth").unwrap().follower.loss_percent, 0.5);
    let error = lossy("0.5", "loopback").unwrap_err();
    assert!(error.contains("network = \"veth\""), "{error}");
    for percent in ["-1", "10.5", "nan"] {
        let error = lossy(percent, "veth").unwrap_err();
        assert!(error.contains("0 to 10 percent"), "{error}");
    }
}

/// A failure needs a standby that has everything, and a client that goes on there.
#[test]
fn an_exchange_fails_only_where_a_standby_can_go_on() {
    Scenario::find("failover", &[]).unwrap();
    for (set, words) in [
        ("subject.kill.replicate=async", "subject.replicate"),
        ("subject.kill.dialect=sbe-udp", "over TCP"),
        ("load.stamp_every=10", "stamp_every"),
        ("subject.stop.failure=cut", "network = \"veth\""),
        ("follower.round_trip_us=5", "round_trip_us = 0"),
        ("follower.standby_ms=149", "150 to 10000 ms"),
    ] {
        let error = Scenario::find("failover", &[set.to_owned()]).unwrap_err().to_string();
        assert!(error.contains(words), "{set}: {error}");
    }
}

#[test]
fn a_key_of_another_kind_is_rejected() {
    let complaint =
        |name: &str, set: &str| Scenario::find(name, &[set.to_owned()]).unwrap_err().to_string();
    expect![[r#"--set exchange.start=false: there is no "exchange" in exchange.start. There are: about, hiccup_seconds, ipc, kind, load, name, runs, seconds, subject, warm_up_seconds"#]]
        .assert_eq(&complaint("ring", "exchange.start=false"));
    expect!["subject.ring.backend = pigeon: this client knows ring, ring-many, queue, queue-unchecked, distributor, rtrb, crossbeam"]
        .assert_eq(&complaint("ring", "subject.0.backend=pigeon"));
    expect!["subject.ring.processes = 3: its ends are in 1 process, or in 2"]
        .assert_eq(&complaint("ring", "subject.0.processes=3"));
    expect!["subject.rtrb.backend = rtrb: it lies in one process's memory; between two are ring, ring-many, queue, queue-unchecked, distributor"]
        .assert_eq(&complaint("ring", "subject.rtrb.processes=2"));
    expect!["subject.ring.cores = 1: name the producer's core and the consumer's"]
        .assert_eq(&complaint("ring", "subject.0.cores=[1]"));
    expect![[r#"ipc.message_bytes = 8: a message has 16 to 4096 bytes"#]]
        .assert_eq(&complaint("ring", "ipc.message_bytes=8"));
    expect!["subject.line.cores = 3: a pair takes two cores, and 32 are paired at most"]
        .assert_eq(&complaint("core-to-core", "subject.0.cores=[3]"));
    let text = SHIPPED.iter().find(|(name, _)| *name == "ring").unwrap().1;
    let with_exchange = format!("{text}\n[exchange]\nstart = true\n");
    expect!["scenario mine: scenarios of kind ipc have no exchange; leave it out"]
        .assert_eq(&Scenario::parse("mine", &with_exchange, &[]).unwrap_err().to_string());
}

/// An engine may have a schedule. A key must exist under the load that is set along with it.
#[test]
fn a_load_that_is_set_brings_its_keys_and_takes_others_away() {
    let set = |name: &str, sets: &[&str]| {
        let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
        Scenario::find(name, &sets).map_err(|error| error.to_string())
    };
    expect!["--set seconds=60: with load.model = ping-pong there is no such key; leave it out"]
        .assert_eq(&set("engine-open-loop", &["load.model=ping-pong", "seconds=60"]).unwrap_err());
    assert!(set("engine", &["seconds=60"]).unwrap_err().contains("no such key"));
    let open = ["load.model=open", "load.rate_per_second=1000", "seconds=2"];
    // Rows with look-ahead have no schedule.
    assert!(set("engine", &open).unwrap_err().contains("only back to back"));
    let open = set("engine-open-loop", &["load.rate_per_second=10000", "seconds=2"]).unwrap();
    assert_eq!((open.rate_per_second_offered(), open.seconds), (Some(10_000.0), 2.0));
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
            r#"--set subject.java.backend=spin: there is no "java" in subject.java.backend. There are: rust"#
        ]],
    );
    complains(
        &["subject.rust.name=floor"],
        expect![[r#"subject.0.name = floor: floor…, bare… and hiccup… are tickpath's own names"#]],
    );
    complains(
        &["exchange.backend=netmap"],
        expect![[
            r#"there is no backend "netmap"; there are: spin, block, io_uring, io_uring_spin, af_xdp, dpdk"#
        ]],
    );
    complains(
        &["load.accounts=3"],
        expect![[
            r#"load.connections = 16: 3 accounts can use at most as many connections; set load.accounts too"#
        ]],
    );
    complains(
        &["subject.rust.inject.stall_ms=2000"],
        expect![[r#"subject.rust.inject.stall_ms = 2000: a stall lasts 0 to 1000 ms"#]],
    );
    complains(
        &["subject.rust.inject.drop_every=10", r#"subject.rust.command=["java"]"#],
        expect![
            "subject.rust.inject = drop_every=10: tickpath can inject faults into its own client only"
        ],
    );
    complains(
        &["exchange.start=false", "exchange.inject.delay_us=5"],
        expect![[
            r#"exchange.inject = delay_us=5: tickpath can inject faults into an exchange that it starts only"#
        ]],
    );
    complains(
        &["exchange.gateways=65"],
        expect![[r#"exchange.gateways = 65: 0 to 64; with 0 the exchange thread has the sockets"#]],
    );
    complains(
        &["exchange.entry_hold_us=100"],
        expect![[
            r#"exchange.entry_hold_us = 100: gateways stamp what is held: set exchange.gateways to 1 or more"#
        ]],
    );
    complains(
        &["exchange.delivery_window_us=100"],
        expect![[
            r#"exchange.delivery_window_us = 100: orders answer the ticks of a feed, which only scenarios of ticks have"#
        ]],
    );
    complains(
        &["exchange.start=false", "exchange.gateways=1", "exchange.entry_hold_us=100"],
        expect![[
            r#"exchange.entry_hold_us = 100: only an exchange that it starts can be told to wait; leave it out"#
        ]],
    );
    complains(
        &["exchange.gateways=1", "exchange.entry_hold_us=10000001"],
        expect![[r#"exchange.entry_hold_us = 10000001: 0 to 10000000 us; with 0 nothing waits"#]],
    );
    complains(
        &["subject.rust.dialect=sbe", "load.connections=4"],
        expect![
            "subject.rust.dialect = sbe: a session has one account; set load.connections = load.accounts"
        ],
    );
    let one = ["subject.rust.dialect=fix", "load.accounts=1", "load.connections=1"];
    complains(
        &[&one[..], &["exchange.backend=af_xdp", "network=veth"]].concat(),
        expect![
            "subject.rust.dialect = fix: an exchange accepts fix over sockets of the kernel; set exchange.backend to spin"
        ],
    );
    let udp = ["subject.rust.dialect=sbe-udp", "load.accounts=1", "load.connections=1"];
    let complains_of_udp = |set: &str, why| complains(&[&udp[..], &[set]].concat(), why);
    complains_of_udp(
        "tls=true",
        expect![
            "subject.rust.dialect = sbe-udp: there is no TLS over UDP; leave tls out, or set dialect = \"sbe\""
        ],
    );
    complains_of_udp(
        "exchange.gateways=1",
        expect![
            "subject.rust.dialect = sbe-udp: gateway threads have no UDP sockets; set exchange.gateways = 0"
        ],
    );
    complains_of_udp(
        "load.stamp_every=100",
        expect![
            "subject.rust.dialect = sbe-udp: the kernel stamps orders over TCP only; set load.stamp_every = 0"
        ],
    );
    for (set, why) in [
        ("feed.hold_us=5", "only datagrams can be held"),
        ("feed.inject.drop_every=9", "only datagrams can be harmed"),
        ("strategy.name=market-making", "its own orders"),
        ("audit.enabled=true", "set audit.enabled = false"),
        ("load.stamp_every=9", "set load.stamp_every = 0"),
        ("exchange.delivery_window_us=9", "set exchange.delivery_window_us = 0"),
    ] {
        let error = Scenario::find("tick-dialects", &[set.to_owned()]).unwrap_err().to_string();
        let named = error.starts_with("subject.json.feed = json: ");
        assert!(named && error.contains(why), "{set}: {error}");
    }
    complains(&["load=3"], expect![[r#"--set load=3: load is a table; set one of its keys"#]]);
    complains(&["seconds=nan"], expect![[r#"seconds = NaN: from 0.001 to 30 days"#]]);
    let error = Scenario::find("no-such", &[]).unwrap_err().to_string();
    assert!(error.contains("order-to-ack, ping-pong"), "{error}");
    let error = Scenario::find("order-to-ack", &["load.rat=1".to_owned()]).unwrap_err();
    assert!(error.to_string().contains("there is no \"rat\" in load.rat"), "{error}");
}

#[test]
fn market_data_over_fix_needs_its_port() {
    let error = |sets: &[&str]| {
        let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
        Scenario::find("tick-dialects", &sets).map(drop).map_err(|error| error.to_string())
    };
    assert_eq!(error(&[]), Ok(()));
    expect!["subject.fix.feed = fix: an exchange that runs already does not say its FIX port; name it with feed.fix_address"]
        .assert_eq(&error(&["exchange.start=false"]).unwrap_err());
    assert_eq!(error(&["exchange.start=false", "feed.fix_address=exchange.test:9880"]), Ok(()));
    expect!["subject.fix.feed = fix: an exchange accepts fix over sockets of the kernel; set exchange.backend to spin"]
        .assert_eq(&error(&["network=veth", "exchange.backend=af_xdp"]).unwrap_err());
}

/// It would send JSON to the FIX port, or FIX to the other.
#[test]
fn an_exchange_that_runs_is_asked_for_fix_alone() {
    let error = Scenario::find("dialects", &["exchange.start=false".to_owned()]).unwrap_err();
    expect!["subject.fix.dialect = fix: an exchange that runs already has another address for fix; measure it in a run of its own"]
        .assert_eq(&error.to_string());
    let alone = ["exchange.start=false", "subject.rust.dialect=fix"].map(str::to_owned);
    Scenario::find("ping-pong", &alone).unwrap();
}

#[test]
fn ticks_are_said_as_they_can_be() {
    let set = |name: &str, sets: &[&str]| {
        let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
        Scenario::find(name, &sets).map_err(|error| error.to_string())
    };
    let day = set("tick-to-trade-replay", &["flow.source=/data/day.dbn", "flow.speed=10"]).unwrap();
    assert_eq!((day.flow.source.as_str(), day.flow.speed), ("/data/day.dbn", 10.0));
    assert_eq!(day.rate_per_second_offered(), None);
    let fixed = set("tick-to-trade-replay", &["flow.source=x", "flow.pace=fixed"]).unwrap();
    assert_eq!((fixed.rate_per_second_offered(), fixed.messages(0.5)), (Some(10_000.0), 5_000));
    let harmed = set("tick-to-trade", &["feed.inject.drop_every=100", "trace=0"]).unwrap();
    assert_eq!((harmed.injected(), harmed.trace), (vec!["feed drop_every=100".to_owned()], 0));
    let refused = |name: &str, sets: &[&str], expected: Expect| {
        expected.assert_eq(&set(name, sets).unwrap_err());
    };
    refused(
        "tick-to-trade",
        &["flow.pace=recorded"],
        expect![
            "flow.pace = recorded: only what was recorded has a pace of its own: name a Databento MBO file with flow.source, or set flow.pace=fixed"
        ],
    );
    // A run without a burst in it failed at its floor: no datagram's length was known.
    refused(
        "tick-to-trade-burst",
        &["seconds=0.5"],
        expect!["seconds = 0.5: bursts of ticks are 1 s apart, and a run must see one"],
    );
    refused(
        "tick-to-trade",
        &["feed.group=10.0.0.1:5"],
        expect![
            "feed.group = 10.0.0.1:5: a multicast group and a port from 1 to 65534, such as 239.255.0.1:26400"
        ],
    );
    refused(
        "tick-to-trade",
        &["feed.datagram_bytes=70000"],
        expect!["feed.datagram_bytes = 70000: a datagram has 256 to 65507 bytes"],
    );
    refused(
        "tick-to-trade",
        &["feed.datagram_bytes=1473", "exchange.backend=af_xdp", "network=veth"],
        expect![
            "feed.datagram_bytes = 1473: a datagram below the kernel is one frame, without fragments: over veth use at most 1472 bytes"
        ],
    );
    refused(
        "tick-to-trade",
        &["strategy.every=0"],
        expect!["strategy.every = 0: an order for every n-th tick, n from 1 to 1000000000"],
    );
    refused(
        "tick-to-trade",
        &["audit.core=[1,2]"],
        expect!["audit.core = 1,2: the logger is one thread: name one core"],
    );
    refused(
        "tick-to-trade",
        &["flow.instrument=ETH_USDT"],
        expect![
            "flow.instrument = ETH_USDT: the flow is in the exchange's first instrument, which is BTC_USDT"
        ],
    );
    set("tick-to-trade", &["exchange.start=false", "flow.instrument=ETH_USDT"]).unwrap();
    // A replicator that runs already has the interface of its host.
    set("fan-out-hosts", &["exchange.backend=xdp"]).unwrap();
    refused(
        "tick-to-trade",
        &["exchange.book=/data/day.dbn"],
        expect![
            "exchange.book = /data/day.dbn: of ticks it is that of the other instruments, synthetic or empty; a file is named with flow.source"
        ],
    );
    refused(
        "tick-to-trade",
        &["subject.rust.cores=[1,2]"],
        expect!["subject.rust.cores = 1,2: it has one thread: name one core"],
    );
    refused(
        "tick-to-trade",
        &["trace=1001"],
        expect!["trace = 1001: 0 to 1000 of the worst ticks are kept"],
    );
    refused(
        "tick-to-trade",
        &["load.rate_per_second=1"],
        expect![[
            r#"--set load.rate_per_second=1: there is no "rate_per_second" in load.rate_per_second. There are: stamp_every"#
        ]],
    );
    refused(
        "order-to-ack",
        &["feed.kernel_stamps=false"],
        expect![[
            r#"--set feed.kernel_stamps=false: there is no "feed" in feed.kernel_stamps. There are: about, bare_seconds, exchange, find_rate, floor_seconds, follower, hiccup_seconds, journal, kind, load, name, network, runs, seconds, subject, tls, warm_up_seconds"#
        ]],
    );
}
