//! `endpoint`: probes of an address that belongs to somebody else.

use crate::trust::Trust;
use clock::range::{OutOfRange, require, within};
use host::scheduling::Scheduling;
use serde::{Deserialize, Serialize};

/// Its series: a ping over a connection that is open, and the steps of a fresh one.
pub const SERIES: [&str; 5] = ["ping", "connect", "handshake", "upgrade", "first_ping"];
/// Limit on probes per second: a target that is somebody else's must not feel them.
pub const PROBES_PER_SECOND_MAX: f64 = 100.0;
/// Limit on the connections that stay open.
pub const CONNECTIONS_KEPT_MAX: usize = 64;
/// Limit on `fresh_every`.
pub const FRESH_EVERY_MAX: u32 = 1_000_000;
/// Limit on the time that one step may take, s.
pub const PATIENCE_SECONDS_MAX: f64 = 60.0;

/// The plan, JSON on the client's stdin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EndpointPlan {
    /// Name of the subject, for messages and tags.
    pub subject: String,
    /// `HOST:PORT`. The name is resolved once, before the first probe.
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

/// What the target speaks above TCP and TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// Anything: nothing is sent.
    Tcp,
    /// WebSocket: it is upgraded and pinged.
    Websocket,
}

/// `[endpoint]` of a scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Probes {
    /// What the target speaks.
    pub protocol: Protocol,
    /// The path of the WebSocket.
    pub path: String,
    /// Limit on the rate of probes.
    pub probes_per_second: f64,
    /// Each n-th probe opens a fresh connection and closes it; 1: all do. Others ping a connection
    /// that stays open.
    pub fresh_every: u32,
    /// Connections that stay open, each with a source port of its own. They take turns.
    pub connections_kept: usize,
    /// The longest that a step may take, s.
    pub patience_seconds: f64,
}

impl Default for Probes {
    fn default() -> Probes {
        Probes {
            protocol: Protocol::Websocket,
            path: "/".to_owned(),
            probes_per_second: 20.0,
            fresh_every: 4,
            connections_kept: 4,
            patience_seconds: 5.0,
        }
    }
}

impl Probes {
    /// Checks every key against its range.
    ///
    /// # Errors
    /// The first key that is out of range, with the values that are allowed.
    pub fn check(&self) -> Result<(), OutOfRange> {
        let (rate, patience) = (self.probes_per_second, self.patience_seconds);
        let why = format!("above 0 and at most {PROBES_PER_SECOND_MAX}: the target isn't yours");
        require(
            rate > 0.0 && rate <= PROBES_PER_SECOND_MAX,
            "endpoint.probes_per_second",
            rate,
            why,
        )?;
        within("endpoint.fresh_every", self.fresh_every, 1..=FRESH_EVERY_MAX, "there are {}")?;
        let kept = self.connections_kept;
        within("endpoint.connections_kept", kept, 0..=CONNECTIONS_KEPT_MAX, "there are {}")?;
        let why = "only fresh connections can be probed without a protocol to ping with: set 1";
        let pings = self.protocol == Protocol::Websocket;
        require(pings || self.fresh_every == 1, "endpoint.fresh_every", self.fresh_every, why)?;
        let why = "no connection stays open to be pinged: set fresh_every = 1, or keep some";
        let has_some = kept > 0 || self.fresh_every == 1;
        require(has_some, "endpoint.connections_kept", kept, why)?;
        let why = format!("above 0 and at most {PATIENCE_SECONDS_MAX} s");
        require(
            patience > 0.0 && patience <= PATIENCE_SECONDS_MAX,
            "endpoint.patience_seconds",
            patience,
            why,
        )?;
        let is_path = self.path.starts_with('/') && self.path.bytes().all(|b| b.is_ascii_graphic());
        require(is_path, "endpoint.path", &self.path, "it begins with / and has no spaces")
    }
}
