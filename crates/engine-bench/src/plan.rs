//! The client's plan: one row, one run.

use crate::row::{self, Row, Serves};
use clock::range::{OutOfRange, require, within};
use engine::OPEN_ORDERS_MAX;
use flow::w1::DEEP;
use host::scheduling::Scheduling;
use serde::{Deserialize, Serialize};

pub use crate::task::timing::Timing;

/// Limit on the operations of a pass. They exist before the pass starts, 80 bytes each.
pub const OPERATIONS_MAX: u64 = 20_000_000;
/// Limit on the operations of a soak: ten years at a million per second.
pub const SOAK_OPERATIONS_MAX: u64 = 315_360_000_000_000;
/// Limit on the passes of a run.
pub const PASSES_MAX: u32 = 100;
/// Limit on the accounts.
pub const ACCOUNTS_MAX: u32 = 100_000;

/// The plan, JSON on the client's stdin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Name of the subject, for messages and tags.
    pub subject: String,
    /// Which of [`row::ROWS`].
    pub row: String,
    /// What to do.
    pub task: Task,
    /// Orders belong to account id modulo this.
    pub accounts: u32,
    /// Seed of the flow and of random arrivals.
    pub seed: u64,
    /// The measuring thread's core; `None`: not pinned.
    pub core: Option<usize>,
    /// Scheduling class of the measuring thread.
    pub scheduling: Scheduling,
    /// The HdrHistogram log to append to.
    pub hlog: String,
    /// Report progress.
    pub progress: bool,
}

/// How the flow is sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Task {
    /// Operations back to back, in passes with a fresh engine each: first passes that are timed as
    /// a whole, then one that times each operation.
    Passes {
        /// Operations per pass.
        operations: u64,
        /// Passes that are timed as a whole.
        passes: u32,
    },
    /// On a schedule.
    Open {
        /// The schedule.
        timing: Timing,
    },
    /// On a schedule, through a journal, whose mode decides when an operation is answered.
    Journal {
        /// The schedule.
        timing: Timing,
        /// When an operation may be answered.
        mode: JournalMode,
        /// The journal's directory, which does not exist yet; the parent process removes it.
        directory: String,
        /// Core of the journal's threads; `None`: that of the measuring thread.
        writer_core: Option<usize>,
    },
    /// Operations back to back, for a long time.
    Soak {
        /// Number of operations; 0: until `seconds` are over.
        operations: u64,
        /// Length, if no number of operations is given.
        seconds: f64,
        /// File in which to save the state.
        state: String,
        /// File of the state to resume from.
        resume: Option<String>,
    },
}

impl Plan {
    /// The plan's row, if the plan can be carried out.
    ///
    /// # Errors
    /// The first key that is out of range, with the values that are allowed.
    pub fn check(&self) -> Result<&'static Row, OutOfRange> {
        let row = row::find(&self.row).map_err(|why| OutOfRange::new("row", &self.row, why))?;
        within("accounts", self.accounts, 1..=ACCOUNTS_MAX, "there are {}")?;
        let serves =
            |able: &[Serves], why: &str| require(able.contains(&row.serves), "row", &self.row, why);
        let knows_next = !row.look_ahead || matches!(self.task, Task::Passes { .. });
        let why = "only back to back (ping-pong) the next operations are known";
        require(knows_next, "row", &self.row, why)?;
        match &self.task {
            Task::Passes { operations, passes } => {
                serves(&[Serves::Engine, Serves::Nobody], "it needs a schedule")?;
                within("passes", *passes, 1..=PASSES_MAX, "there are {}")?;
                in_memory(*operations)?;
            }
            Task::Open { timing } => {
                serves(&[Serves::Engine, Serves::Burner], "it knows no schedule")?;
                timing.check()?;
                let warm_up = timing.warm_up_operations;
                let is_known = row.serves != Serves::Burner || warm_up >= WARM_UP_MIN;
                let why = format!(
                    "{} burns what an engine takes in the warm-up: {WARM_UP_MIN} operations of it \
                     tell that",
                    self.row
                );
                require(is_known, "warm_up_operations", warm_up, why)?;
            }
            Task::Journal { timing, .. } => {
                serves(&[Serves::Engine], "it is no engine, and there is nothing to log")?;
                timing.check()?;
            }
            Task::Soak { operations, seconds, .. } => {
                serves(&[Serves::Engine], "it is no engine, and has no state to keep")?;
                within("operations", *operations, 0..=SOAK_OPERATIONS_MAX, "there are {}")?;
                require(
                    *operations > 0 || *seconds > 0.0,
                    "seconds",
                    seconds,
                    "it lasts some time",
                )?;
            }
        }
        Ok(row)
    }
}

/// Checks that so many operations fit in memory.
pub(crate) fn in_memory(operations: u64) -> Result<(), OutOfRange> {
    let why = format!("there are 1 to {OPERATIONS_MAX} in memory: make more runs instead");
    require((1..=OPERATIONS_MAX).contains(&operations), "operations", operations, why)
}

/// When an operation may be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum JournalMode {
    /// At once; there is no log.
    None,
    /// At once; the log is written meanwhile.
    Async,
    /// When it is durable.
    Sync,
}

/// The modes with their names in a scenario.
pub const JOURNAL_MODES: [(&str, JournalMode); 3] =
    [("none", JournalMode::None), ("async", JournalMode::Async), ("sync", JournalMode::Sync)];

/// With fewer operations p50 would mean nothing.
pub const WARM_UP_MIN: u64 = 1_000;

// An engine has room for all orders of the operations that fit in memory.
const _: () = assert!(OPERATIONS_MAX / 2 + DEEP.live as u64 <= OPEN_ORDERS_MAX as u64);
