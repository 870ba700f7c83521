//! What an exchange says of itself and of its order flow, and of what it could not send again on
//! its feed. All of it is ours, and rare.

use crate::fault::MessageFault;
use crate::reply::ReplyError;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// A message that is neither about an order nor market data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type")]
pub enum Notice<'a> {
    /// `FLOW` is under way.
    #[serde(rename = "FLOW_STARTED")]
    FlowStarted,
    /// The flow is over, and all that it led to has been published.
    #[serde(rename = "FLOW_ENDED")]
    FlowEnded(FlowEnded),
    /// What `FEED_REPLAY` or `FEED_SNAPSHOT` asked for is not sent.
    #[serde(rename = "FEED_REFUSED")]
    FeedRefused {
        /// Why, for a person.
        #[serde(borrow)]
        reason: Cow<'a, str>,
    },
    /// `DESCRIBE` answered.
    #[serde(rename = "DESCRIPTION")]
    Description(Box<Description>),
}

/// What became of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowEnded {
    /// Inputs of the flow that were executed.
    pub inputs: u64,
    /// Datagrams with new messages that were published on [`crate::request::Depth::Orders`] since
    /// it began, whatever led to them.
    pub datagrams: u64,
    /// Messages in them.
    pub messages: u64,
    /// The number of the last message on [`crate::request::Depth::Orders`].
    pub feed_sequence: u64,
}

/// What exchange it is, and in what state.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Description {
    /// The program and its version.
    pub tool: String,
    /// The feed's session as decimal digits; empty without a feed.
    pub session: String,
    /// The engine's state, 16 hex digits.
    pub state_hash: String,
    /// By depth.
    pub feeds: Vec<FeedState>,
    /// By what it stamps, read when it was asked: `measure`'s `TimeBase`; null without a clock.
    pub time_base: serde_json::Value,
    /// The machine's fingerprint; null if it was not given.
    pub machine: serde_json::Value,
}

/// Where a feed stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeedState {
    /// `ORDERS` or `LEVELS`.
    pub depth: String,
    /// The number of the last message.
    pub sequence: u64,
    /// The hash of the books after it, 16 hex digits.
    pub book_hash: String,
}

/// Appends a notice.
pub fn encode_notice(out: &mut Vec<u8>, notice: &Notice<'_>) {
    // Into memory, and of types that JSON has: it can't fail.
    let _ = serde_json::to_writer(out, notice);
}

/// Decodes a notice.
///
/// # Errors
/// If it is not JSON, or none of these messages.
pub fn decode_notice(bytes: &[u8]) -> Result<Notice<'_>, ReplyError> {
    serde_json::from_slice(bytes)
        .map_err(|error| ReplyError(MessageFault::Malformed { at_byte: error.column() }))
}
