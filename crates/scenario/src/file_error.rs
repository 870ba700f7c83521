//! What can be wrong with a scenario file.

use trader::plan::BadLoad;

/// Why a scenario can't be used.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// Neither a name nor a file.
    #[error("there is no scenario {name:?}: {source}; these ship: {shipped}")]
    Unknown {
        /// As asked.
        name: String,
        /// Why it is no file either.
        source: std::io::Error,
        /// Their names.
        shipped: String,
    },
    /// Not TOML, a key that we don't know, a value of the wrong kind.
    #[error("scenario {name}: {message}")]
    Malformed {
        /// Name or path.
        name: String,
        /// The parser's words, with the place.
        message: String,
    },
    /// `--set` can't be applied.
    #[error("--set {set}: {why}")]
    Set {
        /// As given.
        set: String,
        /// What is wrong.
        why: String,
    },
    /// A value out of its range.
    #[error("{key} = {value}: {why}")]
    Range {
        /// The key.
        key: String,
        /// Its value.
        value: String,
        /// What it may be.
        why: String,
    },
    /// A value of `[load]` out of its range.
    #[error(transparent)]
    Load(#[from] BadLoad),
    /// No such backend.
    #[error(transparent)]
    Backend(#[from] transport::UnknownBackend),
}
