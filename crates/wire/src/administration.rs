//! The exchange's messages about itself, its order flow, and replays and snapshots of its feed. All
//! of them are our extensions, and rare.

use crate::fault::MessageFault;
use crate::reply::ReplyError;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// A message that is neither about an order nor market data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type")]
pub enum Notice<'a> {
    /// `FLOW` has started.
    #[serde(rename = "FLOW_STARTED")]
    FlowStarted,
    /// The flow has ended, and all of its effects have been published.
    #[serde(rename = "FLOW_ENDED")]
    FlowEnded(FlowEnded),
    /// The exchange does not send what `FEED_REPLAY` or `FEED_SNAPSHOT` requested.
    #[serde(rename = "FEED_REFUSED")]
    FeedRejected {
        /// The reason, in words.
        #[serde(borrow)]
        reason: Cow<'a, str>,
    },
    /// The answer to `DESCRIBE`.
    #[serde(rename = "DESCRIPTION")]
    Description(Box<Description>),
}

/// Counts of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowEnded {
    /// Inputs of the flow that were executed.
    pub inputs: u64,
    /// Datagrams with new messages published on [`crate::request::Depth::Orders`] since it began,
    /// for any cause.
    pub datagrams: u64,
    /// Messages in them.
    pub messages: u64,
    /// The number of the last message on [`crate::request::Depth::Orders`].
    pub feed_sequence: u64,
    /// The number of the last `BOOK` of the flow's instrument; `None` if nobody gets stamped ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub book_sequence: Option<u64>,
    /// The number of the last `TOP` of the flow's instrument that showed a change, 0 before the
    /// first; `None` if nobody gets stamped ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top_sequence: Option<u64>,
}

/// The exchange and its state.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Description {
    /// The program and its version.
    pub tool: String,
    /// The feed's session as decimal digits; empty without a feed.
    pub session: String,
    /// The engine's state, 16 hex digits.
    pub state_hash: String,
    /// The feeds: one per depth, one per instrument with a stamped `BOOK` subscriber, one per
    /// stamped `TOP` subscription.
    pub feeds: Vec<FeedState>,
    /// The clock of its stamps, read for this message: `clock`'s `TimeBase`; null without a clock.
    pub time_base: serde_json::Value,
    /// The machine's fingerprint; null if the exchange has none.
    pub machine: serde_json::Value,
    /// For the connection that asks: when datagrams of its feed left. `None` unless it asked for
    /// stamps when it subscribed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub departures: Option<Departures>,
}

/// When datagrams to one subscriber left the exchange's host, by its kernel's transmit stamps.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Departures {
    /// Largest error of a stamp on the exchange's clock, ns.
    pub bound_ns: u64,
    /// How often the wall clock was set while it stamped. Stamps from around a step are wrong by
    /// it.
    pub clock_steps: u64,
    /// The latest datagrams that were stamped, each with the number of its last message and two
    /// times on the exchange's clock, ns: when it reached the queueing discipline and when the
    /// driver got it. 0: no such stamp.
    pub datagrams: Vec<[u64; 3]>,
}

/// State of a feed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeedState {
    /// `ORDERS` or `LEVELS`; `BOOK` or `TOP` for JSON.
    pub depth: String,
    /// The number of the last message; 0 before the first.
    pub sequence: u64,
    /// The hash of the books after it, 16 hex digits; for `BOOK` of prices and lots alone, for
    /// `TOP` of all best prices that the subscription showed.
    pub book_hash: String,
    /// For `BOOK` and `TOP`: the instrument. The others are of all instruments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instrument_code: Option<String>,
    /// For `TOP`: the number of the subscription's first message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<u64>,
    /// For `TOP`: how many changes were shown after that one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changes: Option<u64>,
}

/// Appends a notice.
pub fn encode_notice(out: &mut Vec<u8>, notice: &Notice<'_>) {
    // It can't fail: it writes to memory, and JSON has all of these types.
    let _ = serde_json::to_writer(out, notice);
}

/// Decodes a notice.
///
/// # Errors
/// If it is not JSON, or not one of these messages.
pub fn decode_notice(bytes: &[u8]) -> Result<Notice<'_>, ReplyError> {
    serde_json::from_slice(bytes)
        .map_err(|error| ReplyError(MessageFault::Malformed { at_byte: error.column() }))
}
