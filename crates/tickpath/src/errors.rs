//! Errors as a person reads them.

use record::directory;
use std::path::{Path, PathBuf};

/// A directory of its own for a record.
pub(crate) fn make_directory(out: &Path, name: &str) -> anyhow::Result<PathBuf> {
    directory::create(out, name).map_err(|error| {
        anyhow::anyhow!("{} with --out", directory::cannot_write(out.display(), &error))
    })
}

/// The error for a place that can't be written.
pub(crate) fn not_written(place: &Path, error: &std::io::Error) -> anyhow::Error {
    anyhow::Error::msg(directory::cannot_write(place.display(), error))
}

/// An error with its causes on one line, each once: many messages already contain their cause.
pub(crate) fn one_line(error: &anyhow::Error) -> String {
    let mut line = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !line.contains(&cause) {
            line = format!("{line}: {cause}");
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The message once ended "…: No such file (os error 2); name a file that exists: No such file
    /// (os error 2)".
    #[test]
    fn a_cause_is_named_once() {
        let not_found = || std::io::Error::from(std::io::ErrorKind::NotFound);
        let said =
            ::exchange::TokensError::Unreadable { file: "x".to_owned(), source: not_found() };
        assert_eq!(one_line(&said.into()).matches("entity not found").count(), 1);
        let wrapped = anyhow::Error::from(not_found()).context("cannot start");
        assert_eq!(one_line(&wrapped), "cannot start: entity not found");
    }
}
