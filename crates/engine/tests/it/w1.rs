//! Workload W1 with its published counts. They are independent of this project, so they check
//! matching itself, unlike the naive engine, which has the same author.

use crate::workload::{LIMITS, Shallow};
use engine::{Command, DoneReason, Engine, Event, Input};

#[derive(Debug, Default, PartialEq, Eq)]
struct Counts {
    acks: u64,
    trades: u64,
    cancel_acks: u64,
    expired: u64,
    modify_acks: u64,
    cancel_rejects: u64,
    modify_rejects: u64,
}

/// Executes one command, counts its trades and expiries, and returns whether it was accepted.
fn apply(engine: &mut Engine, command: Command, counts: &mut Counts) -> bool {
    let mut accepted = true;
    engine.apply(&Input { time_ns: 0, command }, &mut |event| match event {
        Event::Trade { .. } => counts.trades += 1,
        Event::Done { reason: DoneReason::Expired, .. } => counts.expired += 1,
        Event::Rejected { .. } => accepted = false,
        _ => {}
    });
    accepted
}

#[test]
fn two_million_operations_give_the_published_counts() {
    let mut engine = Engine::new(1, LIMITS);
    let (workload, prefill) = Shallow::new();
    for command in prefill {
        assert!(apply(&mut engine, command, &mut Counts::default()));
    }
    let mut counts = Counts::default();
    for command in workload.take(2_000_000) {
        let accepted = apply(&mut engine, command, &mut counts);
        *match (command, accepted) {
            (Command::New(_), true) => &mut counts.acks,
            (Command::Cancel(_), true) => &mut counts.cancel_acks,
            (Command::Cancel(_), false) => &mut counts.cancel_rejects,
            (Command::Amend(_), true) => &mut counts.modify_acks,
            (Command::Amend(_), false) => &mut counts.modify_rejects,
            other => panic!("{other:?}"),
        } += 1;
    }
    // The published count of cancel acks includes expired remainders of IOC orders.
    counts.cancel_acks += counts.expired;
    assert_eq!(
        counts,
        Counts {
            acks: 1_058_830,
            trades: 291_142,
            cancel_acks: 730_756,
            expired: 6_586,
            modify_acks: 86_377,
            cancel_rejects: 116_625,
            modify_rejects: 13_998,
        }
    );
    // The same on every machine and with every compiler.
    assert_eq!(engine.state_hash(), 0x0173_C94C_82A3_7F85);
}
