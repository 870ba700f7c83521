//! Queues of orders at a price: first in, first out, in one slab for all books, linked by index.
//!
//! Queues of pointers or one vector per level would allocate, and a cancel in mid-queue would be a
//! search. Here a cancel is two writes, an order is one cache line, and a freed slot is the next to
//! be used, while it is still in the cache.

use std::num::NonZeroU32;

use crate::command::{NewOrder, OrderType, PostOnly, Side, TimeInForce};
use crate::event::Party;
use crate::memory::filled;

/// An order's slot in the slab. Never 0, so that an `Option<Handle>` takes four bytes.
pub(crate) type Handle = NonZeroU32;

/// A resting order, or a waiting stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(align(64))]
pub(crate) struct Order {
    pub order_id: u64,
    /// Its shown quantity. For a stop, all of it.
    pub visible_lots: u64,
    /// An iceberg order's hidden quantity.
    pub hidden_lots: u64,
    /// The display quantity at entry, 0 for all. For a waiting stop, its limit in ticks; 0 for a
    /// market order.
    pub display_lots_or_limit: u64,
    pub account: u32,
    pub tag: u32,
    /// Index of its level in the `Levels` of its side, so that a cancel does not search for the
    /// price.
    pub level: u32,
    /// Position of its date in `Expiries`, from 1; 0 is none.
    pub expiry: u32,
    previous: Option<Handle>,
    /// The next order in the queue, or, in a free slot, the next free slot.
    next: Option<Handle>,
    pub instrument: u16,
    pub side: Side,
    pub time_in_force: TimeInForce,
    pub post_only: PostOnly,
    /// Whether it is a stop that is not yet in the book.
    pub waits: bool,
}

const _: () = assert!(size_of::<Order>() == 64);

impl Order {
    /// An order that will rest with `remaining_lots`, or a stop that will wait. Its level is not
    /// yet set.
    #[inline]
    pub fn of(new: &NewOrder, remaining_lots: u64) -> Order {
        let waits = new.stop_ticks != 0;
        let shown = if new.display_lots == 0 { remaining_lots } else { new.display_lots };
        let visible_lots = shown.min(remaining_lots);
        Order {
            order_id: new.order_id,
            visible_lots,
            hidden_lots: remaining_lots - visible_lots,
            display_lots_or_limit: match waits {
                true => new.price_ticks.unsigned_abs(),
                false => new.display_lots,
            },
            account: new.account,
            tag: new.tag,
            level: 0,
            expiry: 0,
            previous: None,
            next: None,
            instrument: new.instrument,
            side: new.side,
            time_in_force: new.time_in_force,
            post_only: new.post_only,
            waits,
        }
    }

    /// The order as it would be entered, given the price of its level and its date.
    pub fn as_new(&self, level_ticks: i64, expires_ns: u64) -> NewOrder {
        // Within PRICE_TICKS_MAX: it was an `i64` in `of`.
        let limit_ticks = self.display_lots_or_limit as i64;
        let (price_ticks, stop_ticks) = match self.waits {
            true => (limit_ticks, level_ticks),
            false => (level_ticks, 0),
        };
        NewOrder {
            order_id: self.order_id,
            account: self.account,
            tag: self.tag,
            instrument: self.instrument,
            side: self.side,
            order_type: if price_ticks == 0 { OrderType::Market } else { OrderType::Limit },
            time_in_force: self.time_in_force,
            post_only: self.post_only,
            price_ticks,
            quantity_lots: self.remaining_lots(),
            display_lots: if self.waits { 0 } else { self.display_lots_or_limit },
            stop_ticks,
            expires_ns,
        }
    }

    #[inline]
    pub fn remaining_lots(&self) -> u64 {
        self.visible_lots + self.hidden_lots
    }

    #[inline]
    pub fn party(&self) -> Party {
        Party {
            order_id: self.order_id,
            account: self.account,
            tag: self.tag,
            remaining_lots: self.remaining_lots(),
        }
    }
}

/// The queue at one price.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Queue {
    first: Option<Handle>,
    last: Option<Handle>,
    orders: u32,
    visible_lots: u64,
}

impl Queue {
    pub const EMPTY: Queue = Queue { first: None, last: None, orders: 0, visible_lots: 0 };

    /// The order that trades next.
    #[inline]
    pub fn first(&self) -> Option<Handle> {
        self.first
    }

    #[inline]
    pub fn orders(&self) -> u32 {
        self.orders
    }

    /// The sum of its orders' shown quantities.
    #[inline]
    pub fn visible_lots(&self) -> u64 {
        self.visible_lots
    }

    /// A queue with known sums and without orders.
    #[inline]
    pub fn of_sums(visible_lots: u64, orders: u32) -> Queue {
        Queue { visible_lots, orders, ..Queue::EMPTY }
    }
}

/// All open orders.
#[derive(Debug)]
pub(crate) struct OrderSlab {
    /// Slot 0 is never used: a handle is an index.
    slots: Vec<Order>,
    free: Option<Handle>,
    open: u32,
}

