//! Counts the outcomes of operations, from their reports alone.

use engine::{Command, DoneReason, Engine, Event, Input, Reject};
use flow::w1::{TAG_ADD, TAG_CANCEL, TAG_IOC, TAG_MODIFY};
use record::engine::Counts;

/// Result of a pass: its counts and the engine's state.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) reports: u64,
    pub(crate) state_hash: u64,
}

/// Counts an operation that was sent.
pub(crate) fn sent(counts: &mut Counts, input: &Input) {
    // Unless it is rejected below.
    counts.acks += u64::from(matches!(input.command, Command::New(_)));
}

/// Counts a report.
pub(crate) fn reported(counts: &mut Counts, event: &Event) {
    match event {
        Event::Trade { .. } => counts.trades += 1,
        Event::Amended { .. } => counts.modify_acks += 1,
        Event::Done { reason: DoneReason::Cancelled, .. } => counts.cancel_acks += 1,
        Event::Done { reason: DoneReason::Expired, .. } => counts.expired += 1,
        Event::Rejected { tag, reason, .. } => match (*tag, *reason) {
            (TAG_CANCEL, Reject::UnknownOrder) => counts.cancel_rejects += 1,
            (TAG_MODIFY, Reject::UnknownOrder) => counts.modify_rejects += 1,
            (TAG_ADD | TAG_IOC, _) => {
                counts.acks -= 1;
                counts.refused += 1;
            }
            _ => counts.refused += 1,
        },
        _ => {}
    }
}

/// The counts, and the final state of the engine.
pub(crate) fn counted(engine: &mut Engine, inputs: &[Input]) -> (Counts, Outcome) {
    let mut counts = Counts::default();
    let mut reports = 0;
    for input in inputs {
        let before = reports;
        sent(&mut counts, input);
        engine.apply(input, &mut |event| {
            reported(&mut counts, &event);
            reports += 1;
        });
        counts.unanswered += u64::from(reports == before);
    }
    (counts, Outcome { reports, state_hash: engine.state_hash() })
}
