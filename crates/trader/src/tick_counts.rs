//! What the loop counts beside the stamps.

use crate::risk::Refusal;

/// Of the measured part, where nothing else is said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TickCounts {
    /// Live datagrams that were taken in.
    pub(crate) datagrams: u64,
    /// Messages in them,
    pub(crate) messages: u64,
    /// and bytes.
    pub(crate) datagram_bytes: u64,
    /// Messages to the exchange about orders,
    pub(crate) sent: u64,
    /// those of the warm-up,
    pub(crate) warm_up_sent: u64,
    /// and what they were answered by.
    pub(crate) received: u64,
    /// Answers that were refusals.
    pub(crate) rejected: u64,
    /// Answers to nothing.
    pub(crate) duplicated: u64,
    /// What nobody asked for.
    pub(crate) unexpected: u64,
    /// What was wished and refused in the whole run, by [`Refusal`].
    pub(crate) refused: [u64; Refusal::ALL.len()],
    /// Messages about orders in the whole run, and their bytes,
    pub(crate) said: u64,
    pub(crate) said_bytes: u64,
    /// and the answers', and theirs.
    pub(crate) heard: u64,
    pub(crate) heard_bytes: u64,
    /// When the latest order left that a tick led to, ns.
    pub(crate) last_sent_ns: u64,
}
