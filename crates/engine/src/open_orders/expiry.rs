//! Finds the next order to expire: a binary heap of dates. An order knows its date's position, so
//! that the date can be removed if the order ends earlier.

use crate::book::queue::{Handle, OrderSlab};
use crate::memory::touched;

#[derive(Debug, Clone, Copy)]
struct Date {
    expires_ns: u64,
    /// The lower id expires first at the same time, so that the order of events does not depend on
    /// the heap.
    order_id: u64,
    handle: Handle,
}

impl Date {
    fn before(&self, other: &Date) -> bool {
        (self.expires_ns, self.order_id) < (other.expires_ns, other.order_id)
    }
}

/// The dates of all open GTD orders, the next one first.
#[derive(Debug)]
pub(crate) struct Expiries {
    heap: Vec<Date>,
    capacity: usize,
}

impl Expiries {
    pub fn new(capacity: u32) -> Expiries {
        let filler = Date { expires_ns: 0, order_id: 0, handle: Handle::MIN };
        let capacity = capacity as usize;
        Expiries { heap: touched(capacity, filler), capacity }
    }

    pub fn is_full(&self) -> bool {
        self.heap.len() == self.capacity
    }

    /// The next order, if its date has come.
    #[inline]
    pub fn due(&self, time_ns: u64) -> Option<Handle> {
        self.heap.first().filter(|date| date.expires_ns <= time_ns).map(|date| date.handle)
    }

    /// The date at a position, from 1; 0 for 0.
    pub fn expires_ns(&self, place: u32) -> u64 {
        let index = (place as usize).checked_sub(1);
        index.and_then(|index| self.heap.get(index)).map_or(0, |date| date.expires_ns)
    }

    /// Adds an order's date. The caller has checked that there is room.
    pub fn insert(&mut self, expires_ns: u64, handle: Handle, orders: &mut OrderSlab) {
        let order_id = orders.get(handle).order_id;
        self.heap.push(Date { expires_ns, order_id, handle });
        self.rise(self.heap.len() - 1, orders);
    }

    /// Removes the date at a position, from 1.
    pub fn remove(&mut self, place: u32, orders: &mut OrderSlab) {
        let index = place as usize - 1;
        self.heap.swap_remove(index);
        if index < self.heap.len() {
            let risen = self.rise(index, orders);
            self.sink(risen, orders);
        }
    }

    /// Moves a date up to its place, and returns that.
    fn rise(&mut self, mut index: usize, orders: &mut OrderSlab) -> usize {
        while index > 0 && self.heap[index].before(&self.heap[(index - 1) / 2]) {
            self.heap.swap(index, (index - 1) / 2);
            self.tell(index, orders);
            index = (index - 1) / 2;
        }
        self.tell(index, orders);
        index
    }

    fn sink(&mut self, mut index: usize, orders: &mut OrderSlab) {
        loop {
            let children = [2 * index + 1, 2 * index + 2];
            let mut least = index;
            for child in children {
                if child < self.heap.len() && self.heap[child].before(&self.heap[least]) {
                    least = child;
                }
            }
            if least == index {
                return;
            }
            self.heap.swap(index, least);
            self.tell(index, orders);
            self.tell(least, orders);
            index = least;
        }
    }

    /// Stores its date's position in an order.
    fn tell(&self, index: usize, orders: &mut OrderSlab) {
        orders.get_mut(self.heap[index].handle).expiry = index as u32 + 1;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::book::queue::{Order, Queue};
    use crate::command::{NewOrder, Side};

    proptest! {
        /// Compares with a sorted set, including equal dates.
        #[test]
        fn the_next_date_is_the_first(
            steps in prop::collection::vec(
                prop_oneof![
                    2 => (1..20_u64).prop_map(Some),
                    1 => Just(None),
                ],
                0..200,
            ),
            picks in prop::collection::vec(any::<prop::sample::Index>(), 200),
        ) {
            let mut orders = OrderSlab::new(200);
            let mut queue = Queue::EMPTY;
            let mut expiries = Expiries::new(200);
            let mut model = BTreeSet::new();
            for ((id, step), pick) in steps.into_iter().enumerate().zip(picks) {
                // Ids that rise and fall.
                let order_id = id as u64 ^ 0b101;
                if let Some(expires_ns) = step {
                    let new = NewOrder { order_id, ..NewOrder::limit(Side::Buy, 1, 1) };
                    let handle = orders.push_last(&mut queue, Order::of(&new, 1)).unwrap();
                    expiries.insert(expires_ns, handle, &mut orders);
                    model.insert((expires_ns, order_id, handle));
                } else if !model.is_empty() {
                    let gone = *model.iter().nth(pick.index(model.len())).unwrap();
                    model.remove(&gone);
                    let place = orders.get(gone.2).expiry;
                    orders.remove(&mut queue, gone.2);
                    expiries.remove(place, &mut orders);
                }
                for (expires_ns, _, handle) in &model {
                    prop_assert_eq!(expiries.expires_ns(orders.get(*handle).expiry), *expires_ns);
                }
                let first = model.first();
                prop_assert_eq!(expiries.due(u64::MAX), first.map(|date| date.2));
                let before = first.map_or(0, |date| date.0 - 1);
                prop_assert_eq!(expiries.due(before), None);
            }
        }
    }
}
