//! The last step of a new order: its id, its tag, its record in the journal, its execution. An
//! amendment has the last two.

use crate::account::orders::ClientOrder;
use crate::account::sessions::Sender;
use crate::entry::leading;
use crate::execution::Execution;
use crate::reply::rejections::{Rejection, not_inserted};
use crate::reply::reports::{RequestKind, Requester};
use engine::{Amend, Command, NewOrder};
use fair::window::Answer;
use journal::Delivery;
use transport::StreamId;
use transport::serve::Outbound;
use wire::ClientId;

/// A checked order or amendment that is about to be executed.
pub(crate) struct EnteringRequest<'a> {
    /// The connection that gets the answer; `None`: it is closed.
    pub from: Option<StreamId>,
    pub sender: Sender,
    pub client_id: &'a ClientId,
    /// Its part in the race for a tick.
    pub answer: Option<Answer>,
}

/// Gives an order its id and its tag, and executes it.
#[inline]
pub(crate) fn enter(
    core: &mut Execution,
    entering: &EnteringRequest<'_>,
    new: NewOrder,
    time_ns: u64,
    outbound: &mut Outbound,
) {
    let EnteringRequest { from, sender, client_id, answer } = *entering;
    let order_id = core.sequencer.next_order_id();
    let order = ClientOrder {
        client_id: *client_id,
        order_id,
        quantity_lots: new.quantity_lots,
        account: new.account,
        instrument: new.instrument,
        expires: new.expires_ns != 0,
        sender,
    };
    let tag = match core.orders.insert(order) {
        Ok(tag) => tag,
        Err(error) => {
            return reject(core, entering, &not_inserted(error), new.account, time_ns, outbound);
        }
    };
    let new = NewOrder { order_id, tag, ..new };
    let kind = RequestKind::Order { tag, stop: new.stop_ticks != 0 };
    let requester = Requester { from, client_id: Some(client_id), account: new.account, kind };
    execute(core, &requester, (order_id, answer), Command::New(new), time_ns, outbound);
}

/// Executes an amendment. The order's new name comes with it, if it gets one.
pub(crate) fn amend(
    core: &mut Execution,
    entering: &EnteringRequest<'_>,
    (amend, new_client_id): (Amend, Option<&ClientId>),
    time_ns: u64,
    outbound: &mut Outbound,
) {
    let EnteringRequest { from, client_id, answer, .. } = *entering;
    let (account, kind) = (amend.account, RequestKind::Amend { new_client_id });
    let requester = Requester { from, client_id: Some(client_id), account, kind };
    let part = (amend.order_id, answer);
    execute(core, &requester, part, Command::Amend(amend), time_ns, outbound);
}

/// Executes a command on this order, after a record of its part in a race, if it has one.
#[inline]
fn execute(
    core: &mut Execution,
    requester: &Requester<'_>,
    (order_id, answer): (u64, Option<Answer>),
    command: Command,
    time_ns: u64,
    outbound: &mut Outbound,
) {
    if let (Some(answer), Some(deliveries)) = (answer, &core.deliveries) {
        let (window_ns, session) = (deliveries.window.window_ns(), deliveries.session);
        let delivery = Delivery { order_id, answer, window_ns, session };
        if let Err(error) = core.sequencer.append_delivery(&delivery) {
            return core.not_logged(requester, error, time_ns, outbound);
        }
    }
    core.execute(requester, command, time_ns, outbound);
}

/// Rejects a request whose connection may have closed.
#[cold]
pub(crate) fn reject(
    core: &mut Execution,
    entering: &EnteringRequest<'_>,
    rejection: &Rejection<'_>,
    account: u32,
    time_ns: u64,
    outbound: &mut Outbound,
) {
    let Some(from) = entering.from else {
        // Nobody is there to get it.
        return core.rejections.rejected.add(rejection.name);
    };
    let mut request = core.rejected_request(from, None, Some(entering.client_id), time_ns);
    request.account_id = Some(core.sessions.account_id(account));
    let (asking, to) =
        ((&mut core.sequencer, &mut core.rejections), (&core.sessions, &mut core.sbe));
    leading::reject(asking, to, &request, rejection, outbound);
}
