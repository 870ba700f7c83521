//! A delivery window in whole processes: two traders race for the order that a tick shows, and one
//! of them has a slow way, there and back.

use crate::support::websocket::Client;
use crate::support::*;
use feed::{Packet, PacketKind};
use serde_json::{Value, json};
use std::net::UdpSocket;
use std::time::{Duration, Instant};
use testing::unless;

/// Delay of the far trader's ticks, and of its orders: ten times what a busy machine takes away.
const WAY: Duration = Duration::from_millis(300);
/// The near trader's response time. The far one's is nothing but its own work.
const THINK: Duration = Duration::from_millis(300);
/// The far order arrives after about 600 ms.
const WINDOW_US: u32 = 1_500_000;
/// The longest window that the exchange takes.
const WINDOW_US_MAX: u32 = 10_000_000;
const ASSUMPTION: &str = "no process waits for a core for 300 ms";

/// A logged-on trader that follows the feed.
struct Trader {
    client: Client,
    feed: UdpSocket,
    /// The answer to its subscription.
    subscription: Value,
    way: Duration,
    think: Duration,
}

impl Trader {
    fn new(exchange: &Exchange, account: &str, way: Duration, think: Duration) -> Trader {
        let mut client = Client::connect(&exchange.address);
        let feed = UdpSocket::bind("127.0.0.1:0").unwrap();
        feed.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let login = json!({"type": "AUTHENTICATE", "api_token": account});
        client.send(1, login.to_string().as_bytes());
        let address = feed.local_addr().unwrap().to_string();
        let channels = [json!({"name": "FEED", "address": address})];
        let subscribe = json!({"type": "SUBSCRIBE", "channels": channels});
        client.send(1, subscribe.to_string().as_bytes());
        let subscription = client.told().pop().unwrap()["channels"][0].clone();
        Trader { client, feed, subscription, way, think }
    }

    /// Waits for the next tick, and takes what it shows. Its way delays both.
    fn answer(&mut self) {
        let mut datagram = [0; 2048];
        let tick = loop {
            let n = self.feed.recv(&mut datagram).unwrap();
            let header = *Packet::decode(&datagram[..n]).unwrap().header();
            if header.kind == PacketKind::Live {
                break header.sequence + u64::from(header.count) - 1;
            }
        };
        std::thread::sleep(self.way);
        let arrived = Instant::now();
        std::thread::sleep(self.think);
        let response_ns = u64::try_from(arrived.elapsed().as_nanos()).unwrap();
        std::thread::sleep(self.way);
        let mut order = order("taker", "BUY", "IMMEDIATE_OR_CANCELLED");
        (order["order"]["tick"], order["order"]["response_ns"]) = (tick.into(), response_ns.into());
        self.client.send(1, order.to_string().as_bytes());
    }

    /// How its order ended.
    fn end(&mut self) -> String {
        loop {
            let text: Value = serde_json::from_str(&self.client.next_text()).unwrap();
            match text["type"].as_str() {
                Some("DONE") => return text["status"].as_str().unwrap().to_owned(),
                Some("FILL") => {}
                _ => panic!("{text}"),
            }
        }
    }
}

fn order(client_id: &str, side: &str, time_in_force: &str) -> Value {
    json!({"type": "CREATE_ORDER", "order": {
        "instrument_code": "BTC_USDT", "client_id": client_id, "side": side, "type": "LIMIT",
        "amount": "1", "price": "100", "time_in_force": time_in_force}})
}

