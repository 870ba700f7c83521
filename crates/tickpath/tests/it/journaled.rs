//! An exchange with a journal, snapshots and gateways as a whole process: killed, and begun again.

use crate::support::websocket::Client;
use crate::support::*;
use record::replay::Replay;
use serde_json::{Value, json};
use std::path::Path;

const ORDERS: usize = 200;
/// Size of the segment in `old_journal`, which has only its records.
const OLD_SEGMENT_BYTES: u64 = 268_435_424;

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
    // An order takes a record, and its client id another.
    assert!(killed.next_sequence >= 2 * ORDERS as u64, "{killed:?}");

    let second = exchange(&log);
    let mut client = Client::connect(&second.address);
    trade(&mut client, ORDERS, 2 * ORDERS);
    let ended = second.end();
    let found = replay(&log);
    assert_eq!(found.next_sequence, killed.next_sequence + 2 * ORDERS as u64);
    assert_eq!(found.from_snapshot, Some(found.next_sequence));
    assert_eq!(ended["state_hash"], Value::from(found.state_hash));
}

fn cancel(client: &mut Client, client_id: &str) -> Value {
    let cancel = json!({"type": "CANCEL_ORDER", "instrument_code": "BTC_USDT",
        "client_id": client_id});
    client.send(1, cancel.to_string().as_bytes());
    client.told().remove(0)
}

/// After a kill, from a snapshot and the log after it: each open order has its client id. A
/// recovered exchange knew orders by `order_id` alone, and a client had to ask for every one.
#[test]
fn client_ids_survive_a_kill() {
    let place = tempfile::tempdir().unwrap();
    let log = place.path().join("log");
    let first = exchange(&log);
    let mut client = Client::connect(&first.address);
    trade(&mut client, 0, 20);
    wait_for("a snapshot", || (snapshots(&log) > 0).then_some(()));
    trade(&mut client, 20, 40);
    assert_eq!(cancel(&mut client, "o7")["status"], "CANCELLED");
    drop(first);

    let second = exchange(&log);
    let mut client = Client::connect(&second.address);
    trade(&mut client, 40, 41);
    for number in [0, 19, 20, 39, 40] {
        let told = cancel(&mut client, &format!("o{number}"));
        assert_eq!(told["status"], "CANCELLED", "{number}: {told}");
    }
    for gone in ["o7", "o0"] {
        assert_eq!(cancel(&mut client, gone)["type"], "REJECTED", "{gone}");
    }
}

/// The journal of an earlier version, without client ids: orders 2 and 3 are open.
#[test]
fn an_old_journal_opens_and_new_orders_have_client_ids() {
    let place = tempfile::tempdir().unwrap();
    let log = place.path();
    let old = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/old_journal");
    for file in std::fs::read_dir(old).unwrap().flatten() {
        std::fs::copy(file.path(), log.join(file.file_name())).unwrap();
    }
    let segment = log.join("00000000000000000000.segment");
    let segment = std::fs::File::options().write(true).open(segment).unwrap();
    segment.set_len(OLD_SEGMENT_BYTES).unwrap();
    let first = exchange(log);
    let mut client = Client::connect(&first.address);
    trade(&mut client, 0, 1);
    assert_eq!(cancel(&mut client, "second")["type"], "REJECTED");
    let by_order_id = cancel(&mut client, "00000000-0000-8000-8000-000000000002");
    assert_eq!(by_order_id["status"], "CANCELLED");
    drop(first);
    let second = exchange(log);
    let mut client = Client::connect(&second.address);
    trade(&mut client, 1, 2);
    assert_eq!(cancel(&mut client, "o0")["status"], "CANCELLED");
    let by_order_id = cancel(&mut client, "00000000-0000-8000-8000-000000000003");
    assert_eq!(by_order_id["status"], "CANCELLED");
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
