//! A hold on entry in a whole process: what waits, what it costs, and that the journal has the
//! order that was decided.

use crate::support::websocket::Client;
use crate::support::*;
use engine::Command as Input;
use serde_json::{Value, json};
use std::path::Path;
use std::time::{Duration, Instant};
use testing::unless;

/// Ten times what a busy machine takes away.
const HOLD: Duration = Duration::from_millis(200);
const ORDERS: u64 = 20;
const ASSUMPTION: &str = "no process waits for a core for 20 ms in most of the orders";

fn order(client_id: &str) -> Value {
    json!({"type": "CREATE_ORDER", "order": {
        "instrument_code": "BTC_USDT", "client_id": client_id, "side": "BUY", "type": "LIMIT",
        "amount": "1", "price": "100", "time_in_force": "GOOD_TILL_CANCELLED"}})
}

/// Two logged-on clients. The first gateway accepts both, and gives the second one to the other
/// gateway, which has nobody yet.
fn clients(exchange: &Exchange) -> [Client; 2] {
    [0, 1].map(|number| {
        let mut client = Client::connect(&exchange.address);
        let login = json!({"type": "AUTHENTICATE", "api_token": format!("a{number}")});
        client.send(1, login.to_string().as_bytes());
        client.next_text();
        client
    })
}

/// The exchange's thread stands still for this long of each period, as behind a long piece of work.
/// When it looks again, it looks at the first gateway first.
const STALL: Duration = Duration::from_millis(150);
const PERIOD: Duration = Duration::from_millis(200);
/// Longer than a stall, which is the longest way from a gateway to that thread. Both orders are
/// there when it looks, so any hold puts them in order; its length would matter to one under way.
const STALL_HOLD: Duration = Duration::from_millis(250);
/// By how much the first order of a race is sent earlier: ten times what a busy machine adds.
const LEAD: Duration = Duration::from_millis(40);
/// From the answers, at the end of a stall, to the next race: then both orders meet a stall.
const PAUSE: Duration = Duration::from_millis(75);
const RACES: usize = 6;
/// The longest stall takes no more.
const FACTOR_MAX: u32 = 6;

/// The number of the client that was sequenced first in each race, and the exchange's figures of
/// the hold. The clients are first in turns; each order waited for at least `hold`.
fn races(hold: Duration, more: &[&str], factor: u32) -> (Vec<usize>, Value) {
    let place = tempfile::tempdir().unwrap();
    let journal = place.path().join("log");
    let path = journal.display().to_string();
    let ms = |name: &str, time: Duration| format!("{name}={}", (time * factor).as_millis());
    let stall = [ms("stall_ms", STALL), ms("stall_every_ms", PERIOD)];
    let arguments = ["--any-token", "--book", "empty", "--gateways", "2", "--inject", &stall[0]];
    let journaled = ["--inject", &stall[1], "--journal", &path, "--journal-mode", "async"];
    let exchange = Exchange::start(&[&arguments[..], &journaled, more].concat());
    let mut clients = clients(&exchange);
    for race in 0..RACES {
        std::thread::sleep(PAUSE * factor);
        let first = race % 2;
        let text = order(&format!("o{race}")).to_string();
        let mut sent = [Instant::now(); 2];
        for client in [first, 1 - first] {
            sent[client] = Instant::now();
            clients[client].send(1, text.as_bytes());
            std::thread::sleep(LEAD * factor);
        }
        for (client, sent) in clients.iter_mut().zip(sent) {
            let reply: Value = serde_json::from_str(&client.next_text()).unwrap();
            assert_eq!(reply["type"], "BOOKED", "{reply}");
            assert!(sent.elapsed() >= hold, "an order left before its hold had passed");
        }
    }
    let counts = exchange.end()["counts"]["entry_hold"].clone();
    (firsts(&journal), counts)
}

/// The number of the client whose order comes first in each pair of a journal.
fn firsts(journal: &Path) -> Vec<usize> {
    let inputs = journal::Inputs::open(journal).unwrap().map_while(Result::ok);
    let accounts: Vec<usize> = inputs
        .filter_map(|(_, input)| match input.command {
            // The exchange has number 0 itself.
            Input::New(order) => (order.account as usize).checked_sub(1),
            _ => None,
        })
        .collect();
    assert_eq!(accounts.len(), 2 * RACES, "{accounts:?}");
    accounts.chunks(2).map(|pair| pair[0]).collect()
}

