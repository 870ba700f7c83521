//! A made-up `BOOK`, for rehearsals of a trader that follows JSON.

use crate::tick::rehearsal::{MadeUpTicks, SPREAD_TICKS, bid_at};
use wire::Decimal;
use wire::market_data::{Level, encode_level};
use wire::request::Side;

/// Lots that always rest on either side.
const RESTING_LOTS: i64 = 100;
/// Distance of the price that changes from the touch, ticks.
const BEHIND_TICKS: i64 = 5;
/// Room for one message.
const MESSAGE_BYTES: usize = 512;

/// Messages of a made-up book.
pub(crate) struct JsonTicks {
    instrument_code: String,
    units: [Decimal; 2],
    bid_ticks: i64,
    /// Number of the next message.
    sequence: u64,
    text: Vec<u8>,
}

impl JsonTicks {
    /// The market is at this price.
    pub(crate) fn new(instrument_code: &str, units: [Decimal; 2], at_ticks: i64) -> JsonTicks {
        JsonTicks {
            instrument_code: instrument_code.to_owned(),
            units,
            bid_ticks: bid_at(at_ticks),
            sequence: 1,
            text: Vec::with_capacity(MESSAGE_BYTES),
        }
    }

    fn level(&mut self, side: Side, price_ticks: i64, lots: i64) -> &[u8] {
        let [tick, lot] = self.units;
        let of = |n, unit| Decimal::from_units(n, unit).unwrap_or_default();
        let level = Level {
            instrument_code: self.instrument_code.as_str().into(),
            side,
            price: of(price_ticks, tick),
            amount: of(lots, lot),
            feed_sequence: self.sequence,
            time_ms: 0,
            stamps: Some([0; 3]),
        };
        self.sequence += 1;
        self.text.clear();
        encode_level(&mut self.text, &level);
        &self.text
    }
}

impl MadeUpTicks for JsonTicks {
    fn opening(&mut self) -> Vec<Vec<u8>> {
        let bid_ticks = self.bid_ticks;
        let bid = self.level(Side::Buy, bid_ticks, RESTING_LOTS).to_vec();
        vec![bid, self.level(Side::Sell, bid_ticks + SPREAD_TICKS, RESTING_LOTS).to_vec()]
    }

    /// A price behind the touch appears, changes, and is gone, alternately on both sides.
    fn next(&mut self) -> &[u8] {
        let (life, step) = (self.sequence / 3, self.sequence % 3);
        let (side, price_ticks) = match life.is_multiple_of(2) {
            true => (Side::Buy, self.bid_ticks - BEHIND_TICKS),
            false => (Side::Sell, self.bid_ticks + SPREAD_TICKS + BEHIND_TICKS),
        };
        let lots = [9, 6, 0][step as usize];
        self.level(side, price_ticks, lots)
    }
}
