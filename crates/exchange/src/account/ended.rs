//! How the latest orders ended, for clients that ask after a lost connection.
//!
//! A ring of 24 bytes an order, and the latest order of each hash bucket: two writes for an order
//! that ends. An entry names the one before it in its bucket. The ring overwrites old entries and
//! leaves the names of their places: a place that is not older than the entry that names it has
//! been overwritten.

use engine::DoneReason;

/// Entries that a search looks at. A client that uses one id again and again makes a long bucket.
const STEPS_MAX: usize = 1024;

#[derive(Clone, Copy, Debug)]
struct Entry {
    key: u64,
    order_id: u64,
    /// Place of the entry before it in its bucket, plus one; 0: there is none.
    before: u32,
    reason: DoneReason,
}

const _: () = assert!(size_of::<Entry>() == 24);

/// An order that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EndedOrder {
    pub order_id: u64,
    pub reason: DoneReason,
}

pub(crate) struct EndedOrders {
    ring: Box<[Entry]>,
    /// By bucket: the place of its latest entry, plus one; 0: there is none.
    latest: Box<[u32]>,
    /// The place of the next entry.
    next: usize,
}

impl EndedOrders {
    /// Remembers this many orders, at least one.
    pub fn new(ended_orders_max: u32) -> EndedOrders {
        let count = ended_orders_max.max(1) as usize;
        // Not all zeros, so that every page is touched here and not on the hot path.
        let nobody = Entry { key: 0, order_id: 1, before: 0, reason: DoneReason::Cancelled };
        let mut latest = vec![1; count.next_power_of_two()].into_boxed_slice();
        std::hint::black_box(&mut latest).fill(0);
        EndedOrders { ring: vec![nobody; count].into_boxed_slice(), latest, next: 0 }
    }

    /// Adds the order with this hash of its account and client id.
    #[inline]
    pub fn add(&mut self, key: u64, EndedOrder { order_id, reason }: EndedOrder) {
        let place = self.next;
        self.next = if place + 1 == self.ring.len() { 0 } else { place + 1 };
        let bucket = key as usize & (self.latest.len() - 1);
        let before = std::mem::replace(&mut self.latest[bucket], place as u32 + 1);
        self.ring[place] = Entry { key, order_id, before, reason };
    }

    /// The latest order with this hash; `None` if it is not among the latest of all.
    pub fn find(&self, key: u64) -> Option<EndedOrder> {
        let mut place = self.latest[key as usize & (self.latest.len() - 1)];
        let mut age = None;
        for _ in 0..STEPS_MAX {
            let index = place.checked_sub(1)? as usize;
            let age_here = Some(self.age(index));
            if age_here <= age {
                return None;
            }
            let Entry { key: there, order_id, before, reason } = self.ring[index];
            if there == key {
                return Some(EndedOrder { order_id, reason });
            }
            (place, age) = (before, age_here);
        }
        None
    }

    /// Number of entries that are later than this one.
    fn age(&self, index: usize) -> usize {
        let count = self.ring.len();
        (self.next + count - 1 - index) % count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clock::random::SplitMix64;
    use std::collections::VecDeque;

    fn ended(order_id: u64) -> EndedOrder {
        EndedOrder { order_id, reason: DoneReason::ALL[order_id as usize % DoneReason::ALL.len()] }
    }

    /// Whatever the size and however often keys come back: exactly the latest orders are found.
    #[test]
    fn the_latest_orders_are_found_and_no_others() {
        for count in [1, 2, 3, 7, 64] {
            let mut orders = EndedOrders::new(count);
            let mut model = VecDeque::new();
            let mut random = SplitMix64::new(u64::from(count));
            for order_id in 1..2000 {
                // Few keys, of which many are in one bucket.
                let key = random.bits() % 40 * if order_id % 3 == 0 { 1 } else { 64 };
                orders.add(key, ended(order_id));
                model.push_front((key, order_id));
                model.truncate(count as usize);
                for asked in (0..40).chain((0..40).map(|key| key * 64)) {
                    let expected = model.iter().find(|(key, _)| *key == asked);
                    let expected = expected.map(|(_, order_id)| ended(*order_id));
                    assert_eq!(orders.find(asked), expected, "{asked} of {count}");
                }
            }
        }
    }

    #[test]
    fn a_search_has_an_end() {
        let mut orders = EndedOrders::new(5000);
        orders.add(8192, ended(1));
        for order_id in 2..5000 {
            orders.add(0, ended(order_id));
        }
        assert_eq!(orders.find(8192), None, "behind too many orders of one id");
        assert_eq!(orders.find(0), Some(ended(4999)));
    }
}
