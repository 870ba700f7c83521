//! Orders as JSON in WebSocket text frames: the incumbent's dialect (REFERENCE of the wire:
//! docs/internals/wire.md).

use crate::form::{Blanks, Form};
use crate::order_entry::{Message, OrderEntry, Received, Reply};
use crate::plan::Plan;
use crate::web_session::{ClientIds, Masks, Session, nonce};
use std::borrow::Cow;
use std::io;
use std::net::TcpStream;
use wire::decimal::Decimal;
use wire::frame::{Opcode, write_frame, write_frame_with};
use wire::reader::{self, MessageReader};
use wire::reply::{self, DoneStatus, decode_reply};
use wire::request::{
    CancelOrder, Channel, CreateOrder, encode_authenticate, encode_cancel_order,
    encode_create_order, encode_subscribe,
};

pub(crate) struct WebSocket {
    first_token: u64,
    lanes: Vec<Session>,
    /// What each order is, but for its account and its id.
    order: CreateOrder<'static>,
    dialect: Dialect,
}

/// What is said, and what is understood, on any lane.
struct Dialect {
    /// By account.
    forms: Vec<Forms>,
    client_ids: ClientIds,
    masks: Masks,
    complaint: Option<String>,
}

/// What is said for an account.
struct Forms {
    order: Form,
    cancel: Form,
}

impl Forms {
    /// `account_id` where the account's connection has several; `None` says it all otherwise.
    fn new(order: &CreateOrder<'static>, account_id: Option<&str>) -> Forms {
        let account_id = account_id.map(|name| Cow::Owned(name.to_owned()));
        let instrument_code = order.instrument_code.clone();
        Forms {
            order: Form::new(|out, Blanks { client_id, .. }| {
                let account_id = account_id.clone();
                encode_create_order(out, &CreateOrder { client_id, account_id, ..order.clone() });
            }),
            cancel: Form::new(|out, Blanks { client_id, .. }| {
                encode_cancel_order(out, &CancelOrder { client_id, instrument_code, account_id });
            }),
        }
    }
}

impl WebSocket {
    pub(crate) fn new(plan: &Plan) -> WebSocket {
        let load = &plan.load;
        let nonce = nonce();
        let decimal = |text| Decimal::parse(text).expect("the load was checked");
        let side = load.parsed_side().expect("the load was checked");
        let (price, amount) = (decimal(&load.price), decimal(&load.amount));
        let nobody = Form::client_id();
        let order = CreateOrder::limit(load.instrument.clone(), nobody, side, price, amount);
        let dialect = Dialect {
            forms: (0..load.accounts).map(|_| Forms::new(&order, None)).collect(),
            client_ids: ClientIds::new(nonce),
            masks: Masks::new(u64::from(nonce)),
            complaint: None,
        };
        let seed = |lane: usize| u64::from(nonce) << 32 | lane as u64;
        let lanes = (0..load.connections).map(|lane| Session::new(&plan.target, seed(lane)));
        WebSocket { first_token: load.first_token, lanes: lanes.collect(), order, dialect }
    }
}

impl OrderEntry for WebSocket {
    fn log_on(
        &mut self,
        lane: usize,
        stream: &mut TcpStream,
        accounts: &[usize],
    ) -> io::Result<()> {
        let session = &mut self.lanes[lane];
        session.upgrade(stream)?;
        for account in accounts {
            let token = (self.first_token + *account as u64).to_string();
            session.say(stream, |out| encode_authenticate(out, &token, None, None))?;
            session.hear(stream, |reply, _| {
                matches!(reply, reply::Reply::Authenticated).then_some(())
            })?;
        }
        session.say(stream, |out| encode_subscribe(out, &[Channel::named("ORDERS")]))?;
        let names = session.hear(stream, |reply, _| match reply {
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
                self.dialect.forms[*account] = Forms::new(&self.order, Some(&name));
            }
        }
        Ok(())
    }

    #[inline]
    fn encode(&mut self, message: Message, number: u64, account: usize, out: &mut Vec<u8>) {
        self.dialect.encode(message, number, account, out);
    }

    fn space(&mut self, lane: usize) -> &mut [u8] {
        self.lanes[lane].reader.space()
    }

    fn filled(&mut self, lane: usize, n: usize, stamp_ns: u64) {
        self.lanes[lane].reader.filled(n, stamp_ns);
    }

    #[inline]
    fn next(&mut self, lane: usize, out: &mut Vec<u8>) -> Result<Option<Received>, String> {
        self.dialect.next(&mut self.lanes[lane].reader, out)
    }

    fn first_complaint(&self) -> Option<&str> {
        self.dialect.complaint.as_deref()
    }
}

impl Dialect {
    #[inline]
    fn encode(&mut self, message: Message, number: u64, account: usize, out: &mut Vec<u8>) {
        let Forms { order, cancel } = &self.forms[account];
        let form = match message {
            Message::Order => order,
            Message::Cancel => cancel,
        };
        let (mask, client_id) = (self.masks.next(), self.client_ids.of(number));
        write_frame_with(out, Opcode::Text, Some(mask), |out| form.fill(out, client_id, &[]));
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
                let mask = self.masks.next();
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
                return Ok(match self.client_ids.number(&rejected.client_id) {
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
        Ok(match self.client_ids.number(client_id) {
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
