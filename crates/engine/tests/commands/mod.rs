//! Random commands that meet each other: few ids, accounts and prices, and now and then an extreme.

use engine::*;
use proptest::prelude::*;

/// One more than the engines of the tests have, so that it is sometimes unknown.
const INSTRUMENTS_NAMED: u16 = 4;

fn order_id() -> impl Strategy<Value = u64> {
    prop_oneof![20 => 0..24_u64, 1 => Just(u64::MAX), 1 => any::<u64>()]
}

fn price_ticks() -> impl Strategy<Value = i64> {
    prop_oneof![
        30 => 95..106_i64,
        1 => Just(1),
        1 => Just(PRICE_TICKS_MAX),
        1 => Just(PRICE_TICKS_MAX + 1),
        1 => -1..=0_i64,
        1 => Just(i64::MIN),
        1 => Just(i64::MAX),
        1 => any::<i64>(),
    ]
}

fn quantity_lots() -> impl Strategy<Value = u64> {
    prop_oneof![
        30 => 1..10_u64,
        2 => Just(QUANTITY_LOTS_MAX),
        1 => Just(QUANTITY_LOTS_MAX + 1),
        1 => Just(0),
        1 => Just(u64::MAX),
        1 => any::<u64>(),
    ]
}

fn side() -> impl Strategy<Value = Side> {
    prop_oneof![Just(Side::Buy), Just(Side::Sell)]
}

fn time_in_force() -> impl Strategy<Value = TimeInForce> {
    prop_oneof![
        4 => Just(TimeInForce::GoodTillCancelled),
        1 => Just(TimeInForce::ImmediateOrCancel),
    ]
}

/// Mostly the first instrument, so that its book fills.
fn instrument() -> impl Strategy<Value = u16> {
    prop_oneof![10 => Just(0), 4 => 1..INSTRUMENTS_NAMED, 1 => Just(u16::MAX)]
}

fn new_order() -> impl Strategy<Value = Command> {
    (
        (order_id(), 0..3_u32, any::<u32>(), instrument()),
        (side(), time_in_force(), price_ticks(), quantity_lots()),
    )
        .prop_map(|((order_id, account, tag, instrument), rest)| {
            let (side, time_in_force, price_ticks, quantity_lots) = rest;
            Command::New(NewOrder {
                order_id,
                account,
                tag,
                instrument,
                side,
                time_in_force,
                price_ticks,
                quantity_lots,
            })
        })
}

fn cancel() -> impl Strategy<Value = Command> {
    (order_id(), 0..3_u32, any::<u32>(), instrument()).prop_map(
        |(order_id, account, tag, instrument)| {
            Command::Cancel(Cancel { order_id, account, tag, instrument })
        },
    )
}

/// A run of commands.
pub fn commands(length_max: usize) -> impl Strategy<Value = Vec<Command>> {
    prop::collection::vec(prop_oneof![3 => new_order(), 1 => cancel()], 0..length_max)
}

/// Limits small enough to be met.
pub fn limits() -> impl Strategy<Value = EngineLimits> {
    (1..16_u32, 1..8_u32).prop_map(|(open_orders_max, price_levels_max)| EngineLimits {
        open_orders_max,
        price_levels_max,
    })
}
