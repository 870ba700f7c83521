//! The state hash sees the state and nothing but the state.

mod commands;

use commands::{commands, limits};
use engine::*;
use proptest::prelude::*;

const LIMITS: EngineLimits = EngineLimits { open_orders_max: 64, price_levels_max: 32 };

const ORDER: NewOrder = NewOrder {
    order_id: 1,
    account: 2,
    tag: 3,
    instrument: 0,
    side: Side::Buy,
    time_in_force: TimeInForce::GoodTillCancelled,
    price_ticks: 100,
    quantity_lots: 10,
};

fn run(engine: &mut Engine, commands: &[Command]) -> Vec<Event> {
    let mut events = Vec::new();
    for command in commands {
        engine.apply(command, &mut |event| events.push(event));
    }
    events
}

fn hash_of(orders: &[NewOrder]) -> u64 {
    let mut engine = Engine::new(2, LIMITS);
    let commands: Vec<_> = orders.iter().copied().map(Command::New).collect();
    run(&mut engine, &commands);
    assert_eq!(engine.open_orders(), orders.len() as u32);
    engine.state_hash()
}

/// Leaves empty books behind, but slots of orders, levels and ids that are free in another order
/// than in a new engine: they were all in use, and were given back in the order that `cancels`
/// says.
fn stir(engine: &mut Engine, limits: EngineLimits, cancels: &[u64]) {
    let ids = 0..u64::from(limits.open_orders_max);
    for order_id in ids.clone() {
        let offset = order_id as i64 % i64::from(limits.price_levels_max);
        let (side, price_ticks) =
            if order_id % 2 == 0 { (Side::Buy, 1 + offset) } else { (Side::Sell, 1_000 + offset) };
        run(engine, &[Command::New(NewOrder { order_id, side, price_ticks, ..ORDER })]);
    }
    assert_eq!(engine.open_orders(), limits.open_orders_max);
    for order_id in cancels.iter().copied().filter(|id| ids.contains(id)) {
        let cancel = Cancel { order_id, account: ORDER.account, tag: 0, instrument: 0 };
        run(engine, &[Command::Cancel(cancel)]);
    }
    assert_eq!(engine.open_orders(), 0);
}

proptest! {
    #[test]
    fn history_does_not_show(
        limits in limits(),
        cancels in Just((0..16).collect::<Vec<u64>>()).prop_shuffle(),
        commands in commands(200),
    ) {
        let mut fresh = Engine::new(3, limits);
        let mut stirred = Engine::new(3, limits);
        stir(&mut stirred, limits, &cancels);
        prop_assert_eq!(fresh.state_hash(), stirred.state_hash());
        for command in commands {
            prop_assert_eq!(run(&mut fresh, &[command]), run(&mut stirred, &[command]));
            prop_assert_eq!(fresh.state_hash(), stirred.state_hash());
        }
    }
}

#[test]
fn the_same_book_built_in_another_order_hashes_alike() {
    let bid = ORDER;
    let behind = NewOrder { order_id: 2, ..ORDER };
    let lower = NewOrder { order_id: 3, price_ticks: 99, ..ORDER };
    let ask = NewOrder { order_id: 4, side: Side::Sell, price_ticks: 101, ..ORDER };
    let other = NewOrder { order_id: 5, instrument: 1, ..ORDER };
    assert_eq!(
        hash_of(&[bid, behind, lower, ask, other]),
        hash_of(&[other, lower, ask, bid, behind])
    );
}

#[test]
fn every_part_of_the_state_shows() {
    let second = NewOrder { order_id: 2, ..ORDER };
    let states: [&[NewOrder]; 12] = [
        &[],
        &[ORDER],
        &[NewOrder { order_id: 9, ..ORDER }],
        &[NewOrder { account: 9, ..ORDER }],
        &[NewOrder { tag: 9, ..ORDER }],
        &[NewOrder { instrument: 1, ..ORDER }],
        &[NewOrder { side: Side::Sell, ..ORDER }],
        &[NewOrder { price_ticks: 9, ..ORDER }],
        &[NewOrder { quantity_lots: 9, ..ORDER }],
        &[ORDER, second],
        // The same two orders, priority the other way round.
        &[second, ORDER],
        &[ORDER, NewOrder { price_ticks: 101, ..second }],
    ];
    let mut hashes: Vec<u64> = states.iter().map(|orders| hash_of(orders)).collect();
    hashes.push(Engine::new(3, LIMITS).state_hash());
    hashes.push(Engine::new(2, EngineLimits { open_orders_max: 65, ..LIMITS }).state_hash());
    hashes.push(Engine::new(2, EngineLimits { price_levels_max: 33, ..LIMITS }).state_hash());
    let count = hashes.len();
    hashes.sort_unstable();
    hashes.dedup();
    assert_eq!(hashes.len(), count);
}

/// The figure was computed from the definition by another program, in another language. Journals
/// will keep such hashes: a change of the definition must be seen.
#[test]
fn the_hash_is_the_same_on_every_machine() {
    let second = NewOrder { order_id: 2, side: Side::Sell, price_ticks: 101, ..ORDER };
    assert_eq!(hash_of(&[ORDER, second]), 0xdcadcdb14ab0b7e9);
}
