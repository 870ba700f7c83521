//! `network`: requests and replies of fixed lengths, over TCP or UDP. Four placements of threads
//! and of the network interface's interrupts show what it costs to cross sockets.

use crate::faults::DatagramHarm;
use crate::range::{OutOfRange, require, within};
use record::MessageBytes;
use serde::{Deserialize, Serialize};

/// The series of requests.
pub const REQUEST: &str = "request";
/// The series of one-way scenarios: from the client to the echo, and back.
pub const FORWARD: &str = "forward";
/// See [`FORWARD`].
pub const REVERSE: &str = "reverse";
/// Bytes of the shortest message that is stamped at both ends.
pub const STAMPED_BYTES: usize = HEADER_BYTES + 24;
/// Limit on the messages of a run whose ends read two clocks: their stamps are kept until the
/// clocks' offset is known, 56 bytes each.
pub const TWO_CLOCKS_MESSAGES_MAX: u64 = 1 << 20;
/// Bytes of a raw message before its padding.
pub const HEADER_BYTES: usize = 16;
/// The longest raw message.
pub const MESSAGE_BYTES_MAX: usize = 8192;

/// Limit on the bulk flows of a subject.
pub const BULK_FLOWS_MAX: usize = 64;
/// Limit on the rate of bulk flows, megabits a second.
pub const BULK_MEGABITS_MAX: f64 = 1e6;

/// The longest wait for the reply to a datagram, ms.
pub const PATIENCE_MS_MAX: u64 = 10_000;

/// The protocol of requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// Each flow is a TCP connection.
    #[default]
    Tcp,
    /// Each flow is a socket of its own, and each message one UDP datagram.
    Udp,
}

/// `[request]`: the messages of a `network` scenario, and the interface whose interrupts move.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Request {
    /// Over what they go.
    pub protocol: Protocol,
    /// Length of a request.
    pub bytes: usize,
    /// Length of a reply.
    pub reply_bytes: usize,
    /// Whether the echo stamps too, so that each direction is a series of its own; over UDP only.
    pub one_way: bool,
    /// Time after which a request over UDP without its reply is lost, ms.
    pub patience_ms: u64,
    /// Length of the datagrams of bulk flows over UDP.
    pub bulk_bytes: usize,
    /// Payload of all bulk flows of a subject together, megabits a second; 0: as fast as the
    /// kernel takes it.
    pub bulk_megabits: f64,
    /// `HOST:PORT` of the raw echo that bulk flows go to, where no exchange is started; empty:
    /// that of the requests.
    pub bulk_target: String,
    /// The network interface that messages go through; empty: the first one that says its node.
    pub interface: String,
    /// Faults of the replies that arrive over UDP.
    pub inject: DatagramHarm,
}

impl Default for Request {
    fn default() -> Request {
        Request {
            protocol: Protocol::Tcp,
            bytes: 256,
            reply_bytes: 256,
            one_way: false,
            patience_ms: 1_000,
            bulk_bytes: 1_400,
            bulk_megabits: 0.0,
            bulk_target: String::new(),
            interface: String::new(),
            inject: DatagramHarm::default(),
        }
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
        within("request.reply_bytes", self.reply_bytes, bytes, "a reply has {} bytes")?;
        let patience = 1..=PATIENCE_MS_MAX;
        within("request.patience_ms", self.patience_ms, patience, "wait {} ms")?;
        let datagram = STAMPED_BYTES..=MESSAGE_BYTES_MAX;
        within("request.bulk_bytes", self.bulk_bytes, datagram, "a bulk datagram has {} bytes")?;
        let why = format!("0 (as fast as the kernel takes it) to {BULK_MEGABITS_MAX}");
        let holds = (0.0..=BULK_MEGABITS_MAX).contains(&self.bulk_megabits);
        require(holds, "request.bulk_megabits", self.bulk_megabits, why)?;
        let is_udp = self.protocol == Protocol::Udp;
        let harmless = is_udp || self.inject.is_none();
        let why = "only datagrams can be harmed: set request.protocol to udp";
        require(harmless, "request.inject", self.inject.words().unwrap_or_default(), why)?;
        let why = format!(
            "over UDP the echo sends no reply longer than its request: use at most {}, or raise \
             request.bytes",
            self.bytes
        );
        let fits = !is_udp || self.reply_bytes <= self.bytes;
        require(fits, "request.reply_bytes", self.reply_bytes, why)?;
        let why = "the echo stamps datagrams only: set request.protocol to udp";
        require(!self.one_way || is_udp, "request.one_way", true, why)?;
        let why = format!("with one_way a reply has room for stamps: at least {STAMPED_BYTES}");
        let has_room = !self.one_way || self.reply_bytes >= STAMPED_BYTES;
        require(has_room, "request.reply_bytes", self.reply_bytes, why)
    }

    /// Packets of a message of that length over an Ethernet of 1 500 bytes: the kernel fragments a
    /// datagram at multiples of 8 bytes, and leaves 12 bytes of a segment to TCP's time stamps.
    pub fn packets(&self, bytes: u64) -> u64 {
        match self.protocol {
            Protocol::Tcp => bytes.div_ceil(1_448),
            Protocol::Udp => (bytes + 8).div_ceil(1_480),
        }
    }

    /// Both messages of a pair are requests. `both` is a length of its own for requests and
    /// replies; 0: none.
    pub fn message_bytes(&self, both: usize) -> MessageBytes {
        let or_own = |bytes: usize| if both > 0 { both as u64 } else { bytes as u64 };
        let (request, reply) = (or_own(self.bytes), or_own(self.reply_bytes));
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
