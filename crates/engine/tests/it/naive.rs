//! Compares the engine with the naive one: every event, the state piece by piece, the depth, the
//! positions. A saved and restored engine must continue identically.

use std::collections::BTreeMap;

use crate::commands::{inputs, limits};
use crate::side_by_side::SideBySide;
use crate::workload::{LIMITS, Shallow};
use engine::*;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testing::cases(512)))]

    #[test]
    fn random_commands_give_the_same_events_and_state(
        instruments in 0..4_u16,
        limits in limits(),
        inputs in inputs(300),
        restore_every in 1..100_usize,
    ) {
        let mut both = SideBySide::new(instruments, limits);
        for (step, input) in inputs.iter().enumerate() {
            both.apply(input);
            both.check_state();
            if step % restore_every == 0 {
                both.restore();
            }
        }
    }
}

/// A name for each kind of result.
fn outcome(event: Event) -> String {
    match event {
        Event::Booked { .. } => "booked".into(),
        Event::Trade { .. } => "trade".into(),
        Event::Decremented { .. } => "decremented".into(),
        Event::Replenished { .. } => "replenished".into(),
        Event::Amended { kept_place: true, visible_lots: 0, .. } => "amended a stop".into(),
        Event::Amended { kept_place: true, .. } => "amended in place".into(),
        Event::Amended { kept_place: false, .. } => "amended out of place".into(),
        Event::Waiting { .. } => "waiting".into(),
        Event::Triggered { .. } => "triggered".into(),
        Event::Done { reason, .. } => format!("done: {reason:?}"),
        Event::Applied { .. } => "applied".into(),
        Event::Rejected { reason, .. } => format!("rejected: {reason:?}"),
    }
}

/// `Reject` numbers its reasons from 0 without a gap.
const REJECTS: usize = Reject::LimitExpiringOrders as usize + 1;
/// Results of [`outcome`] other than `Done` and `Rejected`.
const OTHERS: usize = 10;

/// Guards the test above, which would prove less if a limit or a reason were never reached.
#[test]
fn random_commands_reach_every_outcome() {
    let mut runner = TestRunner::deterministic();
    let mut outcomes = BTreeMap::<String, u32>::new();
    for _ in 0..200 {
        let (limits, inputs) = (limits(), inputs(300)).new_tree(&mut runner).unwrap().current();
        let mut engine = Engine::new(3, limits);
        for input in &inputs {
            engine.apply(input, &mut |event| {
                *outcomes.entry(outcome(event)).or_default() += 1;
            });
        }
    }

    let expected = OTHERS + DoneReason::ALL.len() + REJECTS;
    assert_eq!(outcomes.len(), expected, "{outcomes:#?}");
}

#[test]
fn a_deep_book_gives_the_same_events_and_state() {
    let mut both = SideBySide::new(1, LIMITS);
    let (workload, prefill) = Shallow::new();
    for (step, command) in prefill.into_iter().take(3_000).chain(workload.take(1_000)).enumerate() {
        both.apply(&Input { time_ns: step as u64, command });
        if step % 1_000 == 0 {
            both.check_state();
        }
    }
    both.check_state();
    both.restore();
}
