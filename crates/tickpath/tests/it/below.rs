//! Orders and ticks below the kernel: whole processes in two namespaces; needs root.

use crate::support::websocket::Client;
use crate::support::*;
use host::network::Networks;
use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Stdio};
use std::time::Duration;

/// Short runs of orders in ping-pong over veth, each end with its backend.
fn measured(exchange: &str, subject: &str, sets: &[&str]) -> (serde_json::Value, String) {
    measured_by(&[], exchange, subject, sets)
}

/// The same with these variables in the environment.
fn measured_by(
    variables: &[(&str, &str)],
    exchange: &str,
    subject: &str,
    sets: &[&str],
) -> (serde_json::Value, String) {
    let runs = tempfile::tempdir().unwrap();
    let mut command = tickpath();
    command.envs(variables.iter().copied());
    command.args(["run", "ping-pong", "--quiet", "--out"]).arg(runs.path());
    let backends =
        [format!("exchange.backend={exchange}"), format!("subject.rust.backend={subject}")];
    let short = ["network=veth", "runs=1", "warm_up_seconds=0.1", "seconds=0.3"];
    let more = ["hiccup_seconds=0", "floor_seconds=0.2", "bare_seconds=0.2"];
    let all = short.iter().chain(&more).chain(sets).copied();
    for set in all.chain(backends.iter().map(String::as_str)) {
        command.args(["--set", set]);
    }
    let done = command.output().unwrap();
    let said = format!("{}{}", text(&done.stdout), text(&done.stderr));
    (record(&only_run(runs.path())), said)
}

/// Either end below the kernel and the kernel's TCP at the other, and both: each order has its
/// acks, the books agree, and the record says in which mode AF_XDP ran.
#[test]
fn orders_run_below_the_kernel() {
    if let Err(why) = Networks::create() {
        testing::skip!(Root, "{why}");
    }
    for (exchange, subject, sets) in [
        ("af_xdp", "af_xdp", &[][..]),
        ("af_xdp", "block", &["load.accounts=4", "load.connections=2"]),
        ("block", "af_xdp", &["load.accounts=3", "load.connections=3"]),
        ("af_xdp", "af_xdp", &["tls=true"]),
    ] {
        let (record, said) = measured(exchange, subject, sets);
        assert_eq!(record["complete"], true, "{exchange} {subject} {sets:?}: {said}");
        for held in ["complete", "sent", "replies", "recorded", "accepted", "accounted", "state"] {
            let rule = rule(&record, &format!("rust.{held}"));
            assert_ne!(rule["verdict"], "broken", "{exchange} {subject} {sets:?}: {rule}");
        }
        let load = &rust(&record)["load"];
        assert!(load["sent"].as_u64() > Some(10) && load["lost"] == 0, "{load} {said}");
        let processor = &load["processor"];
        for end in ["client_ns", "exchange_ns"] {
            assert!(processor[end].as_u64() > Some(0), "{load}");
        }
        let is_below = |backend: &&str| *backend == "af_xdp";
        let spinning = [exchange, subject].iter().filter(|backend| is_below(backend)).count();
        assert_eq!(processor["spinning"].as_array().map_or(0, Vec::len), spinning, "{load}");
        assert!(load["packets_dropped"].is_u64(), "{load}");
        let stacks: Vec<String> = serde_json::from_value(load["stacks"].clone()).unwrap();
        let ends = [("client: ", subject), ("exchange: ", exchange)];
        for (end, backend) in ends {
            let said = stacks.iter().find(|stack| stack.starts_with(end));
            assert_eq!(said.is_some(), backend == "af_xdp", "{stacks:?}");
            assert!(
                said.is_none_or(|said| said
                    .contains("native XDP, 1 queue, copy mode (zero-copy: ")),
                "{said:?}"
            );
        }
        let names: Vec<&str> = record["subjects"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|subject| subject["name"].as_str())
            .collect();
        assert!(names.contains(&"floor") && !names.contains(&"bare"), "{names:?}");
    }
}

/// Short runs of ticks over veth, each end with its backend.
fn ticks(
    variables: &[(&str, &str)],
    exchange: &str,
    subject: &str,
    sets: &[&str],
) -> (serde_json::Value, String) {
    let runs = tempfile::tempdir().unwrap();
    let mut command = tickpath();
    command.envs(variables.iter().copied());
    command.args(["run", "tick-to-trade", "--quiet", "--out"]).arg(runs.path());
    let backends =
        [format!("exchange.backend={exchange}"), format!("subject.rust.backend={subject}")];
    let short = ["network=veth", "runs=1", "warm_up_seconds=0.1", "seconds=0.5"];
    let more = ["hiccup_seconds=0", "floor_seconds=0.2", "bare_seconds=0.2"];
    let slow = ["flow.rate_per_second=1000"];
    let all = short.iter().chain(&more).chain(&slow).chain(sets).copied();
    for set in all.chain(backends.iter().map(String::as_str)) {
        command.args(["--set", set]);
    }
    let done = command.output().unwrap();
    let said = format!("{}{}", text(&done.stdout), text(&done.stderr));
    (record(&only_run(runs.path())), said)
}

