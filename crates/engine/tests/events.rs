//! The events alone are enough: who hears them all can keep the book, as a market data feed must,
//! and can account for every lot.

mod commands;

use std::collections::{BTreeMap, HashMap};

use commands::{commands, limits};
use engine::*;
use proptest::prelude::*;

#[derive(Debug, Clone, Copy)]
struct Seen {
    party: Party,
    instrument: u16,
    side: Side,
    price_ticks: i64,
}

/// The open orders, as learned from events.
#[derive(Debug, Default)]
struct Observer {
    orders: HashMap<u64, Seen>,
}

impl Observer {
    fn hear(&mut self, event: Event) {
        match event {
            Event::Booked { instrument, order, side, price_ticks } => {
                let seen = Seen { party: order, instrument, side, price_ticks };
                assert!(order.remaining_lots > 0);
                assert!(self.orders.insert(order.order_id, seen).is_none());
            }
            Event::Trade { price_ticks, quantity_lots, resting, aggressor_side, .. } => {
                let seen = self.orders.get_mut(&resting.order_id).expect("it rested");
                assert_eq!((seen.price_ticks, seen.side), (price_ticks, aggressor_side.opposite()));
                seen.party.remaining_lots -= quantity_lots;
                assert_eq!(seen.party, resting);
            }
            Event::Done { order, reason: DoneReason::Cancelled, .. } => {
                assert_eq!(self.orders.remove(&order.order_id).map(|seen| seen.party), Some(order));
            }
            Event::Done { order, .. } => {
                // Of an order that rested, or of one that never came to rest.
                let rested = self.orders.remove(&order.order_id);
                assert!(rested.is_none_or(|seen| seen.party == order));
            }
            Event::Rejected { .. } => {}
        }
    }

    /// Price to quantity and number of orders.
    fn depth(&self, instrument: u16, side: Side) -> BTreeMap<i64, (u64, u32)> {
        let mut depth = BTreeMap::new();
        for seen in self.orders.values() {
            if (seen.instrument, seen.side) == (instrument, side) {
                let (quantity_lots, orders) = depth.entry(seen.price_ticks).or_insert((0, 0));
                *quantity_lots += seen.party.remaining_lots;
                *orders += 1;
            }
        }
        depth
    }
}

/// The events of one new order account for all of its quantity, in the documented order.
fn check_account(new: &NewOrder, events: &[Event]) {
    let (last, trades) = events.split_last().expect("every command is answered");
    if let Event::Rejected { order_id, account, tag, instrument, .. } = *last {
        assert!(trades.is_empty(), "a rejected order does nothing else");
        let named = (new.order_id, new.account, new.tag, new.instrument);
        assert_eq!((order_id, account, tag, instrument), named);
        return;
    }
    let mut remaining_lots = new.quantity_lots;
    for (place, event) in trades.iter().enumerate() {
        match *event {
            Event::Trade { quantity_lots, aggressor, resting, .. } => {
                remaining_lots -= quantity_lots;
                assert_eq!(aggressor.remaining_lots, remaining_lots);
                let next_is_done = matches!(events[place + 1],
                    Event::Done { order, reason: DoneReason::Filled, .. } if order == resting);
                assert_eq!(resting.remaining_lots == 0, next_is_done);
            }
            Event::Done { reason: DoneReason::Filled, .. } => {
                assert!(matches!(trades[place - 1], Event::Trade { .. }));
            }
            _ => panic!("{event:?} before the end"),
        }
    }
    let order = match *last {
        Event::Done { order, reason: DoneReason::Filled, .. } => {
            assert_eq!(remaining_lots, 0);
            order
        }
        Event::Done { order, reason: DoneReason::Expired, .. } => {
            assert_eq!(new.time_in_force, TimeInForce::ImmediateOrCancel);
            order
        }
        Event::Booked { order, side, price_ticks, .. } => {
            assert_eq!(new.time_in_force, TimeInForce::GoodTillCancelled);
            assert_eq!((side, price_ticks), (new.side, new.price_ticks));
            order
        }
        event => panic!("{event:?} at the end"),
    };
    let NewOrder { order_id, account, tag, .. } = *new;
    assert_eq!(order, Party { order_id, account, tag, remaining_lots });
}

proptest! {
    #[test]
    fn events_rebuild_the_book_and_account_for_every_lot(
        limits in limits(),
        commands in commands(300),
    ) {
        let mut engine = Engine::new(3, limits);
        let mut observer = Observer::default();
        for command in &commands {
            let before = engine.state_hash();
            let mut events = Vec::new();
            engine.apply(command, &mut |event| events.push(event));
            match command {
                Command::New(new) => check_account(new, &events),
                Command::Cancel(_) => prop_assert_eq!(events.len(), 1),
            }
            if let [Event::Rejected { .. }] = events[..] {
                prop_assert_eq!(engine.state_hash(), before, "a reject changed the state");
            }
            events.into_iter().for_each(|event| observer.hear(event));
            for instrument in 0..3 {
                for side in [Side::Buy, Side::Sell] {
                    let depth: BTreeMap<_, _> = engine
                        .levels(instrument, side)
                        .map(|(price_ticks, lots, orders)| (price_ticks, (lots, orders)))
                        .collect();
                    prop_assert_eq!(depth, observer.depth(instrument, side));
                }
            }
        }
    }
}
