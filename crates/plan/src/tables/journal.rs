//! `journal`: orders through an engine and its journal. `order-entry`: the exchange's journal.

use serde::{Deserialize, Serialize};

/// `[journal]` of a scenario.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Journal {
    /// Directory of the journals during the measurement; empty: the run directory.
    pub directory: String,
}
