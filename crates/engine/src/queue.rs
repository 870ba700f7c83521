//! How orders queue at a price level: first in, first out, in one slab for all books, linked by index.
//!
//! A queue of pointers or one vector per level would allocate, and would make a cancel in mid-queue a
//! search. Here a cancel is two writes, an order is 40 bytes, and a freed slot is the next one to be used,
//! while it is still in the cache.

use std::num::NonZeroU32;

use crate::command::Side;
use crate::event::Party;
use crate::memory::filled;

/// Where an order stands in the slab. Never 0, so that an `Option<Handle>` takes four bytes.
pub(crate) type Handle = NonZeroU32;

/// An order that rests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Order {
    pub order_id: u64,
    pub remaining_lots: u64,
    pub account: u32,
    pub tag: u32,
    /// Index of its level in the `Levels` of its side, so that a cancel does not search for the price.
    pub level: u32,
    pub instrument: u16,
    pub side: Side,
}

impl Order {
    pub fn party(&self) -> Party {
        Party {
            order_id: self.order_id,
            account: self.account,
            tag: self.tag,
            remaining_lots: self.remaining_lots,
        }
    }
}

/// The orders at one price.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Queue {
    first: Option<Handle>,
    last: Option<Handle>,
    orders: u32,
    quantity_lots: u64,
}

impl Queue {
    pub const EMPTY: Queue = Queue { first: None, last: None, orders: 0, quantity_lots: 0 };

    /// The order that trades next.
    pub fn first(&self) -> Option<Handle> {
        self.first
    }

    pub fn orders(&self) -> u32 {
        self.orders
    }

    /// The sum of what its orders have left.
    pub fn quantity_lots(&self) -> u64 {
        self.quantity_lots
    }
}

#[derive(Debug, Clone, Copy)]
struct Slot {
    order: Order,
    previous: Option<Handle>,
    /// The next order in the queue, or, in a free slot, the next free slot.
    next: Option<Handle>,
}

const _: () = assert!(size_of::<Order>() == 32 && size_of::<Slot>() == 40);

/// All open orders.
#[derive(Debug)]
pub(crate) struct OrderSlab {
    /// Slot 0 is never used: a handle is an index.
    slots: Vec<Slot>,
    free: Option<Handle>,
    open: u32,
}

impl OrderSlab {
    /// Room for `capacity` orders, below `u32::MAX`.
    pub fn new(capacity: u32) -> OrderSlab {
        let vacant = Order {
            order_id: 0,
            remaining_lots: 0,
            account: 0,
            tag: 0,
            level: 0,
            instrument: 0,
            side: Side::Buy,
        };
        let empty = Slot { order: vacant, previous: None, next: None };
        let mut slots = filled(capacity as usize + 1, empty);
        for (index, slot) in slots.iter_mut().enumerate() {
            slot.next =
                if index < capacity as usize { Handle::new(index as u32 + 1) } else { None };
        }
        OrderSlab { slots, free: Handle::new(1).filter(|_| capacity > 0), open: 0 }
    }

    pub fn open(&self) -> u32 {
        self.open
    }

    pub fn is_full(&self) -> bool {
        self.free.is_none()
    }

    pub fn get(&self, handle: Handle) -> &Order {
        &self.slots[handle.get() as usize].order
    }

    /// Puts an order at the end of a queue, or gives `None` when the slab is full.
    pub fn push_last(&mut self, queue: &mut Queue, order: Order) -> Option<Handle> {
        let handle = self.free?;
        let slot = &mut self.slots[handle.get() as usize];
        self.free = slot.next;
        *slot = Slot { order, previous: queue.last, next: None };
        match queue.last {
            Some(last) => self.slots[last.get() as usize].next = Some(handle),
            None => queue.first = Some(handle),
        }
        queue.last = Some(handle);
        queue.orders += 1;
        queue.quantity_lots += order.remaining_lots;
        self.open += 1;
        Some(handle)
    }

    /// Takes an order out of the queue that it stands in, wherever it stands.
    pub fn remove(&mut self, queue: &mut Queue, handle: Handle) -> Order {
        let slot = &mut self.slots[handle.get() as usize];
        let Slot { order, previous, next } = *slot;
        slot.next = self.free;
        self.free = Some(handle);
        match previous {
            Some(previous) => self.slots[previous.get() as usize].next = next,
            None => queue.first = next,
        }
        match next {
            Some(next) => self.slots[next.get() as usize].previous = previous,
            None => queue.last = previous,
        }
        queue.orders -= 1;
        queue.quantity_lots -= order.remaining_lots;
        self.open -= 1;
        order
    }

    /// Takes a part of an order away; it keeps its place. `quantity_lots` is at most what it has left.
    /// Gives the order as it is afterwards.
    pub fn reduce(&mut self, queue: &mut Queue, handle: Handle, quantity_lots: u64) -> Party {
        let order = &mut self.slots[handle.get() as usize].order;
        order.remaining_lots -= quantity_lots;
        queue.quantity_lots -= quantity_lots;
        order.party()
    }

    /// The orders of a queue, first in first.
    pub fn in_queue(&self, queue: &Queue) -> impl Iterator<Item = &Order> {
        let mut next = queue.first;
        std::iter::from_fn(move || {
            let slot = &self.slots[next?.get() as usize];
            next = slot.next;
            Some(&slot.order)
        })
    }
}
