//! New orders, cancels and amendments.

use crate::account::orders::ClientOrder;
use crate::entry::commands;
use crate::execution::Execution;
use crate::reply::rejections::{OTHER_ACCOUNT, UNKNOWN_ORDER, not_inserted};
use crate::reply::reports::{RequestKind, Requester};
use crate::reply::text::{send, wire_time};
use engine::{Command, NewOrder};
use transport::StreamId;
use transport::serve::Outbound;
use wire::OrderId;
use wire::reply::{OrderOpen, encode_open};
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
    let client_id = Some(&create.client_id);
    let checked = commands::new_order(&core.sessions, &core.instruments, from, create);
    let accepted = checked.and_then(|new| {
        let order_id = core.sequencer.next_order_id();
        let order = ClientOrder {
            client_id: create.client_id,
            order_id,
            quantity_lots: new.quantity_lots,
            account: new.account,
            instrument: new.instrument,
            expires: new.expires_ns != 0,
            sender: core.sessions.sender(from),
        };
        let tag = core.orders.insert(order).map_err(not_inserted)?;
        Ok(NewOrder { order_id, tag, ..new })
    });
    match accepted {
        Ok(new) => {
            let kind = RequestKind::Order { tag: new.tag, stop: new.stop_ticks != 0 };
            let requester = Requester { from: Some(from), client_id, account: new.account, kind };
            core.execute(&requester, Command::New(new), time_ns, outbound);
        }
        Err(rejection) => {
            let account_id = create.account_id.as_deref();
            let request = core.rejected_request(from, account_id, client_id, time_ns);
            core.rejections.reject((&core.sessions, &mut core.sbe), &request, &rejection, outbound);
        }
    }
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

/// Says whether an order is open. Like every answer it leaves once all earlier inputs may be
/// acknowledged, so it never speaks of an order that could still be lost.
#[cold]
pub(crate) fn status(
    core: &mut Execution,
    from: StreamId,
    asked: &OrderStatus<'_>,
    time_ns: u64,
    outbound: &mut Outbound,
) {
    let account_id = asked.account_id.as_deref();
    let account = core.sessions.account(from, account_id).ok_or(OTHER_ACCOUNT);
    let found = account.and_then(|account| {
        let (_, order) = core.orders.find(account, &asked.client_id).ok_or(UNKNOWN_ORDER)?;
        Ok((core.sessions.account_id(account), order.order_id))
    });
    match found {
        Ok((account_id, order_id)) => {
            let (client_id, order_id) = (asked.client_id, OrderId::from_u64(order_id));
            let (time_ms, uid) = (wire_time(time_ns), account_id.into());
            let open = OrderOpen { client_id, order_id, time_ms, uid };
            send(outbound.to(from), |out| encode_open(out, &open));
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
