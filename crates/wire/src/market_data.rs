//! Market data as JSON: what who subscribes to `BOOK`, `TRADES` or `TOP` is sent. All of it is
//! ours.
//!
//! `feed_sequence` is the number of the message of the feed of [`crate::request::Depth::Levels`]
//! that it is made from: a client that reads both can tell what it has had.

use crate::decimal::Decimal;
use crate::digits::{write_i64, write_u64};
use crate::fault::MessageFault;
use crate::json::string::write_string;
use crate::reply::ReplyError;
use crate::request::Side;
use serde::Deserialize;
use std::borrow::Cow;

/// A price, and what is shown there.
pub type PriceAndAmount = (Decimal, Decimal);

/// Market data.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "type")]
pub enum MarketData<'a> {
    /// The whole book: first on channel `BOOK`, and again after a gap.
    #[serde(rename = "BOOK_SNAPSHOT", borrow)]
    Snapshot(BookSnapshot<'a>),
    /// The total shown at one price now.
    #[serde(rename = "BOOK", borrow)]
    Level(Level<'a>),
    /// Two orders traded.
    #[serde(rename = "TRADE", borrow)]
    Trade(Trade<'a>),
    /// The best bid and the best ask.
    #[serde(rename = "TOP", borrow)]
    Top(Top<'a>),
    /// What came in between is not sent to this client, which did not read fast enough.
    #[serde(rename = "GAP", borrow)]
    Gap(Gap<'a>),
}

/// All of a book.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct BookSnapshot<'a> {
    /// The instrument.
    #[serde(borrow)]
    pub instrument_code: Cow<'a, str>,
    /// The highest first.
    pub bids: Vec<PriceAndAmount>,
    /// The lowest first.
    pub asks: Vec<PriceAndAmount>,
    /// The last message that is in it.
    pub feed_sequence: u64,
    /// Milliseconds since 1970.
    #[serde(rename = "time")]
    pub time_ms: i64,
}

/// A price, and what is shown there now.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Level<'a> {
    /// The instrument.
    #[serde(borrow)]
    pub instrument_code: Cow<'a, str>,
    /// Bids or asks.
    #[serde(deserialize_with = "side")]
    pub side: Side,
    /// The price.
    pub price: Decimal,
    /// All that is shown there now; 0: nothing any more.
    pub amount: Decimal,
    /// The message's number.
    pub feed_sequence: u64,
    /// Milliseconds since 1970.
    #[serde(rename = "time")]
    pub time_ms: i64,
}

/// Two orders traded.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Trade<'a> {
    /// The instrument.
    #[serde(borrow)]
    pub instrument_code: Cow<'a, str>,
    /// The exchange's name for the trade, as in `FILL`.
    pub trade_id: u64,
    /// Side of the order that arrived.
    #[serde(deserialize_with = "side")]
    pub side: Side,
    /// The price.
    pub price: Decimal,
    /// How much changed hands.
    pub amount: Decimal,
    /// The message's number.
    pub feed_sequence: u64,
    /// Milliseconds since 1970.
    #[serde(rename = "time")]
    pub time_ms: i64,
}

/// The top of a book.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Top<'a> {
    /// The instrument.
    #[serde(borrow)]
    pub instrument_code: Cow<'a, str>,
    /// The highest price somebody buys at, and how much; `None` without bids.
    pub bid: Option<PriceAndAmount>,
    /// The lowest price somebody sells at, and how much; `None` without asks.
    pub ask: Option<PriceAndAmount>,
    /// The last message that is in it.
    pub feed_sequence: u64,
    /// Milliseconds since 1970.
    #[serde(rename = "time")]
    pub time_ms: i64,
}

/// What was left out.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Gap<'a> {
    /// On which channel.
    #[serde(borrow)]
    pub channel: Cow<'a, str>,
    /// The instrument.
    #[serde(borrow)]
    pub instrument_code: Cow<'a, str>,
    /// The first message of the feed that it may have missed.
    pub from: u64,
    /// The last.
    pub to: u64,
}

/// Decodes market data. For clients that have the time: it is no codec for a hot path, which reads
/// the feed.
///
/// # Errors
/// If it is not JSON, or none of these messages.
pub fn decode_market_data(bytes: &[u8]) -> Result<MarketData<'_>, ReplyError> {
    serde_json::from_slice(bytes)
        .map_err(|error| ReplyError(MessageFault::Malformed { at_byte: error.column() }))
}

