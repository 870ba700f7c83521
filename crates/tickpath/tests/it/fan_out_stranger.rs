//! `tickpath fan-out` between a source and receivers of the tunnel header that share no code with
//! it: stranger.py, written from the description of that wire.

use crate::support::python::has_package;
use crate::support::*;
use rustix::process::Signal;
use serde_json::Value;
use std::io::{BufRead, BufReader, Lines};
use std::net::UdpSocket;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/stranger.py");
const GROUP: &str = "224.0.31.50";
const DATAGRAMS: usize = 100;
const PATIENCE: Duration = Duration::from_secs(20);

/// A process whose lines are read; killed with the value.
struct Running(Child, Lines<BufReader<ChildStdout>>);

impl Running {
    fn start(command: &mut Command) -> Running {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Running(child, lines)
    }

    fn line(&mut self) -> Value {
        let line = self.1.next().expect("a line").unwrap();
        serde_json::from_str(&line).unwrap_or_else(|why| panic!("{why}: {line}"))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn stranger(arguments: &[&str]) -> Command {
    let mut command = Command::new("python3");
    command.arg(SCRIPT).args(arguments).stdin(Stdio::null());
    command
}

/// Whether there is a Python; counts the test as skipped if not.
fn has_python() -> bool {
    let has = has_package("python3", "struct");
    if !has {
        testing::skipped(testing::Need::Python, "no python3, or one without its own packages");
    }
    has
}

/// A receiver of the group, and its address.
fn receiver() -> (Running, String) {
    let mut running =
        Running::start(&mut stranger(&["receive", "127.0.0.1", GROUP, &DATAGRAMS.to_string()]));
    let port = running.line();
    (running, format!("127.0.0.1:{port}"))
}

fn replicator(arguments: &[&str]) -> (Running, String) {
    let mut command = tickpath();
    command.args(["fan-out", "--from", "127.0.0.1:0", "--backend", "block"]).args(arguments);
    let mut running = Running::start(&mut command);
    let ready = running.line();
    (running, ready["listening"].as_str().unwrap().to_owned())
}

fn send_all(to: &str) {
    let sent = stranger(&["send", to, GROUP, &DATAGRAMS.to_string()]).status().unwrap();
    assert!(sent.success(), "{sent}");
}

/// The numbers that came, sorted: datagrams overtake each other where a thread changes its core.
fn sequences(got: &Value) -> Vec<u64> {
    let mut all: Vec<u64> = serde_json::from_value(got["sequences"].clone()).unwrap();
    all.sort_unstable();
    all
}

/// Every datagram of the stranger's source reaches each of its receivers once. With
/// `keep` its hops and the time in between are what the whole way took; with `none` a replicator
/// changes nothing, so there is no stamp.
#[test]
fn a_strangers_receiver_gets_every_message_of_a_strangers_source() {
    if !has_python() {
        return;
    }
    for tunnel in ["keep", "none"] {
        let (mut first, to_first) = receiver();
        let (mut second, to_second) = receiver();
        let to = format!("{to_first},{to_second}");
        let (mut copier, from) = replicator(&["--tunnel", tunnel, "--to", &to]);
        send_all(&from);
        let all: Vec<u64> = (0..DATAGRAMS as u64).collect();
        for receiver in [&mut first, &mut second] {
            let got = receiver.line();
            assert_eq!(sequences(&got), all, "{tunnel}: {got}");
            assert_eq!(got["foreign"], 0, "{tunnel}: {got}");
            let hops = got["hops"].as_array().unwrap();
            assert_eq!(hops.len(), if tunnel == "keep" { DATAGRAMS } else { 0 }, "{tunnel}");
            for hop in hops {
                let ns: Vec<i64> = serde_json::from_value(hop.clone()).unwrap();
                let [one, inside, two, whole] = ns[..] else { panic!("{hop}") };
                assert!(one >= 0 && inside >= 0 && two >= 0, "{hop}");
                assert_eq!(one + inside + two, whole, "{hop}");
            }
        }
        signal(copier.0.id(), Signal::TERM);
        let done = copier.line();
        assert_eq!(done["received"], DATAGRAMS, "{done}");
        assert_eq!(done["rejected"]["no_header"], 0, "{done}");
    }
}

/// Behind a tree of two replicators too; and with the header taken off, the rest is what the
/// stranger put behind it.
#[test]
fn a_strangers_source_feeds_a_tree_and_subscribers_without_the_header() {
    if !has_python() {
        return;
    }
    let plain = UdpSocket::bind("127.0.0.1:0").unwrap();
    plain.set_read_timeout(Some(PATIENCE)).unwrap();
    let (mut last, to_last) = receiver();
    let (_leaf, to_leaf) = replicator(&["--tunnel", "keep", "--to", &to_last]);
    let to_plain = plain.local_addr().unwrap().to_string();
    let (_bare, to_bare) = replicator(&["--tunnel", "remove", "--to", &to_plain]);
    let to = format!("{to_leaf},{to_bare}");
    let (_root, from) = replicator(&["--tunnel", "keep", "--to", &to]);
    send_all(&from);
    let (got, all) = (last.line(), Vec::from_iter(0..DATAGRAMS as u64));
    assert_eq!(sequences(&got), all, "{got}");
    assert_eq!(got["hops"].as_array().unwrap().len(), DATAGRAMS, "{got}");
    let mut numbers = Vec::new();
    for _ in 0..DATAGRAMS {
        let mut bytes = [0; 64];
        let length = plain.recv(&mut bytes).unwrap();
        assert_eq!((length, &bytes[32..40]), (40, &b"the rest"[..]));
        numbers.push(u64::from_be_bytes(*bytes.first_chunk().unwrap()));
    }
    numbers.sort_unstable();
    assert_eq!(numbers, all);
}
