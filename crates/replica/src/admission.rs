//! Whether a follower takes a primary. Pure.

use crate::frame::Hello;
use crate::term::Term;
use journal::LogName;

/// The state of a follower's log.
#[derive(Clone, Copy, Debug)]
pub struct FollowerLog<'a> {
    /// Its log; `None` if its directory is empty.
    pub log: Option<LogName>,
    /// The terms of its log.
    pub terms: &'a [Term],
    /// The record that its log needs next.
    pub next: u64,
}

/// Why a follower rejects a primary.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    /// The primary is from an earlier term: another one has taken over.
    #[error("the follower has followed term {own}, this primary has term {given}")]
    Fenced {
        /// The follower's term.
        own: u64,
        /// The primary's.
        given: u64,
    },
    /// The follower has another log.
    #[error("the follower's directory has another log: start it with an empty directory")]
    OtherLog,
    /// The follower's log has records that the primary's log does not have.
    #[error(
        "the follower's log and the primary's are equal up to record {equal} only, and the follower's goes \
         on to {next}: start the follower with an empty directory, or with a copy of the primary's"
    )]
    Diverged {
        /// The first record that may differ.
        equal: u64,
        /// The record that the follower would need next.
        next: u64,
    },
    /// The follower ends while it waits for room for the terms.
    #[error("the follower's disk is full, and the follower ends: free some space there")]
    NoRoom,
}

impl Rejection {
    /// Whether the primary must stop for good.
    pub fn is_fenced(&self) -> bool {
        matches!(self, Rejection::Fenced { .. })
    }
}

/// Decides whether a follower takes a primary.
///
/// # Errors
/// [`Rejection`].
pub fn admit(own: FollowerLog<'_>, hello: &Hello) -> Result<(), Rejection> {
    if own.log.is_some_and(|log| log != hello.log) {
        return Err(Rejection::OtherLog);
    }
    let Some(given) = hello.terms.last() else { return Err(Rejection::OtherLog) };
    if let Some(last) = own.terms.last() {
        let is_same = (last.term, last.primary) == (given.term, given.primary);
        if last.term > given.term || (last.term == given.term && !is_same) {
            return Err(Rejection::Fenced { own: last.term, given: given.term });
        }
    }
    let equal = equal_up_to(own.terms, &hello.terms);
    match own.next > equal {
        true => Err(Rejection::Diverged { equal, next: own.next }),
        false => Ok(()),
    }
}

/// The first record in which two logs may differ: where the first of them got a writer that the
/// other did not have.
fn equal_up_to(own: &[Term], given: &[Term]) -> u64 {
    let first = |terms: &[Term]| terms.first().map_or(u64::MAX, |term| term.first);
    for (index, term) in own.iter().enumerate().rev() {
        if let Some(same) = given.iter().position(|other| other == term) {
            return first(&own[index + 1..]).min(first(&given[same + 1..]));
        }
    }
    match own.is_empty() {
        // A copy from before the primary had a follower.
        true => first(given),
        false => 0,
    }
}

#[cfg(test)]
#[path = "admission_tests.rs"]
mod tests;
