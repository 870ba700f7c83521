//! `[strategy]` of a scenario: how the trader answers ticks.

use crate::range::{OutOfRange, require, within};
use serde::{Deserialize, Serialize};
use wire::decimal::Decimal;
use wire::request::Side;

/// The strategy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StrategyName {
    /// An order that never trades for every n-th tick: for clean measurements.
    #[default]
    Trigger,
    /// Two quotes around the micro-price, skewed by the position.
    MarketMaking,
}

/// `[strategy]` of a scenario. Keys that the named strategy does not use are ignored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StrategyPlan {
    /// The strategy.
    pub name: StrategyName,
    /// `trigger`: every n-th tick that changed a book leads to an order.
    pub every: u64,
    /// `trigger`: `BUY` or `SELL`.
    pub side: String,
    /// `trigger`: distance of the order behind the touch of its side, ticks.
    pub distance_ticks: i64,
    /// Size of an order or quote, decimal text.
    pub amount: String,
    /// `market-making`: distance of each quote from the middle, ticks.
    pub half_spread_ticks: f64,
    /// `market-making`: how far a full position moves the middle against itself, ticks.
    pub skew_ticks: f64,
    /// `market-making`: position at which its side has no quote any more, in quotes. Fills while a
    /// message is in flight are noticed later: the binding limit is the risk profile's
    /// `position_max`.
    pub position_quotes_max: u64,
    /// `market-making`: distance from its target at which a quote is moved, ticks.
    pub requote_ticks: f64,
    /// While no tick arrives, the trader runs its stages with made-up ticks and prefetches its
    /// book, so that the next tick finds both in the caches. Only if it spins.
    pub rehearse: bool,
}

impl Default for StrategyPlan {
    fn default() -> StrategyPlan {
        StrategyPlan {
            name: StrategyName::Trigger,
            every: 1,
            side: "BUY".to_owned(),
            distance_ticks: 10_000,
            amount: "0.01".to_owned(),
            half_spread_ticks: 1.0,
            skew_ticks: 2.0,
            position_quotes_max: 10,
            requote_ticks: 1.0,
            rehearse: true,
        }
    }
}

impl StrategyPlan {
    /// The side, if `side` is one.
    pub fn parsed_side(&self) -> Option<Side> {
        [Side::Buy, Side::Sell].into_iter().find(|side| side.name() == self.side)
    }
}

impl StrategyPlan {
    /// Checks every key against its range.
    ///
    /// # Errors
    /// The first key that is out of range, with the values that are allowed.
    pub fn check(&self) -> Result<(), OutOfRange> {
        let why = "an order for every n-th tick, n from {}";
        within("strategy.every", self.every, 1..=1_000_000_000, why)?;
        let side_is_one = self.parsed_side().is_some();
        require(side_is_one, "strategy.side", &self.side, "a side is BUY or SELL")?;
        let why = "{}: an order at the touch would trade";
        within("strategy.distance_ticks", self.distance_ticks, 1..=1_000_000_000, why)?;
        let amount = Decimal::parse(&self.amount).is_ok_and(|amount| amount > Decimal::ZERO);
        let why = "write a number above 0, such as \"0.01\"";
        require(amount, "strategy.amount", &self.amount, why)?;
        within(
            "strategy.half_spread_ticks",
            self.half_spread_ticks,
            0.0..=1e6,
            "must be {} ticks",
        )?;
        within("strategy.skew_ticks", self.skew_ticks, 0.0..=1e6, "must be {} ticks")?;
        within("strategy.requote_ticks", self.requote_ticks, 0.001..=1e6, "must be {} ticks")?;
        let quotes = self.position_quotes_max;
        within("strategy.position_quotes_max", quotes, 1..=1_000_000, "must be {}")
    }
}
