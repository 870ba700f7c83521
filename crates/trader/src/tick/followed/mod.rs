//! The market data that a trader follows, and the book that it keeps by it. One implementation for
//! each dialect of the feed.
//!
//! See docs/decisions/038-ticks-over-json.md, 039-ticks-over-fix.md and
//! 043-ticks-by-the-best-prices.md.

mod datagrams;
pub(crate) mod fix;
pub(crate) mod json;
pub(crate) mod json_top;
mod prices;
pub mod properties;

use crate::tick::followed_state::FollowedState;
use crate::tick::releases::Publication;
use feed::{Book, Counts, RecoveryRequest};

/// A decoded datagram, or message of JSON or FIX.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tick {
    /// The number of its last message.
    pub(crate) number: u64,
    pub(crate) messages: u16,
    /// Length of the datagram, or of all messages of the tick with their frames.
    pub(crate) bytes: usize,
    pub(crate) kind: MarketDataKind,
    pub(crate) intended_ns: u64,
    /// 0 if the exchange doesn't tell.
    pub(crate) acknowledged_ns: u64,
    pub(crate) published_ns: u64,
}

/// Kinds of datagrams and messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MarketDataKind {
    /// New messages in sequence: the strategy sees the tick.
    Live,
    /// Live messages that were known already, or wait for others, or are not the tick's last.
    NotNow,
    Replay,
    Snapshot,
    Heartbeat,
}

/// A book that follows the exchange's. No I/O and no clock.
pub(crate) trait FollowedBook {
    /// Whether something comes at least ten times a second, so that silence is a fault.
    const HAS_HEARTBEATS: bool;

    /// When a datagram with new ticks was published; `None` if it has none, or can't be held.
    fn publication(&self, _message: &[u8]) -> Option<Publication> {
        None
    }

    /// Decodes a message, checks its number and applies it. `None` if it is not one of the feed's.
    fn take(&mut self, message: &[u8]) -> Option<Tick>;

    /// The book of an instrument.
    fn book(&self, instrument: u16) -> Option<&Book>;

    /// The next request to the feed, if one is needed.
    fn wants(&mut self) -> Option<RecoveryRequest> {
        None
    }

    /// The exchange rejected the request.
    fn request_rejected(&mut self) {}

    /// The request had no effect for a while, and counts as lost.
    fn again(&mut self) {}

    /// Another exchange's feed follows, which begins with a snapshot.
    fn change_exchange(&mut self) {}

    /// The number of the last message applied.
    fn sequence(&self) -> u64;

    /// Whether no known message is missing.
    fn is_in_sync(&self) -> bool;

    /// Why the book can't follow any more.
    fn failure(&self) -> Option<&str> {
        None
    }

    /// Off the path: the work that can wait until the tick's order has left.
    fn afterwards(&mut self) {}

    /// The exchange's state that it must agree with.
    fn state(&self, instrument_code: &str) -> FollowedState;

    /// A hash of what it follows, as the exchange describes it.
    fn hash(&self) -> u64;

    /// Its counts.
    fn counts(&self) -> Counts;
}