fn side<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Side, D::Error> {
    let text = <Cow<'de, str>>::deserialize(deserializer)?;
    Side::read(&text, "side").map_err(serde::de::Error::custom)
}

/// Appends a `BOOK_SNAPSHOT` with levels from the best on.
pub fn encode_book_snapshot(
    out: &mut Vec<u8>,
    instrument_code: &str,
    bids: impl Iterator<Item = PriceAndAmount>,
    asks: impl Iterator<Item = PriceAndAmount>,
    feed_sequence: u64,
    time_ms: i64,
) {
    write_kind(out, br#"{"type":"BOOK_SNAPSHOT""#, instrument_code);
    write_levels(out, br#","bids":["#, bids);
    write_levels(out, br#","asks":["#, asks);
    write_end(out, feed_sequence, time_ms);
}

fn write_levels(out: &mut Vec<u8>, key: &[u8], levels: impl Iterator<Item = PriceAndAmount>) {
    out.extend_from_slice(key);
    for (i, level) in levels.enumerate() {
        if i > 0 {
            out.push(b',');
        }
        write_level(out, level);
    }
    out.push(b']');
}

fn write_level(out: &mut Vec<u8>, (price, amount): PriceAndAmount) {
    out.extend_from_slice(br#"[""#);
    price.write_to(out);
    out.extend_from_slice(br#"",""#);
    amount.write_to(out);
    out.extend_from_slice(br#""]"#);
}

/// Appends a `BOOK`.
pub fn encode_level(out: &mut Vec<u8>, level: &Level<'_>) {
    write_kind(out, br#"{"type":"BOOK""#, &level.instrument_code);
    write_side_and_price(out, level.side, level.price, level.amount);
    write_end(out, level.feed_sequence, level.time_ms);
}

/// Appends a `TRADE`.
pub fn encode_trade(out: &mut Vec<u8>, trade: &Trade<'_>) {
    write_kind(out, br#"{"type":"TRADE""#, &trade.instrument_code);
    out.extend_from_slice(br#","trade_id":"#);
    write_u64(out, trade.trade_id);
    write_side_and_price(out, trade.side, trade.price, trade.amount);
    write_end(out, trade.feed_sequence, trade.time_ms);
}

/// Appends a `TOP`.
pub fn encode_top(out: &mut Vec<u8>, top: &Top<'_>) {
    write_kind(out, br#"{"type":"TOP""#, &top.instrument_code);
    for (key, level) in [(br#","bid":"#, top.bid), (br#","ask":"#, top.ask)] {
        out.extend_from_slice(key);
        match level {
            Some(level) => write_level(out, level),
            None => out.extend_from_slice(b"null"),
        }
    }
    write_end(out, top.feed_sequence, top.time_ms);
}

/// Appends a `GAP`.
pub fn encode_gap(out: &mut Vec<u8>, gap: &Gap<'_>) {
    out.extend_from_slice(br#"{"type":"GAP","channel":"#);
    write_string(out, gap.channel.as_bytes());
    out.extend_from_slice(br#","instrument_code":"#);
    write_string(out, gap.instrument_code.as_bytes());
    out.extend_from_slice(br#","from":"#);
    write_u64(out, gap.from);
    out.extend_from_slice(br#","to":"#);
    write_u64(out, gap.to);
    out.push(b'}');
}

fn write_kind(out: &mut Vec<u8>, kind: &[u8], instrument_code: &str) {
    out.extend_from_slice(kind);
    out.extend_from_slice(br#","instrument_code":"#);
    write_string(out, instrument_code.as_bytes());
}

fn write_side_and_price(out: &mut Vec<u8>, side: Side, price: Decimal, amount: Decimal) {
    out.extend_from_slice(match side {
        Side::Buy => br#","side":"BUY","price":""#.as_slice(),
        Side::Sell => br#","side":"SELL","price":""#,
    });
    price.write_to(out);
    out.extend_from_slice(br#"","amount":""#);
    amount.write_to(out);
    out.push(b'"');
}

fn write_end(out: &mut Vec<u8>, feed_sequence: u64, time_ms: i64) {
    out.extend_from_slice(br#","feed_sequence":"#);
    write_u64(out, feed_sequence);
    out.extend_from_slice(br#","time":"#);
    write_i64(out, time_ms);
    out.push(b'}');
}
