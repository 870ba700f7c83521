//! `network`: TCP requests and replies of fixed lengths. Four placements of threads and of the
//! network interface's interrupts show what it costs to cross sockets.

use crate::range::{OutOfRange, within};
use record::MessageBytes;
use serde::{Deserialize, Serialize};

/// The series of requests.
pub const REQUEST: &str = "request";
/// Bytes of a raw message before its padding.
pub const HEADER_BYTES: usize = 16;
/// The longest raw message.
pub const MESSAGE_BYTES_MAX: usize = 4096;

/// `[request]`: the messages of a `network` scenario, and the interface whose interrupts move.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Request {
    /// Length of a request.
    pub bytes: usize,
    /// Length of a reply.
    pub reply_bytes: usize,
    /// The network interface that messages go through; empty: the first one that says its node.
    pub interface: String,
}

impl Default for Request {
    fn default() -> Request {
        Request { bytes: 256, reply_bytes: 256, interface: String::new() }
    }
}

impl Request {
    /// Checks every key against its range.
    ///
    /// # Errors
    /// The first key that is out of range, with the values that are allowed.
    pub fn check(&self) -> Result<(), OutOfRange> {
        let bytes = HEADER_BYTES..=MESSAGE_BYTES_MAX;
        within("request.bytes", self.bytes, bytes.clone(), "a request has {} bytes")?;
        within("request.reply_bytes", self.reply_bytes, bytes, "a reply has {} bytes")
    }

    /// Both messages of a pair are requests.
    pub fn message_bytes(&self) -> MessageBytes {
        let (request, reply) = (self.bytes as u64, self.reply_bytes as u64);
        MessageBytes { order: request, order_reply: reply, cancel: request, cancel_reply: reply }
    }
}

/// On which socket a subject's thread runs, and on which the interface's interrupts: near is the
/// interface's own socket, far another one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// Thread and interrupts near.
    #[default]
    Baseline,
    /// Interrupts near, thread far.
    #[serde(rename = "crossed-1")]
    Crossed1,
    /// Thread and interrupts far.
    Inverted,
    /// Interrupts far, thread near.
    #[serde(rename = "crossed-2")]
    Crossed2,
}

impl Placement {
    /// Whether the thread is near, and whether the interrupts are.
    pub fn near(self) -> (bool, bool) {
        match self {
            Placement::Baseline => (true, true),
            Placement::Crossed1 => (false, true),
            Placement::Inverted => (false, false),
            Placement::Crossed2 => (true, false),
        }
    }
}
