//! A copy of a book, kept from its public events: the same levels and queues as the engine's
//! own, without owners, hidden quantity or matching.
//!
//! Order by order, or, where only levels are known, level by level: who calls [`Depth::set_level`]
//! adds no orders.

use std::fmt;

use crate::book::levels::Levels;
use crate::book::queue::{Handle, Order, OrderSlab, Queue};
use crate::command::{NewOrder, Side};
use crate::engine::{Quote, Top};
use crate::open_orders::index::OrderIndex;

/// An order as the book shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RestingOrder {
    /// The order.
    pub order_id: u64,
    /// The side it rests on.
    pub side: Side,
    /// The price it rests at, in ticks.
    pub price_ticks: i64,
    /// How much it shows, in lots.
    pub quantity_lots: u64,
}

/// Why [`Depth`] did not take something in. Nothing has changed then.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DepthError {
    /// An order of this id rests already.
    Duplicate,
    /// As many orders rest as it was made for.
    OrdersMax,
    /// The side has as many prices as it was made for.
    LevelsMax,
}

impl fmt::Display for DepthError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DepthError::Duplicate => "an order of this id rests already",
            DepthError::OrdersMax => "orders_max orders rest: make the book larger",
            DepthError::LevelsMax => "the side has levels_max prices: make the book larger",
        })
    }
}

impl std::error::Error for DepthError {}

/// One instrument's book as it shows itself. Allocates when it is made, and then never.
#[derive(Debug)]
pub struct Depth {
    sides: Sides,
    slab: OrderSlab,
    ids: OrderIndex,
    /// The highest place in the slab that was ever in use.
    used: u32,
}

#[derive(Debug)]
struct Sides {
    bids: Levels,
    asks: Levels,
}

impl Sides {
    #[inline]
    fn get(&self, side: Side) -> &Levels {
        match side {
            Side::Buy => &self.bids,
            Side::Sell => &self.asks,
        }
    }

    #[inline]
    fn get_mut(&mut self, side: Side) -> &mut Levels {
        match side {
            Side::Buy => &mut self.bids,
            Side::Sell => &mut self.asks,
        }
    }
}

impl Depth {
    /// Room for `orders_max` orders, at most [`crate::OPEN_ORDERS_MAX`], and `levels_max` prices a
    /// side.
    #[must_use]
    pub fn new(orders_max: u32, levels_max: u32) -> Depth {
        let orders_max = orders_max.min(crate::OPEN_ORDERS_MAX);
        Depth {
            sides: Sides {
                bids: Levels::new(Side::Buy, levels_max),
                asks: Levels::new(Side::Sell, levels_max),
            },
            slab: OrderSlab::new(orders_max),
            ids: OrderIndex::new(orders_max),
            used: 0,
        }
    }

    /// An order rests, last at its price. The price is within 1 and [`crate::PRICE_TICKS_MAX`],
    /// the quantity within 1 and [`crate::QUANTITY_LOTS_MAX`].
    ///
    /// # Errors
    /// The entry exists already, or there is no room for it.
    #[inline]
    pub fn add(&mut self, order: &RestingOrder) -> Result<(), DepthError> {
        let RestingOrder { order_id, side, price_ticks, quantity_lots } = *order;
        if self.find(order_id).is_some() {
            return Err(DepthError::Duplicate);
        }
        if self.slab.is_full() {
            return Err(DepthError::OrdersMax);
        }
        let levels = self.sides.get_mut(side);
        let level = levels.find_or_insert(price_ticks).ok_or(DepthError::LevelsMax)?;
        let new = NewOrder { order_id, ..NewOrder::limit(side, price_ticks, quantity_lots) };
        let mut order = Order::of(&new, quantity_lots);
        order.level = level;
        let queue = &mut levels.level_mut(level).queue;
        let handle = self.slab.push_last(queue, order).ok_or(DepthError::OrdersMax)?;
        self.used = self.used.max(handle.get());
        self.ids.insert(order_id, handle);
        Ok(())
    }

    /// An order that rests.
    #[must_use]
    #[inline]
    pub fn order(&self, order_id: u64) -> Option<RestingOrder> {
        let order = self.slab.get(self.find(order_id)?);
        Some(self.shown(order))
    }

    /// What an order shows from now on, at its place: at least 1 lot. Gives it as it was before,
    /// or `None` if no order of this id rests.
    #[inline]
    pub fn set_quantity(&mut self, order_id: u64, quantity_lots: u64) -> Option<RestingOrder> {
        let handle = self.find(order_id)?;
        let Order { side, level, .. } = *self.slab.get(handle);
        let before = self.shown(self.slab.get(handle));
        let levels = self.sides.get_mut(side);
        self.slab.set_visible(&mut levels.level_mut(level).queue, handle, quantity_lots);
        Some(before)
    }

    /// An order rests no longer. Gives it as it was, or `None` if no order of this id rests.
    #[inline]
    pub fn remove(&mut self, order_id: u64) -> Option<RestingOrder> {
        let handle = self.find(order_id)?;
        self.ids.remove(order_id, handle);
        let shown = self.shown(self.slab.get(handle));
        let Order { side, level, .. } = *self.slab.get(handle);
        let levels = self.sides.get_mut(side);
        let queue = &mut levels.level_mut(level).queue;
        self.slab.remove(queue, handle);
        if queue.orders() == 0 {
            levels.remove(level);
        }
        Some(shown)
    }

