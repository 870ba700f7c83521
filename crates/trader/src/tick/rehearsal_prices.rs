//! A made-up book by price, for rehearsals of a trader that follows JSON or FIX.

use crate::tick::followed::fix::{
    MD_ENTRY_PX, MD_ENTRY_SIZE, MD_ENTRY_TYPE, MD_REQ_ID, MD_UPDATE_ACTION, NO_MD_ENTRIES, SYMBOL,
};
use crate::tick::rehearsal::{MadeUpTicks, SPREAD_TICKS, bid_at};
use fix::encode::{Body, seal};
use fix::tag;
use wire::Decimal;
use wire::market_data::{Level, encode_level};
use wire::request::Side;

/// Lots that always rest on either side.
const RESTING_LOTS: i64 = 100;
/// Distance of the price that changes from the touch, ticks.
const BEHIND_TICKS: i64 = 5;
/// Room for one message.
const MESSAGE_BYTES: usize = 512;

/// A change that a tick shows.
struct Change<'a> {
    instrument_code: &'a str,
    side: Side,
    price: Decimal,
    /// 0: the price disappears.
    amount: Decimal,
    is_new: bool,
    number: u64,
}

/// Messages of a made-up book.
pub(crate) struct PriceTicks {
    encode: Encode,
    instrument_code: String,
    units: [Decimal; 2],
    bid_ticks: i64,
    /// Number of the next message.
    sequence: u64,
    text: Vec<u8>,
    /// A second buffer for FIX, whose length comes before what it counts.
    body: Vec<u8>,
}

