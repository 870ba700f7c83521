//! An exchange with a journal, snapshots and gateways as a whole process: killed, and begun again.

use crate::support::websocket::Client;
use crate::support::*;
use record::replay::Replay;
use serde_json::{Value, json};
use std::path::Path;

const ORDERS: usize = 200;

fn exchange(log: &Path) -> Exchange {
    let log = log.display().to_string();
    let with = ["--any-token", "--book", "empty", "--gateways", "1"];
    let journal = ["--journal", &log, "--journal-mode", "sync", "--snapshot-seconds", "0.02"];
    Exchange::start(&[with.as_slice(), &journal].concat())
}

/// An account's orders, `from` to `to`, each acknowledged.
fn trade(client: &mut Client, from: usize, to: usize) {
    client.send(1, json!({"type": "AUTHENTICATE", "api_token": "a"}).to_string().as_bytes());
    assert_eq!(client.told()[0]["type"], "AUTHENTICATED");
    for number in from..to {
        let order = json!({"type": "CREATE_ORDER", "order": {"instrument_code": "BTC_USDT",
            "client_id": format!("o{number}"), "side": "BUY", "type": "LIMIT", "price": "100",
            "amount": "1", "time_in_force": "GOOD_TILL_CANCELLED"}});
        client.send(1, order.to_string().as_bytes());
        let told = client.told();
        assert_eq!(told[0]["type"], "BOOKED", "{told:?}");
    }
}

fn snapshots(log: &Path) -> usize {
    let files = std::fs::read_dir(log).unwrap().flatten();
    files.filter(|file| file.path().extension().is_some_and(|kind| kind == "snapshot")).count()
}

fn replay(log: &Path) -> Replay {
    let done = tickpath().args(["replay", "--json"]).arg(log).output().unwrap();
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    serde_json::from_slice(&done.stdout).unwrap()
}

/// Killed in the middle: what was acknowledged is there, and recovery begins at a snapshot that was
/// written meanwhile. Ended in order: the last snapshot is the end.
#[test]
fn a_killed_exchange_begins_where_it_was() {
    let probe = output(&["exchange", "--echo", "--gateways", "1", "--listen", "no.such.host:1"]);
    if text(&probe.stderr).contains("no rings for the gateways") {
        testing::skipped(testing::Need::Kernel, format_args!("{}", text(&probe.stderr)));
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let log = place.path().join("log");
    let first = exchange(&log);
    let mut client = Client::connect(&first.address);
    trade(&mut client, 0, ORDERS);
    wait_for("a snapshot", || (snapshots(&log) > 0).then_some(()));
    drop(first);
    let killed = replay(&log);
    assert!(killed.from_snapshot.is_some(), "{killed:?}");
    assert!(killed.next_sequence >= ORDERS as u64, "{killed:?}");

    let second = exchange(&log);
    let mut client = Client::connect(&second.address);
    trade(&mut client, ORDERS, 2 * ORDERS);
    let ended = second.end();
    let found = replay(&log);
    assert_eq!(found.next_sequence, killed.next_sequence + ORDERS as u64);
    assert_eq!(found.from_snapshot, Some(found.next_sequence));
    assert_eq!(ended["state_hash"], Value::from(found.state_hash));
}

#[test]
fn snapshots_without_a_journal_are_rejected() {
    let alone = output(&["exchange", "--any-token", "--snapshot-seconds", "1"]);
    assert_eq!(alone.status.code(), Some(2));
    assert!(text(&alone.stderr).contains("--journal"), "{}", text(&alone.stderr));
    let place = tempfile::tempdir().unwrap();
    let log = place.path().display().to_string();
    let with = ["exchange", "--any-token", "--listen", "127.0.0.1:0", "--journal", &log];
    for (more, word) in [
        (["--snapshot-seconds", "0", "--journal-mode", "sync"], "0.01 to 86400"),
        (["--snapshot-seconds", "1", "--journal-mode", "none"], "--journal-mode"),
    ] {
        let failed = output(&[with.as_slice(), &more].concat());
        assert_eq!(failed.status.code(), Some(2), "{}", text(&failed.stderr));
        assert!(text(&failed.stderr).contains(word), "{}", text(&failed.stderr));
    }
}
