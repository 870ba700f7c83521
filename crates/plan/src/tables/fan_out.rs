//! `[fan_out]` of a scenario: a datagram to many subscribers.

use crate::range::{OutOfRange, require, within};
use serde::{Deserialize, Serialize};

/// Limit on the subscribers of a measurement.
pub const SUBSCRIBERS_MAX: usize = 64;
/// Bytes of the shortest message: tunnel header, sequence and three stamps.
pub const MESSAGE_BYTES_MIN: usize = 40;
/// Bytes of the longest message: a datagram over an Ethernet of 1 500 bytes.
pub const MESSAGE_BYTES_MAX: usize = 1_472;
/// Limit on the copies of a run, whose arrivals are kept in memory, 4 bytes each.
pub const ARRIVALS_MAX: u64 = 100_000_000;

/// `[fan_out]` of a scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FanOut {
    /// Subscribers.
    pub subscribers: usize,
    /// Length of a message, with its header of 40 bytes.
    pub message_bytes: usize,
    /// The share of messages that is to reach everybody at once: the record has the smallest hold
    /// with which it does.
    pub fair: f64,
}

impl Default for FanOut {
    fn default() -> FanOut {
        FanOut { subscribers: 16, message_bytes: 128, fair: 0.999 }
    }
}

impl FanOut {
    /// Checks every key against its range.
    ///
    /// # Errors
    /// The first key that is out of range, with the values that are allowed.
    pub fn check(&self) -> Result<(), OutOfRange> {
        let (subscribers, fair) = (self.subscribers, self.fair);
        within("fan_out.subscribers", subscribers, 1..=SUBSCRIBERS_MAX, "there are {}")?;
        let bytes = MESSAGE_BYTES_MIN..=MESSAGE_BYTES_MAX;
        within("fan_out.message_bytes", self.message_bytes, bytes, "a message has {} bytes")?;
        let is_share = fair > 0.0 && fair <= 1.0;
        require(is_share, "fan_out.fair", fair, "a share above 0 and at most 1, such as 0.999")
    }
}

/// Which subscriber gets a datagram first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SendOrder {
    /// Always in the order of the list.
    #[default]
    Fixed,
    /// Each datagram begins one subscriber further on.
    Rotating,
    /// A fresh random order for each datagram.
    Random,
}

impl SendOrder {
    /// Every order.
    pub const ALL: [SendOrder; 3] = [SendOrder::Fixed, SendOrder::Rotating, SendOrder::Random];

    /// The name in scenarios and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            SendOrder::Fixed => "fixed",
            SendOrder::Rotating => "rotating",
            SendOrder::Random => "random",
        }
    }
}
