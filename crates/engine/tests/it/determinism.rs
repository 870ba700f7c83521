//! The state hash depends on the state and nothing else.

use crate::commands::{inputs, limits};
use engine::*;
use proptest::prelude::*;

const LIMITS: EngineLimits = EngineLimits {
    open_orders_max: 64,
    price_levels_max: 32,
    stop_levels_max: 8,
    expiring_orders_max: 8,
    accounts_max: 16,
};

const ORDER: NewOrder = NewOrder {
    order_id: 1,
    account: 2,
    tag: 3,
    instrument: 0,
    side: Side::Buy,
    order_type: OrderType::Limit,
    time_in_force: TimeInForce::GoodTillCancelled,
    post_only: PostOnly::No,
    price_ticks: 100,
    quantity_lots: 10,
    display_lots: 0,
    stop_ticks: 0,
    expires_ns: 0,
};

fn run(engine: &mut Engine, inputs: &[Input]) -> Vec<Event> {
    let mut events = Vec::new();
    for input in inputs {
        engine.apply(input, &mut |event| events.push(event));
    }
    events
}

fn tell(engine: &mut Engine, command: Command) -> Vec<Event> {
    run(engine, &[Input { time_ns: 0, command }])
}

fn engine_after(commands: &[Command]) -> Engine {
    let mut engine = Engine::new(2, LIMITS);
    for command in commands {
        let events = tell(&mut engine, *command);
        assert!(!matches!(events[..], [Event::Rejected { .. }]), "{command:?}: {events:?}");
    }
    engine
}

/// Leaves empty books, but free slots of orders, levels, dates and ids in another order than a new
/// engine's: all were used, and freed in the order of `cancels`.
fn stir(engine: &mut Engine, limits: EngineLimits, cancels: &[u64]) {
    let ids = 0..u64::from(limits.open_orders_max);
    let mut dates = limits.expiring_orders_max;
    for order_id in ids.clone() {
        let offset = order_id as i64 % i64::from(limits.price_levels_max);
        let (side, price_ticks) =
            if order_id % 2 == 0 { (Side::Buy, 1 + offset) } else { (Side::Sell, 1_000 + offset) };
        let order = NewOrder { order_id, account: 0, side, price_ticks, ..ORDER };
        let stop_ticks = 500 + order_id as i64 % i64::from(limits.stop_levels_max.max(1));
        let order = match order_id % 3 {
            0 if dates > 0 => NewOrder {
                time_in_force: TimeInForce::GoodTillDate,
                expires_ns: 1 + order_id * 7 % 16,
                ..order
            },
            1 if limits.stop_levels_max > 0 => NewOrder { stop_ticks, ..order },
            _ => order,
        };
        dates -= u32::from(order.expires_ns != 0);
        tell(engine, Command::New(order));
    }
    assert_eq!(engine.open_orders(), limits.open_orders_max);
    for order_id in cancels.iter().copied().filter(|id| ids.contains(id)) {
        let cancel = Cancel { order_id, account: 0, tag: 0, instrument: 0 };
        tell(engine, Command::Cancel(cancel));
    }
    assert_eq!(engine.open_orders(), 0);
}

proptest! {
    #[test]
    fn history_does_not_show(
        limits in limits(),
        cancels in Just((0..20).collect::<Vec<u64>>()).prop_shuffle(),
        inputs in inputs(200),
    ) {
        let mut fresh = Engine::new(3, limits);
        // The messages of this are counted, and part of the state.
        for order_id in 0..2 * u64::from(limits.open_orders_max) {
            let cancel = Cancel { order_id, account: 0, tag: 0, instrument: 0 };
            tell(&mut fresh, Command::Cancel(cancel));
        }
        let mut stirred = Engine::new(3, limits);
        stir(&mut stirred, limits, &cancels);
        prop_assert_eq!(fresh.state_hash(), stirred.state_hash());
        for input in inputs {
            prop_assert_eq!(run(&mut fresh, &[input]), run(&mut stirred, &[input]));
            prop_assert_eq!(fresh.state_hash(), stirred.state_hash());
        }
    }
}

#[test]
fn the_same_book_built_in_another_order_hashes_alike() {
    let [bid, behind, lower, ask, other] = [
        ORDER,
        NewOrder { order_id: 2, account: 3, ..ORDER },
        NewOrder { order_id: 3, account: 4, price_ticks: 99, ..ORDER },
        NewOrder { order_id: 4, account: 5, side: Side::Sell, price_ticks: 101, ..ORDER },
        NewOrder { order_id: 5, account: 6, instrument: 1, ..ORDER },
    ]
    .map(Command::New);
    assert_eq!(
        engine_after(&[bid, behind, lower, ask, other]).state_hash(),
        engine_after(&[other, lower, ask, bid, behind]).state_hash()
    );
}

