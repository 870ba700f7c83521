//! How well an order's place in its queue can be estimated from the totals at its price, which is
//! all that most backtests have. A recorded day has each order, so the truth is known.
//!
//! Each order of the day that joins the best price is followed until it ends. Its estimated place
//! changes with the totals; its fills in the day say how good that is.

use crate::background::Background;
use engine::depth::{Depth, RestingOrder};
use engine::{Command, DoneReason, Engine, EngineLimits, Event, Input, Side};
use record::race::{QueueCheck, QueueEstimator};
use std::collections::BTreeMap;

/// Where an estimator puts lots that leave the queue without a trade.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leaving {
    /// They were behind the order as long as that is possible.
    Behind,
    /// They were anywhere with the same probability.
    Anywhere,
    /// They were ahead of the order.
    Ahead,
}

const ESTIMATORS: [(Leaving, &str); 3] =
    [(Leaving::Behind, "behind"), (Leaving::Anywhere, "anywhere"), (Leaving::Ahead, "ahead")];

/// An order's place by one estimator.
#[derive(Clone, Copy, Debug)]
struct QueuePlace {
    leaving: Leaving,
    lots_ahead: f64,
    /// Whether it would have traded by now.
    has_traded: bool,
}

impl QueuePlace {
    /// A trade at the order's price: it uses up the lots ahead, then the order. `others` lots of
    /// other orders are left.
    fn trade(&mut self, lots: f64, others: f64) {
        self.has_traded |= lots > self.lots_ahead;
        self.lots_ahead = (self.lots_ahead - lots).clamp(0.0, others.max(0.0));
    }

    /// Lots of other orders leave a queue in which there are `others` lots before.
    fn leave(&mut self, lots: f64, others: f64) {
        let left = match self.leaving {
            Leaving::Behind => self.lots_ahead,
            Leaving::Anywhere => self.lots_ahead * (1.0 - lots / others),
            Leaving::Ahead => self.lots_ahead - lots,
        };
        // No more can be ahead than there is.
        self.lots_ahead = left.clamp(0.0, (others - lots).max(0.0));
    }
}

/// An order that is followed.
#[derive(Clone, Debug)]
struct FollowedOrder {
    order_id: u64,
    places: [QueuePlace; ESTIMATORS.len()],
    /// Whether it has traded in the day.
    has_traded: bool,
}

/// The outcome of the orders by one estimator.
#[derive(Clone, Debug, Default)]
struct Tally {
    missed: u64,
    invented: u64,
    early: u64,
    /// Estimated less true lots ahead, at the first trade or at the end without one.
    errors: Vec<f64>,
}

/// A walk through the day.
struct Walk {
    depth: Depth,
    followed: BTreeMap<(bool, i64), Vec<FollowedOrder>>,
    tallies: [Tally; ESTIMATORS.len()],
    orders: u64,
    traded: u64,
    lots_ahead_at_start: Vec<f64>,
    has_begun: bool,
}

/// Follows the orders of a day.
pub(crate) fn check(day: &Background, name: &str) -> QueueCheck {
    let limits = flow::Settings::limits_of_day();
    let mut engine = Engine::new(1, limits);
    let mut walk = Walk::new(limits);
    let script = day.script();
    for order in script.start() {
        let input = Input { time_ns: 0, command: Command::New(*order) };
        engine.apply(&input, &mut |event| walk.event(&event));
    }
    walk.has_begun = true;
    for index in 0..script.len() {
        let time_ns = script.offset_ns(index).unwrap_or(0);
        let input = Input { time_ns, command: script.command(index) };
        engine.apply(&input, &mut |event| walk.event(&event));
    }
    walk.result(name, day.duration_ns() as f64 / 1e9)
}

impl Walk {
    fn new(limits: EngineLimits) -> Walk {
        Walk {
            depth: Depth::new(limits.open_orders_max, limits.price_levels_max),
            followed: BTreeMap::new(),
            tallies: Default::default(),
            orders: 0,
            traded: 0,
            lots_ahead_at_start: Vec::new(),
            has_begun: false,
        }
    }

    fn event(&mut self, event: &Event) {
        match *event {
            Event::Booked { order, side, price_ticks, visible_lots: quantity_lots, .. } => {
                let order_id = order.order_id;
                self.join(RestingOrder { order_id, side, price_ticks, quantity_lots });
            }
            Event::Trade { price_ticks, quantity_lots, aggressor_side, resting, .. } => {
                let side = aggressor_side.opposite();
                self.trade(side, price_ticks, quantity_lots as f64, resting.order_id);
                if resting.remaining_lots > 0 {
                    self.depth.set_quantity(resting.order_id, resting.remaining_lots);
                }
            }
            Event::Amended { order, kept_place: true, visible_lots, .. } => {
                if let Some(before) = self.depth.order(order.order_id) {
                    let lots = before.quantity_lots.saturating_sub(visible_lots);
                    self.leave(&before, lots as f64);
                    self.depth.set_quantity(order.order_id, visible_lots);
                }
            }
            Event::Amended { order, kept_place: false, .. } => self.end(order.order_id, false),
            Event::Done { order, reason, .. } => {
                self.end(order.order_id, reason == DoneReason::Filled);
            }
            _ => {}
        }
    }

