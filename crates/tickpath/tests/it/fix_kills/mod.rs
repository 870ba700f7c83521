//! A session of FIX in which, round after round, the exchange or its client is killed with SIGKILL
//! after a random byte has passed in either direction. Every report that the exchange has numbered
//! reaches the client once, in order, and no order enters twice.

mod follower;
mod proxy;

use crate::fix::Exchange;
use crate::support::*;
use clock::random::SplitMix64;
use fix::message::{Message, split};
use fix::store::{FileStore, Store};
use follower::{ADDRESS, LOG, PLACE, STOP};
use proxy::{Direction, Proxy};
use std::collections::HashSet;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};
use testing::test_name;

/// Rounds of `make test`, one for each victim; `scripts/weekly` makes more.
const ROUNDS: &str = "TICKPATH_FIX_KILL_ROUNDS";
const ROUNDS_DEFAULT: u32 = 2;
/// Some ten orders with their reports, so that a cut may also fall into a logon or a resend.
const BYTES_MAX: u32 = 8_000;
const PATIENCE: Duration = Duration::from_secs(60);

/// The client, in a process of its own.
fn follow(place: &Path, address: &str) -> Child {
    testing::child::again(&test_name!(each_report_arrives_once_wherever_either_side_is_killed))
        .env(PLACE, place)
        .env(ADDRESS, address)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

fn exchange(place: &Path) -> Exchange {
    Exchange::start_with("synthetic", &place.join("store"), &["--any-token"])
}

/// The reports in the exchange's store: number, ExecID, and ClOrdID if it acknowledges an order.
fn numbered(place: &Path) -> Vec<(u64, String, Option<String>)> {
    let mut store = FileStore::open(&place.join("store/fund@FUND.fix")).unwrap();
    let (mut reports, mut fields) = (Vec::new(), Vec::new());
    let mut take = |seq, bytes: &[u8]| {
        split(bytes, |_| None, &mut fields).unwrap();
        let message = Message::new(bytes, &fields);
        if message.msg_type() == b"8" {
            let text = |tag| message.text(tag).map(str::to_owned);
            let order = text(11).filter(|_| message.get(150) == Some(b"0"));
            reports.push((seq, text(17).unwrap(), order));
        }
    };
    store.read(1..=u64::MAX, &mut take).unwrap();
    reports
}

#[test]
fn each_report_arrives_once_wherever_either_side_is_killed() {
    if let Some(place) = std::env::var_os(PLACE) {
        return follower::run(Path::new(&place), &std::env::var(ADDRESS).unwrap());
    }
    if !testing::child::is_possible() {
        return;
    }
    let rounds = std::env::var(ROUNDS).map_or(ROUNDS_DEFAULT, |rounds| rounds.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path();
    let mut random = SplitMix64::new(35);
    let mut server = exchange(place);
    let proxy = Proxy::start(server.ready["fix"].as_str().unwrap());
    let mut client = follow(place, &proxy.address);
    for round in 0..rounds {
        let way = [Direction::ToExchange, Direction::ToClient][random.below(2) as usize];
        let bytes = 1 + random.below(BYTES_MAX) as usize;
        assert!(proxy.cut_after(way, bytes, PATIENCE), "round {round}: no {bytes} bytes {way:?}");
        if round % 2 == 0 {
            signal(server.child.id(), rustix::process::Signal::KILL);
            server.child.wait().unwrap();
            proxy.close();
            server = exchange(place);
            proxy.lead_to(server.ready["fix"].as_str().unwrap());
        } else {
            client.kill().unwrap();
            client.wait().unwrap();
            proxy.close();
            client = follow(place, &proxy.address);
        }
    }
    // The client sends one last order, and has all other reports before that has traded.
    std::fs::write(place.join(STOP), "").unwrap();
    let deadline = Instant::now() + PATIENCE;
    let ended = loop {
        match client.try_wait().unwrap() {
            Some(status) => break status.success(),
            None if Instant::now() > deadline => break false,
            None => std::thread::sleep(Duration::from_millis(10)),
        }
    };
    let _ = client.kill();
    assert!(ended, "the client has not got its last report in {PATIENCE:?}");
    drop(server);
    let numbered = numbered(place);
    let arrived = follower::logged(&place.join(LOG));
    let wanted: Vec<_> = numbered.iter().map(|(seq, exec, _)| (*seq, exec.clone())).collect();
    let first_difference = wanted.iter().zip(&arrived).position(|(one, other)| one != other);
    let lengths = (wanted.len(), arrived.len());
    assert!(
        wanted == arrived,
        "{lengths:?} reports, of which the first that differs is {first_difference:?}"
    );
    assert!(wanted.len() > rounds as usize, "{} reports in {rounds} rounds", wanted.len());
    let orders: Vec<&String> = numbered.iter().filter_map(|(_, _, order)| order.as_ref()).collect();
    let once: HashSet<&&String> = orders.iter().collect();
    assert_eq!(once.len(), orders.len(), "an order entered twice");
}
