//! The last step of a new order: its id, its tag, its record in the journal, its execution.

use crate::account::orders::ClientOrder;
use crate::account::sessions::Sender;
use crate::execution::Execution;
use crate::reply::rejections::{Rejection, not_inserted};
use crate::reply::reports::{RequestKind, Requester};
use engine::{Command, NewOrder};
use fair::window::Answer;
use journal::Delivery;
use transport::StreamId;
use transport::serve::Outbound;
use wire::ClientId;

/// A checked order that is about to enter the book.
pub(crate) struct EnteringOrder<'a> {
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
    entering: &EnteringOrder<'_>,
    new: NewOrder,
    time_ns: u64,
    outbound: &mut Outbound,
) {
    let EnteringOrder { from, sender, client_id, answer } = *entering;
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
    if let (Some(answer), Some(deliveries)) = (answer, &core.deliveries) {
        let (window_ns, session) = (deliveries.window.window_ns(), deliveries.session);
        let delivery = Delivery { order_id, answer, window_ns, session };
        if let Err(error) = core.sequencer.append_delivery(&delivery) {
            return core.not_logged(&requester, error, time_ns, outbound);
        }
    }
    core.execute(&requester, Command::New(new), time_ns, outbound);
}

#[cold]
fn reject(
    core: &mut Execution,
    entering: &EnteringOrder<'_>,
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
    core.rejections.reject((&core.sessions, &mut core.sbe), &request, rejection, outbound);
}
