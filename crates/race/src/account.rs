//! The trades of one participant, and how they turned out.

use crate::market::HORIZONS_NS;
use engine::Side;

/// Cash, inventory and statistics of a participant. Money is in half ticks times lots.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Account {
    /// Received less paid, without fees.
    pub cash: i64,
    /// Bought less sold, lots.
    pub inventory: i64,
    /// Orders that reached the engine.
    pub orders: u64,
    /// Orders that the engine rejected.
    pub rejected: u64,
    /// Lots of those that it accepted.
    pub lots_sent: u64,
    /// Lots that traded on arrival.
    pub lots_taken: u64,
    /// Lots that traded while they rested.
    pub lots_made: u64,
    /// Made lots whose price the fair value had passed when they traded.
    pub lots_picked_off: u64,
    /// Orders that traded on arrival, at least in part.
    pub orders_taken: u64,
    /// Fills of resting orders.
    pub fills_made: u64,
    /// Sum over `fills_made` of the lots ahead when the order joined its queue.
    pub lots_ahead: u64,
    /// Sum over `fills_made` of the time from then to the fill, ns.
    pub resting_ns: u64,
    /// By horizon: gain, and lots for which it is known.
    pub marked: [MarkOuts; HORIZONS_NS.len()],
    /// Integral of the squared inventory over time, lots^2 ns.
    pub inventory_squared_ns: f64,
    /// When that was last brought up to date.
    integrated_to_ns: u64,
}

/// Mark-outs at one horizon.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MarkOuts {
    /// Sum of what fills gained, half ticks times lots.
    pub gain: i64,
    /// Their lots.
    pub lots: u64,
}

impl Account {
    /// Brings the integral over time up to `now_ns`; call it before the inventory changes.
    pub(crate) fn integrate(&mut self, now_ns: u64) {
        let elapsed = now_ns.saturating_sub(self.integrated_to_ns) as f64;
        let inventory = self.inventory as f64;
        self.inventory_squared_ns += inventory * inventory * elapsed;
        self.integrated_to_ns = now_ns;
    }

    /// Books a trade.
    pub(crate) fn trade(&mut self, side: Side, price_ticks: i64, lots: u64, now_ns: u64) {
        self.integrate(now_ns);
        let signed = signed(side, lots);
        self.inventory += signed;
        self.cash -= signed * 2 * price_ticks;
    }

    /// Cash and inventory at a fair value in half ticks.
    #[must_use]
    pub fn equity(&self, fair: i64) -> i64 {
        self.cash + self.inventory * fair
    }

    /// Whether an order keeps the inventory within `lots_max`, or brings it closer to 0.
    pub(crate) fn has_room(&self, side: Side, lots: u64, lots_max: u64) -> bool {
        let after = self.inventory + signed(side, lots);
        after.unsigned_abs() <= lots_max || after.abs() < self.inventory.abs()
    }
}

/// Lots with the sign of the inventory that they make.
pub(crate) fn signed(side: Side, lots: u64) -> i64 {
    match side {
        Side::Buy => lots as i64,
        Side::Sell => -(lots as i64),
    }
}