impl OrderSlab {
    /// A slab for `capacity` orders, below `u32::MAX`.
    pub fn new(capacity: u32) -> OrderSlab {
        let empty = Order::of(&NewOrder::limit(Side::Buy, 0, 0), 0);
        let mut slots = filled(capacity as usize + 1, empty);
        for (index, slot) in slots.iter_mut().enumerate() {
            slot.next =
                if index < capacity as usize { Handle::new(index as u32 + 1) } else { None };
        }
        OrderSlab { slots, free: Handle::new(1).filter(|_| capacity > 0), open: 0 }
    }

    #[inline]
    pub fn open(&self) -> u32 {
        self.open
    }

    #[inline]
    pub fn is_full(&self) -> bool {
        self.free.is_none()
    }

    #[inline]
    pub fn get(&self, handle: Handle) -> &Order {
        &self.slots[handle.get() as usize]
    }

    #[inline]
    pub fn get_mut(&mut self, handle: Handle) -> &mut Order {
        &mut self.slots[handle.get() as usize]
    }

    /// Appends an order to a queue; `None` if the slab is full.
    #[inline]
    pub fn push_last(&mut self, queue: &mut Queue, order: Order) -> Option<Handle> {
        let handle = self.free?;
        let slot = &mut self.slots[handle.get() as usize];
        self.free = slot.next;
        *slot = order;
        self.open += 1;
        self.link_last(queue, handle);
        Some(handle)
    }

    /// Removes an order from its queue, at any position.
    #[inline]
    pub fn remove(&mut self, queue: &mut Queue, handle: Handle) -> Order {
        self.unlink(queue, handle);
        let slot = &mut self.slots[handle.get() as usize];
        let order = *slot;
        slot.next = self.free;
        self.free = Some(handle);
        self.open -= 1;
        order
    }

    /// Reduces an order's shown quantity by `quantity_lots`, at most all of it. The order keeps its
    /// place. Returns the order as it is afterwards.
    #[inline]
    pub fn reduce(&mut self, queue: &mut Queue, handle: Handle, quantity_lots: u64) -> Party {
        let order = &mut self.slots[handle.get() as usize];
        order.visible_lots -= quantity_lots;
        queue.visible_lots -= quantity_lots;
        order.party()
    }

    /// Sets an order's remaining quantity; it keeps its place. A reduction first takes hidden
    /// quantity. Only a waiting stop may grow.
    pub fn set_remaining(&mut self, queue: &mut Queue, handle: Handle, remaining_lots: u64) {
        let order = &mut self.slots[handle.get() as usize];
        queue.visible_lots -= order.visible_lots;
        order.visible_lots = match order.waits {
            true => remaining_lots,
            false => order.visible_lots.min(remaining_lots),
        };
        order.hidden_lots = remaining_lots - order.visible_lots;
        queue.visible_lots += order.visible_lots;
    }

    /// Shows the next part of an iceberg order whose shown quantity is used up, and moves it to the
    /// end of its queue.
    pub fn replenish(&mut self, queue: &mut Queue, handle: Handle) -> Order {
        self.unlink(queue, handle);
        let order = &mut self.slots[handle.get() as usize];
        order.visible_lots = order.hidden_lots.min(order.display_lots_or_limit);
        order.hidden_lots -= order.visible_lots;
        self.link_last(queue, handle);
        *self.get(handle)
    }

    /// Sets an order's shown quantity; it keeps its place.
    #[inline]
    pub fn set_visible(&mut self, queue: &mut Queue, handle: Handle, visible_lots: u64) {
        let order = &mut self.slots[handle.get() as usize];
        queue.visible_lots -= order.visible_lots;
        queue.visible_lots += visible_lots;
        order.visible_lots = visible_lots;
    }

    /// The previous order in the same queue.
    pub fn before(&self, handle: Handle) -> Option<Handle> {
        self.get(handle).previous
    }

    /// The orders of a queue, first in first.
    pub fn in_queue(&self, queue: &Queue) -> impl Iterator<Item = &Order> {
        let mut next = queue.first;
        std::iter::from_fn(move || {
            let order = self.get(next?);
            next = order.next;
            Some(order)
        })
    }

    #[inline]
    fn link_last(&mut self, queue: &mut Queue, handle: Handle) {
        let order = &mut self.slots[handle.get() as usize];
        order.previous = queue.last;
        order.next = None;
        queue.orders += 1;
        queue.visible_lots += order.visible_lots;
        match queue.last {
            Some(last) => self.slots[last.get() as usize].next = Some(handle),
            None => queue.first = Some(handle),
        }
        queue.last = Some(handle);
    }

    #[inline]
    fn unlink(&mut self, queue: &mut Queue, handle: Handle) {
        let Order { previous, next, visible_lots, .. } = self.slots[handle.get() as usize];
        match previous {
            Some(previous) => self.slots[previous.get() as usize].next = next,
            None => queue.first = next,
        }
        match next {
            Some(next) => self.slots[next.get() as usize].previous = previous,
            None => queue.last = previous,
        }
        queue.orders -= 1;
        queue.visible_lots -= visible_lots;
    }
}

#[cfg(test)]
#[path = "queue_tests.rs"]
mod tests;