/// Each client sends first in half of the races. Without a hold the one at the first gateway wins
/// all of them; with one each wins its half, and each order pays the hold.
#[test]
fn a_hold_gives_each_race_to_the_order_that_its_gateway_had_first() {
    testing::quiet::or_doubled("no process waits for a core for 25 ms", |factor| {
        let factor = factor.min(FACTOR_MAX);
        let (firsts, counts) = races(Duration::ZERO, &[], factor);
        assert_eq!(counts, Value::Null);
        unless!(firsts == [0; RACES], "without a hold: {firsts:?}");
        let hold = STALL_HOLD * factor;
        let hold_us = hold.as_micros().to_string();
        let (firsts, counts) = races(hold, &["--entry-hold-us", &hold_us], factor);
        unless!(firsts == [0, 1, 0, 1, 0, 1], "with a hold: {firsts:?} {counts}");
        unless!(counts["overtaken"] == 0, "{counts}");
        // Why so long a hold: a message waited for half of a stall before it was seen.
        let seen_ns = counts["transit_ns"]["max"].as_u64().unwrap();
        let stall_ns = (STALL * factor).as_nanos() as u64;
        unless!(seen_ns >= stall_ns / 2, "{counts}");
        Ok::<(), String>(())
    });
}

/// Two clients, each at a gateway of its own, send orders at once.
#[test]
fn orders_wait_for_the_hold_and_the_journal_has_their_order() {
    testing::quiet::or_doubled(ASSUMPTION, |factor| {
        let place = tempfile::tempdir().unwrap();
        let journal = place.path().join("log").display().to_string();
        let hold = HOLD * factor;
        let hold_us = hold.as_micros().to_string();
        let arguments = ["--any-token", "--book", "empty"];
        let held = ["--gateways", "2", "--entry-hold-us", &hold_us];
        let journaled = ["--journal", &journal, "--journal-mode", "async"];
        let exchange = Exchange::start(&[&arguments[..], &held, &journaled].concat());
        let mut clients = clients(&exchange);
        let start = Instant::now();
        for number in 0..ORDERS {
            for client in &mut clients {
                client.send(1, order(&format!("o{number}")).to_string().as_bytes());
            }
        }
        for client in &mut clients {
            for _ in 0..ORDERS {
                let reply: Value = serde_json::from_str(&client.next_text()).unwrap();
                assert_eq!(reply["type"], "BOOKED", "{reply}");
                assert!(start.elapsed() >= hold, "an order left before its hold had passed");
            }
        }
        let took = start.elapsed();
        let counts = exchange.end()["counts"]["entry_hold"].clone();
        let released = counts["released"].as_u64().unwrap();
        // Heads and logins are held too; orders that came together may be one read.
        assert!(released >= 6, "{counts}");
        let replay = output(&["replay", &journal]);
        assert_eq!(replay.status.code(), Some(0), "{}", text(&replay.stderr));
        unless!(took < hold + hold / 2, "{took:?} for all");
        unless!(counts["overtaken"] == 0, "{counts}");
        Ok::<(), String>(())
    });
}

/// A scenario's exchange holds too, and the wait is in every round trip.
#[test]
fn a_scenario_sets_the_hold_of_its_exchange() {
    const HOLD_NS: u64 = 50_000_000;
    let out = tempfile::tempdir().unwrap();
    let mut command = tickpath();
    command.args(["run", "order-to-ack", "--quiet", "--out"]).arg(out.path());
    let sets = [
        "runs=1",
        "warm_up_seconds=0.2",
        "seconds=1",
        "floor_seconds=0",
        "hiccup_seconds=0",
        "load.rate_per_second=200",
        "subject.rust.backend=block",
        "exchange.backend=block",
        "exchange.gateways=1",
        "exchange.entry_hold_us=50000",
    ];
    let done = command.args(sets.into_iter().flat_map(|set| ["--set", set])).output().unwrap();
    let record = record(&only_run(out.path()));
    assert!(!is_void(&record), "{}: {}", record["void_because"], text(&done.stderr));
    let series = rust(&record)["series"].as_array().unwrap();
    let order = series.iter().find(|one| one["name"] == "order" && one["kind"] == "service");
    let least = order.unwrap()["pooled"]["min"].as_u64().unwrap();
    // A histogram's lowest value is that of its bucket.
    assert!(least >= HOLD_NS - HOLD_NS / 500, "{least} ns");
}

#[test]
fn a_hold_that_makes_no_sense_is_an_error_that_says_what_to_do() {
    for (arguments, words) in [
        (&["--entry-hold-us", "100"][..], "add --gateways"),
        (&["--entry-hold-us", "0", "--gateways", "1"], "use 1 to 10000000"),
        (&["--entry-hold-us", "10000001", "--gateways", "1"], "use 1 to 10000000"),
    ] {
        let start = output(&[&["exchange", "--any-token"], arguments].concat());
        let said = text(&start.stderr);
        assert!(!start.status.success() && said.contains(words), "{said}");
    }
}
