//! Why there is no race, and the check of a value's range.

/// Why there is no race.
#[derive(Debug, thiserror::Error)]
pub enum RaceError {
    /// The file is no race.
    #[error("not a race: {0}; `tickpath race --example` prints one with all keys")]
    Syntax(String),
    /// A key has a value that can't be.
    #[error("{key} is {value}, but must be {must}")]
    Value {
        /// The key.
        key: String,
        /// Its value.
        value: String,
        /// The rest of the sentence.
        must: String,
    },
    /// A recorded day can't be used.
    #[error("no recorded market: {0}")]
    Day(String),
    /// A run's latencies can't be used.
    #[error("no latencies from {path}: {why}")]
    Run {
        /// The run's directory or log.
        path: String,
        /// The reason.
        why: String,
    },
    /// An archive of latencies can't be made.
    #[error("no archive of order latencies: {0}")]
    Archive(String),
}

/// The error for a value that can't be.
pub(crate) fn value(key: &str, value: impl ToString, must: String) -> RaceError {
    RaceError::Value { key: key.to_owned(), value: value.to_string(), must }
}

/// The value, if it is in a range; NaN is in none.
pub(crate) fn in_range(key: &str, number: f64, least: f64, most: f64) -> Result<f64, RaceError> {
    let must = || format!("from {least} to {most}");
    let is_in = (least..=most).contains(&number);
    is_in.then_some(number).ok_or_else(|| value(key, number, must()))
}
