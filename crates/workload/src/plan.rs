//! What the client is told to do: one row, one run.

use crate::row::{self, Row, Serves};
use engine::OPEN_ORDERS_MAX;
use flow::w1::DEEP;
use host::scheduling::Scheduling;
use serde::{Deserialize, Serialize};

pub use crate::timing::Timing;

/// Operations of a pass at most, 80 bytes of memory each: they are made before it.
pub const OPERATIONS_MAX: u64 = 20_000_000;
/// Operations of a soak at most: ten years at a million a second.
pub const SOAK_OPERATIONS_MAX: u64 = 315_360_000_000_000;
/// Passes of one run at most.
pub const PASSES_MAX: u32 = 100;
/// Accounts at most.
pub const ACCOUNTS_MAX: u32 = 100_000;

/// The plan, JSON on the client's stdin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Who is measured, for messages and tags.
    pub subject: String,
    /// Which of [`row::ROWS`].
    pub row: String,
    /// What to do.
    pub task: Task,
    /// Orders belong to account id modulo this.
    pub accounts: u32,
    /// Seed of the flow and of random arrivals.
    pub seed: u64,
    /// The measuring thread's core; `None`: don't pin.
    pub core: Option<usize>,
    /// The class of the measuring thread.
    pub scheduling: Scheduling,
    /// The HdrHistogram log to append to.
    pub hlog: String,
    /// Tell of progress.
    pub progress: bool,
}

/// How the flow is sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Task {
    /// One operation after the other, pass after pass, each with a fresh engine: so many that are timed as a
    /// whole, then one in which each operation is timed.
    Passes {
        /// Of each pass.
        operations: u64,
        /// That are timed as a whole.
        passes: u32,
    },
    /// On a schedule.
    Open {
        /// When.
        timing: Timing,
    },
    /// On a schedule, through a journal: answered when that says that it may be.
    Journal {
        /// When.
        timing: Timing,
        /// When an operation may be answered.
        mode: JournalMode,
        /// The journal's, which is not there yet; who started us removes it.
        directory: String,
        /// The core of the journal's threads; `None`: that of the measuring one.
        writer_core: Option<usize>,
    },
    /// One operation after the other, for as long as asked.
    Soak {
        /// Where the flow ends; 0: after `seconds`.
        operations: u64,
        /// How long, where no number of operations is given.
        seconds: f64,
        /// The file that the state is left in.
        state: String,
        /// The file of a state to go on from.
        resume: Option<String>,
    },
}

/// Why a plan can't be carried out.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{key} = {value}: {why}")]
pub struct BadPlan {
    /// As in the plan.
    pub key: &'static str,
    /// As in the plan.
    pub value: String,
    /// What it may be.
    pub why: String,
}

impl Plan {
    /// The plan's row, if the plan can be carried out.
    ///
    /// # Errors
    /// The first key that is out of range, with what it may be.
    pub fn check(&self) -> Result<&'static Row, BadPlan> {
        let row = row::find(&self.row).map_err(|why| BadPlan {
            key: "row",
            value: self.row.clone(),
            why,
        })?;
        let require = |holds: bool, key, value: &dyn ToString, why: String| match holds {
            true => Ok(()),
            false => Err(BadPlan { key, value: value.to_string(), why }),
        };
        let accounts = format!("there are 1 to {ACCOUNTS_MAX}");
        require((1..=ACCOUNTS_MAX).contains(&self.accounts), "accounts", &self.accounts, accounts)?;
        let serves = |able: &[Serves], whom: &str| {
            require(able.contains(&row.serves), "row", &self.row, whom.to_owned())
        };
        match &self.task {
            Task::Passes { operations, passes } => {
                serves(&[Serves::Engine, Serves::Nobody], "it needs a schedule")?;
                let why = format!("there are 1 to {PASSES_MAX}");
                require((1..=PASSES_MAX).contains(passes), "passes", passes, why)?;
                in_memory(*operations)?;
            }
            Task::Open { timing } => {
                serves(&[Serves::Engine, Serves::Burner], "it knows no schedule")?;
                self.check_timing(timing)?;
                let warm_up = timing.warm_up_operations;
                let is_known = row.serves != Serves::Burner || warm_up >= WARM_UP_MIN;
                let why = format!(
                    "{} burns what an engine takes in the warm-up: {WARM_UP_MIN} operations of it \
                     tell that",
                    self.row
                );
                require(is_known, "warm_up_operations", &warm_up, why)?;
            }
            Task::Journal { timing, .. } => {
                serves(&[Serves::Engine], "it is no engine, and there is nothing to log")?;
                self.check_timing(timing)?;
            }
            Task::Soak { operations, seconds, .. } => {
                serves(&[Serves::Engine], "it is no engine, and has no state to keep")?;
                let why = format!("there are at most {SOAK_OPERATIONS_MAX}");
                require(*operations <= SOAK_OPERATIONS_MAX, "operations", operations, why)?;
                let why = "it lasts some time".to_owned();
                require(*operations > 0 || *seconds > 0.0, "seconds", seconds, why)?;
            }
        }
        Ok(row)
    }

    fn check_timing(&self, timing: &Timing) -> Result<(), BadPlan> {
        if let Some((key, value, why)) = timing.fault() {
            return Err(BadPlan { key, value, why: why.to_owned() });
        }
        in_memory(timing.operations.saturating_add(timing.warm_up_operations))
    }
}

fn in_memory(operations: u64) -> Result<(), BadPlan> {
    if (1..=OPERATIONS_MAX).contains(&operations) {
        return Ok(());
    }
    let why = format!("there are 1 to {OPERATIONS_MAX} in memory: make more runs instead");
    Err(BadPlan { key: "operations", value: operations.to_string(), why })
}

/// When an operation may be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum JournalMode {
    /// At once, and nothing is logged.
    None,
    /// At once; it is logged meanwhile.
    Async,
    /// When it is durable.
    Sync,
}

/// The modes, as in a scenario.
pub const JOURNAL_MODES: [(&str, JournalMode); 3] =
    [("none", JournalMode::None), ("async", JournalMode::Async), ("sync", JournalMode::Sync)];

/// Fewer operations don't tell how long one takes at p50.
pub const WARM_UP_MIN: u64 = 1_000;

// However many operations are in memory, an engine has room for the orders among them.
const _: () = assert!(OPERATIONS_MAX / 2 + DEEP.live as u64 <= OPEN_ORDERS_MAX as u64);
