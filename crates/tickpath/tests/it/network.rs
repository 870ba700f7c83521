//! `tickpath run` with requests to the raw echo: whole processes and real sockets.

use crate::support::*;
use std::os::unix::process::CommandExt;

const SHORT: [&str; 6] = [
    "runs=2",
    "warm_up_seconds=0.1",
    "seconds=0.5",
    "hiccup_seconds=0",
    "load.rate_per_second=2000",
    "request.reply_bytes=64",
];

#[test]
fn every_request_has_its_reply_and_the_record_says_what_the_machine_lacks() {
    let runs = tempfile::tempdir().unwrap();
    let mut command = tickpath();
    command.args(["run", "irq-topology", "--quiet"]).arg("--out").arg(runs.path());
    for set in SHORT {
        command.args(["--set", set]);
    }
    let done = command.output().unwrap();
    let table = text(&done.stdout);
    let record = record(&only_run(runs.path()));
    assert_eq!(record["complete"], true, "{}{table}", text(&done.stderr));
    assert_eq!(done.status.code(), Some(status_of(&record)), "{table}");
    for held in ["complete", "sent", "replies", "recorded"] {
        let rule = rule(&record, &format!("baseline.{held}"));
        assert_eq!(rule["verdict"], "held", "{rule}");
    }
    for kind in ["response", "service"] {
        let request = series(&record, "baseline", "request", kind);
        assert_eq!(request["pooled"]["count"], 2_000, "{request}");
    }
    let subjects = record["subjects"].as_array().unwrap();
    let load = &subjects[0]["load"]["message_bytes"];
    let lengths = ["order", "order_reply", "cancel", "cancel_reply"].map(|name| &load[name]);
    assert_eq!(lengths, [256, 64, 256, 64], "{load}");
    // Both ends on one host: no interrupt is on the way, whatever sockets there are.
    assert_eq!(subjects.len(), 1, "{table}");
    let warnings = record["warnings"].to_string();
    assert!(warnings.contains("left out: crossed-1, inverted, crossed-2"), "{warnings}");
    assert!(warnings.contains("a second host"), "{warnings}");
}

/// The echo of another host, here by its address, and only placements that cannot be made.
#[test]
fn nothing_runs_where_no_placement_can_be_made() {
    let runs = tempfile::tempdir().unwrap();
    let file = runs.path().join("crossed.toml");
    let only = "name = \"crossed\"\nkind = \"network\"\n[[subject]]\nname = \"far\"\n\
                placement = \"crossed-1\"\n";
    std::fs::write(&file, only).unwrap();
    let done = tickpath().arg("run").arg(&file).arg("--out").arg(runs.path()).output().unwrap();
    let said = text(&done.stderr);
    assert_eq!(done.status.code(), Some(2), "{said}");
    assert!(said.contains("left out: far") && said.contains("lacks"), "{said}");
}

/// Both ends sleep, because tests share their cores with whatever else runs.
const BOTH_BLOCK: [&str; 4] =
    ["--set", "exchange.backend=block", "--set", "subject.rust.backend=block"];

/// The first rows of the table of network scenarios, over both protocols.
#[test]
fn net_rr_and_net_rate_measure_both_protocols() {
    for (scenario, protocol) in
        [("net-rr", "tcp"), ("net-rr", "udp"), ("net-rate", "tcp"), ("net-rate", "udp")]
    {
        let runs = tempfile::tempdir().unwrap();
        let protocol_set = format!("request.protocol={protocol}");
        let mut command = tickpath();
        command.args(["run", scenario, "--quiet", "--set", &protocol_set]).args(BOTH_BLOCK);
        command.arg("--out").arg(runs.path());
        for set in &SHORT[..4] {
            command.args(["--set", set]);
        }
        if scenario == "net-rr" {
            command.args(["--set", "bare_seconds=0.3"]);
        }
        let done = command.output().unwrap();
        let record = record(&only_run(runs.path()));
        let said = text(&done.stderr);
        assert_eq!(record["complete"], true, "{scenario} {protocol}: {said}");
        for held in ["complete", "sent", "replies", "recorded", "accepted"] {
            let rule = rule(&record, &format!("rust.{held}"));
            assert_ne!(rule["verdict"], "broken", "{scenario} {protocol}: {rule}");
        }
        let service = series(&record, "rust", "request", "service");
        assert!(service["pooled"]["count"].as_u64() > Some(0), "{service}");
        let is_udp = protocol == "udp";
        assert_eq!(record["subjects"][0]["load"]["datagrams"].is_object(), is_udp);
        if scenario == "net-rr" {
            // The bare echo is what it is compared with: there is no floor below a raw echo.
            let bare = series(&record, "bare", "request", "service");
            assert!(bare["pooled"]["count"].as_u64() > Some(0), "{bare}");
            assert_eq!(service["over_floor"]["floor"], "bare", "{service}");
        }
    }
}

