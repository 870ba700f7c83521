//! Errors without any result.

use crate::task::soak::state::StateError;
use host::HostError;
use journal::JournalError;
use std::io;

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub enum EngineBenchError {
    /// The plan can't be carried out.
    #[error(transparent)]
    Plan(#[from] clock::range::OutOfRange),
    /// The thread can't be placed as asked.
    #[error(transparent)]
    Host(#[from] HostError),
    /// A soak can't resume from a state, or can't save its own.
    #[error(transparent)]
    Soak(#[from] StateError),
    /// The journal can't be opened.
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
    /// The parent process is gone, or told us to end.
    #[error("interrupted before anything was measured")]
    Interrupted,
    /// A bug.
    #[error("the measuring thread panicked; this is a bug in tickpath, please report it")]
    Panic,
}
