//! The sums over the orders, for replies in any order.

use super::*;
use proptest::prelude::*;

#[test]
fn an_order_that_rests_trades_and_ends() {
    let mut orders = OwnOrders::default();
    let number = orders.enter(Side::Buy, 100, 5, true).unwrap();
    assert_eq!((orders.exposed_lots(Side::Buy), orders.unanswered()), (5, 1));
    assert_eq!(orders.ask(number, PendingRequest::Cancel), None, "one message at a time");
    assert_eq!(orders.answered(number, true).unwrap().pending, None);
    orders.booked(number, 77);
    assert_eq!(
        orders.quote(Side::Buy).map(|quote| (quote.rests, quote.order_id)),
        Some((true, 77))
    );
    orders.ask(number, PendingRequest::Amend { price_ticks: 101, quantity_lots: 8 }).unwrap();
    assert_eq!(orders.exposed_lots(Side::Buy), 13, "5 may trade before it comes");
    orders.filled(number, 100, 2);
    assert_eq!(orders.exposed_lots(Side::Buy), 11);
    orders.answered(number, true).unwrap();
    assert_eq!(orders.quote(Side::Buy).map(|quote| quote.open_lots), Some(8));
    orders.filled(number, 101, 8);
    orders.end(number);
    assert_eq!((orders.position_lots(), orders.cash_tick_lots()), (10, -1008));
    assert_eq!((orders.filled_lots(), orders.orders_filled()), (10, 1));
    assert_eq!((orders.alive(), orders.exposed_lots(Side::Buy)), (0, 0));
    assert_eq!(orders.quote(Side::Buy), None);
}

#[test]
fn a_rejected_order_was_never_there() {
    let mut orders = OwnOrders::default();
    let number = orders.enter(Side::Sell, 100, 5, true).unwrap();
    orders.answered(number, false).unwrap();
    assert_eq!((orders.alive(), orders.unanswered(), orders.exposed_lots(Side::Sell)), (0, 0, 0));
    assert_eq!(orders.answered(number, false), None);
}

/// The order was filled while the amendment was in flight, and the amendment is rejected.
#[test]
fn a_message_that_is_overtaken_is_waited_for() {
    let mut orders = OwnOrders::default();
    let number = orders.enter(Side::Buy, 100, 5, true).unwrap();
    orders.answered(number, true).unwrap();
    orders.ask(number, PendingRequest::Amend { price_ticks: 99, quantity_lots: 5 }).unwrap();
    orders.filled(number, 100, 5);
    orders.end(number);
    assert_eq!(orders.quote(Side::Buy), None);
    assert_eq!((orders.exposed_lots(Side::Buy), orders.unanswered(), orders.alive()), (0, 1, 1));
    assert!(orders.answered(number, false).is_some());
    assert_eq!((orders.unanswered(), orders.alive()), (0, 0));
}

#[test]
fn a_slot_is_used_again_under_another_number() {
    let mut orders = OwnOrders::default();
    let quote = orders.enter(Side::Buy, 1, 1, true).unwrap();
    orders.answered(quote, true).unwrap();
    let mut before = None;
    for _ in 0..3 * OWN_ORDERS_MAX {
        let number = orders.enter(Side::Sell, 9, 1, false).unwrap();
        assert!(before.is_none_or(|before| before != number && orders.living(before).is_none()));
        orders.answered(number, true).unwrap();
        orders.end(number);
        before = Some(number);
    }
    assert_eq!(orders.quote(Side::Buy).map(|order| order.number), Some(quote));
    assert_eq!((orders.alive(), orders.entered()), (1, 1 + 3 * OWN_ORDERS_MAX as u64));
    assert_eq!(before.unwrap() % OWN_ORDERS_MAX as u64, 1, "always the same slot");
}

#[test]
fn past_the_limit_there_is_no_number() {
    let mut orders = OwnOrders::default();
    for _ in 0..OWN_ORDERS_MAX {
        orders.enter(Side::Buy, 1, 1, false).unwrap();
    }
    assert_eq!(orders.enter(Side::Buy, 1, 1, false), None);
}

proptest! {
    /// For any events in any order the sums equal those over the open orders.
    #[test]
    fn the_sums_are_those_of_the_orders(steps in prop::collection::vec((0u8..7, 0usize..12, 1i64..50, 1u64..20), 0..200)) {
        let mut orders = OwnOrders::default();
        let mut numbers = vec![0];
        for (step, which, price, lots) in steps {
            let side = if price % 2 == 0 { Side::Buy } else { Side::Sell };
            let number = numbers[numbers.len().saturating_sub(1 + which)];
            match step {
                0 => numbers.extend(orders.enter(side, price, lots, lots % 2 == 0)),
                1 => drop(orders.ask(number, PendingRequest::Amend { price_ticks: price, quantity_lots: lots })),
                2 => drop(orders.ask(number, PendingRequest::Cancel)),
                3 => drop(orders.answered(number, lots % 3 > 0)),
                4 => orders.booked(number, number + 1),
                5 => orders.filled(number, price, lots),
                _ => orders.end(number),
            }
            for side in [Side::Buy, Side::Sell] {
                let living = orders.slots.iter().filter(|order| order.alive && order.side == side);
                prop_assert_eq!(orders.exposed_lots(side), living.map(exposed_lots).sum::<u64>());
            }
            let living = orders.slots.iter().filter(|order| order.alive);
            prop_assert_eq!(orders.alive() as usize, living.clone().count());
            prop_assert_eq!(orders.unanswered() as usize, living.filter(|order| order.pending.is_some()).count());
        }
    }
}
