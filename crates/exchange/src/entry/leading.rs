//! Answers that only tell what this exchange knows. If a follower decides who leads, they wait
//! until it has acknowledged once more: this exchange may have been paused or cut off, and another
//! one may lead by now.

use crate::account::sessions::Sessions;
use crate::execution::Execution;
use crate::reply::rejections::{RejectedRequest, Rejection, Rejections, by_journal};
use crate::sbe::SbeSessions;
use crate::sequencer::Sequencer;
use transport::StreamId;
use transport::serve::Outbound;

/// Lets the answers that follow wait.
///
/// # Errors
/// Nothing may be told now.
fn confirm(sequencer: &mut Sequencer, outbound: &mut Outbound) -> Result<(), Rejection<'static>> {
    if let Some(number) = sequencer.append_question().map_err(by_journal)? {
        outbound.hold(number + 1);
    }
    Ok(())
}

/// Rejects a request by what this exchange knows of the orders.
#[cold]
pub(crate) fn reject(
    (sequencer, rejections): (&mut Sequencer, &mut Rejections),
    to: (&Sessions, &mut SbeSessions),
    request: &RejectedRequest<'_>,
    rejection: &Rejection<'_>,
    outbound: &mut Outbound,
) {
    let unconfirmed = confirm(sequencer, outbound).err();
    rejections.reject(to, request, unconfirmed.as_ref().unwrap_or(rejection), outbound);
}

/// Whether this exchange may tell what it knows of an order; if not, the client gets an error. A
/// rejection with the order's client id would say that there is no such order.
#[cold]
pub(crate) fn may_tell(
    core: &mut Execution,
    from: StreamId,
    time_ns: u64,
    outbound: &mut Outbound,
) -> bool {
    let Err(rejection) = confirm(&mut core.sequencer, outbound) else { return true };
    let request = core.rejected_request(from, None, None, time_ns);
    core.rejections.reject((&core.sessions, &mut core.sbe), &request, &rejection, outbound);
    false
}
