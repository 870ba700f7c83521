//! `order-entry`: whether the exchange of a subject has a journal, and a follower or a cluster.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Longest round trip to a follower, us, with its jitter. The exchange takes a follower for lost
/// that does not acknowledge for a second.
pub const ROUND_TRIP_US_MAX: u64 = 500_000;
/// Highest loss of packets between zones, percent. With more, repeated losses of one packet make an
/// exchange take its follower for lost.
pub const LOSS_PERCENT_MAX: f64 = 10.0;
/// Limits of the silence after which a standby takes over, ms. An exchange sends it a heartbeat
/// each 50 ms.
pub const STANDBY_MS: std::ops::RangeInclusive<u64> = 150..=10_000;

/// Longest time from the last vote to the first acknowledgement on busy cores, ms: the members'
/// new streams, of which Aeron repeats a first packet only after 100 ms, and the gateway's session.
const AFTER_VOTES_MS_MAX: u64 = 1_000;
/// Limits of a cluster's times, ms.
pub const CLUSTER_MS: std::ops::RangeInclusive<u64> = 20..=60_000;

/// `[follower]` of a scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Follower {
    /// Round trip to the followers of `subject.replicate`, us: the delay of each acknowledgement.
    pub round_trip_us: u64,
    /// And a random time below this, us. Acknowledgements keep their order.
    pub jitter_us: u64,
    /// Packets that the network between the exchange and these followers loses, in both directions,
    /// percent. TCP repairs that, which takes time.
    pub loss_percent: f64,
    /// Silence of an exchange with `subject.failure` after which its standby takes over, ms.
    pub standby_ms: u64,
    /// The program, with its arguments, whose processes are the members of a cluster and the
    /// gateway to them. Only `subject.replicate = "cluster"` needs it.
    pub cluster: Vec<String>,
    /// Time without a heartbeat of its leader after which a member calls an election, ms.
    pub cluster_heartbeat_ms: u64,
    /// Wait for votes, ms. A candidate waits up to half of it before it stands.
    pub cluster_election_ms: u64,
    /// Time without an acknowledgement after which the exchange takes its cluster for lost, ms. The
    /// cluster may have to elect a leader meanwhile.
    pub cluster_lost_ms: u64,
}

impl Follower {
    /// How long an election may take, ms, from the loss of the leader to the next acknowledgement.
    pub fn election_ms_max(&self) -> u64 {
        self.cluster_heartbeat_ms + 2 * self.cluster_election_ms + AFTER_VOTES_MS_MAX
    }
}

impl Default for Follower {
    fn default() -> Follower {
        Follower {
            round_trip_us: 0,
            jitter_us: 0,
            loss_percent: 0.0,
            standby_ms: 500,
            cluster: Vec::new(),
            cluster_heartbeat_ms: 2_000,
            cluster_election_ms: 1_000,
            cluster_lost_ms: 10_000,
        }
    }
}

/// The end of an exchange in the middle of the measured part, whose standby takes over; for an
/// exchange in front of a cluster the end of the cluster's leader.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Failure {
    /// Nothing is lost, and there is no standby.
    #[default]
    None,
    /// SIGKILL.
    Kill,
    /// SIGTERM: it ends in order, as for an upgrade. For an exchange only.
    End,
    /// SIGSTOP: its connections stay open.
    Stop,
    /// The network between it and all others loses everything. It lives, and its connections stay
    /// open.
    Cut,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Failure::None => "none",
            Failure::Kill => "kill",
            Failure::End => "end",
            Failure::Stop => "stop",
            Failure::Cut => "cut",
        })
    }
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
    /// On this host's disk, in the log of the majority of a cluster's three members, and on the
    /// disk of the one that leads.
    Cluster,
}

impl Replicate {
    /// The mode of the follower, as `tickpath exchange --replicate` has it; `None` without one.
    pub fn mode(self) -> Option<&'static str> {
        match self {
            Replicate::Off | Replicate::Alone => None,
            Replicate::Async => Some("async"),
            // To an exchange, a cluster is a follower.
            Replicate::Sync | Replicate::Cluster => Some("sync"),
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
            Replicate::Cluster => "cluster",
        })
    }
}
