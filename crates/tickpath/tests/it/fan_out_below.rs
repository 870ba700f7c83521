//! Replicators below the kernel that are killed or stopped, as processes; they need root.

use crate::support::*;
use host::network::{DEVICE, Networks};
use rustix::process::Signal;
use serde_json::Value;
use std::io::{BufRead, BufReader, Lines};
use std::net::UdpSocket;
use std::process::{Child, ChildStdout, Stdio};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(20);
/// The backends that every build has.
const WAYS: [&str; 3] = ["af_xdp", "af_xdp_in_place", "xdp"];
#[cfg(feature = "dpdk")]
const DRIVERS: [&str; 2] = ["net_af_packet", "net_af_xdp"];

/// A replicator in a namespace.
struct Replicator {
    networks: Networks,
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    ready: Value,
}

impl Drop for Replicator {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Replicator {
    /// One that copies to a port of the other namespace. `None` after counting the test as skipped.
    fn start(backend: &str, driver: &str, port: u16) -> Option<Replicator> {
        let networks = match Networks::create() {
            Ok(networks) => networks,
            Err(why) => {
                testing::skipped(testing::Need::Root, why);
                return None;
            }
        };
        let from = format!("{}:5000", networks.exchange().address());
        let to = format!("{}:{port}", networks.trader().address());
        let mut command = tickpath();
        if !driver.is_empty() {
            command.env("TICKPATH_DPDK_DRIVER", driver);
        }
        command.args(["fan-out", "--backend", backend, "--from", &from, "--to", &to]);
        let spawn = || command.stdout(Stdio::piped()).spawn();
        let mut child = networks.exchange().within(spawn).unwrap().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let Some(Ok(ready)) = lines.next() else {
            let ended = child.wait();
            assert!(driver.is_empty(), "{driver}: {ended:?}");
            testing::skipped(testing::Need::Kernel, format!("{backend}: {ended:?}"));
            return None;
        };
        let ready = serde_json::from_str(&ready).unwrap();
        Some(Replicator { networks, child, lines, ready })
    }

    fn from(&self) -> String {
        self.ready["listening"].as_str().unwrap().to_owned()
    }

    /// A socket of the other namespace.
    fn there(&self, port: u16) -> UdpSocket {
        let address = (self.networks.trader().address(), port);
        self.networks.trader().within(|| UdpSocket::bind(address)).unwrap().unwrap()
    }

