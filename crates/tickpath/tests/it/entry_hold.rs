//! A hold on entry in a whole process: what waits, what it costs, and that the journal has the
//! order that was decided.

use crate::support::websocket::Client;
use crate::support::*;
use serde_json::{Value, json};
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
        let mut clients: Vec<Client> = (0..2)
            .map(|number| {
                let mut client = Client::connect(&exchange.address);
                let login = json!({"type": "AUTHENTICATE", "api_token": format!("a{number}")});
                client.send(1, login.to_string().as_bytes());
                client.next_text();
                client
            })
            .collect();
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