/// Rules that a run of ticks keeps.
const HELD: [&str; 8] =
    ["complete", "replies", "flow", "ticks", "book", "orders", "stages", "state"];

/// The feed and the orders that answer it, over one device at either end, and at both: no datagram
/// is missing, the trader's book is the exchange's, and no stamp of the kernel is made up.
#[test]
fn ticks_run_below_the_kernel() {
    if let Err(why) = Networks::create() {
        testing::skip!(Root, "{why}");
    }
    for (exchange, subject, sets) in [
        ("af_xdp", "af_xdp", &[][..]),
        ("af_xdp", "block", &[]),
        ("spin", "af_xdp", &["feed.transport=multicast"]),
        ("af_xdp", "af_xdp", &["feed.transport=multicast", "tls=true"]),
    ] {
        let case = format!("{exchange} {subject} {sets:?}");
        let (record, said) = ticks(&[], exchange, subject, sets);
        assert_eq!(record["complete"], true, "{case}: {said}");
        for held in HELD {
            let rule = rule(&record, &format!("rust.{held}"));
            assert_eq!(rule["verdict"], "held", "{case}: {rule}");
        }
        let load = &rust(&record)["load"];
        assert!(load["sent"].as_u64() > Some(10) && load["lost"] == 0, "{case}: {load}");
        for end in ["client_ns", "exchange_ns"] {
            assert!(load["processor"][end].as_u64() > Some(0), "{case}: {load}");
        }
        let stacks: Vec<String> = serde_json::from_value(load["stacks"].clone()).unwrap();
        for (end, backend) in [("client: ", subject), ("exchange: ", exchange)] {
            let said = stacks.iter().find(|stack| stack.starts_with(end));
            assert_eq!(said.is_some(), backend == "af_xdp", "{case}: {stacks:?}");
        }
        let tick = &load["tick"][0];
        let is_below = subject == "af_xdp";
        assert_eq!(tick["kernel_stamps"], if is_below { "" } else { "software" }, "{tick}");
        assert_eq!(tick["receive_buffer_bytes"].is_null(), is_below, "{tick}");
        let buffer = rule(&record, "rust.receive_buffer");
        assert_eq!(buffer["verdict"] == "not_applicable", is_below, "{buffer}");
        let subjects = record["subjects"].as_array().unwrap();
        let floor = subjects.iter().find(|one| one["name"] == "floor").unwrap();
        assert!(floor["load"]["sent"].as_u64() > Some(10), "{case}: {floor}");
        assert!(subjects.iter().all(|one| one["name"] != "bare"), "{case}");
    }
}

/// In a build without DPDK its backend says so, and what to do.
#[cfg(not(feature = "dpdk"))]
#[test]
fn dpdk_that_is_not_built_in_is_named() {
    let listen = ["--listen", "127.0.0.1:0"];
    let done = output(&[&["exchange", "--any-token", "--backend", "dpdk"][..], &listen].concat());
    let said = text(&done.stderr);
    assert_eq!(done.status.code(), Some(2), "{said}");
    assert!(said.contains("127.0.0.1"), "{said}");
    let networks = match Networks::create() {
        Ok(networks) => networks,
        Err(why) => testing::skip!(Root, "{why}"),
    };
    let listen = format!("{}:0", networks.exchange().address());
    for command in [
        ["exchange", "--any-token", "--backend", "dpdk", "--listen", &listen],
        ["fan-out", "--backend=dpdk", "--from", &listen, "--listen", &listen],
    ] {
        let done = networks.exchange().within(|| output(&command[..])).unwrap();
        let said = text(&done.stderr);
        assert_eq!(done.status.code(), Some(2), "{said}");
        assert!(said.contains("built without DPDK") && said.contains("make dpdk"), "{said}");
    }
}

#[cfg(not(feature = "dpdk"))]
#[test]
fn orders_run_over_dpdk() {
    testing::skip!(Dpdk, "this build has no DPDK");
}

