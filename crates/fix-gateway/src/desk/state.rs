//! The state of one FIX session.

use super::market::securities::Securities;
use super::market::state::Market;
use super::orders::Orders;
use super::pending::{PendingRequest, RequestKind};
use super::recovery::Recovery;
use fix::message::Field;
use fix::session::Session;
use fix::store::FileStore;
use std::collections::VecDeque;
use std::sync::Arc;
use wire::OrderId;
use wire::client_id::ClientId;

/// One FIX session without its sockets.
pub(crate) struct Desk {
    pub(super) account: String,
    pub(super) session: Session<FileStore>,
    pub(super) orders: Orders,
    pub(super) pending: VecDeque<PendingRequest>,
    /// The client's message while it is acted on, and its fields.
    pub(super) message: (Vec<u8>, Vec<Field>),
    /// Makes ExecID unique within a millisecond.
    pub(super) executions: u64,
    pub(super) securities: Arc<Securities>,
    /// Until the session has the reports that it lacked at the start.
    pub(super) recovery: Option<Box<Recovery>>,
    /// Whether orders are noted before the exchange gets them: if that has a journal.
    pub(super) notes: bool,
    /// A note.
    pub(super) note: Vec<u8>,
    /// The highest id of the orders that the session has had.
    pub(super) highest: Option<OrderId>,
    /// When a report was caused that is made anew; `None`: now.
    pub(super) happened_ns: Option<u64>,
    /// The market data that the client follows.
    pub market: Market,
    /// Waits for the client.
    pub to_client: Vec<u8>,
    /// Waits for the exchange.
    pub to_exchange: Vec<u8>,
    /// Cancel the account's orders when the client's connection ends.
    pub cancels_on_disconnect: bool,
}

impl Desk {
    /// Removes the oldest request that is so.
    pub(super) fn take_pending(
        &mut self,
        is_it: impl Fn(&PendingRequest) -> bool,
    ) -> Option<PendingRequest> {
        let at = self.pending.iter().position(is_it)?;
        self.pending.remove(at)
    }

    /// Removes the oldest request to cancel that order.
    pub(super) fn answered_cancel(&mut self, target: &ClientId) -> Option<PendingRequest> {
        let is_cancel = |kind: &RequestKind| matches!(kind, RequestKind::Cancel(_));
        self.take_pending(|pending| is_cancel(&pending.kind) && pending.target == *target)
    }
}