/// States that differ in one value each.
fn states() -> Vec<Vec<Command>> {
    let account = AccountSettings::unlimited(2);
    let instrument = InstrumentSettings {
        instrument: 0,
        tag: 0,
        state: InstrumentState::Open,
        band_low_ticks: 1,
        band_high_ticks: PRICE_TICKS_MAX,
        reference_ticks: 0,
    };
    let position = PositionSettings::unlimited(2, 0);
    let second = NewOrder { order_id: 2, ..ORDER };
    let stop = NewOrder { stop_ticks: 200, ..ORDER };
    let gtd = NewOrder { time_in_force: TimeInForce::GoodTillDate, expires_ns: 5, ..ORDER };
    let mut states = [
        &[ORDER][..],
        &[NewOrder { order_id: 9, ..ORDER }],
        &[NewOrder { account: 9, ..ORDER }],
        &[NewOrder { tag: 9, ..ORDER }],
        &[NewOrder { instrument: 1, ..ORDER }],
        &[NewOrder { side: Side::Sell, ..ORDER }],
        &[NewOrder { price_ticks: 9, ..ORDER }],
        &[NewOrder { quantity_lots: 9, ..ORDER }],
        &[NewOrder { display_lots: 9, ..ORDER }],
        &[NewOrder { display_lots: 8, ..ORDER }],
        &[NewOrder { post_only: PostOnly::Reject, ..ORDER }],
        &[NewOrder { post_only: PostOnly::Reprice, ..ORDER }],
        &[gtd],
        &[NewOrder { expires_ns: 6, ..gtd }],
        &[stop],
        &[NewOrder { stop_ticks: 201, ..ORDER }],
        &[NewOrder { price_ticks: 99, ..stop }],
        &[NewOrder { time_in_force: TimeInForce::ImmediateOrCancel, ..stop }],
        &[ORDER, second],
        // The same two orders with reversed priority.
        &[second, ORDER],
        &[ORDER, NewOrder { price_ticks: 101, ..second }],
        // The same two, joined in the other order.
        &[NewOrder { price_ticks: 101, ..second }, ORDER],
    ]
    .map(|orders| orders.iter().copied().map(Command::New).collect::<Vec<_>>())
    .to_vec();
    states.extend(
        [
            Command::Kill(Kill { account: None, tag: 0, on: true, cancel: false }),
            Command::Kill(Kill { account: Some(2), tag: 0, on: true, cancel: false }),
            Command::Instrument(InstrumentSettings {
                state: InstrumentState::Halted,
                ..instrument
            }),
            Command::Instrument(InstrumentSettings {
                state: InstrumentState::Closed,
                ..instrument
            }),
            Command::Instrument(InstrumentSettings { band_low_ticks: 2, ..instrument }),
            Command::Instrument(InstrumentSettings { band_high_ticks: 2, ..instrument }),
            Command::Instrument(InstrumentSettings { reference_ticks: 2, ..instrument }),
            Command::Account(AccountSettings { quantity_lots_max: 2, ..account }),
            Command::Account(AccountSettings { notional_max: 2, ..account }),
            Command::Account(AccountSettings { collar_ticks: 2, ..account }),
            Command::Account(AccountSettings { open_orders_max: 2, ..account }),
            Command::Account(AccountSettings { messages_per_second_max: 2, ..account }),
            Command::Account(AccountSettings { self_trade: SelfTrade::CancelBoth, ..account }),
            Command::Position(PositionSettings { long_lots_max: 2, ..position }),
            Command::Position(PositionSettings { short_lots_max: 2, ..position }),
            Command::Position(PositionSettings { change_lots: 2, ..position }),
        ]
        .map(|command| vec![command]),
    );
    states
}

#[test]
fn every_part_of_the_state_shows() {
    let mut hashes: Vec<u64> =
        states().iter().map(|commands| engine_after(commands).state_hash()).collect();
    for limits in [
        LIMITS,
        EngineLimits { open_orders_max: 65, ..LIMITS },
        EngineLimits { price_levels_max: 33, ..LIMITS },
        EngineLimits { stop_levels_max: 9, ..LIMITS },
        EngineLimits { expiring_orders_max: 9, ..LIMITS },
        EngineLimits { accounts_max: 17, ..LIMITS },
    ] {
        hashes.push(Engine::new(2, limits).state_hash());
    }
    hashes.push(Engine::new(3, LIMITS).state_hash());
    let mut later = Engine::new(2, LIMITS);
    let release = Command::Kill(Kill { account: None, tag: 0, on: false, cancel: false });
    run(&mut later, &[Input { time_ns: 1, command: release }]);
    hashes.push(later.state_hash());
    let count = hashes.len();
    hashes.sort_unstable();
    hashes.dedup();
    assert_eq!(hashes.len(), count);
}
