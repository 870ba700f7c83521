//! Market data as JSON for subscribers of `BOOK`, `TRADES` and `TOP`. All of it is our extension.
//!
//! `feed_sequence` is the number of the source message on the feed of
//! [`crate::request::Depth::Levels`], so that a client of both can relate them.

mod decode;

use crate::decimal::Decimal;
use crate::digits::{write_i64, write_u64};
use crate::fault::MessageFault;
use crate::json::string::write_string;
pub use crate::market_data::decode::{decode_level, decode_top};
use crate::reply::{ReplyError, write_stamps};
use crate::request::Side;
use serde::Deserialize;
use std::borrow::Cow;

/// When the exchange's schedule meant the input that caused a tick, when the exchange acknowledged
/// it, and when it published the tick: ns on the exchange's clock, as in the header of a datagram.
pub type TickStamps = [u64; 3];

/// A price and the amount shown there.
pub type PriceAndAmount = (Decimal, Decimal);

/// Market data.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "type")]
pub enum MarketData<'a> {
    /// The whole book: first on channel `BOOK`, and again after a gap.
    #[serde(rename = "BOOK_SNAPSHOT", borrow)]
    Snapshot(BookSnapshot<'a>),
    /// The present total amount at one price.
    #[serde(rename = "BOOK", borrow)]
    Level(Level<'a>),
    /// Two orders traded.
    #[serde(rename = "TRADE", borrow)]
    Trade(Trade<'a>),
    /// The best bid and the best ask.
    #[serde(rename = "TOP", borrow)]
    Top(Top<'a>),
    /// A range of messages that this client missed, because it did not read fast enough.
    #[serde(rename = "GAP", borrow)]
    Gap(Gap<'a>),
}

/// All of a book.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct BookSnapshot<'a> {
    /// The instrument.
    #[serde(borrow)]
    pub instrument_code: Cow<'a, str>,
    /// From the highest price.
    pub bids: Vec<PriceAndAmount>,
    /// From the lowest price.
    pub asks: Vec<PriceAndAmount>,
    /// Number of the last message included.
    pub feed_sequence: u64,
    /// Milliseconds since 1970.
    #[serde(rename = "time")]
    pub time_ms: i64,
}

/// A price and the present amount there.
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
    /// Total amount shown there; 0 if none is left.
    pub amount: Decimal,
    /// Number of its message.
    pub feed_sequence: u64,
    /// Milliseconds since 1970.
    #[serde(rename = "time")]
    pub time_ms: i64,
    /// Only on the last message of a tick, and only if the subscription asked for stamps.
    #[serde(default)]
    pub stamps: Option<TickStamps>,
}

/// Two orders traded.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Trade<'a> {
    /// The instrument.
    #[serde(borrow)]
    pub instrument_code: Cow<'a, str>,
    /// The exchange's name for the trade, as in `FILL`.
    pub trade_id: u64,
    /// Side of the aggressive order.
    #[serde(deserialize_with = "side")]
    pub side: Side,
    /// The price.
    pub price: Decimal,
    /// Traded amount.
    pub amount: Decimal,
    /// Number of its message.
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
    /// The highest bid price and its amount; `None` without bids.
    pub bid: Option<PriceAndAmount>,
    /// The lowest ask price and its amount; `None` without asks.
    pub ask: Option<PriceAndAmount>,
    /// Number of the last message included.
    pub feed_sequence: u64,
    /// Milliseconds since 1970.
    #[serde(rename = "time")]
    pub time_ms: i64,
    /// Only on a change, and only if the subscription asked for stamps: of all inputs of the
    /// exchange's turn, when the first was intended and the last was acknowledged.
    #[serde(default)]
    pub stamps: Option<TickStamps>,
}

/// A range of missed messages.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Gap<'a> {
    /// The channel.
    #[serde(borrow)]
    pub channel: Cow<'a, str>,
    /// The instrument.
    #[serde(borrow)]
    pub instrument_code: Cow<'a, str>,
    /// Number of the first message that may be missing.
    pub from: u64,
    /// Number of the last one.
    pub to: u64,
}

/// Decodes market data. A hot path decodes its `BOOK`s with [`decode_level`], and its `TOP`s with
/// [`decode_top`].
///
/// # Errors
/// If it is not JSON, or not one of these messages.
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
    if let Some(stamps) = &level.stamps {
        encode_tick_stamps(out, stamps);
    }
}

/// Adds stamps to a `BOOK` or a `TOP` that ends `out`, so that the last of them can be taken after
/// all else.
pub fn encode_tick_stamps(out: &mut Vec<u8>, stamps: &TickStamps) {
    write_stamps(out, stamps);
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
    if let Some(stamps) = &top.stamps {
        encode_tick_stamps(out, stamps);
    }
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
