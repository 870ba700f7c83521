//! A session of FIX in which, round after round, the exchange or its client is killed with SIGKILL
//! after a random byte has passed in either direction. Every report that the exchange has numbered
//! reaches the client once, in order, no order enters twice, and every trade of the exchange's
//! journal is one of these reports.

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
use wire::reply::{Reply, decode_reply};
use wire::{ClientId, Decimal};

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

fn server(place: &Path) -> Exchange {
    let journal = place.join("journal").display().to_string();
    let arguments = ["--any-token", "--journal", &journal];
    Exchange::start_with("synthetic", &place.join("store"), &arguments)
}

/// A report of the exchange's store.
struct Numbered {
    seq: u64,
    exec_id: String,
    /// ClOrdID, if it acknowledges an order.
    order: Option<String>,
    /// ClOrdID and LeavesQty, if it is a trade.
    trade: Option<(String, Decimal)>,
}

fn numbered(place: &Path) -> Vec<Numbered> {
    let mut store = FileStore::open(&place.join("store/fund@FUND.fix")).unwrap();
    let (mut reports, mut fields) = (Vec::new(), Vec::new());
    let mut take = |seq, bytes: &[u8]| {
        split(bytes, |_| None, &mut fields).unwrap();
        let message = Message::new(bytes, &fields);
        if message.msg_type() == b"8" {
            let text = |tag| message.text(tag).map(str::to_owned);
            let order = text(11).filter(|_| message.get(150) == Some(b"0"));
            let leaves = || text(151).unwrap().parse().unwrap();
            let trade = (message.get(150) == Some(b"F")).then(|| (text(11).unwrap(), leaves()));
            reports.push(Numbered { seq, exec_id: text(17).unwrap(), order, trade });
        }
    };
    store.read(1..=u64::MAX, &mut take).unwrap();
    reports
}

/// The client's trades in the exchange's journal: client id, and the amount that is open after it.
fn trades(place: &Path) -> Vec<(String, Decimal)> {
    let mut trades = Vec::new();
    let mut wants = |account: &str, _: &ClientId, _| account == "fund";
    let mut each = |past: &exchange::PastReport<'_>| {
        let is_fill =
            past.report.is_some_and(|report| matches!(decode_reply(report), Ok(Reply::Fill(_))));
        if is_fill {
            trades.push((past.client_id.as_str().to_owned(), past.open));
        }
    };
    let (journal, instruments) = (place.join("journal"), exchange::Instruments::shipped());
    exchange::past_reports(&journal, &instruments, &mut wants, &mut each).unwrap();
    trades
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
    let mut server = server(place);
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
            server = self::server(place);
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
    let wanted: Vec<_> = numbered.iter().map(|it| (it.seq, it.exec_id.clone())).collect();
    let first_difference = wanted.iter().zip(&arrived).position(|(one, other)| one != other);
    let lengths = (wanted.len(), arrived.len());
    assert!(
        wanted == arrived,
        "{lengths:?} reports, of which the first that differs is {first_difference:?}"
    );
    assert!(wanted.len() > rounds as usize, "{} reports in {rounds} rounds", wanted.len());
    let reported: Vec<_> = numbered.iter().filter_map(|it| it.trade.clone()).collect();
    let trades = trades(place);
    let first_difference = reported.iter().zip(&trades).position(|(one, other)| one != other);
    assert!(
        reported == trades,
        "{} trades were reported, and the journal has {}: the first that differs is \
         {first_difference:?}",
        reported.len(),
        trades.len()
    );
    let orders: Vec<&String> = numbered.iter().filter_map(|it| it.order.as_ref()).collect();
    let once: HashSet<&&String> = orders.iter().collect();
    assert_eq!(once.len(), orders.len(), "an order entered twice");
}
