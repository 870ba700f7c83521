//! An exchange without sockets: bytes go in by `space` and `received`, replies are in `Outbound`.

#![allow(dead_code, reason = "each test file uses its part")]

pub mod sbe;

use exchange::{Config, Exchange, Instruments, Limits, Risk, StartBook, Tokens};
use std::cell::Cell;
use transport::StreamId;
use transport::serve::{Outbound, Service};
use wire::frame::{Opcode, write_frame_with};
use wire::reader::{FrameLimits, Message, MessageReader, Role};
use wire::request::{CancelOrder, CreateOrder, Side, TimeInForce};
use wire::{ClientId, Decimal, request};

/// 2023-11-14T22:13:20Z.
pub const START_NS: u64 = 1_700_000_000_000_000_000;

thread_local! {
    static WALL_NS: Cell<u64> = const { Cell::new(START_NS) };
}

/// Sets the exchange's time on this thread, relative to the start.
pub fn set_time(ms: u64) {
    WALL_NS.set(START_NS + ms * 1_000_000);
}

pub fn config() -> Config {
    Config {
        tokens: Tokens::Any,
        instruments: Instruments::shipped(),
        risk: Risk::default(),
        start_book: StartBook::Empty,
        limits: Limits {
            connections_max: 8,
            accounts_max: 8,
            open_orders_max: 2000,
            price_levels_max: 200,
            failed_login_seconds: 0.0,
            ..Limits::default()
        },
        feed: None,
        feed_device: None,
        delivery_window_us: None,
        flow: None,
        process: exchange::ProcessInfo::default(),
        clock: None,
        journal: None,
        feed_allowed: Vec::new(),
        failed_logins: None,
        replay_inputs_max: 1 << 15,
        wall_ns: || WALL_NS.get(),
    }
}

pub struct Driven {
    pub exchange: Exchange,
    outbound: Outbound,
}

impl Driven {
    pub fn new(config: Config) -> Driven {
        Driven { exchange: Exchange::new(config).unwrap(), outbound: Outbound::default() }
    }

    /// A connection before its handshake.
    pub fn open(&mut self, stream: u32) {
        self.outbound.open(StreamId(stream));
        let peer = std::net::SocketAddr::from(([127, 0, 0, 1], 1));
        self.exchange.opened(StreamId(stream), Some(peer), 0);
    }

    /// A connection after its handshake, whose reply is dropped.
    pub fn connect(&mut self, stream: u32) {
        self.open(stream);
        let mut head = Vec::new();
        wire::http::upgrade_request(
            &mut head,
            "x",
            "/",
            &wire::http::UpgradeKey::from_nonce([1; 16]),
            &[],
        );
        self.feed(stream, &head);
        self.answers(stream).clear();
    }

    pub fn disconnect(&mut self, stream: u32) {
        self.outbound.close(StreamId(stream));
        self.exchange.closed(StreamId(stream), &mut self.outbound);
    }

    /// A sweep, as the server's loop does it ten times a second.
    pub fn sweep(&mut self) {
        self.sweep_at(0);
    }

    /// A sweep at this time on the clock of the connections, whose bytes come at 0.
    pub fn sweep_at(&mut self, seconds: u64) {
        self.exchange.sweep(seconds * 1_000_000_000, &mut self.outbound);
    }

    /// A turn of the server's loop without its reads and writes.
    pub fn turn(&mut self) {
        self.exchange.elsewhere(&mut self.outbound);
    }

    /// Delivers the bytes in one or more reads. As in `transport::serve`, nothing is read after the
    /// exchange has ended the connection.
    pub fn feed(&mut self, stream: u32, bytes: &[u8]) {
        self.feed_at(stream, bytes, 0);
    }

    /// The same, read at this time on the clock of the connections.
    pub fn feed_at(&mut self, stream: u32, mut bytes: &[u8], stamp_ns: u64) {
        let id = StreamId(stream);
        while !bytes.is_empty() && self.outbound.is_open(id) {
            let space = self.exchange.space(id);
            let n = space.len().min(bytes.len());
            space[..n].copy_from_slice(&bytes[..n]);
            bytes = &bytes[n..];
            self.exchange.received(id, n, stamp_ns, &mut self.outbound);
        }
    }

    /// The frames sent to this connection since the last clear.
    pub fn answers(&mut self, stream: u32) -> &mut Vec<u8> {
        self.outbound.to(StreamId(stream))
    }

    pub fn is_open(&self, stream: u32) -> bool {
        self.outbound.is_open(StreamId(stream))
    }

    /// Takes the texts sent to this connection.
    pub fn texts(&mut self, stream: u32) -> Vec<String> {
        let bytes = std::mem::take(self.answers(stream));
        let mut reader = MessageReader::new(Role::Client, FrameLimits::default());
        let (mut texts, mut rest) = (Vec::new(), &bytes[..]);
        while !rest.is_empty() {
            rest = &rest[reader.fill_from(rest, 0)..];
            while let Some(received) = reader.next().unwrap() {
                if let Message::Text(text) = received.message {
                    texts.push(String::from_utf8(text.to_vec()).unwrap());
                }
            }
        }
        texts
    }

    /// Sends a text and returns the replies on this connection.
    pub fn ask(&mut self, stream: u32, text: &str) -> Vec<String> {
        let mut frame = Vec::new();
        write_text(&mut frame, |out| out.extend_from_slice(text.as_bytes()));
        self.feed(stream, &frame);
        self.texts(stream)
    }
}

/// Appends a client's text frame.
pub fn write_text(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    write_frame_with(out, Opcode::Text, Some([9, 8, 7, 6]), write);
}

pub fn write_authenticate(out: &mut Vec<u8>, account: &str) {
    write_text(out, |out| request::encode_authenticate(out, account, None, None));
}

/// An order of BTC_USDT, its price in ticks and its amount in lots of a hundredth.
pub fn write_order(
    out: &mut Vec<u8>,
    client_id: ClientId,
    side: Side,
    price_ticks: i64,
    hundredths: i64,
    immediate: bool,
) {
    let price = Decimal::new(price_ticks, 2).unwrap();
    let amount = Decimal::new(hundredths, 2).unwrap();
    let order = CreateOrder {
        time_in_force: match immediate {
            true => TimeInForce::ImmediateOrCancelled,
            false => TimeInForce::GoodTillCancelled,
        },
        ..CreateOrder::limit("BTC_USDT", client_id, side, price, amount)
    };
    write_text(out, |out| request::encode_create_order(out, &order));
}

pub fn write_cancel(out: &mut Vec<u8>, client_id: ClientId) {
    let cancel = CancelOrder { client_id, instrument_code: "BTC_USDT".into(), account_id: None };
    write_text(out, |out| request::encode_cancel_order(out, &cancel));
}