/// Orders over DPDK at either end and at both, by both drivers, against the kernel's TCP.
#[cfg(feature = "dpdk")]
#[test]
fn orders_run_over_dpdk() {
    if let Err(why) = Networks::create() {
        testing::skip!(Root, "{why}");
    }
    for (driver, exchange, subject, sets) in [
        ("net_af_packet", "dpdk", "dpdk", &[][..]),
        ("net_af_packet", "dpdk", "block", &["load.accounts=4", "load.connections=2"]),
        ("net_af_packet", "block", "dpdk", &["load.accounts=3", "load.connections=3"]),
        ("net_af_xdp", "dpdk", "dpdk", &["tls=true"]),
        ("net_af_xdp", "dpdk", "block", &[]),
    ] {
        let variables = [("TICKPATH_DPDK_DRIVER", driver)];
        let (record, said) = measured_by(&variables, exchange, subject, sets);
        assert_eq!(record["complete"], true, "{driver} {exchange} {subject}: {said}");
        let load = &rust(&record)["load"];
        assert!(load["sent"].as_u64() > Some(10) && load["lost"] == 0, "{load} {said}");
        for held in ["complete", "sent", "replies", "recorded", "accepted", "accounted", "state"] {
            let rule = rule(&record, &format!("rust.{held}"));
            assert_ne!(rule["verdict"], "broken", "{driver} {exchange} {subject}: {rule}");
        }
        let stacks = load["stacks"].to_string();
        let ends = [exchange, subject].iter().filter(|end| **end == "dpdk").count();
        assert_eq!(stacks.matches(driver).count(), ends, "{stacks}");
    }
}

#[cfg(not(feature = "dpdk"))]
#[test]
fn ticks_run_over_dpdk() {
    testing::skip!(Dpdk, "this build has no DPDK");
}

/// Feed and orders over one device of DPDK, by both drivers, unicast and multicast.
#[cfg(feature = "dpdk")]
#[test]
fn ticks_run_over_dpdk() {
    if let Err(why) = Networks::create() {
        testing::skip!(Root, "{why}");
    }
    for (driver, exchange, subject, sets) in [
        ("net_af_packet", "dpdk", "dpdk", &[][..]),
        ("net_af_packet", "dpdk", "block", &["feed.transport=multicast"]),
        ("net_af_xdp", "dpdk", "dpdk", &["tls=true"]),
        ("net_af_xdp", "spin", "dpdk", &["feed.transport=multicast"]),
    ] {
        let case = format!("{driver} {exchange} {subject} {sets:?}");
        let variables = [("TICKPATH_DPDK_DRIVER", driver)];
        let (record, said) = ticks(&variables, exchange, subject, sets);
        assert_eq!(record["complete"], true, "{case}: {said}");
        for held in HELD {
            let rule = rule(&record, &format!("rust.{held}"));
            assert_eq!(rule["verdict"], "held", "{case}: {rule}");
        }
        let load = &rust(&record)["load"];
        let ends = [exchange, subject].iter().filter(|end| **end == "dpdk").count();
        assert_eq!(load["stacks"].to_string().matches(driver).count(), ends, "{case}: {load}");
    }
}

#[test]
fn orders_that_af_xdp_can_not_carry_are_named() {
    for (sets, says) in [
        (&["exchange.backend=af_xdp"][..], "loopback lacks: use \"veth\""),
        (&["subject.rust.backend=af_xdp"], "loopback lacks: use \"veth\""),
        (&["network=veth", "exchange.backend=af_xdp", "exchange.gateways=1"], "use 0"),
        (
            &[
                "network=veth",
                "subject.rust.backend=af_xdp",
                "load.accounts=300",
                "load.connections=300",
            ],
            "1 to 256: below the kernel every connection is looked at",
        ),
        (
            &["network=veth", "subject.rust.backend=af_xdp", "load.stamp_every=10"],
            "the kernel stamps for backends spin and block",
        ),
    ] {
        let mut command = tickpath();
        command.args(["run", "ping-pong", "--quiet"]);
        for set in sets {
            command.args(["--set", set]);
        }
        let done = command.output().unwrap();
        let said = text(&done.stderr);
        assert_eq!(done.status.code(), Some(2), "{sets:?}: {said}");
        assert!(said.contains(says), "{sets:?}: {said}");
    }
    let stamped = ["load.stamp_every=10", "exchange.backend=af_xdp", "network=veth"];
    let mut ticks = vec!["run", "tick-to-trade"];
    ticks.extend(stamped.iter().flat_map(|set| ["--set", *set]));
    let said = text(&output(&ticks).stderr);
    assert!(said.contains("the exchange's kernel stamps the datagrams"), "{said}");
    let gateways = ["exchange", "--any-token", "--backend", "af_xdp", "--gateways", "1"];
    let said = text(&output(&[&gateways[..], &["--listen", "127.0.0.1:0"]].concat()).stderr);
    assert!(said.contains("--gateways 1") && said.contains("use 0"), "{said}");
}

