//! What an operator of a standby sees: that its disk is full, and that a signal has ended it.

use crate::support::websocket::Client;
use crate::support::*;
use rustix::process::Signal;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;
use testing::{small_disk, test_name};

/// Room for one segment of a standby, which has 16 MiB, and not for two.
const DISK_BYTES: u64 = 24 << 20;

#[test]
fn a_standby_tells_that_its_disk_is_full_and_ends_at_the_first_signal() {
    let name = test_name!(a_standby_tells_that_its_disk_is_full_and_ends_at_the_first_signal);
    small_disk::on(DISK_BYTES, &name, stand_by_on_a_small_disk);
}

fn stand_by_on_a_small_disk(disk: &Path) {
    let elsewhere = tempfile::tempdir().unwrap();
    let (copy, log) = (disk.join("copy"), elsewhere.path().join("log").display().to_string());
    let said = elsewhere.path().join("said");
    let mut standby = tickpath()
        .args(["exchange", "--any-token", "--backend", "block", "--book", "empty"])
        .args(["--listen", "127.0.0.1:0", "--standby", "127.0.0.1:0", "--standby-seconds", "60"])
        .arg("--journal")
        .arg(&copy)
        .stdout(Stdio::piped())
        .stderr(std::fs::File::create(&said).unwrap())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(standby.stdout.take().unwrap());
    let mut next_line = || {
        let mut line = String::new();
        lines.read_line(&mut line).unwrap();
        serde_json::from_str::<Value>(&line).unwrap()
    };
    let address = next_line()["standby"].as_str().unwrap().to_owned();
    let replicate = ["--journal", &log, "--replicate", "sync", "--follower", &address];
    let primary = Exchange::start(&[&["--any-token", "--book", "empty"][..], &replicate].concat());
    let is_said = |words: &str| std::fs::read_to_string(&said).unwrap().contains(words);
    wait_for("the warning", || is_said("is full: free some space").then_some(()));

    // There is room in the segment that it has.
    let mut client = Client::connect(&primary.address);
    let login = json!({"type": "AUTHENTICATE", "api_token": "a"}).to_string();
    client.send(1, login.as_bytes());
    assert_eq!(client.told()[0]["type"], "AUTHENTICATED");
    let order = json!({"type": "CREATE_ORDER", "order": {"instrument_code": "BTC_USDT",
        "client_id": "o", "side": "BUY", "type": "LIMIT", "price": "100", "amount": "1",
        "time_in_force": "GOOD_TILL_CANCELLED"}});
    assert_eq!(client.ask(order.to_string().as_bytes()).unwrap()["type"], "BOOKED");

    signal(standby.id(), Signal::INT);
    let records = next_line()["records"].as_u64().unwrap();
    assert!(records > 0);
    assert!(standby.wait().unwrap().success());
    assert!(is_said(&format!("before it took over: its copy has {records} records")));
}
