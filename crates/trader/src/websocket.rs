//! Orders as JSON in WebSocket text frames: the incumbent's dialect (REFERENCE of the wire:
//! docs/internals/wire.md).

use crate::order_entry::{Message, OrderEntry, Received, Reply};
use crate::plan::Plan;
use measure::clock::{Deadline, wall_ms};
use measure::random::SplitMix64;
use std::borrow::Cow;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;
use wire::client_id::ClientId;
use wire::decimal::Decimal;
use wire::frame::{Opcode, write_frame, write_frame_with};
use wire::http::{UpgradeKey, check_upgrade_response, upgrade_request};
use wire::reader::{self, FrameLimits, MessageReader, Role};
use wire::reply::{self, DoneStatus, decode_reply};
use wire::request::{
    CancelOrder, Channel, CreateOrder, Side, encode_authenticate, encode_cancel_order,
    encode_create_order, encode_subscribe,
};

/// The longest reply, and how much one read takes at once.
const MESSAGE_BYTES_MAX: usize = 128 * 1024;

pub(crate) struct WebSocket {
    target: String,
    first_token: u64,
    lanes: Vec<MessageReader>,
    dialect: Dialect,
}

/// What is said, and what is understood, on any lane.
struct Dialect {
    instrument: String,
    side: Side,
    price: Decimal,
    amount: Decimal,
    /// The `account_id` of each account whose connection has several; `None` says it all otherwise.
    account_ids: Vec<Option<String>>,
    /// `xxxxxxxx-0000-4000-8000-`: a client id of this run, but for the order's number.
    client_id: [u8; 36],
    masks: SplitMix64,
    complaint: Option<String>,
}

/// How long each step of logging on may take: the handshake, each authentication, the subscription.
const STEP_PATIENCE: Duration = Duration::from_secs(5);

/// The next read gives up at the deadline.
fn wait_at_most(stream: &TcpStream, deadline: Deadline) -> io::Result<()> {
    let left = deadline.left();
    if left.is_zero() {
        return Err(io::Error::new(io::ErrorKind::TimedOut, "no answer to the log-on in 5 s"));
    }
    stream.set_read_timeout(Some(left))
}

/// Where the order's number stands in the client id, as 12 hex digits.
const NUMBER_AT: usize = 24;

impl WebSocket {
    pub(crate) fn new(plan: &Plan) -> WebSocket {
        let load = &plan.load;
        let limits = FrameLimits { message_bytes_max: MESSAGE_BYTES_MAX };
        // Unlike the ids of another run against the same exchange.
        let nonce = SplitMix64::new(wall_ms() << 20 ^ u64::from(std::process::id())).bits() as u32;
        let mut client_id = *b"00000000-0000-4000-8000-000000000000";
        client_id[..8].copy_from_slice(format!("{nonce:08x}").as_bytes());
        let decimal = |text| Decimal::parse(text).expect("the load was checked");
        let dialect = Dialect {
            instrument: load.instrument.clone(),
            side: load.parsed_side().expect("the load was checked"),
            price: decimal(&load.price),
            amount: decimal(&load.amount),
            account_ids: vec![None; load.accounts],
            client_id,
            // A mask must differ from frame to frame; against a proxy that an attacker poisons it
            // would have to be unpredictable too, which a benchmark's need not be.
            masks: SplitMix64::new(u64::from(nonce)),
            complaint: None,
        };
        let lanes = (0..load.connections).map(|_| MessageReader::new(Role::Client, limits));
        WebSocket {
            target: plan.target.clone(),
            first_token: load.first_token,
            lanes: lanes.collect(),
            dialect,
        }
    }

    fn say(&mut self, stream: &mut TcpStream, encode: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        let mut out = Vec::new();
        write_frame_with(&mut out, Opcode::Text, Some(self.dialect.mask()), encode);
        stream.write_all(&out)
    }

