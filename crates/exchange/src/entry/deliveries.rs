//! Orders and amendments that leave their delivery window: when it has passed, or because a later
//! request needs them.

use crate::entry::commands;
use crate::entry::entering::{self, EnteringRequest};
use crate::execution::Execution;
use crate::execution::deliveries::{Deliveries, WaitingInput, WaitingRequest};
use fair::window::Answer;
use transport::serve::Outbound;
use wire::ClientId;

/// The most requests that leave in one turn of the loop, which bounds how long clients wait.
const REQUESTS_PER_TURN_MAX: usize = 64;

/// Sequences the requests whose windows have passed. Returns whether others wait.
#[inline]
pub(crate) fn release(core: &mut Execution, wall_ns: fn() -> u64, outbound: &mut Outbound) -> bool {
    match &core.deliveries {
        Some(deliveries) if !deliveries.window.is_empty() => {}
        _ => return false,
    }
    let now_ns = core.observed.now_ns();
    for _ in 0..REQUESTS_PER_TURN_MAX {
        let Some(left) = core.deliveries.as_mut().and_then(|it| it.release(now_ns)) else { break };
        enter(core, left, wall_ns(), outbound);
    }
    core.deliveries.as_ref().is_some_and(|deliveries| !deliveries.window.is_empty())
}

/// Sequences now what waits of the order of this name: the order itself, and its amendments.
#[inline]
pub(crate) fn sequence_named(
    core: &mut Execution,
    account: Option<u32>,
    client_id: &ClientId,
    time_ns: u64,
    outbound: &mut Outbound,
) {
    if core.deliveries.is_some() {
        let is_it = |request: &WaitingRequest| {
            Some(request.account()) == account && request.names(client_id)
        };
        sequence(core, is_it, time_ns, outbound);
    }
}

/// Sequences now what waits of an account (`None`: of all accounts).
#[inline]
pub(crate) fn sequence_all(
    core: &mut Execution,
    account: Option<u32>,
    time_ns: u64,
    outbound: &mut Outbound,
) {
    if core.deliveries.is_some() {
        let is_one = |request: &WaitingRequest| account.is_none_or(|one| request.account() == one);
        sequence(core, is_one, time_ns, outbound);
    }
}

#[cold]
fn sequence(
    core: &mut Execution,
    wanted: impl Fn(&WaitingRequest) -> bool,
    time_ns: u64,
    outbound: &mut Outbound,
) {
    let cause_ns = core.observed.cause_ns;
    let take = |deliveries: &mut Box<Deliveries>| deliveries.take(&wanted);
    while let Some(left) = core.deliveries.as_mut().and_then(take) {
        enter(core, left, time_ns, outbound);
    }
    core.observed.cause_ns = cause_ns;
}

fn enter(
    core: &mut Execution,
    (answer, request): (Answer, WaitingRequest),
    time_ns: u64,
    outbound: &mut Outbound,
) {
    let WaitingRequest { sender, client_id, input, cause_ns } = request;
    // Its connection may have closed, and another may have its stream now.
    let from = core.sessions.connection(sender);
    core.observed.cause_ns = cause_ns;
    let entering = EnteringRequest { from, sender, client_id: &client_id, answer: Some(answer) };
    match input {
        WaitingInput::New(new) => entering::enter(core, &entering, new, time_ns, outbound),
        WaitingInput::Amend { amend, new_client_id } => {
            let new_client_id = new_client_id.as_ref();
            match commands::check_amend(&core.orders, &client_id, &amend, new_client_id) {
                Ok(()) => {
                    let amendment = (amend, new_client_id);
                    entering::amend(core, &entering, amendment, time_ns, outbound);
                }
                Err(why) => {
                    entering::reject(core, &entering, &why, amend.account, time_ns, outbound);
                }
            }
        }
    }
}
