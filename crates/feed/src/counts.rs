//! What a follower has met.

use crate::fault::Faults;

/// What a follower has met since it was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Datagrams that were given to it, whatever they were.
    pub datagrams: u64,
    /// Messages that were taken into the books, those of snapshots not counted.
    pub messages: u64,
    /// The part of these that came as a replay.
    pub replayed: u64,
    /// How often messages turned out to be missing.
    pub gaps: u64,
    /// Datagrams whose messages were all known already.
    pub duplicates: u64,
    /// Datagrams that came before an earlier one and were kept for later.
    pub early: u64,
    /// Datagrams that could not be kept: `buffered_datagrams_max` were, or it was longer than they
    /// can be.
    pub not_kept: u64,
    /// Heartbeats.
    pub heartbeats: u64,
    /// Replays that were asked for.
    pub replays_asked: u64,
    /// Snapshots that were asked for.
    pub snapshots_asked: u64,
    /// Snapshots that were taken in.
    pub snapshots: u64,
    /// Sessions that came after the first.
    pub sessions: u64,
    /// What was wrong, by kind.
    pub faults: Faults,
}
