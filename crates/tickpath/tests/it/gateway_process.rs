//! `tickpath gateway` as a whole process between a client and an exchange.

mod kills;
mod limit;

use crate::support::websocket::Client;
use crate::support::*;
use plan::trust::Trust;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Output, Stdio};
use std::time::Duration;
use transport::tls::Connector;

/// A gateway in the background, ended with the value.
struct Gateway {
    child: Child,
    address: String,
    /// The first line.
    ready: Value,
    lines: BufReader<ChildStdout>,
}

impl Gateway {
    fn start(exchange: &str, more: &[&str]) -> Gateway {
        let mut child = tickpath()
            .args(["gateway", "--exchange", exchange, "--backend", "block"])
            .args(more)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        lines.read_line(&mut line).unwrap();
        let ready: Value = serde_json::from_str(&line).unwrap();
        let address = ready["listening"].as_str().unwrap().to_owned();
        Gateway { child, address, ready, lines }
    }

    /// How many it has open; two for each client.
    fn descriptors(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", self.child.id())).unwrap().count()
    }

    /// Ends it with SIGTERM; its last line.
    fn end(mut self) -> Value {
        signal(self.child.id(), rustix::process::Signal::TERM);
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        assert!(self.child.wait().unwrap().success());
        serde_json::from_str(&line).unwrap()
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A short `tickpath trade` of ping-pong.
fn trade(address: &str, sets: &[&str]) -> Output {
    let directory = tempfile::tempdir().unwrap();
    let hlog = directory.path().join("trade.hlog").display().to_string();
    let short = ["warm_up_seconds=0", "subject.rust.backend=block"];
    let sets = short.iter().chain(sets).flat_map(|set| ["--set", *set]);
    let words = ["trade", "ping-pong", "--connect", address, "--hlog", &hlog];
    output(&words.into_iter().chain(sets).collect::<Vec<_>>())
}

/// Asserts that it did everything and lost nothing.
#[track_caller]
fn complete(done: &Output) {
    let result: Value = serde_json::from_slice(&done.stdout).unwrap_or_default();
    assert_eq!(result["complete"], true, "{result} {}", text(&done.stderr));
    assert_eq!(result["load"]["lost"], 0, "{result}");
}

/// Also by the gateway's own count: it says what it added, and has passed every byte.
#[test]
fn a_run_through_a_gateway_loses_nothing() {
    let exchange = Exchange::start(&["--any-token"]);
    let gateway = Gateway::start(&exchange.address, &[]);
    let runs = tempfile::tempdir().unwrap();
    let out = runs.path().display().to_string();
    let done = tickpath()
        .args(SHORT)
        .args(["--json", "--out", &out, "--connect", &gateway.address])
        .args(["--set", "exchange.start=false", "--set", "floor_seconds=0"])
        .output()
        .unwrap();
    assert!(!done.stdout.is_empty(), "{}", text(&done.stderr));
    let record = printed_record(&done);
    assert!(!is_void(&record), "{}", record["void_because"]);
    let load = &rust(&record)["load"];
    assert_eq!((&load["lost"], &load["sent"]), (&json!(0), &load["received"]), "{load}");
    let counts = exchange.end();
    assert_eq!((&counts["orders"], &counts["cancels"]), (&json!(300), &json!(300)));
    let last = gateway.end();
    assert!(last["connections"].as_u64() >= Some(1), "{last}");
    assert_eq!(last["exchange_unreachable"], 0, "{last}");
    assert_eq!(last["refused"]["connections_max"], 0, "{last}");
    for direction in ["to_exchange", "to_client"] {
        assert!(last[format!("bytes_{direction}")].as_u64() > Some(10_000), "{last}");
        let residence = &last[direction]["residence_ns"];
        let count = residence["count"].as_u64().unwrap();
        assert!(count > 100, "{last}");
        assert!(residence["p50"].as_u64() <= residence["max"].as_u64(), "{last}");
        // The sample has fewer than ten values beyond it.
        assert!(count < 10_000 && residence["p99_9"].is_null(), "{last}");
    }
}

#[test]
fn an_exchange_that_is_slow_is_not_the_gateways_residence() {
    let delay_us = 20_000;
    let exchange = Exchange::start(&["--any-token", "--inject", &format!("delay_us={delay_us}")]);
    let gateway = Gateway::start(&exchange.address, &[]);
    let one = ["seconds=3", "load.accounts=1", "load.connections=1"];
    complete(&trade(&gateway.address, &one));
    let last = gateway.end();
    for direction in ["to_exchange", "to_client"] {
        let p50_ns = last[direction]["residence_ns"]["p50"].as_u64();
        assert!(p50_ns.is_some_and(|ns| ns < delay_us * 1000 / 2), "{last}");
    }
}

/// The gateway has the certificate; the exchange behind it speaks plain text.
#[test]
fn clients_over_tls_reach_an_exchange_in_plain_text() {
    let exchange = Exchange::start(&["--any-token"]);
    let gateway = Gateway::start(&exchange.address, &["--tls-self-signed"]);
    let pem = gateway.ready["certificate"].as_str().unwrap().to_owned();
    let trust = Trust { ca_pem: Some(pem.clone()), ..Trust::default() };
    let connector = Connector::new(&trust, &gateway.address).unwrap();
    let mut client = connector.connect(TcpStream::connect(&gateway.address).unwrap()).unwrap();
    client.write_all(b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    client.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let directory = tempfile::tempdir().unwrap();
    let ca = directory.path().join("gateway.pem");
    std::fs::write(&ca, pem).unwrap();
    let ca = format!("exchange.tls_ca={}", ca.display());
    complete(&trade(&gateway.address, &["seconds=0.3", "tls=true", &ca]));
    let counts = exchange.end();
    assert!(counts["orders"].as_u64() > Some(0), "{counts}");
    assert_eq!(counts["counts"]["tls"], Value::Null, "{counts}");
    let last = gateway.end();
    assert!(last["tls"]["handshakes"].as_u64() >= Some(2), "{last}");
}

#[test]
fn a_client_that_is_gone_takes_its_orders_with_it() {
    let exchange = Exchange::start(&["--any-token", "--book", "empty"]);
    let gateway = Gateway::start(&exchange.address, &[]);
    let before = gateway.descriptors();
    let mut client = Client::connect(&gateway.address);
    let login = json!({"type": "AUTHENTICATE", "api_token": "1", "cancel_on_disconnect": true});
    let order = json!({"type": "CREATE_ORDER", "order": {"instrument_code": "BTC_USDT",
        "client_id": "c1", "side": "BUY", "type": "LIMIT", "price": "1", "amount": "1",
        "time_in_force": "GOOD_TILL_CANCELLED"}});
    client.send(1, login.to_string().as_bytes());
    client.send(1, order.to_string().as_bytes());
    assert!(json!(client.told()).to_string().contains("BOOKED"));
    drop(client);
    // It removes the pair when the exchange has ended its side too.
    wait_for("the end of the pair", || (gateway.descriptors() == before).then_some(()));
    let counts = exchange.end();
    assert_eq!(counts["counts"]["cancels_on_disconnect"], 1, "{counts}");
}

/// An exchange at `address`, which may have been another one's before.
fn exchange_at(address: &str) -> (Child, String) {
    let mut child = tickpath()
        .args(["exchange", "--any-token", "--backend", "block", "--listen", address])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let (_, address) = listening(&mut child);
    (child, address)
}

/// Clients in the middle of a run see the end; the gateway stays and finds the next exchange. No
/// other test takes a port of that address in between.
#[test]
fn a_gateway_outlives_its_exchange() {
    let (mut exchange, address) = exchange_at("127.0.0.4:0");
    let gateway = Gateway::start(&address, &[]);
    let before = gateway.descriptors();
    let mut client = TcpStream::connect(&gateway.address).unwrap();
    client.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let trader = std::thread::spawn({
        let address = gateway.address.clone();
        move || trade(&address, &["seconds=30"])
    });
    wait_for("the trader's connections", || (gateway.descriptors() > before + 2).then_some(()));
    // Long enough for it to trade, on a machine that is not too busy. If it still logs on, it sees
    // the end then.
    std::thread::sleep(Duration::from_secs(1));
    exchange.kill().unwrap();
    exchange.wait().unwrap();
    let end = client.read(&mut [0]);
    assert!(end.as_ref().map_or(true, |n| *n == 0), "{end:?}");
    let done = trader.join().unwrap();
    assert!(!done.status.success(), "{}", text(&done.stdout));
    // Nobody is there: a client is closed at once.
    let mut client = TcpStream::connect(&gateway.address).unwrap();
    client.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let end = client.read(&mut [0]);
    assert!(end.as_ref().map_or(true, |n| *n == 0), "{end:?}");
    let (mut exchange, again) = exchange_at(&address);
    assert_eq!(again, address);
    complete(&trade(&gateway.address, &["seconds=0.2"]));
    exchange.kill().unwrap();
    exchange.wait().unwrap();
    let last = gateway.end();
    assert!(last["exchange_unreachable"].as_u64() >= Some(1), "{last}");
}

#[test]
fn a_gateway_says_why_it_does_not_start() {
    let failed = |arguments: &[&str], wanted: &str| {
        let done = output(arguments);
        assert_eq!(done.status.code(), Some(2), "{done:?}");
        assert!(text(&done.stderr).contains(wanted), "{}", text(&done.stderr));
    };
    failed(&["gateway"], "--exchange <HOST:PORT>");
    let nowhere = "no.such.host.invalid:1";
    failed(&["gateway", "--exchange", nowhere], "cannot resolve the exchange's address");
    failed(&["gateway", "--exchange", "127.0.0.1"], "write --exchange HOST:PORT");
    let at = ["gateway", "--exchange", "127.0.0.1:1"];
    failed(&[&at[..], &["--backend", "magic"]].concat(), "there is no backend");
    failed(&[&at[..], &["--connections-max", "0"]].concat(), "--connections-max");
    failed(&[&at[..], &["--listen", "127.0.0.1:x"]].concat(), "cannot listen on 127.0.0.1:x");
}

#[test]
fn an_exchange_that_is_away_is_logged_with_its_address() {
    let mut child = tickpath()
        .args(["gateway", "--exchange", "127.0.0.1:1", "--backend", "block"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (_lines, address) = listening(&mut child);
    let _client = TcpStream::connect(address).unwrap();
    let mut line = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(
        line.contains("cannot reach the exchange at 127.0.0.1:1: Connection refused"),
        "{line}"
    );
}
