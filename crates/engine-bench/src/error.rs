//! Errors without any result.

use crate::task::soak::state::StateError;
use host::HostError;
use host::measuring::MeasuringError;
use journal::JournalError;

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub enum EngineBenchError {
    /// The plan can't be carried out.
    #[error(transparent)]
    Plan(#[from] plan::range::OutOfRange),
    /// The thread can't be placed as asked.
    #[error(transparent)]
    Host(#[from] HostError),
    /// A soak can't resume from a state, or can't save its own.
    #[error(transparent)]
    Soak(#[from] StateError),
    /// The journal can't be opened.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The thread can't be pinned, the log can't be written, or there is a bug.
    #[error(transparent)]
    Measuring(#[from] MeasuringError),
    /// The parent process has ended, or told us to end.
    #[error("interrupted before anything was measured")]
    Interrupted,
}
