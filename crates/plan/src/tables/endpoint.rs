//! `[endpoint]` of a scenario: probes of an address that belongs to somebody else.

use crate::range::{OutOfRange, require, within};
use serde::{Deserialize, Serialize};

/// Limit on probes per second: a target that is somebody else's must not feel them.
pub const PROBES_PER_SECOND_MAX: f64 = 100.0;
/// Limit on the connections that stay open.
pub const CONNECTIONS_KEPT_MAX: usize = 64;
/// Limit on `fresh_every`.
pub const FRESH_EVERY_MAX: u32 = 1_000_000;
/// Limit on the time that one step may take, s.
pub const PATIENCE_SECONDS_MAX: f64 = 60.0;

/// The protocol of the target above TCP and TLS.
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
    /// The protocol of the target.
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
