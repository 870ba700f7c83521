//! What the exchange sends: its types and their encoders. Keys stand in the incumbent's order.

use crate::client_id::ClientId;
use crate::decimal::Decimal;
use crate::digits::write_i64;
use crate::fault::MessageFault;
use crate::json::write_string;
use crate::order_id::OrderId;
pub use crate::reply_decode::{ReplyError, decode_reply};
use crate::request::Side;
use std::borrow::Cow;

/// An exchange's message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply<'a> {
    /// `AUTHENTICATED`. Several on one connection come in the order that was asked.
    Authenticated,
    /// `SUBSCRIPTIONS`. The only reply whose decoding allocates.
    Subscriptions(Subscriptions<'a>),
    /// `BOOKED`: the order was accepted.
    Booked(Booked<'a>),
    /// `FILL`: the order traded.
    Fill(Fill<'a>),
    /// `DONE`: the order has ended.
    Done(Done<'a>),
    /// `REJECTED`: a request about this order was refused.
    Rejected(Rejected<'a>),
    /// `ERROR`: a message was refused that could not be tied to an order.
    Error {
        /// Why, for a person.
        reason: Cow<'a, str>,
    },
    /// Any other type.
    Other {
        /// Its name.
        kind: Cow<'a, str>,
    },
}

/// What is subscribed now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subscriptions<'a> {
    /// Every account with every channel.
    pub channels: Vec<Subscription<'a>>,
    /// Milliseconds since 1970.
    pub time_ms: i64,
}

/// One account's channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subscription<'a> {
    /// Whose.
    pub account_id: Cow<'a, str>,
    /// The channel, such as `ORDERS`.
    pub name: Cow<'a, str>,
}

/// An order that was accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Booked<'a> {
    /// The client's name for the order.
    pub client_id: ClientId,
    /// What is traded.
    pub instrument_code: Cow<'a, str>,
    /// Buy or sell.
    pub side: Side,
    /// The limit.
    pub price: Decimal,
    /// The whole amount of the order.
    pub amount: Decimal,
    /// The exchange's name for the order.
    pub order_id: OrderId,
    /// Counts the events of this instrument's book.
    pub order_book_sequence: i64,
    /// Milliseconds since 1970.
    pub time_ms: i64,
    /// The account.
    pub uid: Cow<'a, str>,
}

/// A trade, as one of its two orders sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fill<'a> {
    /// The client's name for the order.
    pub client_id: ClientId,
    /// What is traded.
    pub instrument_code: Cow<'a, str>,
    /// Buy or sell: this order's side.
    pub side: Side,
    /// At which the trade was made: the resting order's.
    pub price: Decimal,
    /// How much was traded.
    pub amount: Decimal,
    /// How much of the order is left.
    pub remaining: Decimal,
    /// The exchange's name for the order.
    pub order_id: OrderId,
    /// The exchange's name for the trade, the same on both sides.
    pub trade_id: i64,
    /// Counts the events of this instrument's book.
    pub order_book_sequence: i64,
    /// Milliseconds since 1970.
    pub time_ms: i64,
    /// The account.
    pub uid: Cow<'a, str>,
}

/// An order that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Done<'a> {
    /// The client's name for the order.
    pub client_id: ClientId,
    /// What was traded.
    pub instrument_code: Cow<'a, str>,
    /// How it ended.
    pub status: DoneStatus,
    /// The exchange's name for the order.
    pub order_id: OrderId,
    /// Counts the events of this instrument's book.
    pub order_book_sequence: i64,
    /// Milliseconds since 1970.
    pub time_ms: i64,
    /// The account.
    pub uid: Cow<'a, str>,
}

/// How an order ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DoneStatus {
    /// By its client's wish.
    Cancelled,
    /// Wholly traded.
    Filled,
    /// By its time in force: what an immediate order could not trade.
    Expired,
}

impl DoneStatus {
    /// As on the wire.
    pub fn name(self) -> &'static str {
        match self {
            DoneStatus::Cancelled => "CANCELLED",
            DoneStatus::Filled => "FILLED",
            DoneStatus::Expired => "EXPIRED",
        }
    }

    /// From the wire's text.
    pub(crate) fn read(text: &str) -> Result<DoneStatus, MessageFault> {
        match text {
            "CANCELLED" => Ok(DoneStatus::Cancelled),
            "FILLED" => Ok(DoneStatus::Filled),
            "EXPIRED" => Ok(DoneStatus::Expired),
            _ => {
                let allowed = "CANCELLED, FILLED, EXPIRED";
                Err(MessageFault::UnknownValue { field: "status", allowed })
            }
        }
    }
}

/// A request that was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejected<'a> {
    /// The order it was about.
    pub client_id: ClientId,
    /// Why, for a person.
    pub reason: Cow<'a, str>,
    /// Milliseconds since 1970.
    pub time_ms: i64,
    /// The account.
    pub uid: Cow<'a, str>,
}

