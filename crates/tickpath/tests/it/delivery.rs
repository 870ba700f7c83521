//! A delivery window in whole processes: two traders race for the orders that ticks show, and one
//! of them has a slow way, there and back.

use crate::support::websocket::Client;
use crate::support::*;
use feed::{FeedMessage, Packet};
use serde_json::{Value, json};
use std::net::UdpSocket;
use std::path::Path;
use std::time::{Duration, Instant};
use testing::unless;

/// Delay of the far trader's ticks, and of its orders; and what response times are multiples of:
/// ten times what a busy machine takes away.
const UNIT: Duration = Duration::from_millis(100);
/// Response times of the near and the far trader in each race, in units. By its way the far one is
/// two units behind, so the near one's order arrives first in all of them.
const RESPONSES: [[u32; 2]; 6] = [[1, 0], [0, 1], [2, 1], [1, 2], [1, 0], [0, 1]];
/// The slowest order arrives after four units.
const WINDOW_UNITS: u32 = 6;
const ASSUMPTION: &str = "no process waits for a core for 100 ms";

/// A logged-on trader that follows the feed.
struct Trader {
    client: Client,
    feed: UdpSocket,
    /// The answer to its subscription.
    subscription: Value,
    way: Duration,
}

/// How an order ended, and how long after its tick had arrived.
type Ended = (String, Duration);

impl Trader {
    fn new(exchange: &Exchange, account: &str, way: Duration) -> Trader {
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
        Trader { client, feed, subscription, way }
    }

