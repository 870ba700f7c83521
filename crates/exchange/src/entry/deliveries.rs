//! Orders that leave their delivery window: when it has passed, or because a later request needs
//! them.

use crate::entry::entering::{self, EnteringOrder};
use crate::execution::Execution;
use crate::execution::deliveries::{Deliveries, WaitingOrder};
use fair::window::Answer;
use transport::serve::Outbound;
use wire::ClientId;

/// The most orders that leave in one turn of the loop, which bounds how long clients wait.
const ORDERS_PER_TURN_MAX: usize = 64;

/// Sequences the orders whose windows have passed. Returns whether others wait.
#[inline]
pub(crate) fn release(core: &mut Execution, wall_ns: fn() -> u64, outbound: &mut Outbound) -> bool {
    match &core.deliveries {
        Some(deliveries) if !deliveries.window.is_empty() => {}
        _ => return false,
    }
    let now_ns = core.observed.now_ns();
    for _ in 0..ORDERS_PER_TURN_MAX {
        let Some(left) = core.deliveries.as_mut().and_then(|it| it.release(now_ns)) else { break };
        enter(core, left, wall_ns(), outbound);
    }
    core.deliveries.as_ref().is_some_and(|deliveries| !deliveries.window.is_empty())
}

/// Sequences the order of this name now, if it waits.
#[inline]
pub(crate) fn sequence_named(
    core: &mut Execution,
    account: Option<u32>,
    client_id: &ClientId,
    time_ns: u64,
    outbound: &mut Outbound,
) {
    if core.deliveries.is_some() {
        let is_it = |order: &WaitingOrder| {
            Some(order.new.account) == account && order.client_id == *client_id
        };
        sequence(core, is_it, time_ns, outbound);
    }
}

/// Sequences the orders of an account now that wait (`None`: of all accounts).
#[inline]
pub(crate) fn sequence_all(
    core: &mut Execution,
    account: Option<u32>,
    time_ns: u64,
    outbound: &mut Outbound,
) {
    if core.deliveries.is_some() {
        let is_one = |order: &WaitingOrder| account.is_none_or(|one| order.new.account == one);
        sequence(core, is_one, time_ns, outbound);
    }
}

#[cold]
fn sequence(
    core: &mut Execution,
    wanted: impl Fn(&WaitingOrder) -> bool,
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
    (answer, order): (Answer, WaitingOrder),
    time_ns: u64,
    outbound: &mut Outbound,
) {
    let WaitingOrder { sender, client_id, new, cause_ns } = order;
    // Its connection may have closed, and another may have its stream now.
    let from = core.sessions.connection(sender);
    core.observed.cause_ns = cause_ns;
    let entering = EnteringOrder { from, sender, client_id: &client_id, answer: Some(answer) };
    entering::enter(core, &entering, new, time_ns, outbound);
}