    /// Frames from there that the cable dropped: a busy kernel may not take them in time.
    fn lost_on_the_way(&self) -> u64 {
        /// The column of those that were dropped when they were sent.
        const DROPPED: usize = 11;
        let read = || std::fs::read_to_string("/proc/thread-self/net/dev");
        let table = self.networks.trader().within(read).unwrap().unwrap();
        let mut lines = table.lines().filter_map(|line| line.trim().split_once(':'));
        let (_, columns) = lines.find(|(name, _)| *name == DEVICE).unwrap();
        columns.split_whitespace().nth(DROPPED).unwrap().parse().unwrap()
    }
}

/// Killed at any instant, it leaves no program on the interface, and its address to the kernel.
#[test]
fn a_killed_replicator_leaves_the_interface_to_the_kernel() {
    WAYS.iter().for_each(|backend| leaves_the_interface_to_the_kernel(backend, ""));
}

#[cfg(not(feature = "dpdk"))]
#[test]
fn a_killed_replicator_over_dpdk_leaves_the_interface_to_the_kernel() {
    testing::skip!(Dpdk, "this build has no DPDK");
}

#[cfg(feature = "dpdk")]
#[test]
fn a_killed_replicator_over_dpdk_leaves_the_interface_to_the_kernel() {
    DRIVERS.iter().for_each(|driver| leaves_the_interface_to_the_kernel("dpdk", driver));
}

fn leaves_the_interface_to_the_kernel(backend: &str, driver: &str) {
    let Some(mut replicator) = Replicator::start(backend, driver, 6_000) else { return };
    let ready = &replicator.ready;
    let (way, is_copying) = (ready["way"].as_str().unwrap(), driver == "net_af_packet");
    assert!(way.contains(driver) && way.contains("native XDP") != is_copying, "{ready}");
    assert_eq!(has_program(&replicator.networks), !is_copying, "{backend}");
    replicator.child.kill().unwrap();
    replicator.child.wait().unwrap();
    let networks = &replicator.networks;
    wait_for("the end of the program", || (!has_program(networks)).then_some(()));
    let from = replicator.from();
    let receiver = networks.exchange().within(|| UdpSocket::bind(&from)).unwrap().unwrap();
    receiver.set_read_timeout(Some(PATIENCE)).unwrap();
    replicator.there(0).send_to(b"after", &from).unwrap();
    assert_eq!(receiver.recv(&mut [0; 16]).unwrap(), 5, "{backend} {driver}");
}

/// Datagrams that arrive while the process is stopped overflow its rings. Each one is copied or
/// counted as dropped.
#[test]
fn a_stopped_replicator_counts_what_it_lost() {
    ["af_xdp", "af_xdp_in_place"].iter().for_each(|backend| counts_what_it_lost(backend, ""));
}

#[cfg(not(feature = "dpdk"))]
#[test]
fn a_stopped_replicator_over_dpdk_counts_what_it_lost() {
    testing::skip!(Dpdk, "this build has no DPDK");
}

#[cfg(feature = "dpdk")]
#[test]
fn a_stopped_replicator_over_dpdk_counts_what_it_lost() {
    DRIVERS.iter().for_each(|driver| counts_what_it_lost("dpdk", driver));
}

fn counts_what_it_lost(backend: &str, driver: &str) {
    /// More than any ring has places for.
    const MANY: u32 = 4_000;
    let case = format!("{backend} {driver}");
    let Some(mut replicator) = Replicator::start(backend, driver, 6_000) else { return };
    let (receiver, source, from) =
        (replicator.there(6_000), replicator.there(0), replicator.from());
    receiver.set_read_timeout(Some(PATIENCE)).unwrap();
    // Each copy waits in the receiver's buffer.
    rustix::net::sockopt::set_socket_recv_buffer_size_force(&receiver, 16 << 20).unwrap();
    let mut into = [0; 16];
    source.send_to(&u32::MAX.to_be_bytes(), &from).unwrap();
    receiver.recv(&mut into).unwrap();
    signal(replicator.child.id(), Signal::STOP);
    for number in 0..MANY {
        source.send_to(&number.to_be_bytes(), &from).unwrap();
    }
    signal(replicator.child.id(), Signal::CONT);
    // Datagrams in the rings come before the last one, which may find no room at first.
    let mut copied = 1;
    let mut sent = 1 + u64::from(MANY);
    receiver.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    let is_there = (0..200).any(|_| {
        source.send_to(b"last", &from).unwrap();
        sent += 1;
        while let Ok(length) = receiver.recv(&mut into) {
            copied += 1;
            if &into[..length] == b"last" {
                return true;
            }
        }
        false
    });
    assert!(is_there, "{case}: {copied} copies");
    signal(replicator.child.id(), Signal::TERM);
    let last = replicator.lines.next().unwrap().unwrap();
    let last: Value = serde_json::from_str(&last).unwrap();
    let received = last["received"].as_u64().unwrap();
    let dropped = last["receive_dropped"].as_u64().unwrap_or_else(|| panic!("{case}: {last}"));
    assert_eq!(last["subscribers"][0]["sent"], received, "{case}");
    assert!(dropped > 0 && copied <= received, "{case}: {copied} {last}");
    // A driver that gets all frames also loses those of others.
    let others = if driver == "net_af_packet" { 64 } else { 0 };
    let seen = received + dropped + replicator.lost_on_the_way();
    assert!((sent..=sent + others).contains(&seen), "{case}: {sent} {last}");
}
