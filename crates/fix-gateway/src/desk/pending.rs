//! Requests that wait for the exchange's reply.

use fix::encode::Body;
use wire::client_id::ClientId;
use wire::request::Side;

/// Requests that wait for their reply. One more is rejected.
pub(crate) const PENDING_MAX: usize = 65_536;

/// A request that waits for its reply.
#[derive(Debug)]
pub(super) struct PendingRequest {
    pub kind: RequestKind,
    /// The order, or the mass cancel itself.
    pub target: ClientId,
    /// ClOrdID of the request.
    pub id: ClientId,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum RequestKind {
    New,
    /// With Side (54), which the session may not know otherwise.
    Cancel(Side),
    Replace,
    /// With MassCancelRequestType (530).
    MassCancel(char),
    Status(Box<Question>),
    /// Takes the order's reports; the client does not know of it.
    Take,
}

/// The fields of a status request that its answer repeats.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Question {
    pub symbol: String,
    pub side: Side,
    /// OrdStatusReqID (790).
    pub status_id: Option<String>,
}

impl Question {
    pub fn put_id(&self, body: &mut Body<'_>) {
        if let Some(status_id) = &self.status_id {
            body.text(790, status_id);
        }
    }
}