    /// Waits for the next order that is offered, and takes it after `think`. Its way delays both.
    fn answer(&mut self, client_id: &str, think: Duration) -> Ended {
        let mut datagram = [0; 2048];
        let tick = loop {
            let n = self.feed.recv(&mut datagram).unwrap();
            let packet = Packet::decode(&datagram[..n]).unwrap();
            let is_added = |message| matches!(message, Ok(FeedMessage::OrderAdded { .. }));
            if packet.messages().any(is_added) {
                break packet.header().sequence + u64::from(packet.header().count) - 1;
            }
        };
        let published = Instant::now();
        std::thread::sleep(self.way);
        let arrived = Instant::now();
        std::thread::sleep(think);
        let response_ns = u64::try_from(arrived.elapsed().as_nanos()).unwrap();
        std::thread::sleep(self.way);
        let mut order = order(client_id, "BUY", "IMMEDIATE_OR_CANCELLED");
        (order["order"]["tick"], order["order"]["response_ns"]) = (tick.into(), response_ns.into());
        self.client.send(1, order.to_string().as_bytes());
        loop {
            let text: Value = serde_json::from_str(&self.client.next_text()).unwrap();
            match text["type"].as_str() {
                Some("DONE") => {
                    return (text["status"].as_str().unwrap().to_owned(), published.elapsed());
                }
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

/// All races, with times of `factor` times the usual ones. Returns how the near and the far
/// trader's orders ended in each, and the exchange's counts.
fn races(more: &[&str], factor: u32) -> (Vec<[Ended; 2]>, Value) {
    let arguments = ["--any-token", "--feed", "unicast", "--book", "empty"];
    let exchange = Exchange::start(&[&arguments[..], more].concat());
    let mut near = Trader::new(&exchange, "near", Duration::ZERO);
    let mut far = Trader::new(&exchange, "far", UNIT * factor);
    let window_us: Option<u64> = more.get(1).map(|window_us| window_us.parse().unwrap());
    assert_eq!(near.subscription["delivery_window_us"].as_u64(), window_us);
    let mut maker = Client::connect(&exchange.address);
    maker.send(1, br#"{"type":"AUTHENTICATE","api_token":"maker"}"#);
    let mut race = |number: usize, units: [u32; 2]| {
        let id = format!("race-{number}");
        let [thinks, longer] = units.map(|units| UNIT * factor * units);
        std::thread::scope(|scope| {
            let near = scope.spawn(|| near.answer(&id, thinks));
            let far = scope.spawn(|| far.answer(&id, longer));
            maker.send(1, order(&id, "SELL", "GOOD_TILL_CANCELLED").to_string().as_bytes());
            [near, far].map(|ended| ended.join().unwrap())
        })
    };
    let ended = RESPONSES.into_iter().enumerate().map(|(number, units)| race(number, units));
    (ended.collect(), exchange.end()["counts"]["deliveries"].clone())
}

/// In which races the near trader got the trade, of which one of both got each.
fn near_wins(races: &[[Ended; 2]]) -> Vec<bool> {
    let won = |race: &[Ended; 2]| match race.each_ref().map(|(end, _)| end.as_str()) {
        ["FILLED", "EXPIRED"] => true,
        ["EXPIRED", "FILLED"] => false,
        neither => panic!("{neither:?}"),
    };
    races.iter().map(won).collect()
}

#[test]
fn without_a_window_the_near_trader_wins_also_where_it_is_slower() {
    testing::quiet::or_doubled(ASSUMPTION, |factor| {
        let (races, counts) = races(&[], factor);
        assert_eq!(counts, Value::Null);
        unless!(near_wins(&races) == [true; RESPONSES.len()], "{races:?}");
        let waits = races.iter().any(|[(_, near), _]| *near >= UNIT * factor * WINDOW_UNITS);
        unless!(!waits, "{races:?}");
        Ok::<(), String>(())
    });
}

/// The response times say who is to win each race, and each wins as often as that. Everybody pays
/// for it with the window.
#[test]
fn a_delivery_window_gives_each_trade_to_the_faster_trader_also_if_its_way_is_long() {
    testing::quiet::or_doubled(ASSUMPTION, |factor| {
        let place = tempfile::tempdir().unwrap();
        let journal = place.path().join("log");
        let window = UNIT * factor * WINDOW_UNITS;
        let window_us = window.as_micros().to_string();
        let window_set = ["--delivery-window-us", &window_us];
        let path = journal.display().to_string();
        let journaled = ["--journal", &path, "--journal-mode", "async"];
        let (races, counts) = races(&[&window_set[..], &journaled].concat(), factor);
        let faster = RESPONSES.map(|[near, far]| near < far);
        unless!(near_wins(&races) == faster, "{races:?} {counts}");
        let overtook = faster.iter().filter(|is_near| !**is_near).count();
        let held = 2 * RESPONSES.len();
        unless!(counts["held"] == held && counts["overtook"] == overtook, "{counts}");
        // A tick takes a moment to a trader. Without a window all had ended two units earlier.
        let waited = races.iter().flatten().all(|(_, after)| *after >= window - UNIT * factor);
        unless!(waited, "before the window of {window:?} had passed: {races:?}");
        waits_are_in_the_journal(&journal, factor)?;
        let replay = output(&["replay", &path]);
        assert_eq!(replay.status.code(), Some(0), "{}", text(&replay.stderr));
        Ok::<(), String>(())
    });
}

/// The journal has the cost of each order: the near trader waits two units longer than the far one
/// with the same response time.
fn waits_are_in_the_journal(journal: &Path, factor: u32) -> Result<(), String> {
    let mut history = journal::History::open(journal).unwrap();
    let mut waits = Vec::new();
    while let Some(recorded) = history.next_input().unwrap() {
        let Some(delivery) = recorded.delivery else { continue };
        waits.push(Duration::from_nanos(delivery.window_ns - delivery.answer.elapsed_ns));
    }
    // Two windows a race, less the far trader's two ways and all responses.
    let responses: u32 = RESPONSES.as_flattened().iter().sum();
    let units = RESPONSES.len() as u32 * (2 * WINDOW_UNITS - 2) - responses;
    let expected = UNIT * factor * units;
    let found: Duration = waits.iter().sum();
    assert_eq!(waits.len(), 2 * RESPONSES.len());
    let noise = UNIT * factor / 4 * waits.len() as u32;
    unless!(found <= expected && expected - found <= noise, "{found:?}, not {expected:?}");
    Ok(())
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
