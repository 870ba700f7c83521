//! Packets that one subscriber has requested.

use crate::format::message::Channel;

/// A requested replay or snapshot and its progress: see [`crate::Publisher::next_of`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sending {
    pub(super) channel: Channel,
    pub(super) what: RequestedPackets,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RequestedPackets {
    Replay { packet: u64, end_sequence: u64 },
    Snapshot { number: u64, part: usize, left: usize },
}

impl Sending {
    /// The sending after a subscriber's next request, which replaces this one. Exception: a
    /// snapshot in progress continues, and sends all of its parts once more from the next one on,
    /// cyclically. If it restarted, a client that repeats its request too early would never get the
    /// last parts.
    #[must_use]
    pub fn joined_by(self, asked: Sending) -> Sending {
        match (self.what, asked.what) {
            (
                RequestedPackets::Snapshot { number, part, left },
                RequestedPackets::Snapshot { number: same, left: all, .. },
            ) if (self.channel, number) == (asked.channel, same) => {
                // If only the heartbeat was sent, all parts are still to come.
                let left = if left + 1 < all { all } else { left };
                Sending { what: RequestedPackets::Snapshot { number, part, left }, ..self }
            }
            _ => asked,
        }
    }
}
