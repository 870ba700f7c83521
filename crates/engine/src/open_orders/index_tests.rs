use std::collections::HashMap;

use proptest::prelude::*;

use super::*;

const CAPACITY: u32 = 64;

/// An index, the ids of its orders by handle, and the free handles, like the slab's.
struct Orders {
    index: OrderIndex,
    ids: Vec<u64>,
    free: Vec<Handle>,
}

impl Orders {
    fn new(capacity: u32) -> Orders {
        Orders {
            index: OrderIndex::new(capacity),
            ids: vec![0; capacity as usize + 1],
            free: (1..=capacity).rev().filter_map(Handle::new).collect(),
        }
    }

    fn find(&self, id: u64) -> Option<Handle> {
        self.index.find(id, |handle| self.ids[handle.get() as usize] == id)
    }

    fn insert(&mut self, id: u64) -> Handle {
        let handle = self.free.pop().unwrap();
        self.ids[handle.get() as usize] = id;
        self.index.insert(id, handle);
        handle
    }

    fn remove(&mut self, id: u64) {
        let handle = self.find(id).unwrap();
        self.index.remove(id, handle);
        self.free.push(handle);
    }

    /// Number of links to each order, on average and at most.
    fn chains(&self, ids: impl Iterator<Item = u64>) -> (f64, usize) {
        let lengths: Vec<usize> = ids
            .map(|id| {
                let looked_at = std::cell::Cell::new(0);
                // No order precedes the right one: only tags may be equal.
                let mut link = *self.index.start(hash(id));
                while let Some(order) = link.order {
                    looked_at.set(looked_at.get() + 1);
                    if self.ids[order.get() as usize] == id {
                        break;
                    }
                    link = self.index.next[order.get() as usize];
                }
                looked_at.get()
            })
            .collect();
        let sum: usize = lengths.iter().sum();
        (sum as f64 / lengths.len() as f64, lengths.into_iter().max().unwrap_or(0))
    }
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Insert(u64),
    Remove(u64),
}

/// Few different lines, so that chains are long: consecutive ids, and ids whose hashes differ only
/// above the lower 32 bits.
fn id() -> impl Strategy<Value = u64> {
    (0..40_u64, 0..3_u64).prop_map(|(low, high)| low | high << 51)
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![3 => id().prop_map(Step::Insert), 2 => id().prop_map(Step::Remove)]
}

proptest! {
    /// Compares with the standard library's map while the index grows from one line to all.
    #[test]
    fn it_is_a_map(steps in prop::collection::vec(step(), 0..600)) {
        let mut orders = Orders::new(CAPACITY);
        let mut model: HashMap<u64, Handle> = HashMap::new();
        for step in steps {
            match step {
                Step::Insert(id) if !model.contains_key(&id) && model.len() < CAPACITY as usize => {
                    model.insert(id, orders.insert(id));
                }
                Step::Remove(id) if model.remove(&id).is_some() => orders.remove(id),
                Step::Insert(id) | Step::Remove(id) => {
                    prop_assert_eq!(orders.find(id), model.get(&id).copied());
                }
            }
            prop_assert_eq!(orders.index.length, model.len());
            for (id, handle) in &model {
                prop_assert_eq!(orders.find(*id), Some(*handle));
            }
        }
    }
}

/// Ids with equal 32-bit hashes are distinguished by the orders.
#[test]
fn equal_hashes_are_not_equal_ids() {
    let mut seen = HashMap::new();
    let (one, other) = (0_u64..)
        .map(|number| number << 35)
        .find_map(|id| seen.insert(hash(id), id).map(|before| (before, id)))
        .unwrap();
    let mut orders = Orders::new(8);
    let first = orders.insert(one);
    assert_eq!(orders.find(other), None);
    let second = orders.insert(other);
    assert_eq!((orders.find(one), orders.find(other)), (Some(first), Some(second)));
    orders.remove(one);
    assert_eq!((orders.find(one), orders.find(other)), (None, Some(second)));
}

/// At any capacity: eight consecutive ids share a line, and no two share a slot as long as there
/// are no more ids than orders were open.
#[test]
fn ids_that_follow_each_other_are_neighbours() {
    for capacity in [1 << 13, 1 << 20] {
        let mut orders = Orders::new(capacity);
        let count = 1 << 13;
        (1..=count).for_each(|id| _ = orders.insert(id));
        assert_eq!(orders.chains(1..=count).1, 1, "of {capacity}");
        assert_eq!(orders.index.used, count as usize / ORDERS_PER_LINE);
        for id in (8..count).step_by(8) {
            let line = orders.index.line(hash(id));
            assert!((id..id + 8).all(|id| orders.index.line(hash(id)) == line));
        }
    }
}

/// The ids of a day pass through a small book: the used part of the table depends on the book's
/// size, not on the number of ids.
#[test]
fn a_window_of_ids_moves_on_in_the_same_memory() {
    let open = 5_000;
    let mut orders = Orders::new(1 << 17);
    (0..open).for_each(|id| _ = orders.insert(id));
    let used = orders.index.used;
    for id in open..100 * open {
        orders.remove(id - open);
        orders.insert(id);
    }
    assert_eq!(orders.index.used, used);
    assert!(orders.chains(99 * open..100 * open).1 <= 3);
}

/// Ids with a common stride don't pile up, such as those of an exchange whose shards have their own
/// lowest bits.
#[test]
fn strides_are_scattered() {
    let count = 1 << 15;
    for shift in 0..48 {
        let mut orders = Orders::new(1 << 20);
        let ids = || (1..=count).map(|number: u64| number << shift);
        ids().for_each(|id| _ = orders.insert(id));
        let (average, longest) = orders.chains(ids());
        assert!(average <= 4.0 && longest <= 40, "stride 2^{shift}: {average:.2}, {longest}");
    }
}