/// One race with delays of `factor` times the usual ones. Returns how the near and the far trader's
/// orders ended, and the exchange's counts.
fn race(more: &[&str], factor: u32) -> (String, String, Value) {
    let arguments = ["--any-token", "--feed", "unicast", "--book", "empty"];
    let exchange = Exchange::start(&[&arguments[..], more].concat());
    let mut near = Trader::new(&exchange, "near", Duration::ZERO, THINK * factor);
    let mut far = Trader::new(&exchange, "far", WAY * factor, Duration::ZERO);
    let window_us: Option<u64> = more.get(1).map(|window_us| window_us.parse().unwrap());
    assert_eq!(near.subscription["delivery_window_us"].as_u64(), window_us);
    let mut maker = Client::connect(&exchange.address);
    maker.send(1, br#"{"type":"AUTHENTICATE","api_token":"maker"}"#);
    maker.send(1, order("offer", "SELL", "GOOD_TILL_CANCELLED").to_string().as_bytes());
    std::thread::scope(|scope| {
        scope.spawn(|| near.answer());
        scope.spawn(|| far.answer());
    });
    let ends = (near.end(), far.end());
    (ends.0, ends.1, exchange.end()["counts"]["deliveries"].clone())
}

#[test]
fn without_a_window_the_near_trader_wins_though_it_is_slower() {
    testing::quiet::or_doubled(ASSUMPTION, |factor| {
        let (near, far, counts) = race(&[], factor);
        assert_eq!(counts, Value::Null);
        unless!(near == "FILLED" && far == "EXPIRED", "near {near}, far {far}");
        Ok::<(), String>(())
    });
}

#[test]
fn a_delivery_window_gives_the_trade_to_the_faster_trader_whose_way_is_long() {
    testing::quiet::or_doubled(ASSUMPTION, |factor| {
        let place = tempfile::tempdir().unwrap();
        let journal = place.path().join("log").display().to_string();
        let window_us = (WINDOW_US * factor).min(WINDOW_US_MAX).to_string();
        let window = ["--delivery-window-us", &window_us];
        let journaled = ["--journal", &journal, "--journal-mode", "async"];
        let (near, far, counts) = race(&[&window[..], &journaled].concat(), factor);
        unless!(near == "EXPIRED" && far == "FILLED", "near {near}, far {far}: {counts}");
        assert_eq!((&counts["held"], &counts["overtook"]), (&json!(2), &json!(1)), "{counts}");
        let replay = output(&["replay", &journal]);
        assert_eq!(replay.status.code(), Some(0), "{}", text(&replay.stderr));
        Ok::<(), String>(())
    });
}

/// The trader puts its delivery clock into its orders, and the audit finds them in the journal.
#[test]
fn a_tickpath_trader_carries_clocks_that_the_exchange_believes() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (journal, hlog) = (path("log"), path("trade.hlog"));
    let window = ["--any-token", "--feed", "unicast", "--delivery-window-us", "500"];
    let flow = ["--flow", "synthetic", "--flow-rate", "200", "--flow-seconds", "1.2"];
    let journaled = ["--journal", &journal, "--journal-mode", "async"];
    let exchange = Exchange::start(&[&window[..], &flow, &journaled].concat());
    let mut command = tickpath();
    command.args(["trade", "market-making", "-q", "--connect", &exchange.address]);
    command.args(["--hlog", &hlog]);
    let sets = ["flow.rate_per_second=200", "warm_up_seconds=0.2", "seconds=1"];
    let more = ["subject.rust.backend=block", "strategy.half_spread_ticks=50"];
    let sets = sets.iter().chain(&more).flat_map(|set| ["--set", set]);
    let done = command.args(sets).output().unwrap();
    assert!(!done.stdout.is_empty(), "{}", text(&done.stderr));
    let counts = exchange.end()["counts"].clone();
    // An amendment whose order traded while it waited is in no journal.
    let gone = counts["rejected"]["unknown_order"].as_u64().unwrap_or(0);
    let counts = &counts["deliveries"];
    let count = |fate: &str| counts[fate].as_u64().unwrap();
    assert!(count("held") + count("late") >= 2, "{counts}");
    assert_eq!((count("impossible"), count("unknown_tick")), (0, 0), "{counts}");
    let audit = ["audit", &path("trade.audit"), "--journal", &journal];
    let joined = output(&[&audit[..], &["--json"]].concat());
    let joined: Value = serde_json::from_slice(&joined.stdout).unwrap();
    let of_journal = &joined["deliveries"];
    assert_eq!(of_journal["window_ns"], 500_000, "{of_journal}");
    let held = of_journal["orders"]["held"].as_u64().unwrap_or(0);
    let left = count("held") - count("early");
    assert!(held <= left && held + gone >= left, "{of_journal} {counts}");
    assert!(
        text(&output(&audit).stdout).contains("window 500"),
        "{}",
        text(&output(&audit).stdout)
    );
}

/// The scenario's own exchange has the window, and its trader the clock.
#[test]
fn a_scenario_sets_the_window_of_its_exchange() {
    const WINDOW_NS: u64 = 50_000_000;
    testing::quiet::or_doubled("most ticks are answered within 50 ms", |factor| {
        let out = tempfile::tempdir().unwrap();
        let window_ns = WINDOW_NS * u64::from(factor);
        let window = format!("exchange.delivery_window_us={}", window_ns / 1_000);
        let mut command = tickpath();
        command.args(["run", "tick-to-trade", "--quiet", "--out"]).arg(out.path());
        let sets = SHORT_TICKS.iter().copied().chain(["flow.rate_per_second=100", &window]);
        let done = command.args(sets.flat_map(|set| ["--set", set])).output().unwrap();
        let record = record(&only_run(out.path()));
        assert!(!is_void(&record), "{}: {}", record["void_because"], text(&done.stderr));
        let series = rust(&record)["series"].as_array().unwrap().clone();
        let p50 = |name: &str| {
            let series = series.iter().find(|one| one["name"] == name).unwrap();
            series["pooled"]["p50"].as_u64().unwrap()
        };
        // From the publication to the engine passes the window, the longest part in the gateway.
        let found = p50("gateway");
        let expected = window_ns / 2..=window_ns + window_ns / 10;
        unless!(expected.contains(&found), "{found} ns between gateway and engine");
        Ok::<(), String>(())
    });
}

#[test]
fn a_window_without_a_feed_is_an_error_that_says_what_to_add() {
    let start = output(&["exchange", "--any-token", "--delivery-window-us", "100"]);
    let said = text(&start.stderr);
    assert!(!start.status.success() && said.contains("--feed unicast"), "{said}");
}
