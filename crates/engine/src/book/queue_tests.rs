use std::collections::VecDeque;

use proptest::prelude::*;

use super::*;

const CAPACITY: u32 = 12;

fn order(order_id: u64, remaining_lots: u64, display_lots: u64) -> Order {
    let new = NewOrder { order_id, display_lots, ..NewOrder::limit(Side::Sell, 5, remaining_lots) };
    Order::of(&new, remaining_lots)
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Push { queue: usize, lots: u64, display_lots: u64 },
    Remove { queue: usize, place: prop::sample::Index },
    Reduce { queue: usize, place: prop::sample::Index, lots: u64 },
    SetRemaining { queue: usize, place: prop::sample::Index, lots: u64 },
}

fn step() -> impl Strategy<Value = Step> {
    let place = any::<prop::sample::Index>;
    prop_oneof![
        3 => (0..2_usize, 1..9_u64, 0..4_u64)
            .prop_map(|(queue, lots, display_lots)| Step::Push { queue, lots, display_lots }),
        2 => (0..2_usize, place()).prop_map(|(queue, place)| Step::Remove { queue, place }),
        2 => (0..2_usize, place(), 0..9_u64)
            .prop_map(|(queue, place, lots)| Step::Reduce { queue, place, lots }),
        1 => (0..2_usize, place(), 1..9_u64)
            .prop_map(|(queue, place, lots)| Step::SetRemaining { queue, place, lots }),
    ]
}

/// An order without its links.
fn unlinked(order: Order) -> Order {
    Order { previous: None, next: None, ..order }
}

proptest! {
    /// Compares two queues in one slab with two `VecDeque`s.
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
                Step::Push { queue, lots, display_lots } => {
                    let order = order(id as u64, lots, display_lots);
                    let handle = slab.push_last(&mut queues[queue], order);
                    prop_assert_eq!(handle.is_some(), open < CAPACITY as usize);
                    models[queue].extend(handle.map(|handle| (handle, order)));
                }
                Step::Remove { queue, place } if !models[queue].is_empty() => {
                    let place = place.index(models[queue].len());
                    let (handle, order) = models[queue].remove(place).unwrap();
                    prop_assert_eq!(unlinked(slab.remove(&mut queues[queue], handle)), order);
                }
                Step::Reduce { queue, place, lots } if !models[queue].is_empty() => {
                    let place = place.index(models[queue].len());
                    let (handle, mut order) = models[queue][place];
                    let lots = lots.min(order.visible_lots);
                    order.visible_lots -= lots;
                    prop_assert_eq!(slab.reduce(&mut queues[queue], handle, lots), order.party());
                    if order.visible_lots == 0 && order.hidden_lots > 0 {
                        order.visible_lots = order.hidden_lots.min(order.display_lots_or_limit);
                        order.hidden_lots -= order.visible_lots;
                        models[queue].remove(place);
                        models[queue].push_back((handle, order));
                        let replenished = slab.replenish(&mut queues[queue], handle);
                        prop_assert_eq!(unlinked(replenished), order);
                    } else {
                        models[queue][place].1 = order;
                    }
                }
                Step::SetRemaining { queue, place, lots } if !models[queue].is_empty() => {
                    let place = place.index(models[queue].len());
                    let (handle, order) = &mut models[queue][place];
                    let lots = lots.min(order.remaining_lots());
                    let from_hidden = order.hidden_lots.min(order.remaining_lots() - lots);
                    order.hidden_lots -= from_hidden;
                    order.visible_lots = lots - order.hidden_lots;
                    slab.set_remaining(&mut queues[queue], *handle, lots);
                }
                Step::Remove { .. } | Step::Reduce { .. } | Step::SetRemaining { .. } => {}
            }
            for (queue, model) in queues.iter().zip(&models) {
                let orders: Vec<_> = slab.in_queue(queue).copied().map(unlinked).collect();
                let expected: Vec<_> = model.iter().map(|(_, order)| *order).collect();
                prop_assert_eq!(orders, expected);
                prop_assert_eq!(queue.first(), model.front().map(|(handle, _)| *handle));
                prop_assert_eq!(queue.orders() as usize, model.len());
                let lots: u64 = model.iter().map(|(_, order)| order.visible_lots).sum();
                prop_assert_eq!(queue.visible_lots(), lots);
            }
        }
    }
}

#[test]
fn a_slab_without_room_takes_nothing() {
    let mut slab = OrderSlab::new(0);
    assert!(slab.is_full());
    assert_eq!(slab.push_last(&mut { Queue::EMPTY }, order(1, 1, 0)), None);
}
