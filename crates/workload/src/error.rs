//! Why nothing was measured.

use crate::plan::BadPlan;
use crate::state::StateError;
use host::HostError;
use journal::JournalError;
use std::io;

/// Why there is no result at all.
#[derive(Debug, thiserror::Error)]
pub enum WorkloadError {
    /// The plan can't be carried out.
    #[error(transparent)]
    Plan(#[from] BadPlan),
    /// The thread can't be placed as asked.
    #[error(transparent)]
    Host(#[from] HostError),
    /// A soak can't go on from a state, or not leave its own.
    #[error(transparent)]
    Soak(#[from] StateError),
    /// There is no journal.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The log can't be written.
    #[error("cannot write {path}: {source}; free some space or choose another place")]
    Log {
        /// Its path.
        path: String,
        /// What the file system said.
        source: io::Error,
    },
    /// Whoever started us is gone, or said to end.
    #[error("interrupted before anything was measured")]
    Interrupted,
    /// A bug.
    #[error("the measuring thread panicked; this is a bug in tickpath, please report it")]
    Panic,
}
