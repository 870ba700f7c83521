//! Made-up best prices, for rehearsals of a trader that follows `TOP`.

use crate::tick::rehearsal::{MadeUpTicks, SPREAD_TICKS, bid_at};
use wire::Decimal;
use wire::market_data::{PriceAndAmount, Top, encode_top};

/// Room for one message.
const MESSAGE_BYTES: usize = 512;
/// Lots at the best prices between two lives of a better one.
const LOTS: i64 = 100;

/// Messages of a made-up market.
pub(crate) struct TopTicks {
    instrument_code: String,
    units: [Decimal; 2],
    bid_ticks: i64,
    /// Number of the next message.
    sequence: u64,
    text: Vec<u8>,
}

impl TopTicks {
    /// The market is at this price.
    pub(crate) fn new(instrument_code: &str, units: [Decimal; 2], at_ticks: i64) -> TopTicks {
        let (instrument_code, bid_ticks) = (instrument_code.to_owned(), bid_at(at_ticks));
        let text = Vec::with_capacity(MESSAGE_BYTES);
        TopTicks { instrument_code, units, bid_ticks, sequence: 1, text }
    }

    fn level(&self, price_ticks: i64, lots: i64) -> PriceAndAmount {
        let [tick, lot] = self.units;
        let of = |n, unit| Decimal::from_units(n, unit).unwrap_or_default();
        (of(price_ticks, tick), of(lots, lot))
    }

    /// Prices in ticks and lots, bid first.
    fn message(&mut self, [bid, ask]: [(i64, i64); 2]) -> &[u8] {
        let top = Top {
            instrument_code: self.instrument_code.as_str().into(),
            bid: Some(self.level(bid.0, bid.1)),
            ask: Some(self.level(ask.0, ask.1)),
            feed_sequence: self.sequence,
            time_ms: 0,
            stamps: Some([0; 3]),
        };
        self.text.clear();
        encode_top(&mut self.text, &top);
        self.sequence += 1;
        &self.text
    }
}

impl MadeUpTicks for TopTicks {
    fn opening(&mut self) -> Vec<Vec<u8>> {
        let prices = [self.bid_ticks, self.bid_ticks + SPREAD_TICKS];
        vec![self.message(prices.map(|price_ticks| (price_ticks, LOTS))).to_vec()]
    }

    /// A better price appears, changes, and is gone, alternately on both sides.
    fn next(&mut self) -> &[u8] {
        let (life, step) = (self.sequence / 3, self.sequence % 3);
        let mut prices = [(self.bid_ticks, LOTS), (self.bid_ticks + SPREAD_TICKS, LOTS)];
        let lots = [9, 6, 0][step as usize];
        match (lots, life.is_multiple_of(2)) {
            (0, _) => {}
            (_, true) => prices[0] = (self.bid_ticks + 1, lots),
            (_, false) => prices[1] = (self.bid_ticks + SPREAD_TICKS - 1, lots),
        }
        self.message(prices)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tick::followed::json_top::TopBook;
    use crate::tick::followed::{FollowedBook, MarketDataKind};
    use counting::calls;

    /// Each is a whole tick, nothing is allocated for it, and a life leaves the prices unchanged.
    #[test]
    fn made_up_best_prices_are_followed_without_an_allocation() {
        let units = [Decimal::new(1, 2).unwrap(), Decimal::new(1, 5).unwrap()];
        for at_ticks in [1, 4_000_000] {
            let mut book = TopBook::new("BTC_USDT", units);
            let mut ticks = TopTicks::new("BTC_USDT", units, at_ticks);
            for message in ticks.opening() {
                assert_eq!(book.take(&message).map(|tick| tick.kind), Some(MarketDataKind::Live));
            }
            let before = book.book(0).unwrap().top();
            // A life has three messages and the opening is number 1, so turn 0 ends a life.
            let mut spent = 0;
            for turn in 0..60 {
                let calls_before = calls();
                let tick = book.take(ticks.next());
                book.afterwards();
                // The book's memory may grow with its first prices.
                spent += if turn < 6 { 0 } else { calls() - calls_before };
                assert_eq!(
                    tick.map(|tick| (tick.kind, tick.messages)),
                    Some((MarketDataKind::Live, 1))
                );
                assert_eq!(book.failure(), None);
                assert_eq!(book.book(0).unwrap().top() == before, turn % 3 == 0, "turn {turn}");
            }
            assert_eq!(spent, 0);
        }
    }
}
