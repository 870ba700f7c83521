//! Two quotes around the micro-price, skewed by the position. All integers: prices in fractions of
//! a tick.
//!
//! The micro-price lies between the best prices, nearer to the side with less quantity, which
//! gives way first (S. Stoikov, "The micro-price: a high-frequency estimator of future prices",
//! Quantitative Finance 18, 2018; this is its first term, the weighted mid). A position moves the
//! middle against itself, in proportion, like the reservation price of M. Avellaneda and S.
//! Stoikov ("High-frequency trading in a limit order book", Quantitative Finance 8, 2008), without
//! their model of risk.

use crate::strategy::own_orders::OwnOrder;
use crate::strategy::{Market, OrderIntent, Strategy};
use engine::{PRICE_TICKS_MAX, Quote, Side, Top};
use plan::tables::strategy::StrategyPlan;

/// Fractions of a tick.
const TICK: i64 = 1 << FRACTION_BITS;
const FRACTION_BITS: u32 = 10;

/// The strategy.
pub struct MarketMaker {
    quantity_lots: u64,
    position_lots_max: i64,
    /// In fractions of a tick, like the following fields.
    half_spread: i64,
    skew_max: i64,
    requote: i64,
    /// The position of `skew`.
    skewed_for_lots: i64,
    skew: i64,
}

impl MarketMaker {
    /// A market maker with quotes of that size.
    pub fn new(plan: &StrategyPlan, quantity_lots: u64) -> MarketMaker {
        let fractions = |ticks: f64| (ticks * TICK as f64).round() as i64;
        let max = quantity_lots.saturating_mul(plan.position_quotes_max);
        MarketMaker {
            quantity_lots,
            position_lots_max: i64::try_from(max).unwrap_or(i64::MAX),
            half_spread: fractions(plan.half_spread_ticks),
            skew_max: fractions(plan.skew_ticks),
            requote: fractions(plan.requote_ticks).max(1),
            skewed_for_lots: 0,
            skew: 0,
        }
    }

    /// How far the position moves the middle down. Calculated only when the position changes.
    fn skew(&mut self, position_lots: i64) -> i64 {
        if position_lots != self.skewed_for_lots {
            self.skewed_for_lots = position_lots;
            let max = self.position_lots_max;
            let position = i128::from(position_lots.clamp(-max, max));
            self.skew = (i128::from(self.skew_max) * position / i128::from(max)) as i64;
        }
        self.skew
    }

    /// The desired quote of a side; `None`: no quote.
    fn target(
        &self,
        side: Side,
        middle: i64,
        top: &(Quote, Quote),
        position_lots: i64,
    ) -> Option<i64> {
        let (bid, ask) = top;
        // There must be room for one more quote.
        let lots = self.quantity_lots.cast_signed();
        let (room, price) = match side {
            // Rounded away from the middle, and never so that it would trade.
            Side::Buy => (
                self.position_lots_max - position_lots,
                (middle - self.half_spread).div_euclid(TICK).min(ask.price_ticks - 1),
            ),
            Side::Sell => (
                self.position_lots_max + position_lots,
                (-(-(middle + self.half_spread)).div_euclid(TICK)).max(bid.price_ticks + 1),
            ),
        };
        (room >= lots && (1..=PRICE_TICKS_MAX).contains(&price)).then_some(price)
    }

    fn intent(
        &self,
        side: Side,
        target: Option<i64>,
        quote: Option<&OwnOrder>,
    ) -> Option<OrderIntent> {
        let (quantity_lots, number) = (self.quantity_lots, quote.map(|quote| quote.number));
        match (target, quote) {
            // One message at a time: the next tick decides again.
            (_, Some(quote)) if quote.pending.is_some() => None,
            (None, _) => number.map(|number| OrderIntent::Cancel { number }),
            (Some(price_ticks), None) => {
                Some(OrderIntent::New { side, price_ticks, quantity_lots, to_rest: true })
            }
            (Some(price_ticks), Some(quote)) => {
                let off = (price_ticks - quote.price_ticks).abs().saturating_mul(TICK);
                let number = quote.number;
                (off >= self.requote).then_some(OrderIntent::Amend {
                    number,
                    price_ticks,
                    quantity_lots,
                })
            }
        }
    }
}

/// In fractions of a tick; one division.
fn micro_price(bid: &Quote, ask: &Quote) -> i64 {
    // A common factor cancels out; 32 bits each leave room for the product.
    let larger = bid.quantity_lots.max(ask.quantity_lots);
    let shift = (u64::BITS - larger.leading_zeros()).saturating_sub(32);
    let (bids, asks) = (bid.quantity_lots >> shift, ask.quantity_lots >> shift);
    let weight = ((bids << FRACTION_BITS) / (bids + asks).max(1)).cast_signed();
    (bid.price_ticks << FRACTION_BITS) + (ask.price_ticks - bid.price_ticks) * weight
}

impl Strategy for MarketMaker {
    #[inline]
    fn tick(&mut self, market: &Market<'_>, intents: &mut Vec<OrderIntent>) {
        let position_lots = market.orders.position_lots();
        let targets = match market.top {
            Top { bid: Some(bid), ask: Some(ask) } => {
                let middle = micro_price(&bid, &ask) - self.skew(position_lots);
                let top = (bid, ask);
                [Side::Buy, Side::Sell].map(|side| self.target(side, middle, &top, position_lots))
            }
            // A market with one side has no middle.
            _ => [None; 2],
        };
        let [bid, ask] = [Side::Buy, Side::Sell]
            .map(|side| self.intent(side, targets[side as usize], market.orders.quote(side)));
        // The side that gives way goes first: a rising bid must not meet our own old offer.
        let rises = market.orders.quote(Side::Sell).is_some_and(|ask| {
            targets[Side::Buy as usize].is_some_and(|target| target >= ask.price_ticks)
        });
        let in_turn = if rises { [ask, bid] } else { [bid, ask] };
        intents.extend(in_turn.into_iter().flatten());
    }
}

#[cfg(test)]
#[path = "market_maker_tests.rs"]
mod tests;
