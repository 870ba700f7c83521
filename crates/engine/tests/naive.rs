//! The engine side by side with the naive one: every event, the depth and the state hash are equal.

mod commands;
mod reference;
mod workload;

use commands::{commands, limits};
use engine::*;
use proptest::prelude::*;
use reference::NaiveEngine;
use workload::{LIMITS, Operation, Shallow};

fn apply(engine: &mut Engine, command: &Command) -> Vec<Event> {
    let mut events = Vec::new();
    engine.apply(command, &mut |event| events.push(event));
    events
}

/// What must be equal, and what must hold, between any two commands.
fn check_state(engine: &Engine, naive: &NaiveEngine, instruments: u16, limits: EngineLimits) {
    assert_eq!(engine.state_hash(), naive.state_hash());
    assert_eq!(engine.open_orders(), naive.open_orders());
    assert!(engine.open_orders() <= limits.open_orders_max);
    for instrument in 0..instruments {
        for side in [Side::Buy, Side::Sell] {
            let levels: Vec<_> = engine.levels(instrument, side).collect();
            assert_eq!(levels, naive.levels(instrument, side));
            assert!(levels.len() <= limits.price_levels_max as usize);
            let top = engine.top(instrument);
            let quote = if side == Side::Buy { top.bid } else { top.ask };
            assert_eq!(
                quote.map(|q| (q.price_ticks, q.quantity_lots)),
                levels.first().map(|l| (l.0, l.1))
            );
        }
        if let Top { bid: Some(bid), ask: Some(ask) } = engine.top(instrument) {
            assert!(bid.price_ticks < ask.price_ticks, "the book is crossed");
        }
    }
    assert_eq!(engine.top(instruments), Top::default());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn random_commands_give_the_same_events_and_state(
        instruments in 0..4_u16,
        limits in limits(),
        commands in commands(300),
    ) {
        let mut engine = Engine::new(instruments, limits);
        let mut naive = NaiveEngine::new(instruments, limits);
        for command in &commands {
            prop_assert_eq!(apply(&mut engine, command), naive.apply(command), "{:?}", command);
            check_state(&engine, &naive, instruments, limits);
        }
    }
}

#[test]
fn a_deep_book_gives_the_same_events_and_state() {
    let mut engine = Engine::new(1, LIMITS);
    let mut naive = NaiveEngine::new(1, LIMITS);
    let (workload, prefill) = Shallow::new();
    let operations = workload.take(3_000).flat_map(|operation| match operation {
        Operation::New(new) => vec![Command::New(new)],
        Operation::Cancel(cancel) => vec![Command::Cancel(cancel)],
        // Here a stale modify enters its order all the same: one more command to agree on.
        Operation::Modify(cancel, new) => vec![Command::Cancel(cancel), Command::New(new)],
    });
    for (step, command) in prefill.into_iter().chain(operations).enumerate() {
        assert_eq!(apply(&mut engine, &command), naive.apply(&command), "{step}: {command:?}");
        if step % 500 == 0 {
            check_state(&engine, &naive, 1, LIMITS);
        }
    }
    check_state(&engine, &naive, 1, LIMITS);
}
