//! Decodes `BOOK` and `TOP` on a hot path.

use crate::fault::MessageFault;
use crate::json::{self, Fields, Scanner, Slot, Text};
use crate::market_data::{Level, PriceAndAmount, TickStamps, Top};
use crate::reply::ReplyError;
use crate::request::Side;
use crate::request::decode::decimal;

#[derive(Default)]
struct RawLevel<'a> {
    kind: Slot<Text<'a>>,
    instrument_code: Slot<Text<'a>>,
    side: Slot<Text<'a>>,
    price: Slot<Text<'a>>,
    amount: Slot<Text<'a>>,
    feed_sequence: Slot<i64>,
    time: Slot<i64>,
    stamps: Slot<TickStamps>,
}

impl<'a> Fields<'a> for RawLevel<'a> {
    fn read(&mut self, key: &str, value: &mut Scanner<'a>) -> Result<(), MessageFault> {
        match key {
            "type" => value.text(&mut self.kind),
            "instrument_code" => value.text(&mut self.instrument_code),
            "side" => value.text(&mut self.side),
            "price" => value.text(&mut self.price),
            "amount" => value.text(&mut self.amount),
            "feed_sequence" => value.integer(&mut self.feed_sequence),
            "time" => value.integer(&mut self.time),
            "stamps" => value.naturals(&mut self.stamps),
            _ => value.skip(),
        }
    }
}

/// Decodes a `BOOK` without allocating. Keys in any order, unknown keys ignored. `None`: it is
/// another message.
///
/// # Errors
/// If it is not JSON, or a field of a `BOOK` is missing or wrong.
pub fn decode_level(bytes: &[u8]) -> Result<Option<Level<'_>>, ReplyError> {
    let mut raw = RawLevel::default();
    json::parse(bytes, &mut raw).and_then(|()| raw.level()).map_err(ReplyError)
}

impl<'a> RawLevel<'a> {
    fn level(&mut self) -> Result<Option<Level<'a>>, MessageFault> {
        if self.kind.get("type")? != "BOOK" {
            return Ok(None);
        }
        let feed_sequence = sequence(&self.feed_sequence)?;
        Ok(Some(Level {
            instrument_code: self.instrument_code.take("instrument_code")?,
            side: Side::read(self.side.get("side")?, "side")?,
            price: decimal(&self.price, "price")?,
            amount: decimal(&self.amount, "amount")?,
            feed_sequence,
            time_ms: self.time.take("time")?,
            stamps: self.stamps.take_optional("stamps")?,
        }))
    }
}

fn sequence(number: &Slot<i64>) -> Result<u64, MessageFault> {
    let (field, expected) = ("feed_sequence", "a message's number");
    let wrong = |_| MessageFault::WrongKind { field, expected };
    u64::try_from(*number.get(field)?).map_err(wrong)
}

#[derive(Default)]
struct RawTop<'a> {
    kind: Slot<Text<'a>>,
    instrument_code: Slot<Text<'a>>,
    bid: Slot<[Text<'a>; 2]>,
    ask: Slot<[Text<'a>; 2]>,
    feed_sequence: Slot<i64>,
    time: Slot<i64>,
    stamps: Slot<TickStamps>,
}

impl<'a> Fields<'a> for RawTop<'a> {
    fn read(&mut self, key: &str, value: &mut Scanner<'a>) -> Result<(), MessageFault> {
        match key {
            "type" => value.text(&mut self.kind),
            "instrument_code" => value.text(&mut self.instrument_code),
            "bid" => value.pair(&mut self.bid),
            "ask" => value.pair(&mut self.ask),
            "feed_sequence" => value.integer(&mut self.feed_sequence),
            "time" => value.integer(&mut self.time),
            "stamps" => value.naturals(&mut self.stamps),
            _ => value.skip(),
        }
    }
}

/// Decodes a `TOP` without allocating. Keys in any order, unknown keys ignored. `None`: it is
/// another message.
///
/// # Errors
/// If it is not JSON, or a field of a `TOP` is missing or wrong.
pub fn decode_top(bytes: &[u8]) -> Result<Option<Top<'_>>, ReplyError> {
    let mut raw = RawTop::default();
    json::parse(bytes, &mut raw).and_then(|()| raw.top()).map_err(ReplyError)
}

impl<'a> RawTop<'a> {
    fn top(&mut self) -> Result<Option<Top<'a>>, MessageFault> {
        if self.kind.get("type")? != "TOP" {
            return Ok(None);
        }
        Ok(Some(Top {
            instrument_code: self.instrument_code.take("instrument_code")?,
            bid: level(&mut self.bid, "bid")?,
            ask: level(&mut self.ask, "ask")?,
            feed_sequence: sequence(&self.feed_sequence)?,
            time_ms: self.time.take("time")?,
            stamps: self.stamps.take_optional("stamps")?,
        }))
    }
}

fn level(
    texts: &mut Slot<[Text<'_>; 2]>,
    field: &'static str,
) -> Result<Option<PriceAndAmount>, MessageFault> {
    let Some([price, amount]) = texts.take_optional(field)? else { return Ok(None) };
    let decimal = |text| decimal(&Slot::Value(text), field);
    Ok(Some((decimal(price)?, decimal(amount)?)))
}