/// Below the kernel at either end, and at both: each request has its reply, over the same stamps.
#[test]
fn net_rr_runs_below_the_kernel() {
    if let Err(why) = host::network::Networks::create() {
        testing::skip!(Root, "{why}");
    }
    for (exchange, subject, protocol) in [
        ("af_xdp", "af_xdp", "udp"),
        ("af_xdp", "block", "udp"),
        ("block", "af_xdp", "udp"),
        ("af_xdp", "af_xdp", "tcp"),
    ] {
        let (exchange_set, subject_set) =
            (format!("exchange.backend={exchange}"), format!("subject.rust.backend={subject}"));
        let protocol_set = format!("request.protocol={protocol}");
        let run = |factor: u32| {
            let seconds = format!("seconds={}", 0.3 * f64::from(factor));
            let sets = [&protocol_set, "network=veth", &exchange_set, &subject_set, &seconds];
            let (record, said) = ran("net-rr", &sets);
            testing::unless!(record["void_because"] == serde_json::json!([]), "{said}");
            Ok((record, said))
        };
        let (record, said) = testing::quiet::or_doubled("both ends get a core in 0.3 s", run);
        let load = &record["subjects"][0]["load"];
        assert!(load["sent"].as_u64() > Some(10) && load["lost"] == 0, "{load} {said}");
        for held in ["sent", "replies", "recorded"] {
            let rule = rule(&record, &format!("rust.{held}"));
            assert_ne!(rule["verdict"], "broken", "{exchange} {subject}: {rule}");
        }
        assert_eq!(record["resolved"]["exchange"]["backend"], exchange);
        let ends = [exchange, subject].iter().filter(|end| **end == "af_xdp").count();
        assert_eq!(load["stacks"].as_array().map(Vec::len), Some(ends), "{load}");
    }
}

/// Each error says what to try: an address that no card has, and rights.
#[test]
fn what_af_xdp_lacks_is_named() {
    let echo = |listen: &str| {
        let mut command = tickpath();
        command.args(["exchange", "--echo", "--datagrams", "--backend", "af_xdp"]);
        command.args(["--listen", listen]);
        command
    };
    for (listen, says) in [
        ("127.0.0.1:0", "no network interface has the address 127.0.0.1"),
        ("0.0.0.0:0", "the IPv4 address of one interface"),
    ] {
        let done = echo(listen).output().unwrap();
        let said = text(&done.stderr);
        assert!(!done.status.success() && said.contains(says), "{said}");
    }
    let networks = match host::network::Networks::create() {
        Ok(networks) => networks,
        Err(why) => testing::skip!(Root, "{why}"),
    };
    let nobody = 65_534;
    let mut command = echo(&format!("{}:0", networks.exchange().address()));
    let done = networks.exchange().within(|| command.uid(nobody).gid(nobody).output()).unwrap();
    match done {
        Ok(done) => {
            let said = text(&done.stderr);
            assert!(!done.status.success() && said.contains("CAP_NET_RAW"), "{said}");
        }
        Err(why) => testing::skip!(OwnProcess, "as another user: {why}"),
    }
}

