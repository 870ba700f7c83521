//! Each scenario of requests with both ends below the kernel; needs root.

use crate::network::ran;
use crate::support::*;
use testing::quiet::or_doubled;
use testing::unless;

/// Short, and with the keys that both ends need.
const BELOW: [&str; 3] = ["network=veth", "runs=1", "exchange.backend=af_xdp"];
const SIZES: [&str; 9] = [
    "bytes-16",
    "bytes-64",
    "bytes-256",
    "bytes-512",
    "bytes-1024",
    "bytes-1400",
    "bytes-2048",
    "bytes-4096",
    "bytes-8192",
];

/// Each request has its reply, also beside bulk flows, which have the kernel's sockets, and with
/// messages of several frames over TCP.
#[test]
fn requests_of_every_scenario_run_below_the_kernel() {
    if let Err(why) = host::network::Networks::create() {
        testing::skip!(Root, "{why}");
    }
    let slow = ["load.rate_per_second=1000"];
    let bulk = ["load.rate_per_second=500", "request.bulk_megabits=40"];
    let bulk_udp = [&bulk[..], &["request.protocol=udp"]].concat();
    for (scenario, subjects, sets) in [
        ("net-one-way", &["rust"][..], &slow[..]),
        ("net-pps", &["rust"], &slow),
        ("net-rate", &["rust"], &slow),
        ("net-rate", &["rust"], &["load.rate_per_second=1000", "request.protocol=udp"]),
        ("net-size", &SIZES, &[]),
        ("net-bulk", &["idle", "flow-1", "flows-4"], &bulk),
        ("net-bulk", &["idle", "flow-1", "flows-4"], &bulk_udp),
    ] {
        or_doubled("both ends get a core in 0.3 s", |factor| {
            let seconds = format!("seconds={}", 0.3 * f64::from(factor));
            let backends: Vec<String> =
                subjects.iter().map(|name| format!("subject.{name}.backend=af_xdp")).collect();
            let own = [&BELOW[..], sets, &[&seconds]].concat();
            let all: Vec<&str> =
                own.into_iter().chain(backends.iter().map(String::as_str)).collect();
            let (record, said) = ran(scenario, &all);
            unless!(!is_void(&record), "{scenario} {sets:?}: {said}");
            for subject in record["subjects"].as_array().unwrap() {
                let load = &subject["load"];
                let has_all = load["sent"].as_u64() > Some(0) && load["lost"] == 0;
                unless!(has_all, "{scenario} {sets:?}: {load}");
                assert_eq!(load["stacks"].as_array().map(Vec::len), Some(2), "{load}");
            }
            if scenario == "net-one-way" {
                for name in ["forward", "reverse"] {
                    let one = series(&record, "rust", name, "service");
                    unless!(one["pooled"]["count"].as_u64() > Some(0), "{one}");
                }
            }
            Ok(())
        });
    }
}

/// A datagram of more than one frame, which the plan knows for a veth.
#[test]
fn requests_that_fit_no_frame_are_named() {
    for (scenario, sets, words) in [
        ("net-size", &["subject.bytes-16.backend=af_xdp", "exchange.backend=af_xdp"][..], "2048"),
        ("net-rate", &["exchange.backend=af_xdp", "request.bytes=1473"], "request.bytes = 1473"),
        ("net-rate", &["subject.rust.backend=af_xdp", "request.bytes=8192"], "8192"),
    ] {
        let mut command = tickpath();
        command.args(["run", scenario, "--quiet"]);
        for set in sets.iter().chain(&["network=veth", "request.protocol=udp"]) {
            command.args(["--set", set]);
        }
        let done = command.output().unwrap();
        let said = text(&done.stderr);
        assert_eq!(done.status.code(), Some(2), "{sets:?}: {said}");
        let is_named = said.contains(words) && said.contains("at most 1472 bytes");
        assert!(is_named, "{sets:?}: {said}");
    }
}
