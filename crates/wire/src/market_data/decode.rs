//! Decodes `BOOK` on a hot path.

use crate::fault::MessageFault;
use crate::json::{self, Fields, Scanner, Slot, Text};
use crate::market_data::{Level, TickStamps};
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
        let sequence = u64::try_from(*self.feed_sequence.get("feed_sequence")?);
        let expected = "a message's number";
        let wrong = |_| MessageFault::WrongKind { field: "feed_sequence", expected };
        Ok(Some(Level {
            instrument_code: self.instrument_code.take("instrument_code")?,
            side: Side::read(self.side.get("side")?, "side")?,
            price: decimal(&self.price, "price")?,
            amount: decimal(&self.amount, "amount")?,
            feed_sequence: sequence.map_err(wrong)?,
            time_ms: self.time.take("time")?,
            stamps: self.stamps.take_optional("stamps")?,
        }))
    }
}
