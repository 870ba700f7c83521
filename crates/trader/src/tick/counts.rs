//! Counters of the event loop.

use crate::risk::Rejection;

/// Counters of the measured part, unless they say otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TickCounts {
    /// Live datagrams.
    pub(crate) datagrams: u64,
    /// Messages in them.
    pub(crate) messages: u64,
    /// Bytes in them.
    pub(crate) datagram_bytes: u64,
    /// Order messages to the exchange.
    pub(crate) sent: u64,
    /// The same in the warm-up.
    pub(crate) warm_up_sent: u64,
    /// Replies to them.
    pub(crate) received: u64,
    /// Replies that are rejections.
    pub(crate) rejected: u64,
    /// Replies to no request.
    pub(crate) duplicated: u64,
    /// Unexpected messages.
    pub(crate) unexpected: u64,
    /// Order intents that the risk check rejected in the whole run, by [`Rejection`].
    pub(crate) risk_rejections: [u64; Rejection::ALL.len()],
    /// Order messages of the whole run, and their bytes.
    pub(crate) said: u64,
    pub(crate) said_bytes: u64,
    /// Replies of the whole run, and their bytes.
    pub(crate) heard: u64,
    pub(crate) heard_bytes: u64,
    /// When the last order of a tick left, ns.
    pub(crate) last_sent_ns: u64,
}
