//! Errors of joining.

/// Why a log and a journal can't be joined.
#[derive(Debug, thiserror::Error)]
pub enum JoinError {
    /// The audit log can't be read.
    #[error("the audit log: {0}")]
    Log(#[from] audit::ReadError),
    /// The journal can't be read.
    #[error("the journal: {0}")]
    Journal(#[from] journal::JournalError),
    /// The books of the replay can't be kept.
    #[error("the journal's books: {0}")]
    Books(#[from] feed::PublisherSettingsError),
    /// The replayed events contradict the books made from them.
    #[error(
        "{faults} events of the replay contradict its books: this is a fault of tickpath, please report it"
    )]
    Contradicted {
        /// Number of such events.
        faults: u64,
    },
}

impl JoinError {
    /// Whether a file is damaged, as opposed to missing, foreign or in use.
    pub fn is_damage(&self) -> bool {
        match self {
            JoinError::Log(error) => matches!(error, audit::ReadError::Damaged { .. }),
            JoinError::Journal(error) => error.is_damage(),
            JoinError::Books(_) | JoinError::Contradicted { .. } => false,
        }
    }
}