/// Appends an `AUTHENTICATED`.
pub fn encode_authenticated(out: &mut Vec<u8>) {
    out.extend_from_slice(br#"{"type":"AUTHENTICATED"}"#);
}

/// Appends a `SUBSCRIPTIONS`.
pub fn encode_subscriptions(out: &mut Vec<u8>, subscriptions: &Subscriptions<'_>) {
    out.extend_from_slice(br#"{"channels":["#);
    for (i, channel) in subscriptions.channels.iter().enumerate() {
        out.extend_from_slice(if i == 0 { br#"{"account_id":"# } else { br#",{"account_id":"# });
        write_string(out, channel.account_id.as_bytes());
        out.extend_from_slice(br#","name":"#);
        write_string(out, channel.name.as_bytes());
        out.push(b'}');
    }
    out.extend_from_slice(br#"],"time":"#);
    write_i64(out, subscriptions.time_ms);
    out.extend_from_slice(br#","type":"SUBSCRIPTIONS"}"#);
}

/// Appends a `BOOKED`.
pub fn encode_booked(out: &mut Vec<u8>, booked: &Booked<'_>) {
    out.extend_from_slice(br#"{"amount":""#);
    booked.amount.write_to(out);
    out.extend_from_slice(br#"","channel_name":"TRADING","client_id":"#);
    let sequence = booked.order_book_sequence;
    write_order(out, &booked.client_id, &booked.instrument_code, sequence, booked.order_id);
    out.extend_from_slice(br#"","price":""#);
    booked.price.write_to(out);
    write_side_and_time(out, booked.side, booked.time_ms);
    out.extend_from_slice(br#","type":"BOOKED","uid":"#);
    write_string(out, booked.uid.as_bytes());
    out.push(b'}');
}

/// Appends a `FILL`.
pub fn encode_fill(out: &mut Vec<u8>, fill: &Fill<'_>) {
    out.extend_from_slice(br#"{"amount":""#);
    fill.amount.write_to(out);
    out.extend_from_slice(br#"","channel_name":"TRADING","client_id":"#);
    let sequence = fill.order_book_sequence;
    write_order(out, &fill.client_id, &fill.instrument_code, sequence, fill.order_id);
    out.extend_from_slice(br#"","price":""#);
    fill.price.write_to(out);
    out.extend_from_slice(br#"","remaining":""#);
    fill.remaining.write_to(out);
    write_side_and_time(out, fill.side, fill.time_ms);
    out.extend_from_slice(br#","trade_id":"#);
    write_i64(out, fill.trade_id);
    out.extend_from_slice(br#","type":"FILL","uid":"#);
    write_string(out, fill.uid.as_bytes());
    out.push(b'}');
}

/// Appends a `DONE`.
pub fn encode_done(out: &mut Vec<u8>, done: &Done<'_>) {
    out.extend_from_slice(br#"{"channel_name":"TRADING","client_id":"#);
    let sequence = done.order_book_sequence;
    write_order(out, &done.client_id, &done.instrument_code, sequence, done.order_id);
    out.extend_from_slice(match done.status {
        DoneStatus::Cancelled => br#"","status":"CANCELLED","time":"#.as_slice(),
        DoneStatus::Filled => br#"","status":"FILLED","time":"#,
        DoneStatus::Expired => br#"","status":"EXPIRED","time":"#,
    });
    write_i64(out, done.time_ms);
    out.extend_from_slice(br#","type":"DONE","uid":"#);
    write_string(out, done.uid.as_bytes());
    out.push(b'}');
}

/// Appends a `REJECTED`.
pub fn encode_rejected(out: &mut Vec<u8>, rejected: &Rejected<'_>) {
    out.extend_from_slice(br#"{"type":"REJECTED","client_id":"#);
    write_string(out, rejected.client_id.as_bytes());
    out.extend_from_slice(br#","reason":"#);
    write_string(out, rejected.reason.as_bytes());
    out.extend_from_slice(br#","time":"#);
    write_i64(out, rejected.time_ms);
    out.extend_from_slice(br#","uid":"#);
    write_string(out, rejected.uid.as_bytes());
    out.push(b'}');
}

/// Appends an `ERROR`.
pub fn encode_error(out: &mut Vec<u8>, reason: &str) {
    out.extend_from_slice(br#"{"type":"ERROR","reason":"#);
    write_string(out, reason.as_bytes());
    out.push(b'}');
}

/// The keys that stand together in every report on an order, up to the order id without its last quote.
fn write_order(
    out: &mut Vec<u8>,
    client_id: &ClientId,
    instrument_code: &str,
    order_book_sequence: i64,
    order_id: OrderId,
) {
    write_string(out, client_id.as_bytes());
    out.extend_from_slice(br#","instrument_code":"#);
    write_string(out, instrument_code.as_bytes());
    out.extend_from_slice(br#","order_book_sequence":"#);
    write_i64(out, order_book_sequence);
    out.extend_from_slice(br#","order_id":""#);
    out.extend_from_slice(&order_id.text());
}

/// From behind a decimal's last digit to the time.
fn write_side_and_time(out: &mut Vec<u8>, side: Side, time_ms: i64) {
    out.extend_from_slice(match side {
        Side::Buy => br#"","side":"BUY","time":"#.as_slice(),
        Side::Sell => br#"","side":"SELL","time":"#,
    });
    write_i64(out, time_ms);
}
