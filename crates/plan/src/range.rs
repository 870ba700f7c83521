//! Keys of plans and scenarios with values that are not allowed.

use std::fmt::Display;
use std::ops::RangeInclusive;

/// A key whose value is not allowed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key} = {value}: {why}")]
pub struct OutOfRange {
    /// The key with its path.
    pub key: String,
    /// Its value.
    pub value: String,
    /// The values that are allowed, and what to do.
    pub why: String,
}

impl OutOfRange {
    /// The error of `key`.
    pub fn new(key: impl Into<String>, value: impl Display, why: impl Into<String>) -> OutOfRange {
        OutOfRange { key: key.into(), value: value.to_string(), why: why.into() }
    }

    /// The same error with `path.` before the key.
    pub fn below(self, path: &str) -> OutOfRange {
        OutOfRange { key: format!("{path}.{}", self.key), ..self }
    }
}

/// Checks that `holds` is true.
///
/// # Errors
/// If it is false.
pub fn require(
    holds: bool,
    key: &str,
    value: impl Display,
    why: impl Into<String>,
) -> Result<(), OutOfRange> {
    if holds { Ok(()) } else { Err(OutOfRange::new(key, value, why)) }
}

/// Checks that `value` is in `range`. The range replaces `{}` in `why`.
///
/// # Errors
/// If it is not.
pub fn within<T: Display + PartialOrd>(
    key: &str,
    value: T,
    range: RangeInclusive<T>,
    why: &str,
) -> Result<(), OutOfRange> {
    let allowed = || why.replace("{}", &format!("{} to {}", range.start(), range.end()));
    if range.contains(&value) { Ok(()) } else { Err(OutOfRange::new(key, value, allowed())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_quotes_value_and_limit() {
        assert_eq!(within("slots", 7, 1..=7, "there are {}"), Ok(()));
        let error = within("slots", 8, 1..=7, "there are {}").unwrap_err().below("ipc");
        assert_eq!(error.to_string(), "ipc.slots = 8: there are 1 to 7");
        assert!(within("seconds", f64::NAN, 0.0..=1.0, "{}").is_err());
    }
}
