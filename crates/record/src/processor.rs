//! Processor time of a measurement.

use serde::{Deserialize, Serialize};

/// Processor time of both ends, user and system, in the measured part: each end is a process with
/// all of its threads.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Processor {
    /// The client, ns.
    pub client_ns: u64,
    /// The exchange or the echo, ns; `None` if it runs elsewhere.
    pub exchange_ns: Option<u64>,
    /// The ends that keep a core busy also while nothing comes: `client`, `exchange`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub spinning: Vec<String>,
}

impl Processor {
    /// The processor time of two runs together.
    pub(crate) fn and(mut self, other: &Processor) -> Processor {
        self.client_ns = self.client_ns.saturating_add(other.client_ns);
        self.exchange_ns =
            self.exchange_ns.zip(other.exchange_ns).map(|(a, b)| a.saturating_add(b));
        self.spinning.extend(other.spinning.iter().cloned());
        self.spinning.sort();
        self.spinning.dedup();
        self
    }
}
