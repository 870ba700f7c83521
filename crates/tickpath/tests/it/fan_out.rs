//! `tickpath fan-out` as a process.

use crate::support::*;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::net::UdpSocket;
use std::process::Stdio;
use std::time::Duration;

#[test]
fn a_replicator_says_where_it_listens_copies_and_says_what_it_did() {
    let subscriber = UdpSocket::bind("127.0.0.1:0").unwrap();
    subscriber.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let to = subscriber.local_addr().unwrap().to_string();
    let arguments = ["fan-out", "--from", "127.0.0.1:0", "--to", &to, "--listen", "127.0.0.1:0"];
    let mut child = tickpath()
        .args(arguments)
        .args(["--backend", "block", "--order", "rotating"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut line = || -> Value { serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap() };
    let ready = line();
    let source = UdpSocket::bind("127.0.0.1:0").unwrap();
    source.send_to(b"tick", ready["listening"].as_str().unwrap()).unwrap();
    assert_eq!(subscriber.recv(&mut [0; 16]).unwrap(), 4);
    assert!(ready["registration"].as_str().unwrap().starts_with("127.0.0.1:"));
    signal(child.id(), rustix::process::Signal::TERM);
    let done = line();
    assert!(child.wait().unwrap().success());
    assert_eq!((&done["received"], &done["rejected"]["foreign"]), (&1.into(), &0.into()));
    let row = &done["subscribers"][0];
    assert_eq!((&row["address"], &row["sent"]), (&to.into(), &1.into()));
    assert_eq!(done["registration"]["accepted"], 0);
}

#[test]
fn a_replicator_ends_after_its_time_and_rejects_what_makes_no_sense() {
    let short = ["fan-out", "--from", "127.0.0.1:0", "--listen", "127.0.0.1:0", "--for", "1s"];
    let done = output(&short);
    assert!(done.status.success(), "{}", text(&done.stderr));
    let last = text(&done.stdout).lines().last().unwrap().to_owned();
    let last: Value = serde_json::from_str(&last).unwrap();
    assert_eq!((&last["received"], &last["copying_ns"]["p50"]), (&0.into(), &Value::Null));
    for (arguments, words) in [
        (&["--to", "nowhere"][..], "no list of addresses"),
        (&["--listen", "127.0.0.1:9", "--parent", "127.0.0.1:9"], "can't feed itself"),
        (&["--to", "127.0.0.1:9", "--tunnel", "add"], "no multicast group"),
        (&["--to", "127.0.0.1:9", "--order", "fair"], "fixed, rotating and random"),
        (&[], "--to"),
    ] {
        let done = output(&[&["fan-out", "--from", "127.0.0.1:0"], arguments].concat());
        let why = text(&done.stderr);
        assert!(!done.status.success() && why.contains(words), "{why}");
    }
}
