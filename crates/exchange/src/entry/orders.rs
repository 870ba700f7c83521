//! New orders, cancels and amendments.

use crate::account::orders::ClientOrder;
use crate::entry::commands;
use crate::execution::Execution;
use crate::reply::rejections::not_inserted;
use crate::reply::reports::{RequestKind, Requester};
use engine::{Command, NewOrder};
use transport::StreamId;
use transport::serve::Outbound;
use wire::request::{AmendOrder, CancelOrder, CreateOrder};

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