/// Killed with a connection open, and at any instant from its start on, the exchange leaves its
/// interface, its address and its port to the kernel, no program, and all routes as they were.
#[test]
fn a_killed_exchange_leaves_the_interface_to_the_kernel() {
    leaves_the_interface_to_the_kernel("af_xdp", "");
}

#[cfg(not(feature = "dpdk"))]
#[test]
fn a_killed_exchange_over_dpdk_leaves_the_interface_to_the_kernel() {
    testing::skip!(Dpdk, "this build has no DPDK");
}

#[cfg(feature = "dpdk")]
#[test]
fn a_killed_exchange_over_dpdk_leaves_the_interface_to_the_kernel() {
    leaves_the_interface_to_the_kernel("dpdk", "net_af_packet");
    leaves_the_interface_to_the_kernel("dpdk", "net_af_xdp");
}

fn leaves_the_interface_to_the_kernel(backend: &str, driver: &str) {
    let networks = match Networks::create() {
        Ok(networks) => networks,
        Err(why) => testing::skip!(Root, "{why}"),
    };
    let before = settings(&networks);
    let begin = clock::monotonic_ns();
    let mut child =
        Killed(networks.exchange().within(|| exchange(&networks, backend, driver)).unwrap());
    let (_lines, address) = listening(&mut child.0);
    let starts_ns = clock::monotonic_ns() - begin;
    let mut client = networks.trader().within(|| Client::connect(&address)).unwrap();
    let answer = client.ask(&[b' '; 200]).unwrap();
    assert!(answer.is_object(), "{answer}");
    assert_eq!(has_program(&networks), driver != "net_af_packet");
    let address: SocketAddr = address.parse().unwrap();
    is_killed(&networks, child, (address, &before), "with a connection");
    // The kernel resets what it does not know, perhaps already because of an acknowledgement.
    assert_eq!(client.ask(&[b' '; 200]).unwrap_err().kind(), ErrorKind::ConnectionReset);
    // DPDK may leave a program while it starts: the guide says so.
    let rounds = if backend == "dpdk" { 0 } else { rounds() };
    let mut random = clock::random::SplitMix64::new(clock::wall_ns());
    for _ in 0..rounds {
        let delay = Duration::from_nanos(starts_ns).mul_f64(1.2 * random.unit_open());
        let child = networks.exchange().within(|| exchange(&networks, backend, driver)).unwrap();
        let child = Killed(child);
        std::thread::sleep(delay);
        is_killed(&networks, child, (address, &before), &format!("{delay:?} after its start"));
    }
}

/// Rounds: `TICKPATH_BELOW_KILL_ROUNDS`, which scripts/weekly sets, or a handful.
fn rounds() -> u32 {
    let asked = std::env::var("TICKPATH_BELOW_KILL_ROUNDS").ok();
    asked.and_then(|text| text.parse().ok()).unwrap_or(5)
}

/// All routes and rules of the exchange's network, and its interface with the program.
fn settings(networks: &Networks) -> String {
    // The kernel adds an address of IPv6 a second after the interface was made.
    let show = "ip -4 route show table all; ip -4 rule show; ip -details link show dev tick0";
    let run = || std::process::Command::new("sh").args(["-ec", show]).output().unwrap();
    let done = networks.exchange().within(run).unwrap();
    assert!(done.status.success(), "{done:?}");
    text(&done.stdout)
}

/// Within a second of this thread's time the kernel has the interface, the address and the port,
/// and nothing else has changed.
fn is_killed(
    networks: &Networks,
    mut child: Killed,
    (address, before): (SocketAddr, &str),
    when: &str,
) {
    child.0.kill().unwrap();
    child.0.wait().unwrap();
    let is_the_kernels = || {
        let listening = networks.exchange().within(|| TcpListener::bind(address)).unwrap();
        let Ok(listener) = listening else { return false };
        let connect = || TcpStream::connect_timeout(&address, Duration::from_secs(1));
        !has_program(networks)
            && networks.trader().within(connect).unwrap().is_ok()
            && listener.accept().is_ok()
    };
    let soon = testing::cores::is_done_within(Duration::from_secs(1), is_the_kernels);
    assert!(soon, "killed {when}");
    assert_eq!(settings(networks), before, "killed {when}");
}

fn exchange(networks: &Networks, backend: &str, driver: &str) -> Child {
    let listen = format!("{}:0", networks.exchange().address());
    let mut command = tickpath();
    if !driver.is_empty() {
        command.env("TICKPATH_DPDK_DRIVER", driver);
    }
    command.args(["exchange", "--backend", backend, "--any-token", "--listen", &listen]);
    command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
}

/// A process that is killed with the value.
pub struct Killed(pub Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
