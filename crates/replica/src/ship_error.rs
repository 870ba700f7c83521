//! Why the primary's connection to its follower ends.

use crate::frame::FrameError;
use crate::term::TermsError;
use journal::JournalError;
use std::io;

/// Why a connection ends.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ShipError {
    #[error("cannot connect to the follower at {0}: {1}; start it, or check address and firewall")]
    Connect(String, io::Error),
    #[error("no secure connection to the follower: {0}")]
    Secure(io::Error),
    #[error("lost the connection to the follower: {0}")]
    Io(#[from] io::Error),
    #[error(
        "the follower closed the connection without an answer: its own messages say why. It may be \
         of an earlier version, or speak TLS where this end does not"
    )]
    NoAnswer,
    #[error("the follower's answer is invalid: {0}")]
    Frame(#[from] FrameError),
    #[error("the follower rejects this primary: {0}")]
    Rejected(String),
    #[error("{0}")]
    Fenced(String),
    #[error("cannot read the log for the follower: {0}")]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Terms(#[from] TermsError),
}

/// The follower has rejected this primary.
pub(crate) fn rejected(is_fenced: bool, why: &str) -> ShipError {
    match is_fenced {
        true => ShipError::Fenced(why.to_owned()),
        false => ShipError::Rejected(why.to_owned()),
    }
}
