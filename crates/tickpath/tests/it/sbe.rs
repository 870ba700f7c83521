//! SBE at the exchange as a whole process: over TLS and gateway threads, over lost connections, and
//! after kill -9.

use crate::support::*;
use clock::Clock;
use plan::trust::Trust;
use serde_json::Value;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;
use transport::acked;
use transport::tls::Connector;
use transport::{Blocking, Dialogue, StreamId, Streams};
use wire::reply::Reply;
use wire::request::{CreateOrder, Side};
use wire::sbe::client::{Logon, encode_logon, encode_new_order, encode_status_request};
use wire::sbe::exchange::{ExchangeMessage, LogonAccepted, Names, decode_exchange};
use wire::sbe::split;
use wire::{ClientId, Decimal};

/// An exchange, ended with the value.
pub struct Exchange {
    pub child: Child,
    /// Its first line.
    pub ready: Value,
}

impl Exchange {
    pub fn start(more: &[&str]) -> Exchange {
        let mut child = tickpath()
            .args(["exchange", "--listen", "127.0.0.1:0", "--backend", "block", "--book", "empty"])
            .arg("--any-token")
            .args(more)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        Exchange { child, ready: serde_json::from_str(&line).unwrap() }
    }

    fn connect(&self) -> Box<dyn Blocking> {
        if let Some(address) = self.ready["sbe_udp"].as_str() {
            return Box::new(OverUdp::dial(address));
        }
        let address = self.ready["listening"].as_str().unwrap();
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let Some(ca_pem) = self.ready["certificate"].as_str() else { return Box::new(stream) };
        let name = Some("localhost".to_owned());
        let trust = Trust { ca_pem: Some(ca_pem.to_owned()), name, ..Trust::default() };
        Box::new(Connector::new(&trust, address).unwrap().connect(stream).unwrap())
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A connection over UDP, with a set of its own.
pub struct OverUdp {
    streams: Box<dyn Streams>,
    id: StreamId,
    clock: Clock,
}

impl OverUdp {
    pub fn dial(address: &str) -> OverUdp {
        let (server, clock) = (address.parse().unwrap(), Clock::calibrate());
        let backend = transport::backend("block").unwrap();
        let mut streams = acked::dialling(backend, server, Default::default(), clock).unwrap();
        let id = streams.dial(server).unwrap();
        OverUdp { streams, id, clock }
    }

    fn dialogue(&mut self) -> Dialogue<'_, dyn Streams> {
        let OverUdp { streams, id, clock } = self;
        let (id, clock, patience) = (*id, *clock, Duration::from_secs(20));
        Dialogue { streams: &mut **streams, id, clock, patience, is_secure: false }
    }
}

impl Read for OverUdp {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.dialogue().read(into)
    }
}

impl Write for OverUdp {
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        self.dialogue().write(from)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Blocking for OverUdp {
    fn set_patience(&mut self, _: Duration) -> io::Result<()> {
        Ok(())
    }

    fn is_secure(&self) -> bool {
        false
    }
}

pub struct Client {
    stream: Box<dyn Blocking>,
    /// Bytes that were read; the first `gone` of them are done with.
    bytes: Vec<u8>,
    gone: usize,
    codes: Vec<String>,
    token: &'static str,
    sent: u64,
}

impl Client {
    /// Logs on to continue this session, from this report on.
    pub fn new(
        stream: Box<dyn Blocking>,
        token: &'static str,
        (session, last_sequence): (u64, u64),
    ) -> (Client, LogonAccepted) {
        let logon = Logon { session, last_sequence, cancel_on_disconnect: false, token };
        Client::log_on(stream, token, logon)
    }

    /// Logs on by this message.
    pub fn log_on(
        stream: Box<dyn Blocking>,
        token: &'static str,
        logon: Logon<'_>,
    ) -> (Client, LogonAccepted) {
        let (bytes, codes) = (Vec::new(), Vec::new());
        let mut client = Client { stream, bytes, gone: 0, codes, token, sent: 0 };
        client.send(|out, _| encode_logon(out, &logon));
        let accepted = client.next(|message| match message {
            ExchangeMessage::LogonAccepted(accepted) => accepted,
            other => panic!("{other:?}"),
        });
        client.sent = accepted.received_sequence;
        for _ in 0..accepted.instruments {
            let code = client.next(|message| match message {
                ExchangeMessage::Instrument(one) => one.code.to_owned(),
                other => panic!("{other:?}"),
            });
            client.codes.push(code);
        }
        (client, accepted)
    }

    fn send(&mut self, write: impl FnOnce(&mut Vec<u8>, u64)) {
        let mut bytes = Vec::new();
        write(&mut bytes, self.sent + 1);
        self.sent += 1;
        self.stream.write_all(&bytes).unwrap();
    }

    pub fn order(&mut self, client_id: &str, side: Side) {
        self.order_at(100, client_id, side);
    }

    pub fn order_at(&mut self, price: i64, client_id: &str, side: Side) {
        let (price, amount) = (Decimal::new(price, 0).unwrap(), Decimal::new(1, 0).unwrap());
        let client_id = ClientId::new(client_id).unwrap();
        let order = CreateOrder::limit("BTC_USDT", client_id, side, price, amount);
        self.send(|out, sequence| encode_new_order(out, sequence, 0, &order));
    }

