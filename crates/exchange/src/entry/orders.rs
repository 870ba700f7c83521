//! New orders, cancels and amendments.

use crate::account::sessions::Sender;
use crate::counts::done_status;
use crate::entry::entering::{EnteringOrder, enter};
use crate::entry::{commands, deliveries};
use crate::execution::Execution;
use crate::execution::deliveries::WaitingOrder;
use crate::reply::rejections::{DELIVERY_FULL, OTHER_ACCOUNT, UNKNOWN_ORDER};
use crate::reply::reports::{RequestKind, Requester};
use crate::reply::text::{send, wire_time};
use engine::{Command, NewOrder};
use fair::window::{Answer, Full};
use transport::StreamId;
use transport::serve::Outbound;
use wire::OrderId;
use wire::reply::{OrderEnded, OrderOpen, encode_ended, encode_open};
use wire::request::{AmendOrder, CancelOrder, CreateOrder, OrderStatus};

#[inline]
pub(crate) fn create(
    core: &mut Execution,
    from: StreamId,
    create: &CreateOrder<'_>,
    time_ns: u64,
    outbound: &mut Outbound,
) {
    core.counts.orders += 1;
    let (sender, client_id) = (core.sessions.sender(from), &create.client_id);
    let rejection = match commands::new_order(&core.sessions, &core.instruments, from, create) {
        Ok(new) => {
            let entering = EnteringOrder { from: Some(from), sender, client_id, answer: None };
            if core.deliveries.is_none() {
                return enter(core, &entering, new, time_ns, outbound);
            }
            match wait(core, sender, create, new) {
                Ok(Wait::Yes) => return,
                Ok(Wait::No(answer)) => {
                    let entering = EnteringOrder { answer, ..entering };
                    return enter(core, &entering, new, time_ns, outbound);
                }
                Err(Full) => DELIVERY_FULL,
            }
        }
        Err(rejection) => rejection,
    };
    let account_id = create.account_id.as_deref();
    let request = core.rejected_request(from, account_id, Some(client_id), time_ns);
    core.rejections.reject((&core.sessions, &mut core.sbe), &request, &rejection, outbound);
}

/// Whether an order waits for its delivery window; if not, its part in a race, if it has one.
enum Wait {
    Yes,
    No(Option<Answer>),
}

/// Lets an order wait for its delivery window if it names a tick.
fn wait(
    core: &mut Execution,
    sender: Sender,
    create: &CreateOrder<'_>,
    new: NewOrder,
) -> Result<Wait, Full> {
    let Some(deliveries) = &mut core.deliveries else { return Ok(Wait::No(None)) };
    let Some(clock) = create.delivery else {
        deliveries.counts.without_clock += 1;
        return Ok(Wait::No(None));
    };
    let cause_ns = core.observed.cause_ns;
    let order = WaitingOrder { sender, client_id: create.client_id, new, cause_ns };
    let answer = deliveries.arrives(clock, order)?;
    Ok(if answer.is_some() { Wait::No(answer) } else { Wait::Yes })
}

#[inline]
pub(crate) fn cancel(
    core: &mut Execution,
    from: StreamId,
    cancel: &CancelOrder<'_>,
    time_ns: u64,
    outbound: &mut Outbound,
) {
    core.counts.cancels += 1;
    let client_id = Some(&cancel.client_id);
    if core.deliveries.is_some() {
        let account = core.sessions.account(from, cancel.account_id.as_deref());
        deliveries::sequence_named(core, account, &cancel.client_id, time_ns, outbound);
    }
    match commands::cancel(&core.sessions, &core.instruments, &core.orders, from, cancel) {
        Ok(command) => {
            let (account, kind) = (command.account, RequestKind::Cancel);
            let requester = Requester { from: Some(from), client_id, account, kind };
            core.execute(&requester, Command::Cancel(command), time_ns, outbound);
        }
        Err(rejection) => {
            let account_id = cancel.account_id.as_deref();
            let request = core.rejected_request(from, account_id, client_id, time_ns);
            core.rejections.reject((&core.sessions, &mut core.sbe), &request, &rejection, outbound);
        }
    }
}

/// Says whether an order is open, or how it ended. Like every answer it leaves once all earlier
/// inputs may be acknowledged, so it never speaks of an order that could still be lost.
#[cold]
pub(crate) fn status(
    core: &mut Execution,
    from: StreamId,
    asked: &OrderStatus<'_>,
    time_ns: u64,
    outbound: &mut Outbound,
) {
    let account_id = asked.account_id.as_deref();
    let account = core.sessions.account(from, account_id);
    deliveries::sequence_named(core, account, &asked.client_id, time_ns, outbound);
    let account = account.ok_or(OTHER_ACCOUNT);
    let found = account.and_then(|account| {
        let open = core.orders.find(account, &asked.client_id);
        let found = match open {
            Some((_, order)) => (order.order_id, None),
            None => {
                let ended = core.orders.find_ended(account, &asked.client_id);
                ended.map(|ended| (ended.order_id, Some(ended.reason))).ok_or(UNKNOWN_ORDER)?
            }
        };
        Ok((core.sessions.account_id(account), found))
    });
    match found {
        Ok((account_id, (order_id, reason))) => {
            let (client_id, order_id) = (asked.client_id, OrderId::from_u64(order_id));
            let (time_ms, uid) = (wire_time(time_ns), account_id.into());
            send(outbound.to(from), |out| match reason {
                None => encode_open(out, &OrderOpen { client_id, order_id, time_ms, uid }),
                Some(reason) => {
                    let status = done_status(reason);
                    let ended = OrderEnded { client_id, status, order_id, time_ms, uid };
                    encode_ended(out, &ended);
                }
            });
        }
        Err(rejection) => {
            let client_id = Some(&asked.client_id);
            let request = core.rejected_request(from, account_id, client_id, time_ns);
            core.rejections.reject((&core.sessions, &mut core.sbe), &request, &rejection, outbound);
        }
    }
}

pub(crate) fn amend(
    core: &mut Execution,
    from: StreamId,
    amend: &AmendOrder<'_>,
    time_ns: u64,
    outbound: &mut Outbound,
) {
    core.counts.amends += 1;
    let client_id = Some(&amend.client_id);
    if core.deliveries.is_some() {
        let account = core.sessions.account(from, amend.account_id.as_deref());
        deliveries::sequence_named(core, account, &amend.client_id, time_ns, outbound);
    }
    match commands::amend(&core.sessions, &core.instruments, &core.orders, from, amend) {
        Ok((command, new_client_id)) => {
            let (account, kind) = (command.account, RequestKind::Amend { new_client_id });
            let requester = Requester { from: Some(from), client_id, account, kind };
            core.execute(&requester, Command::Amend(command), time_ns, outbound);
        }
        Err(rejection) => {
            let account_id = amend.account_id.as_deref();
            let request = core.rejected_request(from, account_id, client_id, time_ns);
            core.rejections.reject((&core.sessions, &mut core.sbe), &request, &rejection, outbound);
        }
    }
}
