//! What became of operations, by their reports alone.

use engine::{Command, DoneReason, Event, Input, Reject};
use flow::w1::{TAG_ADD, TAG_CANCEL, TAG_IOC, TAG_MODIFY};
use measure::matching::Counts;

/// Takes an operation that was sent into account.
pub(crate) fn sent(counts: &mut Counts, input: &Input) {
    // Unless it is refused below.
    counts.acks += u64::from(matches!(input.command, Command::New(_)));
}

/// Takes a report into account.
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