    /// All that is shown at a price from now on, where orders are not known; 0 lots take the price
    /// away.
    ///
    /// # Errors
    /// [`DepthError::LevelsMax`].
    #[inline]
    pub fn set_level(
        &mut self,
        side: Side,
        price_ticks: i64,
        quantity_lots: u64,
        orders: u32,
    ) -> Result<(), DepthError> {
        let levels = self.sides.get_mut(side);
        if quantity_lots == 0 {
            if let Some(level) = levels.find(price_ticks) {
                levels.remove(level);
            }
            return Ok(());
        }
        let level = levels.find_or_insert(price_ticks).ok_or(DepthError::LevelsMax)?;
        levels.level_mut(level).queue = Queue::of_sums(quantity_lots, orders);
        Ok(())
    }

    /// Asks the processor to fetch what changes of `count` of the orders would read: those that
    /// lie behind `place` in memory. Gives the place to go on from; after the last it is 0. A
    /// caller that waits for the next change can so keep a book in the caches that is larger than
    /// its other work leaves of them.
    #[inline]
    pub fn prefetch(&self, place: u32, count: u32) -> u32 {
        let end = place.saturating_add(count).min(self.used);
        // Handles count from 1.
        for handle in (place..end).filter_map(|place| Handle::new(place + 1)) {
            let order = self.slab.get(handle);
            self.ids.prefetch(order.order_id);
            self.sides.get(order.side).prefetch(order.level);
        }
        if end == self.used { 0 } else { end }
    }

    /// Takes everything out.
    pub fn clear(&mut self) {
        for levels in [&mut self.sides.bids, &mut self.sides.asks] {
            while let Some(best) = levels.best() {
                let queue = &mut levels.level_mut(best).queue;
                while let Some(first) = queue.first() {
                    let order = self.slab.remove(queue, first);
                    self.ids.remove(order.order_id, first);
                }
                levels.remove(best);
            }
        }
    }

    /// The best prices.
    #[must_use]
    #[inline]
    pub fn top(&self) -> Top {
        let best = |levels: &Levels| {
            let level = levels.level(levels.best()?);
            let quantity_lots = level.queue.visible_lots();
            Some(Quote { price_ticks: level.price_ticks, quantity_lots })
        };
        Top { bid: best(&self.sides.bids), ask: best(&self.sides.asks) }
    }

    /// The total shown at a price: quantity in lots, number of orders.
    #[must_use]
    #[inline]
    pub fn level(&self, side: Side, price_ticks: i64) -> (u64, u32) {
        let levels = self.sides.get(side);
        levels.find(price_ticks).map_or((0, 0), |level| {
            let queue = &levels.level(level).queue;
            (queue.visible_lots(), queue.orders())
        })
    }

    /// One side, best first: price in ticks, quantity in lots, number of orders.
    pub fn levels(&self, side: Side) -> impl Iterator<Item = (i64, u64, u32)> + '_ {
        let levels = self.sides.get(side).best_first();
        levels.map(|level| (level.price_ticks, level.queue.visible_lots(), level.queue.orders()))
    }

    /// The orders of one side, in price-time priority.
    pub fn orders(&self, side: Side) -> impl Iterator<Item = RestingOrder> + '_ {
        self.sides
            .get(side)
            .best_first()
            .flat_map(|level| self.slab.in_queue(&level.queue).map(|order| self.shown(order)))
    }

    /// How many orders rest.
    #[must_use]
    pub fn orders_open(&self) -> u32 {
        self.slab.open()
    }

    /// What trades before an order at its price: orders, and the lots that they show. It takes a
    /// step for each of those orders.
    #[must_use]
    pub fn ahead_of(&self, order_id: u64) -> Option<(u32, u64)> {
        let mut handle = self.find(order_id)?;
        let (mut orders, mut lots) = (0, 0);
        while let Some(before) = self.slab.before(handle) {
            (orders, lots) = (orders + 1, lots + self.slab.get(before).visible_lots);
            handle = before;
        }
        Some((orders, lots))
    }

    #[inline]
    fn find(&self, order_id: u64) -> Option<Handle> {
        self.ids.find(order_id, |handle| self.slab.get(handle).order_id == order_id)
    }

    #[inline]
    fn shown(&self, order: &Order) -> RestingOrder {
        RestingOrder {
            order_id: order.order_id,
            side: order.side,
            price_ticks: self.sides.get(order.side).level(order.level).price_ticks,
            quantity_lots: order.visible_lots,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every place that was ever in use is come by once a round, and nothing is changed.
    #[test]
    fn fetching_goes_round() {
        let mut depth = Depth::new(100, 100);
        assert_eq!(depth.prefetch(0, 10), 0);
        for order_id in 1..=25 {
            let (side, price_ticks, quantity_lots) = (Side::Buy, order_id as i64, 1);
            depth.add(&RestingOrder { order_id, side, price_ticks, quantity_lots }).unwrap();
        }
        assert!((1..=20).all(|order_id| depth.remove(order_id).is_some()));
        let mut places = vec![0];
        for _ in 0..4 {
            places.push(depth.prefetch(*places.last().unwrap(), 10));
        }
        assert_eq!(places, [0, 10, 20, 0, 10]);
        // A place that is none, and as many as there are.
        assert_eq!((depth.prefetch(u32::MAX, u32::MAX), depth.prefetch(3, u32::MAX)), (0, 0));
        assert_eq!(depth.orders_open(), 5);
    }
}