    /// Reads until `accept` takes a reply.
    fn hear<T>(
        &mut self,
        lane: usize,
        stream: &mut TcpStream,
        mut accept: impl FnMut(&reply::Reply<'_>) -> Option<T>,
    ) -> io::Result<T> {
        let deadline = Deadline::after(STEP_PATIENCE);
        let reader = &mut self.lanes[lane];
        loop {
            while let Some(received) = reader.next().map_err(io::Error::other)? {
                match received.message {
                    reader::Message::Text(text) => {
                        let reply = decode_reply(text).map_err(io::Error::other)?;
                        if let reply::Reply::Error { reason } = &reply {
                            return Err(io::Error::other(format!("the exchange says: {reason}")));
                        }
                        if let Some(accepted) = accept(&reply) {
                            return Ok(accepted);
                        }
                    }
                    reader::Message::Close { reason, .. } => {
                        let reason = String::from_utf8_lossy(reason);
                        let text = format!("the exchange closed the connection: {reason}");
                        return Err(io::Error::other(text));
                    }
                    _ => {}
                }
            }
            wait_at_most(stream, deadline)?;
            match stream.read(reader.space())? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                n => reader.filled(n, 0),
            }
        }
    }

    fn upgrade(&mut self, stream: &mut TcpStream) -> io::Result<()> {
        let mut nonce = [0; 16];
        nonce[..8].copy_from_slice(&self.dialect.masks.bits().to_ne_bytes());
        nonce[8..].copy_from_slice(&self.dialect.masks.bits().to_ne_bytes());
        let key = UpgradeKey::from_nonce(nonce);
        let mut request = Vec::new();
        upgrade_request(&mut request, &self.target, &key);
        stream.write_all(&request)?;
        let mut response = Vec::new();
        let mut byte = [0];
        let deadline = Deadline::after(STEP_PATIENCE);
        // A byte at a time, so that nothing behind the head is taken.
        loop {
            if check_upgrade_response(&response, &key).map_err(io::Error::other)?.is_some() {
                return Ok(());
            }
            wait_at_most(stream, deadline)?;
            stream.read_exact(&mut byte)?;
            response.push(byte[0]);
        }
    }
}

impl OrderEntry for WebSocket {
    fn log_on(
        &mut self,
        lane: usize,
        stream: &mut TcpStream,
        accounts: &[usize],
    ) -> io::Result<()> {
        self.upgrade(stream)?;
        for account in accounts {
            let token = (self.first_token + *account as u64).to_string();
            self.say(stream, |out| encode_authenticate(out, &token, None, None))?;
            self.hear(lane, stream, |reply| {
                matches!(reply, reply::Reply::Authenticated).then_some(())
            })?;
        }
        self.say(stream, |out| encode_subscribe(out, &[Channel::named("ORDERS")]))?;
        let names = self.hear(lane, stream, |reply| match reply {
            reply::Reply::Subscriptions(subscriptions) => Some(
                subscriptions
                    .channels
                    .iter()
                    .filter_map(|channel| match channel {
                        reply::Subscription::Account { account_id, .. } => {
                            Some(account_id.to_string())
                        }
                        _ => None,
                    })
                    .collect::<Vec<_>>(),
            ),
            _ => None,
        })?;
        if accounts.len() > 1 {
            if names.len() != accounts.len() {
                return Err(io::Error::other(format!(
                    "{} accounts logged on over one connection, but the exchange knows {}: give each \
                     its own (load.connections = load.accounts)",
                    accounts.len(),
                    names.len()
                )));
            }
            for (account, name) in accounts.iter().zip(names) {
                self.dialect.account_ids[*account] = Some(name);
            }
        }
        Ok(())
    }

    #[inline]
    fn encode(&mut self, message: Message, number: u64, account: usize, out: &mut Vec<u8>) {
        self.dialect.encode(message, number, account, out);
    }

    fn space(&mut self, lane: usize) -> &mut [u8] {
        self.lanes[lane].space()
    }

    fn filled(&mut self, lane: usize, n: usize, stamp_ns: u64) {
        self.lanes[lane].filled(n, stamp_ns);
    }

    #[inline]
    fn next(&mut self, lane: usize, out: &mut Vec<u8>) -> Result<Option<Received>, String> {
        self.dialect.next(&mut self.lanes[lane], out)
    }

    fn first_complaint(&self) -> Option<&str> {
        self.dialect.complaint.as_deref()
    }
}

impl Dialect {
    fn mask(&mut self) -> [u8; 4] {
        (self.masks.bits() as u32).to_ne_bytes()
    }