/// Datagrams that are lost bound the figures and do not void the run; the warning says how many.
#[test]
fn a_lost_datagram_is_in_the_percentiles() {
    let runs = tempfile::tempdir().unwrap();
    let mut command = tickpath();
    command.args(["run", "net-rate", "--quiet", "--set", "request.protocol=udp"]).args(BOTH_BLOCK);
    command.args(["--set", "request.inject.drop_every=50", "--set", "request.patience_ms=200"]);
    command.args(["--set", "load.rate_per_second=2000", "--set", "warm_up_seconds=0"]);
    command.args(["--set", "runs=2", "--set", "seconds=0.5", "--set", "hiccup_seconds=0"]);
    let done = command.arg("--out").arg(runs.path()).output().unwrap();
    let record = record(&only_run(runs.path()));
    let load = &record["subjects"][0]["load"];
    assert_eq!([&load["sent"], &load["received"], &load["lost"]], [2_000, 1_960, 40], "{load}");
    for held in ["replies", "recorded"] {
        let rule = rule(&record, &format!("rust.{held}"));
        assert_eq!(rule["verdict"], "held", "{rule}");
    }
    let response = series(&record, "rust", "request", "response");
    assert_eq!(response["pooled"]["count"], 2_000, "{response}");
    assert!(response["pooled"]["p99"].as_u64() >= Some(200_000_000), "{response}");
    let warnings = record["warnings"].to_string();
    assert!(warnings.contains("lost 40 of 2000 datagrams"), "{warnings}{}", text(&done.stderr));
    assert!(record["injected"].to_string().contains("drop_every=50"), "{}", record["injected"]);
}

#[test]
fn keys_that_contradict_udp_are_named() {
    for (sets, says) in [
        (vec!["request.bytes=64", "request.reply_bytes=65"], "at most 64"),
        (vec!["exchange.gateways=1"], "exchange.gateways"),
        (vec!["exchange.backend=io_uring"], "spin, block, af_xdp or dpdk"),
        (vec!["subject.rust.backend=io_uring"], "spin, block, af_xdp or dpdk"),
        (vec!["request.patience_ms=0"], "1 to 10000"),
        (vec!["subject.rust.backend=af_xdp"], "loopback lacks: use \"veth\""),
        (vec!["exchange.backend=af_xdp"], "loopback lacks: use \"veth\""),
        (vec!["request.protocol=tcp", "request.inject.drop_every=9"], "request.protocol"),
    ] {
        let mut command = tickpath();
        command.args(["run", "net-rate", "--quiet", "--set", "request.protocol=udp"]);
        for set in &sets {
            command.args(["--set", set]);
        }
        let done = command.output().unwrap();
        let said = text(&done.stderr);
        assert_eq!(done.status.code(), Some(2), "{sets:?}: {said}");
        assert!(said.contains(says), "{sets:?}: {said}");
    }
}

/// Short runs of the scenarios over datagrams whose record has more than a round trip.
fn quick(scenario: &str, sets: &[&str]) -> (serde_json::Value, String) {
    let (record, said) = ran(scenario, sets);
    assert_eq!(record["void_because"].as_array().map_or(0, Vec::len), 0, "{said}");
    (record, said)
}

/// Complete, and void or not.
pub fn ran(scenario: &str, sets: &[&str]) -> (serde_json::Value, String) {
    let runs = tempfile::tempdir().unwrap();
    let mut command = tickpath();
    command.args(["run", scenario, "--quiet", "--out"]).arg(runs.path());
    let short = ["runs=2", "warm_up_seconds=0.1", "seconds=0.3", "hiccup_seconds=0"];
    for set in short.iter().chain(["exchange.backend=block"].iter()).chain(sets) {
        command.args(["--set", set]);
    }
    let done = command.output().unwrap();
    let said = format!("{}{}", text(&done.stdout), text(&done.stderr));
    let record = record(&only_run(runs.path()));
    assert_eq!(record["complete"], true, "{said}");
    (record, said)
}

