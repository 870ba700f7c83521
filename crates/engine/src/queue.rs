//! How orders queue at a price level: first in, first out, in one slab for all books, linked by
//! index.
//!
//! A queue of pointers or one vector per level would allocate, and would make a cancel in mid-queue
//! a search. Here a cancel is two writes, an order is 40 bytes, and a freed slot is the next one to
//! be used, while it is still in the cache.

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
    /// Index of its level in the `Levels` of its side, so that a cancel does not search for the
    /// price.
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

    /// Takes a part of an order away; it keeps its place. `quantity_lots` is at most what it has
    /// left. Gives the order as it is afterwards.
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

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    const CAPACITY: u32 = 12;

    fn order(order_id: u64, remaining_lots: u64) -> Order {
        Order {
            order_id,
            remaining_lots,
            account: 1,
            tag: 2,
            level: 3,
            instrument: 4,
            side: Side::Sell,
        }
    }

    #[derive(Debug, Clone, Copy)]
    enum Step {
        Push { queue: usize, lots: u64 },
        Remove { queue: usize, place: prop::sample::Index },
        Reduce { queue: usize, place: prop::sample::Index, lots: u64 },
    }

    fn step() -> impl Strategy<Value = Step> {
        let place = any::<prop::sample::Index>;
        prop_oneof![
            3 => (0..2_usize, 1..9_u64).prop_map(|(queue, lots)| Step::Push { queue, lots }),
            2 => (0..2_usize, place()).prop_map(|(queue, place)| Step::Remove { queue, place }),
            1 => (0..2_usize, place(), 0..9_u64)
                .prop_map(|(queue, place, lots)| Step::Reduce { queue, place, lots }),
        ]
    }

    proptest! {
        /// Two queues in one slab, against two `VecDeque`s.
        #[test]
        fn queues_share_a_slab(steps in prop::collection::vec(step(), 0..300)) {
            let mut slab = OrderSlab::new(CAPACITY);
            let mut queues = [Queue::EMPTY; 2];
            let mut models: [VecDeque<(Handle, Order)>; 2] = Default::default();
            for (id, step) in steps.into_iter().enumerate() {
                let open = models[0].len() + models[1].len();
                prop_assert_eq!(slab.open() as usize, open);
                prop_assert_eq!(slab.is_full(), open == CAPACITY as usize);
                match step {
                    Step::Push { queue, lots } => {
                        let order = order(id as u64, lots);
                        let handle = slab.push_last(&mut queues[queue], order);
                        prop_assert_eq!(handle.is_some(), open < CAPACITY as usize);
                        models[queue].extend(handle.map(|handle| (handle, order)));
                    }
                    Step::Remove { queue, place } if !models[queue].is_empty() => {
                        let place = place.index(models[queue].len());
                        let (handle, order) = models[queue].remove(place).unwrap();
                        prop_assert_eq!(slab.remove(&mut queues[queue], handle), order);
                    }
                    Step::Reduce { queue, place, lots } if !models[queue].is_empty() => {
                        let place = place.index(models[queue].len());
                        let (handle, order) = &mut models[queue][place];
                        let lots = lots.min(order.remaining_lots);
                        order.remaining_lots -= lots;
                        let party = slab.reduce(&mut queues[queue], *handle, lots);
                        prop_assert_eq!(party, order.party());
                    }
                    Step::Remove { .. } | Step::Reduce { .. } => {}
                }
                for (queue, model) in queues.iter().zip(&models) {
                    let orders: Vec<_> = slab.in_queue(queue).copied().collect();
                    let expected: Vec<_> = model.iter().map(|(_, order)| *order).collect();
                    prop_assert_eq!(orders, expected);
                    prop_assert_eq!(queue.first(), model.front().map(|(handle, _)| *handle));
                    prop_assert_eq!(queue.orders() as usize, model.len());
                    let lots: u64 = model.iter().map(|(_, order)| order.remaining_lots).sum();
                    prop_assert_eq!(queue.quantity_lots(), lots);
                }
            }
        }
    }

    #[test]
    fn a_slab_without_room_takes_nothing() {
        let mut slab = OrderSlab::new(0);
        assert!(slab.is_full());
        assert_eq!(slab.push_last(&mut { Queue::EMPTY }, order(1, 1)), None);
    }
}
