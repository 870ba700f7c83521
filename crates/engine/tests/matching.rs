//! The rules of matching, one by one, as a person would write them down.

use DoneReason::{Cancelled, Expired, Filled};
use Side::{Buy, Sell};
use TimeInForce::{GoodTillCancelled as GTC, ImmediateOrCancel as IOC};
use engine::*;

const LIMITS: EngineLimits = EngineLimits { open_orders_max: 4, price_levels_max: 2 };
const ACCOUNT: u32 = 7;

/// An engine, and short ways to speak to it. The tag of an order is its id plus 100.
struct Desk(Engine);

impl Desk {
    fn new() -> Desk {
        Desk(Engine::new(2, LIMITS))
    }

    fn apply(&mut self, command: Command) -> Vec<Event> {
        let mut events = Vec::new();
        self.0.apply(&command, &mut |event| events.push(event));
        events
    }

    fn enter(
        &mut self,
        order_id: u64,
        side: Side,
        price_ticks: i64,
        quantity_lots: u64,
        time_in_force: TimeInForce,
    ) -> Vec<Event> {
        self.apply(Command::New(NewOrder {
            order_id,
            account: ACCOUNT,
            tag: order_id as u32 + 100,
            instrument: 0,
            side,
            time_in_force,
            price_ticks,
            quantity_lots,
        }))
    }

    fn cancel(&mut self, order_id: u64, account: u32, instrument: u16) -> Vec<Event> {
        self.apply(Command::Cancel(Cancel { order_id, account, tag: 5, instrument }))
    }

    fn levels(&self, side: Side) -> Vec<(i64, u64, u32)> {
        self.0.levels(0, side).collect()
    }
}

fn party(order_id: u64, remaining_lots: u64) -> Party {
    Party { order_id, account: ACCOUNT, tag: order_id as u32 + 100, remaining_lots }
}

fn booked(order_id: u64, side: Side, price_ticks: i64, remaining_lots: u64) -> Event {
    Event::Booked { instrument: 0, order: party(order_id, remaining_lots), side, price_ticks }
}

fn trade(side: Side, price_ticks: i64, lots: u64, aggressor: Party, resting: Party) -> Event {
    Event::Trade {
        instrument: 0,
        price_ticks,
        quantity_lots: lots,
        aggressor_side: side,
        aggressor,
        resting,
    }
}

fn done(order_id: u64, remaining_lots: u64, reason: DoneReason) -> Event {
    Event::Done { instrument: 0, order: party(order_id, remaining_lots), reason }
}

/// The reason, where a command was rejected and nothing else happened.
fn reject(events: &[Event]) -> Option<Reject> {
    match events {
        [Event::Rejected { reason, .. }] => Some(*reason),
        _ => None,
    }
}

#[test]
fn better_prices_trade_first_then_older_orders_at_the_resting_price() {
    let mut desk = Desk::new();
    assert_eq!(desk.enter(1, Sell, 102, 5, GTC), [booked(1, Sell, 102, 5)]);
    desk.enter(2, Sell, 101, 2, GTC);
    desk.enter(3, Sell, 101, 4, GTC);
    assert_eq!(desk.levels(Sell), [(101, 6, 2), (102, 5, 1)]);
    assert_eq!(
        desk.enter(4, Buy, 103, 8, GTC),
        [
            trade(Buy, 101, 2, party(4, 6), party(2, 0)),
            done(2, 0, Filled),
            trade(Buy, 101, 4, party(4, 2), party(3, 0)),
            done(3, 0, Filled),
            trade(Buy, 102, 2, party(4, 0), party(1, 3)),
            done(4, 0, Filled),
        ]
    );
    assert_eq!(desk.levels(Sell), [(102, 3, 1)]);
    assert_eq!(desk.0.open_orders(), 1);
}

#[test]
fn a_partly_filled_order_keeps_its_place() {
    let mut desk = Desk::new();
    desk.enter(1, Buy, 100, 5, GTC);
    desk.enter(2, Buy, 100, 5, GTC);
    desk.enter(3, Sell, 100, 1, GTC);
    assert_eq!(
        desk.enter(4, Sell, 99, 4, IOC),
        [trade(Sell, 100, 4, party(4, 0), party(1, 0)), done(1, 0, Filled), done(4, 0, Filled)]
    );
}

#[test]
fn what_is_left_rests_or_expires() {
    let mut desk = Desk::new();
    desk.enter(1, Buy, 100, 3, GTC);
    assert_eq!(
        desk.enter(2, Sell, 100, 5, GTC),
        [
            trade(Sell, 100, 3, party(2, 2), party(1, 0)),
            done(1, 0, Filled),
            booked(2, Sell, 100, 2)
        ]
    );
    assert_eq!(
        desk.enter(3, Buy, 100, 5, IOC),
        [trade(Buy, 100, 2, party(3, 3), party(2, 0)), done(2, 0, Filled), done(3, 3, Expired)]
    );
    assert_eq!(desk.enter(4, Buy, 100, 1, IOC), [done(4, 1, Expired)]);
    assert_eq!(desk.0.top(0), Top::default());
}