/// Encodes a change as a message of its own; the second buffer is empty.
type Encode = fn(&mut Vec<u8>, &mut Vec<u8>, &Change<'_>);

impl PriceTicks {
    /// As JSON. The market is at this price.
    pub(crate) fn json(instrument_code: &str, units: [Decimal; 2], at_ticks: i64) -> PriceTicks {
        PriceTicks::new(json, instrument_code, units, at_ticks)
    }

    /// As FIX. The market is at this price.
    pub(crate) fn fix(instrument_code: &str, units: [Decimal; 2], at_ticks: i64) -> PriceTicks {
        PriceTicks::new(fix_refresh, instrument_code, units, at_ticks)
    }

    fn new(encode: Encode, code: &str, units: [Decimal; 2], at_ticks: i64) -> PriceTicks {
        PriceTicks {
            encode,
            instrument_code: code.to_owned(),
            units,
            bid_ticks: bid_at(at_ticks),
            sequence: 1,
            text: Vec::with_capacity(MESSAGE_BYTES),
            body: Vec::with_capacity(MESSAGE_BYTES),
        }
    }

    fn change(&mut self, side: Side, price_ticks: i64, lots: i64, is_new: bool) -> &[u8] {
        let [tick, lot] = self.units;
        let of = |n, unit| Decimal::from_units(n, unit).unwrap_or_default();
        let change = Change {
            instrument_code: &self.instrument_code,
            side,
            price: of(price_ticks, tick),
            amount: of(lots, lot),
            is_new,
            number: self.sequence,
        };
        self.sequence += 1;
        self.text.clear();
        self.body.clear();
        (self.encode)(&mut self.text, &mut self.body, &change);
        &self.text
    }
}

impl MadeUpTicks for PriceTicks {
    fn opening(&mut self) -> Vec<Vec<u8>> {
        let bid_ticks = self.bid_ticks;
        let bid = self.change(Side::Buy, bid_ticks, RESTING_LOTS, true).to_vec();
        let ask = self.change(Side::Sell, bid_ticks + SPREAD_TICKS, RESTING_LOTS, true);
        vec![bid, ask.to_vec()]
    }

    /// A price behind the touch appears, changes, and is gone, alternately on both sides.
    fn next(&mut self) -> &[u8] {
        let (life, step) = (self.sequence / 3, self.sequence % 3);
        let (side, price_ticks) = match life.is_multiple_of(2) {
            true => (Side::Buy, self.bid_ticks - BEHIND_TICKS),
            false => (Side::Sell, self.bid_ticks + SPREAD_TICKS + BEHIND_TICKS),
        };
        let lots = [9, 6, 0][step as usize];
        self.change(side, price_ticks, lots, step == 0)
    }
}

fn json(out: &mut Vec<u8>, _: &mut Vec<u8>, change: &Change<'_>) {
    let level = Level {
        instrument_code: change.instrument_code.into(),
        side: change.side,
        price: change.price,
        amount: change.amount,
        feed_sequence: change.number,
        time_ms: 0,
        stamps: Some([0; 3]),
    };
    encode_level(out, &level);
}

/// As the exchange's FIX gateway writes it.
fn fix_refresh(out: &mut Vec<u8>, body: &mut Vec<u8>, change: &Change<'_>) {
    let is_gone = change.amount == Decimal::ZERO;
    let action = if is_gone { '2' } else { ['1', '0'][usize::from(change.is_new)] };
    let mut fields = Body::new(body);
    fields
        .bytes(tag::MSG_TYPE, b"X")
        .bytes(tag::SENDER_COMP_ID, b"TICKPATH")
        .bytes(tag::TARGET_COMP_ID, b"TICKS-0")
        .number(tag::MSG_SEQ_NUM, change.number)
        .time(tag::SENDING_TIME, 0)
        .bytes(MD_REQ_ID, b"ticks")
        .number(NO_MD_ENTRIES, 1)
        .char(MD_UPDATE_ACTION, action)
        .char(MD_ENTRY_TYPE, if change.side == Side::Buy { '0' } else { '1' })
        .text(SYMBOL, change.instrument_code)
        .written(MD_ENTRY_PX, |out| change.price.write_to(out));
    if !is_gone {
        fields.written(MD_ENTRY_SIZE, |out| change.amount.write_to(out));
    }
    fields.number(tag::TICK_NUMBER, change.number);
    for stamp in [tag::TICK_INTENDED_NS, tag::TICK_ACKNOWLEDGED_NS, tag::TICK_PUBLISHED_NS] {
        fields.number(stamp, 0);
    }
    seal(out, b"FIX.4.4", body);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tick::followed::fix::FixBook;
    use crate::tick::followed::json::JsonBook;
    use crate::tick::followed::{FollowedBook, MarketDataKind};
    use counting::calls;

    /// Each is a whole tick, nothing is allocated for it, and a life leaves the book as it was.
    fn are_followed(mut book: impl FollowedBook, mut ticks: PriceTicks) {
        for message in ticks.opening() {
            assert_eq!(book.take(&message).map(|tick| tick.kind), Some(MarketDataKind::Live));
        }
        let before = book.hash();
        let mut spent = 0;
        for turn in 0..60 {
            let calls_before = calls();
            let tick = book.take(ticks.next());
            // The book's memory may grow with its first prices.
            spent += if turn < 6 { 0 } else { calls() - calls_before };
            assert_eq!(
                tick.map(|tick| (tick.kind, tick.messages)),
                Some((MarketDataKind::Live, 1))
            );
            assert_eq!(book.failure(), None);
            assert_eq!(book.hash() == before, turn % 3 == 2, "turn {turn}");
        }
        assert_eq!(spent, 0);
    }

    #[test]
    fn made_up_ticks_are_followed_without_an_allocation() {
        let units = [Decimal::new(1, 2).unwrap(), Decimal::new(1, 5).unwrap()];
        for at_ticks in [1, 4_000_000] {
            let json = JsonBook::new("BTC_USDT", units, 16);
            are_followed(json, PriceTicks::json("BTC_USDT", units, at_ticks));
            let fix = FixBook::new("BTC_USDT", units, 16);
            are_followed(fix, PriceTicks::fix("BTC_USDT", units, at_ticks));
        }
    }
}