#[test]
fn one_way_has_a_series_for_each_direction() {
    let sets = ["subject.rust.backend=block", "load.rate_per_second=2000"];
    let (record, _) = quick("net-one-way", &sets);
    for (name, kind) in [
        ("forward", "response"),
        ("forward", "service"),
        ("reverse", "service"),
        ("request", "response"),
    ] {
        let one = series(&record, "rust", name, kind);
        assert_eq!(one["pooled"]["count"], 1_200, "{one}");
    }
    // The halves are parts of the whole.
    let p50 = |name| series(&record, "rust", name, "service")["pooled"]["p50"].as_u64().unwrap();
    assert!(p50("forward") > 0 && p50("forward") < p50("request"), "{record}");
    assert!(record["subjects"][0]["load"]["between"].is_null(), "one clock: {record}");
}

/// Bulk flows leave requests their figures, and the record says what arrived.
#[test]
fn bulk_flows_run_beside_the_requests() {
    for protocol in ["tcp", "udp"] {
        let protocol = format!("request.protocol={protocol}");
        let mut sets = vec!["runs=1", "load.rate_per_second=500", "request.bulk_megabits=40"];
        let blocks =
            ["idle", "flow-1", "flows-4"].map(|name| format!("subject.{name}.backend=block"));
        sets.extend(blocks.iter().map(String::as_str));
        sets.push(&protocol);
        let (record, said) = quick("net-bulk", &sets);
        for (index, name, flows) in [(0, "idle", 0), (1, "flow-1", 1), (2, "flows-4", 4)] {
            let request = series(&record, name, "request", "response");
            assert_eq!(request["pooled"]["count"], 150, "{request}");
            let load = &record["subjects"][index]["load"];
            let found = load["bulk"][0]["flows"].as_array().map_or(&[][..], Vec::as_slice);
            assert_eq!(found.len(), flows, "{load}");
            for flow in found {
                let received = flow["received_bits_per_second"].as_f64();
                assert!(received > Some(0.0), "{flow}");
                assert_eq!(flow["datagrams"].is_object(), protocol.ends_with("udp"), "{flow}");
            }
        }
        assert!(said.contains("Bulk flows beside the requests"), "{said}");
    }
}

#[test]
fn sizes_have_a_line_through_them() {
    let blocks: Vec<String> = [16, 64, 256, 512, 1024, 1400, 2048, 4096, 8192]
        .map(|bytes| format!("subject.bytes-{bytes}.backend=block"))
        .to_vec();
    let mut sets: Vec<&str> = blocks.iter().map(String::as_str).collect();
    sets.extend(["request.protocol=udp", "seconds=0.5"]);
    let (record, said) = quick("net-size", &sets);
    let lengths: Vec<u64> = record["subjects"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["load"]["message_bytes"]["order"].as_u64().unwrap())
        .collect();
    assert_eq!(lengths, [16, 64, 256, 512, 1024, 1400, 2048, 4096, 8192]);
    let fit = &record["size_fit"];
    assert!(fit["per_message_ns"].as_f64() > Some(0.0), "{fit}");
    // Over loopback 8 KB are one packet.
    assert!(fit["per_further_packet_ns"].is_null(), "{fit}");
    assert!(said.contains("ns a byte"), "{said}");
}

/// A lost datagram is as slow as the wait for it, so the search of a rate without loss is one for a
/// latency below that.
#[test]
fn the_search_for_a_rate_without_loss_sees_a_loss() {
    let runs = tempfile::tempdir().unwrap();
    let sweep = |drop_every: &str| {
        let mut command = tickpath();
        command.args(["sweep", "net-pps", "--rates", "2k", "--slo", "request.service.max < 1s"]);
        command.args(BOTH_BLOCK).args(["--quiet", "--json", "--out"]).arg(runs.path());
        for set in ["runs=2", "warm_up_seconds=0", "seconds=0.3", drop_every] {
            command.args(["--set", set]);
        }
        let done = command.output().unwrap();
        let said = text(&done.stderr);
        serde_json::from_slice::<serde_json::Value>(&done.stdout).expect(&said)
    };
    let good = sweep("request.inject.drop_every=0");
    // On a busy machine it may be overloaded, which is no loss.
    assert_ne!(good["points"][0]["outcome"], "missed", "{good}");
    let lossy = sweep("request.inject.drop_every=100");
    assert_ne!(lossy["points"][0]["outcome"], "met", "{lossy}");
}