    fn client_id(&mut self, number: u64) -> ClientId {
        for (index, digit) in self.client_id[NUMBER_AT..].iter_mut().enumerate() {
            *digit = b"0123456789abcdef"[(number >> (44 - 4 * index)) as usize & 15];
        }
        let text = std::str::from_utf8(&self.client_id).expect("hex digits and dashes");
        ClientId::new(text).expect("36 bytes are fewer than the limit")
    }

    /// The number in a client id of this run; `None` for any other.
    fn number(&self, client_id: &ClientId) -> Option<u64> {
        let (prefix, digits) = client_id.as_bytes().split_at_checked(NUMBER_AT)?;
        if prefix != &self.client_id[..NUMBER_AT] || digits.len() != 12 {
            return None;
        }
        digits.iter().try_fold(0, |number, &digit| {
            Some(number << 4 | u64::from((digit as char).to_digit(16)?))
        })
    }

    #[inline]
    fn encode(&mut self, message: Message, number: u64, account: usize, out: &mut Vec<u8>) {
        let client_id = self.client_id(number);
        let mask = self.mask();
        let instrument_code = Cow::Borrowed(self.instrument.as_str());
        let account_id = self.account_ids[account].as_deref().map(Cow::Borrowed);
        match message {
            Message::Order => {
                let (price, amount) = (self.price, self.amount);
                let order =
                    CreateOrder::limit(instrument_code, client_id, self.side, price, amount);
                let order = CreateOrder { account_id, ..order };
                write_frame_with(out, Opcode::Text, Some(mask), |out| {
                    encode_create_order(out, &order);
                });
            }
            Message::Cancel => {
                let cancel = CancelOrder { client_id, instrument_code, account_id };
                write_frame_with(out, Opcode::Text, Some(mask), |out| {
                    encode_cancel_order(out, &cancel);
                });
            }
        }
    }

    fn next(
        &mut self,
        reader: &mut MessageReader,
        out: &mut Vec<u8>,
    ) -> Result<Option<Received>, String> {
        let received = reader.next().map_err(|error| error.to_string())?;
        let Some(reader::Received { message, first_byte_ns }) = received else { return Ok(None) };
        let (reply, payload_bytes) = match message {
            reader::Message::Text(text) => (self.understand(text)?, text.len()),
            reader::Message::Ping(payload) => {
                let mask = self.mask();
                write_frame(out, true, Opcode::Pong, Some(mask), payload);
                (Reply::Aside, payload.len())
            }
            reader::Message::Pong(payload) => (Reply::Aside, payload.len()),
            reader::Message::Binary(payload) => {
                (self.complain(|| "a binary message".to_owned()), payload.len())
            }
            reader::Message::Close { code, reason } => {
                let reason = String::from_utf8_lossy(reason);
                return Err(format!("the exchange closed it ({code:?}): {reason}"));
            }
        };
        // A server's header has 2 bytes, 4 from 126 on.
        let bytes = payload_bytes + if payload_bytes < 126 { 2 } else { 4 };
        Ok(Some(Received { reply, first_byte_ns, bytes }))
    }

    #[inline]
    fn understand(&mut self, text: &[u8]) -> Result<Reply, String> {
        let reply = decode_reply(text).map_err(|error| error.to_string())?;
        let (message, client_id) = match &reply {
            reply::Reply::Booked(booked) => (Message::Order, &booked.client_id),
            reply::Reply::Done(done) if done.status == DoneStatus::Cancelled => {
                (Message::Cancel, &done.client_id)
            }
            reply::Reply::Rejected(rejected) => {
                self.complaint.get_or_insert_with(|| format!("rejected: {}", rejected.reason));
                return Ok(match self.number(&rejected.client_id) {
                    Some(number) => Reply::Rejected(number),
                    None => Reply::Unexpected,
                });
            }
            reply::Reply::Authenticated | reply::Reply::Subscriptions(_) => {
                return Ok(Reply::Aside);
            }
            other => {
                let what = format!("{other:?}");
                return Ok(self.complain(|| what));
            }
        };
        Ok(match self.number(client_id) {
            Some(number) => Reply::Ack(message, number),
            None => {
                let stranger = client_id.as_str().to_owned();
                self.complain(|| format!("a reply about {stranger}, which is not an order of ours"))
            }
        })
    }

    fn complain(&mut self, what: impl FnOnce() -> String) -> Reply {
        self.complaint.get_or_insert_with(what);
        Reply::Unexpected
    }
}
