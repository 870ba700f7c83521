//! The book of one instrument by the exchange's JSON: a `BOOK_SNAPSHOT`, then a `BOOK` for each
//! price that changes.
//!
//! A run ends with a `GAP`, a message that is none of these, a number that does not grow, or a
//! price between ticks.

use crate::tick::followed::prices::{PriceBook, PriceDialect, PriceFollower, quoted};
use crate::tick::followed_state::BOOK;
use engine::Side;
use wire::Decimal;
use wire::market_data::{
    BookSnapshot, Level, MarketData, TickStamps, decode_level, decode_market_data,
};
use wire::request;

/// One instrument's book.
pub(crate) type JsonBook = PriceFollower<Json>;

/// The dialect.
pub(crate) struct Json {
    instrument_code: String,
    /// Number of the snapshot or of the last `BOOK`.
    at: u64,
}

impl JsonBook {
    /// An empty book with room for `levels_max` prices a side.
    pub(crate) fn new(instrument_code: &str, units: [Decimal; 2], levels_max: u32) -> JsonBook {
        let dialect = Json { instrument_code: instrument_code.to_owned(), at: 0 };
        PriceFollower::of(dialect, units, levels_max)
    }

    /// Takes over the book of a snapshot.
    ///
    /// # Errors
    /// If its prices are between ticks, or more than there is room for.
    pub(crate) fn begin(&mut self, snapshot: &BookSnapshot<'_>) -> Result<(), String> {
        let of = |side| move |level: &_| (side, *level);
        let bids = snapshot.bids.iter().map(of(Side::Buy));
        self.prices.begin(bids.chain(snapshot.asks.iter().map(of(Side::Sell))))?;
        self.dialect.at = snapshot.feed_sequence;
        Ok(())
    }
}

impl PriceDialect for Json {
    #[inline]
    fn apply(
        &mut self,
        prices: &mut PriceBook,
        text: &[u8],
    ) -> Result<Option<(u64, TickStamps)>, String> {
        let level = match decode_level(text) {
            Ok(Some(level)) => level,
            Ok(None) => return Err(other(prices, text, BOOK)),
            Err(error) => return Err(format!("{error}: {}", quoted(text))),
        };
        let Level { instrument_code, side, price, amount, feed_sequence, stamps, .. } = level;
        if instrument_code != self.instrument_code || feed_sequence <= self.at {
            return Err(not_next(&self.instrument_code, self.at, text));
        }
        let side = match side {
            request::Side::Buy => Side::Buy,
            request::Side::Sell => Side::Sell,
        };
        prices.change(side, (price, amount))?;
        (self.at, prices.sequence) = (feed_sequence, feed_sequence);
        Ok(stamps.map(|stamps| (feed_sequence, stamps)))
    }

    #[inline]
    fn wire_bytes(text_bytes: usize) -> usize {
        frame_bytes(text_bytes)
    }
}

/// Bytes of the exchange's frame around a text of that length.
#[inline]
pub(super) fn frame_bytes(text_bytes: usize) -> usize {
    wire::frame::header_bytes(false, text_bytes) + text_bytes
}

/// Why a message of another instrument, or with a number that does not grow, ends the run.
#[cold]
pub(super) fn not_next(instrument_code: &str, at: u64, text: &[u8]) -> String {
    let came = quoted(text);
    format!("after message {at} of {instrument_code} came {came}: did the exchange change?")
}

/// Why a message of another kind than the channel's ends the run.
#[cold]
pub(super) fn other(prices: &mut PriceBook, text: &[u8], channel: &str) -> String {
    match decode_market_data(text) {
        Ok(MarketData::Gap(gap)) => {
            prices.counts.gaps += 1;
            format!(
                "the exchange skipped messages {} to {}, because the trader did not read fast \
                 enough: lower flow.rate_per_second",
                gap.from, gap.to
            )
        }
        _ => format!("{} is no {channel}, and nothing else was subscribed", quoted(text)),
    }
}

#[cfg(test)]
#[path = "json_tests.rs"]
mod tests;