    pub fn ask_status(&mut self, client_id: &str) {
        let client_id = ClientId::new(client_id).unwrap();
        self.send(|out, sequence| encode_status_request(out, sequence, &client_id));
    }

    fn next<T>(&mut self, take: impl FnOnce(ExchangeMessage<'_>) -> T) -> T {
        loop {
            if let Some((message, frame_bytes)) = split(&self.bytes[self.gone..]).unwrap() {
                self.gone += frame_bytes;
                let names = Names { codes: &self.codes, account: self.token };
                return take(decode_exchange(message, names).unwrap());
            }
            let mut more = [0; 4096];
            let n = self.stream.read(&mut more).unwrap();
            assert!(n > 0, "the exchange ended the connection");
            self.bytes.extend_from_slice(&more[..n]);
        }
    }

    /// The next report's number, kind and client id.
    pub fn report(&mut self) -> (u64, &'static str, String) {
        self.next(|message| match message {
            ExchangeMessage::Report { sequence, reply } => match reply {
                Reply::Booked(one) => (sequence, "booked", one.client_id.to_string()),
                Reply::Fill(one) => (sequence, "fill", one.client_id.to_string()),
                Reply::Done(one) => (sequence, "done", one.client_id.to_string()),
                Reply::Rejected(one) => (sequence, "rejected", one.client_id.to_string()),
                Reply::Ended(one) => (sequence, one.status.name(), one.client_id.to_string()),
                other => panic!("{other:?}"),
            },
            ExchangeMessage::Status { sequence, status } => {
                (sequence, "status", status.client_id.to_string())
            }
            other => panic!("{other:?}"),
        })
    }
}

pub fn is((sequence, kind, client_id): (u64, &'static str, String), expected: (u64, &str, &str)) {
    assert_eq!((sequence, kind, client_id.as_str()), expected);
}

/// A client is away while its order trades; it gets the reports on its next connection, once. After
/// kill -9 its sessions are gone, and its open orders are not.
fn trades_and_loses(more: &[&str], folder: &Path) {
    let journal = folder.display().to_string();
    let options = [more, &["--journal", &journal, "--journal-mode", "sync"]].concat();
    let exchange = Exchange::start(&options);
    let (mut maker, first) = Client::new(exchange.connect(), "maker", (0, 0));
    assert_eq!((first.received_sequence, first.next_sequence, first.lost), (0, 1, 0));
    maker.order("m1", Side::Buy);
    maker.order("m2", Side::Buy);
    is(maker.report(), (1, "booked", "m1"));
    is(maker.report(), (2, "booked", "m2"));
    drop(maker);

    let (mut taker, _) = Client::new(exchange.connect(), "taker", (0, 0));
    taker.order("t1", Side::Sell);
    is(taker.report(), (1, "fill", "t1"));
    is(taker.report(), (2, "done", "t1"));

    let (mut maker, again) = Client::new(exchange.connect(), "maker", (first.session, 2));
    assert_eq!((again.session, again.received_sequence), (first.session, 2));
    assert_eq!((again.next_sequence, again.lost), (3, 0));
    is(maker.report(), (3, "fill", "m1"));
    is(maker.report(), (4, "done", "m1"));
    drop(exchange);

    let exchange = Exchange::start(&options);
    let (mut maker, anew) = Client::new(exchange.connect(), "maker", (first.session, 4));
    assert_ne!(anew.session, first.session);
    assert_eq!((anew.received_sequence, anew.next_sequence), (0, 1));
    maker.ask_status("m2");
    is(maker.report(), (1, "status", "m2"));
    maker.ask_status("m1");
    is(maker.report(), (2, "FILLED", "m1"));
    let (mut taker, _) = Client::new(exchange.connect(), "taker", (0, 0));
    taker.order("t2", Side::Sell);
    is(maker.report(), (3, "fill", "m2"));
    is(maker.report(), (4, "done", "m2"));
}

#[test]
fn sessions_in_plain_text() {
    trades_and_loses(&[], tempfile::tempdir().unwrap().path());
}

#[test]
fn sessions_over_udp() {
    let options = ["--sbe-udp", "127.0.0.1:0"];
    trades_and_loses(&options, tempfile::tempdir().unwrap().path());
}

/// A session is the account's, whatever carries it.
#[test]
fn a_session_from_udp_continues_over_tcp() {
    let exchange = Exchange::start(&["--sbe-udp", "127.0.0.1:0"]);
    let (mut client, first) = Client::new(exchange.connect(), "maker", (0, 0));
    client.order("m1", Side::Buy);
    is(client.report(), (1, "booked", "m1"));
    drop(client);
    let over_tcp = TcpStream::connect(exchange.ready["listening"].as_str().unwrap()).unwrap();
    over_tcp.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let (mut client, again) = Client::new(Box::new(over_tcp), "maker", (first.session, 1));
    assert_eq!((again.session, again.received_sequence, again.lost), (first.session, 1, 0));
    client.order("m2", Side::Buy);
    is(client.report(), (2, "booked", "m2"));
}

#[test]
fn sessions_over_tls_and_gateway_threads() {
    let options = ["--tls-self-signed", "--gateways", "1"];
    trades_and_loses(&options, tempfile::tempdir().unwrap().path());
}