    fn join(&mut self, order: RestingOrder) {
        let (ahead, _) = self.depth.level(order.side, order.price_ticks);
        // The engine has the same limits and has taken it.
        if self.depth.add(&order).is_err() {
            return;
        }
        let top = self.depth.top();
        let best = if order.side == Side::Buy { top.bid } else { top.ask };
        if !self.has_begun || best.is_none_or(|best| best.price_ticks != order.price_ticks) {
            return;
        }
        self.orders += 1;
        self.lots_ahead_at_start.push(ahead as f64);
        let place =
            |(leaving, _)| QueuePlace { leaving, lots_ahead: ahead as f64, has_traded: false };
        self.followed.entry(key(&order)).or_default().push(FollowedOrder {
            order_id: order.order_id,
            places: ESTIMATORS.map(place),
            has_traded: false,
        });
    }

    fn trade(&mut self, side: Side, price_ticks: i64, lots: f64, resting_id: u64) {
        let (total, _) = self.depth.level(side, price_ticks);
        let queue = self.followed.get_mut(&(side == Side::Buy, price_ticks));
        for one in queue.into_iter().flatten() {
            let own = self.depth.order(one.order_id).map_or(0, |own| own.quantity_lots);
            let others = (total - own) as f64;
            let is_first = one.order_id == resting_id && !one.has_traded;
            for (tally, place) in self.tallies.iter_mut().zip(&mut one.places) {
                if is_first {
                    tally.errors.push(place.lots_ahead);
                    tally.early += u64::from(place.has_traded);
                }
                place.trade(lots, if one.order_id == resting_id { others } else { others - lots });
                if is_first {
                    tally.missed += u64::from(!place.has_traded);
                }
            }
            if is_first {
                self.traded += 1;
                one.has_traded = true;
            }
        }
    }

    /// Lots of an order leave without a trade: the others at its price may have come forward.
    fn leave(&mut self, order: &RestingOrder, lots: f64) {
        let (total, _) = self.depth.level(order.side, order.price_ticks);
        for one in self.followed.get_mut(&key(order)).into_iter().flatten() {
            let own = self.depth.order(one.order_id);
            if let Some(own) = own.filter(|own| own.order_id != order.order_id) {
                let others = (total - own.quantity_lots) as f64;
                one.places.iter_mut().for_each(|place| place.leave(lots, others));
            }
        }
    }

    fn end(&mut self, order_id: u64, is_filled: bool) {
        // An order that never rested is in no queue.
        let Some(order) = self.depth.order(order_id) else { return };
        if let Some(followed) = self.followed.get_mut(&key(&order))
            && let Some(at) = followed.iter().position(|one| one.order_id == order_id)
        {
            let one = followed.remove(at);
            if !one.has_traded {
                let truth = self.depth.ahead_of(order_id).map_or(0.0, |(_, lots)| lots as f64);
                for (tally, place) in self.tallies.iter_mut().zip(one.places) {
                    tally.errors.push(place.lots_ahead - truth);
                    tally.invented += u64::from(place.has_traded);
                }
            }
        }
        if !is_filled {
            self.leave(&order, order.quantity_lots as f64);
        }
        self.depth.remove(order_id);
    }

    fn result(mut self, name: &str, seconds: f64) -> QueueCheck {
        let estimators = self.tallies.iter_mut().zip(ESTIMATORS).map(|(tally, (_, name))| {
            let bias_lots = stats::mean::mean(&tally.errors);
            let mut sizes: Vec<f64> = tally.errors.iter().map(|error| error.abs()).collect();
            sizes.sort_unstable_by(f64::total_cmp);
            QueueEstimator {
                name: name.to_owned(),
                missed: tally.missed,
                invented: tally.invented,
                early: tally.early,
                bias_lots,
                error_lots_p50: rank(&sizes, 0.5),
                error_lots_p90: rank(&sizes, 0.9),
            }
        });
        QueueCheck {
            day: name.to_owned(),
            seconds,
            orders: self.orders,
            traded: self.traded,
            lots_ahead: stats::mean::mean(&self.lots_ahead_at_start),
            estimators: estimators.collect(),
        }
    }
}

/// The queue of an order: whether it buys, and its price.
fn key(order: &RestingOrder) -> (bool, i64) {
    (order.side == Side::Buy, order.price_ticks)
}

/// A quantile of ascending values.
fn rank(sorted: &[f64], quantile: f64) -> Option<f64> {
    let rank = (quantile * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.max(1) - 1).copied()
}

#[cfg(test)]
#[path = "queue_tests.rs"]
mod tests;
