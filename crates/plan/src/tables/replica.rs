//! `order-entry`: whether the exchange of a subject has a journal, and a follower.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Longest round trip to a follower, us. The exchange takes a follower for lost that does not
/// acknowledge for a second.
pub const ROUND_TRIP_US_MAX: u64 = 500_000;

/// `[follower]` of a scenario.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Follower {
    /// Round trip to the followers of `subject.replicate`, us: each acknowledgement is sent so much
    /// later.
    pub round_trip_us: u64,
}

/// How durable an acknowledged order is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Replicate {
    /// Not at all: there is no journal.
    #[default]
    Off,
    /// On this host's disk.
    Alone,
    /// On this host's disk; a follower has it a little later.
    Async,
    /// On this host's disk and the follower's.
    Sync,
}

impl Replicate {
    /// The mode of the follower, as `tickpath exchange --replicate` has it; `None` without one.
    pub fn mode(self) -> Option<&'static str> {
        match self {
            Replicate::Off | Replicate::Alone => None,
            Replicate::Async => Some("async"),
            Replicate::Sync => Some("sync"),
        }
    }
}

impl fmt::Display for Replicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Replicate::Off => "off",
            Replicate::Alone => "alone",
            Replicate::Async => "async",
            Replicate::Sync => "sync",
        })
    }
}
