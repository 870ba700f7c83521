//! `[engine]` of a scenario.

use serde::{Deserialize, Serialize};

/// `[engine]`: the amount of work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Engine {
    /// Operations per pass. For a soak: all operations, or 0 for as many as fit in `seconds`.
    pub operations: u64,
    /// Passes that are timed as a whole, before the pass that times each operation.
    pub passes: u32,
    /// For a soak: directory of the run to resume; empty: start afresh.
    pub resume: String,
}

impl Default for Engine {
    fn default() -> Engine {
        Engine { operations: 2_000_000, passes: 3, resume: String::new() }
    }
}
