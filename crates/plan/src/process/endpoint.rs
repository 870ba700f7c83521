//! `endpoint`: probes of an address that belongs to somebody else.

use crate::tables::endpoint::Probes;
use crate::trust::Trust;
use host::scheduling::Scheduling;
use serde::{Deserialize, Serialize};

/// Its series: a ping over a connection that is open, and the steps of a fresh one.
pub const SERIES: [&str; 5] = ["ping", "connect", "handshake", "upgrade", "first_ping"];
/// Limit on the addresses of a name that are probed; each has series of its own.
pub const ADDRESSES_MAX: usize = 16;
/// `load.model` of a run whose pings may be lost: each lost one is recorded as the patience.
pub const DATAGRAMS: &str = "datagrams";
/// `load.model` of all others.
pub const PROBES: &str = "probes";

/// Name of `series` of one address, where the target's name has several: `ping@192.0.2.1`.
pub fn series_of(series: &str, address: std::net::IpAddr) -> String {
    format!("{series}@{address}")
}

/// The plan, JSON on the client's stdin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EndpointPlan {
    /// Name of the subject, for messages and tags.
    pub subject: String,
    /// `HOST:PORT`. All addresses of the name are probed in turn; it is looked up before the first
    /// probe and again every `probes.resolve_seconds`.
    pub target: String,
    /// By what the target's certificate is checked; `None`: no TLS.
    pub tls: Option<Trust>,
    /// The probes, and how often they are made.
    pub probes: Probes,
    /// Whether the measuring thread polls its sockets instead of sleeping.
    pub spins: bool,
    /// Length of the warm-up, whose probes are thrown away, s.
    pub warm_up_seconds: f64,
    /// Length of the measured part, s.
    pub seconds: f64,
    /// The measuring thread's core; `None`: not pinned.
    pub core: Option<usize>,
    /// Scheduling class of the measuring thread.
    pub scheduling: Scheduling,
    /// The HdrHistogram log to append to.
    pub hlog: String,
}
