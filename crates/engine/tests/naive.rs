//! The engine side by side with the naive one: every event, the depth and the state hash are equal.

mod commands;
mod reference;
mod side_by_side;
mod workload;

use std::collections::HashSet;

use commands::{commands, limits};
use engine::*;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use side_by_side::SideBySide;
use workload::{LIMITS, Operation, Shallow};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn random_commands_give_the_same_events_and_state(
        instruments in 0..4_u16,
        limits in limits(),
        commands in commands(300),
    ) {
        let mut both = SideBySide::new(instruments, limits);
        for command in &commands {
            both.apply(command);
            both.check_state();
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
        let mut both = SideBySide::new(3, case.0);
        for command in &case.1 {
            for event in both.apply(command) {
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
    let mut both = SideBySide::new(1, LIMITS);
    let (workload, prefill) = Shallow::new();
    let operations = workload.take(3_000).flat_map(|operation| match operation {
        Operation::New(new) => vec![Command::New(new)],
        Operation::Cancel(cancel) => vec![Command::Cancel(cancel)],
        // Here a stale modify enters its order all the same: one more command to agree on.
        Operation::Modify(cancel, new) => vec![Command::Cancel(cancel), Command::New(new)],
    });
    for (step, command) in prefill.into_iter().chain(operations).enumerate() {
        both.apply(&command);
        if step % 500 == 0 {
            both.check_state();
        }
    }
    both.check_state();
}
