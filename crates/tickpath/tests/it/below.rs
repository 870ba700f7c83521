//! Orders below the kernel: whole processes in two namespaces; needs root.

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
                said.is_none_or(|said| said.contains("native XDP, 1 queue, copy mode")),
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
    let arguments = ["exchange", "--any-token", "--backend", "dpdk", "--listen", &listen];
    let done = networks.exchange().within(|| output(&arguments)).unwrap();
    let said = text(&done.stderr);
    assert_eq!(done.status.code(), Some(2), "{said}");
    assert!(said.contains("built without DPDK") && said.contains("make dpdk"), "{said}");
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

#[test]
fn orders_that_af_xdp_can_not_carry_are_named() {
    for (sets, says) in [
        (&["exchange.backend=af_xdp"][..], "loopback has not: use \"veth\""),
        (&["subject.rust.backend=af_xdp"], "loopback has not: use \"veth\""),
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
    let ticks =
        ["run", "tick-to-trade", "--set", "network=veth", "--set", "exchange.backend=af_xdp"];
    let said = text(&output(&ticks).stderr);
    assert!(said.contains("it carries orders, and requests"), "{said}");
    let gateways = ["exchange", "--any-token", "--backend", "af_xdp", "--gateways", "1"];
    let said = text(&output(&[&gateways[..], &["--listen", "127.0.0.1:0"]].concat()).stderr);
    assert!(said.contains("--gateways 1") && said.contains("use 0"), "{said}");
}

/// Killed with a connection open, the exchange leaves its interface, its address and its port to
/// the kernel within a second.
#[test]
fn a_killed_exchange_leaves_the_interface_to_the_kernel() {
    let networks = match Networks::create() {
        Ok(networks) => networks,
        Err(why) => testing::skip!(Root, "{why}"),
    };
    let mut child = Killed(networks.exchange().within(|| exchange(&networks)).unwrap());
    let (_lines, address) = listening(&mut child.0);
    let mut client = networks.trader().within(|| Client::connect(&address)).unwrap();
    let answer = client.ask(&[b' '; 200]).unwrap();
    assert!(answer.is_object(), "{answer}");
    child.0.kill().unwrap();
    child.0.wait().unwrap();
    // The kernel resets what it does not know, perhaps already because of an acknowledgement.
    assert_eq!(client.ask(&[b' '; 200]).unwrap_err().kind(), ErrorKind::ConnectionReset);
    let address: SocketAddr = address.parse().unwrap();
    let listener = networks.exchange().within(|| {
        // The kernel releases what a killed process had a moment later.
        wait_for("the port", || TcpListener::bind(address).ok())
    });
    let listener = listener.unwrap();
    let connect = || TcpStream::connect_timeout(&address, Duration::from_secs(1)).unwrap();
    let _stream = networks.trader().within(connect).unwrap();
    listener.accept().unwrap();
}

fn exchange(networks: &Networks) -> Child {
    let listen = format!("{}:0", networks.exchange().address());
    let mut command = tickpath();
    command.args(["exchange", "--backend", "af_xdp", "--any-token", "--listen", &listen]);
    command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
}

struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
