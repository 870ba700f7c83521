//! Counts of a follower.

use crate::fault::Faults;

/// Counts of a follower since its creation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Datagrams given to it, valid or not.
    pub datagrams: u64,
    /// Messages applied to the books, without those of snapshots.
    pub messages: u64,
    /// Number of these that came by replay.
    pub replayed: u64,
    /// How often messages were found missing.
    pub gaps: u64,
    /// Live datagrams whose messages were all known.
    pub duplicates: u64,
    /// Datagrams of replays and snapshots that brought nothing new. A group gets a snapshot at an
    /// interval, and what others in it asked for.
    pub not_needed: u64,
    /// Datagrams that came before an earlier one and were kept.
    pub early: u64,
    /// Datagrams that could not be kept: there were `buffered_datagrams_max`, or it was too long.
    pub not_kept: u64,
    /// Heartbeats.
    pub heartbeats: u64,
    /// Replays requested.
    pub replays_asked: u64,
    /// Snapshots requested.
    pub snapshots_asked: u64,
    /// Snapshots applied.
    pub snapshots: u64,
    /// Sessions after the first.
    pub sessions: u64,
    /// Faults by kind.
    pub faults: Faults,
}
