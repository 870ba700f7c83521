//! Whether an order is open, or how it ended: the answer of each protocol.

use crate::account::ended::EndedOrder;
use crate::account::orders::ClientOrder;
use crate::counts::done_status;
use crate::entry::{deliveries, leading};
use crate::execution::Execution;
use crate::reply::rejections::{OTHER_ACCOUNT, Rejection, UNKNOWN_ORDER};
use crate::reply::text::{send, wire_time};
use transport::StreamId;
use transport::serve::Outbound;
use wire::reply::{OrderEnded, OrderOpen, encode_ended, encode_open};
use wire::request::OrderStatus;
use wire::sbe::exchange::{self as sbe, encode_status};
use wire::{ClientId, OrderId};

enum Standing<'a> {
    Open(&'a ClientOrder),
    Ended(EndedOrder),
}

/// The latest order of that account, or of the only one of `from`, with this id; `None` if this
/// exchange may not tell, and the client got an error. Like every answer it leaves once all earlier
/// inputs may be acknowledged, so it never speaks of an order that could still be lost; and it
/// never comes from an exchange whose standby has taken over.
fn find<'a>(
    core: &'a mut Execution,
    from: StreamId,
    asked: &OrderStatus<'_>,
    time_ns: u64,
    outbound: &mut Outbound,
) -> Option<Result<(u32, Standing<'a>), Rejection<'static>>> {
    let client_id = &asked.client_id;
    let account = core.sessions.account(from, asked.account_id.as_deref());
    deliveries::sequence_named(core, account, client_id, time_ns, outbound);
    if let Some(account) = account.filter(|_| asked.takes) {
        take(core, from, account, client_id);
    }
    if !leading::may_tell(core, from, time_ns, outbound) {
        return None;
    }
    Some(account.ok_or(OTHER_ACCOUNT).and_then(|account| {
        let open = core.orders.find(account, client_id).map(|(_, order)| Standing::Open(order));
        let ended = || core.orders.find_ended(account, client_id).map(Standing::Ended);
        Ok((account, open.or_else(ended).ok_or(UNKNOWN_ORDER)?))
    }))
}

/// Has the asker get the order's reports, unless the connection that sent it is there.
fn take(core: &mut Execution, from: StreamId, account: u32, client_id: &ClientId) {
    let sender = core.sessions.sender(from);
    if let Some((tag, order)) = core.orders.find(account, client_id)
        && core.sessions.connection(order.sender).is_none()
    {
        core.orders.set_sender(tag, sender);
    }
}

/// Answers an `ORDER_STATUS`.
#[cold]
pub(crate) fn json(
    core: &mut Execution,
    from: StreamId,
    asked: &OrderStatus<'_>,
    time_ns: u64,
    outbound: &mut Outbound,
) {
    let (client_id, time_ms) = (asked.client_id, wire_time(time_ns));
    let Some(found) = find(core, from, asked, time_ns, outbound) else { return };
    let (account, order_id, status) = match found {
        Ok((account, Standing::Open(order))) => (account, order.order_id, None),
        Ok((account, Standing::Ended(EndedOrder { order_id, reason }))) => {
            (account, order_id, Some(done_status(reason)))
        }
        Err(rejection) => return reject(core, from, asked, &rejection, time_ns, outbound),
    };
    let (order_id, uid) = (OrderId::from_u64(order_id), core.sessions.account_id(account).into());
    send(outbound.to(from), |out| match status {
        None => encode_open(out, &OrderOpen { client_id, order_id, time_ms, uid }),
        Some(status) => {
            encode_ended(out, &OrderEnded { client_id, status, order_id, time_ms, uid });
        }
    });
}

/// Answers a `StatusRequest` of SBE.
#[cold]
pub(crate) fn sbe(
    core: &mut Execution,
    session: StreamId,
    client_id: ClientId,
    time_ns: u64,
    outbound: &mut Outbound,
) {
    let (asked, time_ms) =
        (OrderStatus { client_id, account_id: None, takes: false }, wire_time(time_ns));
    let Some(found) = find(core, session, &asked, time_ns, outbound) else { return };
    match found {
        Ok((_, Standing::Open(&ClientOrder { order_id, instrument, quantity_lots, .. }))) => {
            let order_id = OrderId::from_u64(order_id);
            let amount = core.instruments.get(instrument).amount(quantity_lots);
            let status = sbe::OrderStatus { client_id, order_id, instrument, amount, time_ms };
            core.sbe
                .report(session, outbound, |out, sequence| encode_status(out, sequence, &status));
        }
        Ok((account, Standing::Ended(EndedOrder { order_id, reason }))) => {
            let (order_id, status) = (OrderId::from_u64(order_id), done_status(reason));
            let uid = core.sessions.account_id(account).into();
            let ended = OrderEnded { client_id, status, order_id, time_ms, uid };
            core.sbe.report(session, outbound, |out, sequence| {
                sbe::encode_ended(out, sequence, &ended);
            });
        }
        Err(rejection) => reject(core, session, &asked, &rejection, time_ns, outbound),
    }
}

fn reject(
    core: &mut Execution,
    from: StreamId,
    asked: &OrderStatus<'_>,
    rejection: &Rejection<'_>,
    time_ns: u64,
    outbound: &mut Outbound,
) {
    let (account_id, client_id) = (asked.account_id.as_deref(), Some(&asked.client_id));
    let request = core.rejected_request(from, account_id, client_id, time_ns);
    core.rejections.reject((&core.sessions, &mut core.sbe), &request, rejection, outbound);
}
