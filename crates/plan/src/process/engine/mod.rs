//! The plan of the client of `engine`, `soak` and `journal` scenarios: one row, one run, as JSON on
//! stdin.

mod row;

pub use self::row::{Book, ROWS, Row, ServerKind, find_row};

use crate::range::{OutOfRange, require, within};
use crate::tables::load::check_plain;
use clock::schedule::{Arrival, RATE_PER_SECOND_MAX, Schedule};
use host::scheduling::Scheduling;
use serde::{Deserialize, Serialize};

/// The series of operations: from just before the server gets one until it is done.
pub const OPERATION: &str = "operation";
/// Limit on the operations of a pass. They exist before the pass starts, 80 bytes each.
pub const OPERATIONS_MAX: u64 = 20_000_000;
/// Limit on the operations of a soak: ten years at a million per second.
pub const SOAK_OPERATIONS_MAX: u64 = 315_360_000_000_000;
/// Limit on the passes of a run.
pub const PASSES_MAX: u32 = 100;
/// Limit on the accounts.
pub const ACCOUNTS_MAX: u32 = 100_000;
/// With a shorter warm-up its p50 would mean nothing to a row that burns time.
pub const WARM_UP_MIN: u64 = 1_000;

/// The plan, JSON on the client's stdin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EnginePlan {
    /// Name of the subject, for messages and tags.
    pub subject: String,
    /// Which of [`ROWS`].
    pub row: String,
    /// The task of the client.
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

impl EnginePlan {
    /// The plan's row, if the plan can be carried out.
    ///
    /// # Errors
    /// The first key that is out of range, with the values that are allowed.
    pub fn check(&self) -> Result<&'static Row, OutOfRange> {
        let row = find_row(&self.row).map_err(|why| OutOfRange::new("row", &self.row, why))?;
        within("accounts", self.accounts, 1..=ACCOUNTS_MAX, "there are {}")?;
        let serves = |able: &[ServerKind], why: &str| {
            require(able.contains(&row.serves), "row", &self.row, why)
        };
        let knows_next = !row.look_ahead || matches!(self.task, Task::Passes { .. });
        let why = "only back to back (ping-pong) the next operations are known";
        require(knows_next, "row", &self.row, why)?;
        match &self.task {
            Task::Passes { operations, passes } => {
                serves(&[ServerKind::Engine, ServerKind::Nobody], "it needs a schedule")?;
                within("passes", *passes, 1..=PASSES_MAX, "there are {}")?;
                in_memory(*operations)?;
            }
            Task::Open { timing } => {
                serves(&[ServerKind::Engine, ServerKind::Burner], "it knows no schedule")?;
                timing.check()?;
                let warm_up = timing.warm_up_operations;
                let is_known = row.serves != ServerKind::Burner || warm_up >= WARM_UP_MIN;
                let why = format!(
                    "{} needs at least {WARM_UP_MIN} warm-up operations, to know how long an engine \
                     takes for one",
                    self.row
                );
                require(is_known, "warm_up_operations", warm_up, why)?;
            }
            Task::Journal { timing, .. } => {
                serves(&[ServerKind::Engine], "it is no engine, and there is nothing to log")?;
                timing.check()?;
            }
            Task::Soak { operations, seconds, .. } => {
                serves(&[ServerKind::Engine], "it is no engine, and has no state to keep")?;
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

/// Checks that all operations fit in memory.
fn in_memory(operations: u64) -> Result<(), OutOfRange> {
    let why = format!("there are 1 to {OPERATIONS_MAX} in memory: make more runs instead");
    require((1..=OPERATIONS_MAX).contains(&operations), "operations", operations, why)
}

/// A schedule and its length.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Timing {
    /// Operations per second.
    pub rate_per_second: f64,
    /// How they are spread over time.
    pub arrival: Arrival,
    /// Operations of a burst, if `arrival` is `burst`.
    pub burst: u64,
    /// Operations before the measured part.
    pub warm_up_operations: u64,
    /// Operations of the measured part.
    pub operations: u64,
}

impl Timing {
    /// Checks every key against its range.
    pub fn check(&self) -> Result<(), OutOfRange> {
        let rate = self.rate_per_second;
        let why = "operations a second are above 0 and at most 1e9";
        require(rate > 0.0 && rate <= RATE_PER_SECOND_MAX, "rate_per_second", rate, why)?;
        check_plain("load.arrival", self.arrival)?;
        require(self.burst > 0, "burst", self.burst, "a burst is at least one")?;
        in_memory(self.operations.saturating_add(self.warm_up_operations))
    }

    /// The time at which each operation is due.
    pub fn schedule(&self, seed: u64) -> Schedule {
        Schedule::new(self.rate_per_second, self.arrival, self.burst, seed)
    }

    /// Length of warm-up and measured part, s.
    pub fn seconds(&self) -> f64 {
        (self.warm_up_operations + self.operations) as f64 / self.rate_per_second
    }
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

/// The journal mode with that name.
pub fn journal_mode(name: &str) -> Option<JournalMode> {
    JOURNAL_MODES.iter().find(|(known, _)| *known == name).map(|(_, mode)| *mode)
}