#[test]
fn only_the_owner_cancels_and_only_where_the_order_is() {
    let mut desk = Desk::new();
    desk.enter(1, Buy, 100, 3, GTC);
    assert_eq!(reject(&desk.cancel(2, ACCOUNT, 0)), Some(Reject::UnknownOrder));
    assert_eq!(reject(&desk.cancel(1, ACCOUNT, 1)), Some(Reject::UnknownOrder));
    assert_eq!(reject(&desk.cancel(1, ACCOUNT, 2)), Some(Reject::UnknownInstrument));
    assert_eq!(
        desk.cancel(1, 8, 0),
        [Event::Rejected {
            instrument: 0,
            order_id: 1,
            account: 8,
            tag: 5,
            reason: Reject::NotYourOrder
        }]
    );
    assert_eq!(desk.cancel(1, ACCOUNT, 0), [done(1, 3, Cancelled)]);
    assert_eq!(reject(&desk.cancel(1, ACCOUNT, 0)), Some(Reject::UnknownOrder));
}

#[test]
fn an_id_is_taken_while_its_order_is_open_and_free_afterwards() {
    let mut desk = Desk::new();
    desk.enter(1, Buy, 100, 3, GTC);
    assert_eq!(reject(&desk.enter(1, Sell, 200, 1, GTC)), Some(Reject::DuplicateOrderId));
    assert_eq!(reject(&desk.enter(1, Sell, 100, 1, IOC)), Some(Reject::DuplicateOrderId));
    desk.cancel(1, ACCOUNT, 0);
    assert_eq!(desk.enter(1, Sell, 200, 1, GTC), [booked(1, Sell, 200, 1)]);
}

#[test]
fn prices_and_quantities_end_where_they_say() {
    let mut desk = Desk::new();
    for price_ticks in [i64::MIN, -1, 0, PRICE_TICKS_MAX + 1, i64::MAX] {
        assert_eq!(reject(&desk.enter(1, Buy, price_ticks, 1, GTC)), Some(Reject::BadPrice));
    }
    for quantity_lots in [0, QUANTITY_LOTS_MAX + 1, u64::MAX] {
        assert_eq!(reject(&desk.enter(1, Buy, 1, quantity_lots, GTC)), Some(Reject::BadQuantity));
    }
    assert_eq!(
        desk.enter(1, Buy, 1, QUANTITY_LOTS_MAX, GTC),
        [booked(1, Buy, 1, QUANTITY_LOTS_MAX)]
    );
    assert_eq!(reject(&desk.enter(2, Sell, PRICE_TICKS_MAX, 1, GTC)), None);
}

#[test]
fn a_full_engine_takes_an_order_that_crosses_and_refuses_one_that_would_rest() {
    let mut desk = Desk::new();
    desk.enter(1, Sell, 101, 2, GTC);
    for order_id in 2..=4 {
        desk.enter(order_id, Buy, 100, 1, GTC);
    }
    assert_eq!(reject(&desk.enter(5, Buy, 100, 1, GTC)), Some(Reject::LimitOpenOrders));
    assert_eq!(desk.enter(5, Buy, 100, 1, IOC), [done(5, 1, Expired)]);
    // All of order 1 is used up, so there is a slot for the remainder.
    assert_eq!(
        desk.enter(5, Buy, 101, 3, GTC),
        [trade(Buy, 101, 2, party(5, 1), party(1, 0)), done(1, 0, Filled), booked(5, Buy, 101, 1)]
    );
    assert_eq!(desk.0.open_orders(), LIMITS.open_orders_max);
}

#[test]
fn a_side_with_all_its_prices_refuses_a_new_one_even_if_it_would_trade() {
    let mut desk = Desk::new();
    desk.enter(1, Sell, 101, 2, GTC);
    desk.enter(2, Buy, 100, 1, GTC);
    desk.enter(3, Buy, 99, 1, GTC);
    assert_eq!(reject(&desk.enter(4, Buy, 98, 1, GTC)), Some(Reject::LimitPriceLevels));
    assert_eq!(reject(&desk.enter(4, Buy, 101, 1, GTC)), Some(Reject::LimitPriceLevels));
    assert_eq!(reject(&desk.enter(4, Buy, 101, 1, IOC)), None);
    assert_eq!(desk.enter(5, Buy, 99, 1, GTC), [booked(5, Buy, 99, 1)]);
    // The other side has room of its own; now it is the orders that are too many.
    assert_eq!(reject(&desk.enter(6, Sell, 102, 1, GTC)), Some(Reject::LimitOpenOrders));
    desk.cancel(5, ACCOUNT, 0);
    assert_eq!(desk.enter(6, Sell, 102, 1, GTC), [booked(6, Sell, 102, 1)]);
}

#[test]
fn the_top_is_the_best_of_each_side() {
    let mut desk = Desk::new();
    desk.enter(1, Buy, 99, 1, GTC);
    desk.enter(2, Buy, 100, 2, GTC);
    desk.enter(3, Buy, 100, 3, GTC);
    let bid = Some(Quote { price_ticks: 100, quantity_lots: 5 });
    assert_eq!(desk.0.top(0), Top { bid, ask: None });
    assert_eq!(desk.0.top(1), Top::default());
    assert_eq!(desk.0.top(u16::MAX), Top::default());
    assert_eq!(desk.0.levels(u16::MAX, Buy).count(), 0);
}

#[test]
fn limits_out_of_range_are_named() {
    for limits in [
        EngineLimits { open_orders_max: 0, ..LIMITS },
        EngineLimits { open_orders_max: OPEN_ORDERS_MAX + 1, ..LIMITS },
    ] {
        let error = limits.check().unwrap_err();
        assert_eq!((error.name, error.value), ("open_orders_max", limits.open_orders_max));
        assert!(error.to_string().contains("from 1 to 16777216"), "{error}");
    }
    let limits = EngineLimits { price_levels_max: 0, ..LIMITS };
    assert_eq!(limits.check().unwrap_err().name, "price_levels_max");
    assert_eq!(LIMITS.check(), Ok(()));
}
