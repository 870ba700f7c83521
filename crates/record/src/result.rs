//! Results that the processes of a run print at their end.

use crate::{Clock, Load};
use serde::{Deserialize, Serialize};

/// The result that a client process prints on stdout, as one line of JSON, after its run. Its
/// latencies are in the .hlog that it wrote. See clients/CONTRACT.md.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClientResult {
    /// Whether the run lasted its full time and everything was drained.
    pub complete: bool,
    /// Failures, a sentence each.
    pub failures: Vec<String>,
    /// Its messages.
    pub load: Load,
    /// The clock of its stamps.
    pub clock: Clock,
    /// The exchange's description of itself at the end (DESCRIPTION on the wire), if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exchange: Option<serde_json::Value>,
}

impl ClientResult {
    /// Marks the result as incomplete, with this as the first reason.
    pub fn fail(&mut self, why: String) {
        self.complete = false;
        self.failures.insert(0, why);
    }
}

/// The result that an exchange started for a run prints on stdout, as one line of JSON, when it is
/// told to end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ExchangeResult {
    /// Orders that reached the gateway, accepted or not.
    pub orders: u64,
    /// Cancels that reached the gateway, accepted or not.
    pub cancels: u64,
    /// Hash of the state of all books, 16 hex digits.
    pub state_hash: String,
    /// Whether a replay of all inputs gives the same state; `None` if unknown.
    pub replay_equal: Option<bool>,
    /// How that was checked, or why it is unknown.
    pub replay_detail: String,
    /// All of its counters.
    pub counts: serde_json::Value,
}
