//! Stage 3: from a market to order intents. Pure: no clock, no I/O, and the same market gives the
//! same intents.

pub mod market_maker;
pub(crate) mod outcome;
pub mod own_orders;

use crate::strategy::own_orders::OwnOrders;
use engine::{Side, Top};
use plan::tables::strategy::StrategyPlan;
use wire::request;

/// Limit on the order intents of one tick.
pub const INTENTS_MAX: usize = 8;

/// The market that a strategy sees.
pub struct Market<'a> {
    /// The best prices and quantities without the trader's own quotes.
    pub top: Top,
    /// The trader's orders.
    pub orders: &'a OwnOrders,
}

/// An action that a strategy requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrderIntent {
    /// A new order.
    New {
        /// Its side.
        side: Side,
        /// Its limit, ticks, at least 1.
        price_ticks: i64,
        /// Its quantity, lots, at least 1.
        quantity_lots: u64,
        /// True: post-only, never trades on arrival. False: IOC, trades at once or not at all.
        to_rest: bool,
    },
    /// Amend an open order.
    Amend {
        /// The order.
        number: u64,
        /// Its new limit, ticks.
        price_ticks: i64,
        /// The new open quantity, lots.
        quantity_lots: u64,
    },
    /// Cancel an open order.
    Cancel {
        /// The order.
        number: u64,
    },
}

/// A strategy.
pub trait Strategy: Send {
    /// Examines the market after a tick that changed it, and appends at most [`INTENTS_MAX`] order
    /// intents.
    fn tick(&mut self, market: &Market<'_>, intents: &mut Vec<OrderIntent>);
}

/// An IOC order for every n-th tick, priced so far behind the touch that it never trades: it is
/// answered at once, and leaves nothing in the book.
pub struct Trigger {
    every: u64,
    side: Side,
    distance_ticks: i64,
    quantity_lots: u64,
    ticks: u64,
}

impl Trigger {
    /// A trigger with orders of that size.
    pub fn new(plan: &StrategyPlan, quantity_lots: u64) -> Trigger {
        let side = match plan.parsed_side() {
            Some(request::Side::Sell) => Side::Sell,
            _ => Side::Buy,
        };
        Trigger {
            every: plan.every,
            side,
            distance_ticks: plan.distance_ticks,
            quantity_lots,
            ticks: 0,
        }
    }
}

impl Strategy for Trigger {
    #[inline]
    fn tick(&mut self, market: &Market<'_>, intents: &mut Vec<OrderIntent>) {
        self.ticks += 1;
        if self.ticks < self.every {
            return;
        }
        // If its own side is empty, it goes behind the other one: nothing there can trade with it.
        let (near, far) = match self.side {
            Side::Buy => (market.top.bid, market.top.ask),
            Side::Sell => (market.top.ask, market.top.bid),
        };
        let Some(touch) = near.or(far) else { return };
        self.ticks = 0;
        let price_ticks = match self.side {
            Side::Buy => (touch.price_ticks - self.distance_ticks).max(1),
            Side::Sell => (touch.price_ticks + self.distance_ticks).min(engine::PRICE_TICKS_MAX),
        };
        let (side, quantity_lots) = (self.side, self.quantity_lots);
        intents.push(OrderIntent::New { side, price_ticks, quantity_lots, to_rest: false });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::Quote;
    use expect_test::expect;

    fn top(bid: i64, ask: i64) -> Top {
        let quote =
            |price_ticks| (price_ticks > 0).then_some(Quote { price_ticks, quantity_lots: 5 });
        Top { bid: quote(bid), ask: quote(ask) }
    }

    fn intents(strategy: &mut dyn Strategy, top: Top) -> Vec<OrderIntent> {
        let mut intents = Vec::new();
        strategy.tick(&Market { top, orders: &OwnOrders::default() }, &mut intents);
        intents
    }

    #[test]
    fn the_trigger_fires_at_every_third_tick_far_behind_the_touch() {
        let plan = StrategyPlan { every: 3, distance_ticks: 90, ..StrategyPlan::default() };
        let mut trigger = Trigger::new(&plan, 7);
        let fired: Vec<usize> =
            (0..9).map(|tick| intents(&mut trigger, top(100 + tick, 110)).len()).collect();
        assert_eq!(fired, [0, 0, 1, 0, 0, 1, 0, 0, 1]);
        intents(&mut trigger, top(100, 110));
        intents(&mut trigger, top(100, 110));
        expect![[r#"
            [
                New {
                    side: Buy,
                    price_ticks: 10,
                    quantity_lots: 7,
                    to_rest: false,
                },
            ]
        "#]]
        .assert_debug_eq(&intents(&mut trigger, top(100, 110)));
    }

    #[test]
    fn the_trigger_never_names_a_price_that_there_is_not() {
        for (side, price) in [("BUY", 1), ("SELL", engine::PRICE_TICKS_MAX)] {
            let plan = StrategyPlan {
                side: side.into(),
                distance_ticks: 1_000_000_000,
                ..StrategyPlan::default()
            };
            let mut trigger = Trigger::new(&plan, 1);
            let far = engine::PRICE_TICKS_MAX - 1;
            let top = if side == "BUY" { top(5, 6) } else { top(far, far + 1) };
            let fired = intents(&mut trigger, top);
            assert!(
                matches!(fired[..], [OrderIntent::New { price_ticks, .. }] if price_ticks == price)
            );
        }
    }

    #[test]
    fn the_trigger_waits_for_a_market() {
        let mut trigger = Trigger::new(&StrategyPlan::default(), 1);
        assert_eq!(intents(&mut trigger, top(0, 0)), []);
        let one_sided = intents(&mut trigger, top(0, 20_000));
        assert!(matches!(one_sided[..], [OrderIntent::New { price_ticks: 10_000, .. }]));
    }
}
