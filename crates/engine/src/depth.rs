//! A copy of a book, kept from its public events: the same levels and queues as the engine's,
//! without owners, hidden quantity or matching.
//!
//! Kept order by order or, if only levels are known, level by level: a caller of
//! [`Depth::set_level`] adds no orders.

use std::fmt;

use crate::book::levels::Levels;
use crate::book::queue::{Handle, Order, OrderSlab, Queue};
use crate::command::{NewOrder, Side};
use crate::engine::{Quote, Top};
use crate::open_orders::index::OrderIndex;

/// A resting order as the book shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RestingOrder {
    /// The order.
    pub order_id: u64,
    /// Its side.
    pub side: Side,
    /// Its price, in ticks.
    pub price_ticks: i64,
    /// Its shown quantity, in lots.
    pub quantity_lots: u64,
}

/// Why [`Depth`] rejected a change. It is then unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DepthError {
    /// An order with this id already rests.
    Duplicate,
    /// The maximum number of orders is reached.
    OrdersMax,
    /// The maximum number of the side's prices is reached.
    LevelsMax,
}

impl fmt::Display for DepthError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DepthError::Duplicate => "an order with this id already rests",
            DepthError::OrdersMax => "orders_max orders rest: make the book larger",
            DepthError::LevelsMax => "the side has levels_max prices: make the book larger",
        })
    }
}

impl std::error::Error for DepthError {}

/// The public view of one instrument's book. Allocates only when it is made.
#[derive(Debug)]
pub struct Depth {
    sides: Sides,
    slab: OrderSlab,
    ids: OrderIndex,
    /// Highest slot that was ever used.
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
    /// A book for `orders_max` orders, at most [`crate::OPEN_ORDERS_MAX`], and `levels_max` prices
    /// per side.
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

    /// Adds a resting order, last at its price. The price must be within 1 and
    /// [`crate::PRICE_TICKS_MAX`], the quantity within 1 and [`crate::QUANTITY_LOTS_MAX`].
    ///
    /// # Errors
    /// If the order exists, or there is no room.
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

    /// A resting order.
    #[must_use]
    #[inline]
    pub fn order(&self, order_id: u64) -> Option<RestingOrder> {
        let order = self.slab.get(self.find(order_id)?);
        Some(self.shown(order))
    }

    /// Sets an order's shown quantity, at least 1 lot; it keeps its place. Returns the order as it
    /// was, or `None` if it does not rest.
    #[inline]
    pub fn set_quantity(&mut self, order_id: u64, quantity_lots: u64) -> Option<RestingOrder> {
        let handle = self.find(order_id)?;
        let Order { side, level, .. } = *self.slab.get(handle);
        let before = self.shown(self.slab.get(handle));
        let levels = self.sides.get_mut(side);
        self.slab.set_visible(&mut levels.level_mut(level).queue, handle, quantity_lots);
        Some(before)
    }

    /// Removes an order. Returns it, or `None` if it does not rest.
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

    /// Sets the total at a price, for books without orders; 0 lots remove the price.
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

    /// Asks the processor to fetch the memory that changes of `count` orders would read: the orders
    /// from `place` on in memory. Returns the next place; 0 after the last. While it waits for the
    /// next change, a caller can so keep a book in the caches that its other work would evict.
    #[inline]
    pub fn prefetch(&self, place: u32, count: u32) -> u32 {
        let end = place.saturating_add(count).min(self.used);
        // Handles start at 1.
        for handle in (place..end).filter_map(|place| Handle::new(place + 1)) {
            let order = self.slab.get(handle);
            self.ids.prefetch(order.order_id);
            self.sides.get(order.side).prefetch(order.level);
        }
        if end == self.used { 0 } else { end }
    }

    /// Removes everything.
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

    /// The total at a price: quantity in lots, number of orders.
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

    /// Number of resting orders.
    #[must_use]
    pub fn orders_open(&self) -> u32 {
        self.slab.open()
    }

    /// The orders that trade before this one at its price: their number and their shown lots. Takes
    /// time proportional to their number.
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

    /// Each round visits every place that was ever used, and changes nothing.
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
        // An invalid place, and exactly as many as there are.
        assert_eq!((depth.prefetch(u32::MAX, u32::MAX), depth.prefetch(3, u32::MAX)), (0, 0));
        assert_eq!(depth.orders_open(), 5);
    }
}
