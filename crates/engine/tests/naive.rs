//! The engine side by side with the naive one: every event, the depth and the state hash are equal.

mod commands;
mod reference;
mod workload;

use std::collections::HashSet;

use commands::{commands, limits};
use engine::*;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
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

/// Guards the test above: were a limit or a reason never met, it would prove less than it says.
#[test]
fn random_commands_reach_every_outcome() {
    let mut runner = TestRunner::deterministic();
    let mut outcomes = HashSet::new();
    for _ in 0..200 {
        let case = (limits(), commands(300)).new_tree(&mut runner).unwrap().current();
        let mut engine = Engine::new(3, case.0);
        for command in &case.1 {
            for event in apply(&mut engine, command) {
                outcomes.insert(match event {
                    Event::Booked { .. } => "booked",
                    Event::Trade { .. } => "trade",
                    Event::Done { reason: DoneReason::Filled, .. } => "filled",
                    Event::Done { reason: DoneReason::Cancelled, .. } => "cancelled",
                    Event::Done { reason: DoneReason::Expired, .. } => "expired",
                    Event::Rejected { reason, .. } => reason.as_str(),
                });
            }
        }
    }
    assert_eq!(outcomes.len(), 5 + 8, "{outcomes:?}");
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
