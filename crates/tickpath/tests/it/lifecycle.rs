//! `tickpath audit --journal`: a trader, a faster rival and an exchange with a journal, as whole
//! processes.

use crate::support::websocket::Client;
use crate::support::*;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use testing::unless;

/// The trader's orders leave this long after their decision.
const DELAY_NS: u64 = 100_000_000;
/// The exchange's first price of the instrument, in hundredths.
const MIDDLE: i64 = 6_500_000;
/// Distance of the trader's quotes from the middle, ticks, and how far the middle may move.
const HALF_SPREAD: i64 = 50;
const AROUND: i64 = 20;

/// Joins the queues at all prices at which the trader may quote, again and again.
fn rival(address: &str, stop: &AtomicBool) {
    let mut client = Client::connect(address);
    let log_on = json!({"type": "AUTHENTICATE", "api_token": "rival"});
    client.send(1, log_on.to_string().as_bytes());
    let mut number = 0;
    while !stop.load(Ordering::Relaxed) {
        for (side, sign) in [("BUY", -1), ("SELL", 1)] {
            for offset in -AROUND..=AROUND {
                let ticks = MIDDLE + sign * HALF_SPREAD + offset;
                number += 1;
                let order = json!({"type": "CREATE_ORDER", "order": {
                    "instrument_code": "BTC_USDT", "client_id": format!("r{number}"),
                    "side": side, "type": "LIMIT", "amount": "0.001",
                    "price": format!("{}.{:02}", ticks / 100, ticks % 100),
                    "time_in_force": "GOOD_TILL_CANCELLED"}});
                client.send(1, order.to_string().as_bytes());
            }
        }
        client.told();
        std::thread::sleep(Duration::from_millis(15));
    }
}

/// A market maker whose orders are late, beside the rival. Returns its audit log's path.
fn trade(folder: &Path, exchange: &Exchange) -> String {
    let stop = AtomicBool::new(false);
    let hlog = folder.join("trade.hlog").display().to_string();
    let delay = format!("subject.rust.inject.delay_us={}", DELAY_NS / 1_000);
    let sets = [
        "strategy.half_spread_ticks=50",
        "strategy.requote_ticks=1000000",
        "flow.rate_per_second=50",
        "warm_up_seconds=0.2",
        "seconds=1",
        "subject.rust.backend=block",
        &delay,
    ];
    std::thread::scope(|scope| {
        scope.spawn(|| rival(&exchange.address, &stop));
        let mut command = tickpath();
        command.args(["trade", "market-making", "-q", "--connect", &exchange.address]);
        command.args(["--hlog", &hlog]);
        let done = command.args(sets.iter().flat_map(|set| ["--set", set])).output().unwrap();
        stop.store(true, Ordering::Relaxed);
        assert!(!done.stdout.is_empty(), "{}", text(&done.stderr));
    });
    folder.join("trade.audit").display().to_string()
}

fn audit(log: &str, journal: &str, more: &[&str]) -> String {
    let done = output(&[&["audit", log, "--journal", journal][..], more].concat());
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    text(&done.stdout)
}

/// Both first quotes were decided on a queue that the rival then joined: the audit names the rival,
/// the inputs and the time.
#[test]
fn the_rival_that_was_first_is_named() {
    let assumption = "the rival sends its orders within 90 ms";
    testing::quiet::or_doubled(assumption, |_| {
        let folder = tempfile::tempdir().unwrap();
        let journal = folder.path().join("log").display().to_string();
        let journaled = ["--any-token", "--journal", &journal, "--journal-mode", "async"];
        let flow = ["--feed", "unicast", "--flow", "synthetic", "--flow-rate", "50"];
        let length = ["--flow-seconds", "1.2"];
        let exchange = Exchange::start(&[&journaled[..], &flow, &length].concat());
        let log = trade(folder.path(), &exchange);
        let in_use = output(&["audit", &log, "--journal", &journal]);
        assert_eq!(in_use.status.code(), Some(2), "{}", text(&in_use.stderr));
        assert!(text(&in_use.stderr).contains("in use"), "{}", text(&in_use.stderr));
        exchange.end();
        let joined: Value = serde_json::from_str(&audit(&log, &journal, &["--json"])).unwrap();
        is_joined(&joined)?;
        let table = audit(&log, &journal, &[]);
        assert!(table.contains("(rival)") && table.contains("one clock"), "{table}");
        let csv = audit(&log, &journal, &["--export", "csv"]);
        let orders = joined["orders"].as_array().unwrap().len();
        assert_eq!(csv.lines().count(), 1 + orders, "{csv}");
        let events = audit(&log, &journal, &["--export", "events"]);
        assert!(events.contains("new,NEWO,MENO,"), "{events}");
        Ok::<(), String>(())
    });
}

fn is_joined(joined: &Value) -> Result<(), String> {
    let logged = joined["orders_logged"].as_u64().unwrap();
    // The run may end before the last order's way does.
    let arrived = joined["orders_arrived"].as_u64().unwrap();
    assert!(logged >= 2 && arrived >= 2 && arrived <= logged, "{joined}");
    assert_eq!(joined["only_in_journal"], json!({}), "{joined}");
    assert_eq!(joined["clocks"]["arrival"], "one clock");
    let orders: Vec<&Value> = joined["orders"].as_array().unwrap().iter().take(2).collect();
    for order in &orders {
        assert!(order["client_id"].as_str().unwrap().contains("-0000-4000-8000-"), "{order}");
        // Exact: both stamps are of one clock, and the order was held between them.
        assert!(order["decided_to_arrived_ns"].as_u64() >= Some(DELAY_NS), "{order}");
        assert!(order["decided"]["bid"].is_array() && order["arrived"]["ask"].is_array());
    }
    let first = orders[0];
    unless!(first["outcome"] == "lost", "{first}");
    assert_eq!(first["race"], "queue", "{first}");
    let rival = &first["lost_to"];
    assert_eq!((&rival["action"], rival["account"] == first["account"]), (&json!("joined"), false));
    let lead_ns = first["lost_by_ns"].as_u64().unwrap();
    unless!(lead_ns >= DELAY_NS / 10, "{first}");
    assert!(rival["input"].as_u64() > first["decided"]["input"].as_u64(), "{first}");
    assert!(rival["input"].as_u64() < first["arrived"]["input"].as_u64(), "{first}");
    assert_eq!(joined["rivals"][0]["name"], "rival", "{}", joined["rivals"]);
    let lots = |book: &str| first[book]["ahead_lots"].as_u64().unwrap();
    assert!(lots("arrived") > lots("decided"), "{first}");
    Ok(())
}

#[test]
fn a_journal_that_is_missing_is_an_error() {
    let nowhere = output(&["audit", "/no/such/log", "--journal", "/no/such/journal"]);
    assert_eq!(nowhere.status.code(), Some(2));
    let alone = output(&["audit", "/no/such/log", "--export", "csv"]);
    assert!(text(&alone.stderr).contains("--journal"), "{}", text(&alone.stderr));
}
