//! The best prices of one instrument by the exchange's JSON: a `TOP` with the present ones, then a
//! `TOP` for each turn of the exchange that changed them.
//!
//! A run ends with a `GAP`, a message that is none of these, a number that does not grow, or a
//! price between ticks.

use crate::tick::followed::json::{frame_bytes, not_next, other};
use crate::tick::followed::prices::{PriceBook, PriceDialect, PriceFollower, quoted};
use crate::tick::followed_state::{FollowedState, TOP};
use engine::Side;
use feed::TopHistory;
use wire::Decimal;
use wire::market_data::{TickStamps, Top, decode_top};

/// Prices of a side in the book: the best one.
const LEVELS: u32 = 1;

/// One instrument's best prices, as a book that has no other ones.
pub(crate) type TopBook = PriceFollower<JsonTop>;

/// The dialect.
pub(crate) struct JsonTop {
    instrument_code: String,
    /// Number of the last `TOP`.
    at: u64,
    /// `None` before the first one, and in rehearsals.
    history: Option<TopHistory>,
}

impl TopBook {
    /// Without best prices.
    pub(crate) fn new(instrument_code: &str, units: [Decimal; 2]) -> TopBook {
        let instrument_code = instrument_code.to_owned();
        PriceFollower::of(JsonTop { instrument_code, at: 0, history: None }, units, LEVELS)
    }

    /// Takes over the present best prices.
    ///
    /// # Errors
    /// If they are between ticks.
    pub(crate) fn begin(&mut self, top: &Top<'_>) -> Result<(), String> {
        let PriceFollower { dialect, prices } = self;
        prices.begin(std::iter::empty())?;
        set(prices, top)?;
        (dialect.at, prices.sequence) = (top.feed_sequence, top.feed_sequence);
        dialect.history = Some(TopHistory::new(top.feed_sequence, &prices.top()));
        Ok(())
    }
}

impl PriceDialect for JsonTop {
    #[inline]
    fn apply(
        &mut self,
        prices: &mut PriceBook,
        text: &[u8],
    ) -> Result<Option<(u64, TickStamps)>, String> {
        let top = match decode_top(text) {
            Ok(Some(top)) => top,
            Ok(None) => return Err(other(prices, text, TOP)),
            Err(error) => return Err(format!("{error}: {}", quoted(text))),
        };
        let number = top.feed_sequence;
        if top.instrument_code != self.instrument_code || number <= self.at {
            return Err(not_next(&self.instrument_code, self.at, text));
        }
        let Some(stamps) = top.stamps else {
            return Err(format!("a TOP without stamps came: {}", quoted(text)));
        };
        set(prices, &top)?;
        prices.count_change();
        (self.at, prices.sequence) = (number, number);
        Ok(Some((number, stamps)))
    }

    #[inline]
    fn wire_bytes(text_bytes: usize) -> usize {
        frame_bytes(text_bytes)
    }

    fn afterwards(&mut self, prices: &PriceBook) {
        if let Some(history) = self.history.as_mut().filter(|it| it.sequence() < self.at) {
            history.change(self.at, &prices.top());
        }
    }

    fn state(&self, instrument_code: &str) -> FollowedState {
        let since = self.history.as_ref().map_or(0, TopHistory::since);
        FollowedState::Top { instrument_code: instrument_code.to_owned(), since }
    }

    fn hash(&self, prices: &PriceBook) -> u64 {
        self.history.as_ref().map_or(0, |history| history.hash_with(&prices.top()))
    }
}

#[inline]
fn set(prices: &mut PriceBook, top: &Top<'_>) -> Result<(), String> {
    prices.set_best(Side::Buy, top.bid)?;
    prices.set_best(Side::Sell, top.ask)
}

#[cfg(test)]
#[path = "json_top_tests.rs"]
mod tests;
