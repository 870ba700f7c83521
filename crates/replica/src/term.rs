//! Terms: who may write a log, from which record on. They are a file beside the log, and grow by
//! one with each start of a primary.
//!
//! A term has a number and the random number of its primary, so that two primaries that both call
//! themselves the next one are told apart.

use crate::publish::publish;
use journal::is_no_room;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::Path;

/// The file.
const NAME: &str = "terms";
/// Terms that a file keeps. A follower that has missed more of them has to begin anew.
const TERMS_MAX: usize = 1000;

/// A term.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Term {
    /// From 1.
    pub term: u64,
    /// Random number of the primary.
    pub primary: u64,
    /// The first record of the log that it may have written.
    pub first: u64,
}

/// Why the file of terms can't be used.
#[derive(Debug, thiserror::Error)]
pub enum TermsError {
    /// A system call failed.
    #[error(
        "cannot {doing} {file}: {source}; check that the directory is writable and its disk not full"
    )]
    System {
        /// The failed action, such as "read".
        doing: &'static str,
        /// The file.
        file: String,
        /// The system's error.
        source: io::Error,
    },
    /// A line is invalid.
    #[error("{file}, line {line}: {why}; restore the file from the follower's or primary's copy")]
    Damaged {
        /// The file.
        file: String,
        /// From 1.
        line: usize,
        /// The fault.
        why: String,
    },
}

impl TermsError {
    /// Whether there was no room on the disk, and may be some later.
    pub(crate) fn is_no_room(&self) -> bool {
        matches!(self, TermsError::System { source, .. } if is_no_room(source))
    }
}

/// The terms of the log in `directory`, ascending; none if it never had a follower.
///
/// # Errors
/// [`TermsError`].
pub fn read(directory: &Path) -> Result<Vec<Term>, TermsError> {
    let path = directory.join(NAME);
    let file = path.display().to_string();
    let text = match std::fs::read_to_string(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        text => text.map_err(|source| TermsError::System { doing: "read", file, source })?,
    };
    let file = path.display().to_string();
    let mut terms: Vec<Term> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let damaged = |why| TermsError::Damaged { file: file.clone(), line: index + 1, why };
        let term: Term = serde_json::from_str(line).map_err(|error| damaged(error.to_string()))?;
        if terms.last().is_some_and(|last| last.term >= term.term || last.first > term.first) {
            return Err(damaged("it is not later than the line before it".to_owned()));
        }
        terms.push(term);
    }
    Ok(terms)
}

/// The number of the last of these terms; 0 without one.
pub(crate) fn last_number(terms: &[Term]) -> u64 {
    terms.last().map_or(0, |term| term.term)
}

/// Replaces the terms of the log in `directory`, durably.
///
/// # Errors
/// [`TermsError::System`].
pub fn write(directory: &Path, terms: &[Term]) -> Result<(), TermsError> {
    let lines: Result<String, _> =
        terms.iter().map(|term| serde_json::to_string(term).map(|line| line + "\n")).collect();
    let written = lines
        .map_err(io::Error::other)
        .and_then(|lines| publish(directory, NAME, lines.as_bytes()));
    let file = directory.join(NAME).display().to_string();
    written.map(drop).map_err(|source| TermsError::System { doing: "write", file, source })
}

/// Begins a term before a primary writes the record `first` of the log in `directory`, durably. If
/// the log never had a follower, and has none now either, it gets no term.
///
/// # Errors
/// [`TermsError`].
pub fn begin(directory: &Path, first: u64, has_follower: bool) -> Result<(), TermsError> {
    let mut terms = read(directory)?;
    if terms.is_empty() && !has_follower {
        return Ok(());
    }
    let mut primary = [0; 8];
    rustix::rand::getrandom(&mut primary, rustix::rand::GetRandomFlags::empty()).map_err(
        |errno| TermsError::System {
            doing: "draw the number of",
            file: directory.join(NAME).display().to_string(),
            source: errno.into(),
        },
    )?;
    let term = last_number(&terms) + 1;
    terms.push(Term { term, primary: u64::from_le_bytes(primary), first });
    terms.drain(..terms.len().saturating_sub(TERMS_MAX));
    write(directory, &terms)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_start_of_a_primary_begins_a_term() {
        let place = tempfile::tempdir().unwrap();
        begin(place.path(), 5, false).unwrap();
        assert_eq!(read(place.path()).unwrap(), [], "it has no follower");
        begin(place.path(), 5, true).unwrap();
        // A follower's directory that an operator promotes.
        begin(place.path(), 9, false).unwrap();
        let terms = read(place.path()).unwrap();
        let found: Vec<(u64, u64)> = terms.iter().map(|term| (term.term, term.first)).collect();
        assert_eq!(found, [(1, 5), (2, 9)]);
        assert_ne!(terms[0].primary, terms[1].primary);
    }

    #[test]
    fn the_oldest_terms_go() {
        let place = tempfile::tempdir().unwrap();
        let term = |term| Term { term, primary: 7, first: term };
        let terms: Vec<Term> = (1..=TERMS_MAX as u64).map(term).collect();
        write(place.path(), &terms).unwrap();
        begin(place.path(), 5000, false).unwrap();
        let found = read(place.path()).unwrap();
        assert_eq!(found.len(), TERMS_MAX);
        assert_eq!(found[0], term(2));
        assert_eq!(found[TERMS_MAX - 1].first, 5000);
    }

    #[test]
    fn a_damaged_file_is_rejected_with_its_line() {
        let place = tempfile::tempdir().unwrap();
        let term = Term { term: 2, primary: 7, first: 5 };
        write(place.path(), &[term, term]).unwrap();
        let error = read(place.path()).unwrap_err().to_string();
        assert!(error.contains("line 2"), "{error}");
    }
}
