//! `engine`, `soak` and `journal`: orders through a matching engine.

mod plan;
mod row;

pub use self::plan::{
    ACCOUNTS_MAX, EnginePlan, JOURNAL_MODES, JournalMode, OPERATIONS_MAX, PASSES_MAX,
    SOAK_OPERATIONS_MAX, Task, Timing, WARM_UP_MIN, journal_mode,
};
pub use self::row::{Book, ROWS, Row, Serves, find_row};

use serde::{Deserialize, Serialize};

/// The series of operations: from just before the server gets one until it is done.
pub const OPERATION: &str = "operation";

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
