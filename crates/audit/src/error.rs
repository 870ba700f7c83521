//! What can be wrong with an audit log.

use std::io;
use std::path::PathBuf;

/// A log that can't be begun.
#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    /// The file could not be made.
    #[error(
        "cannot write the audit log {path}: {source}; is there a log of that name already, or no room?"
    )]
    Create {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The header has one block of a fixed length.
    #[error(
        "the header of an audit log takes {bytes} bytes, {max} are allowed: shorten the scenario's name"
    )]
    HeaderTooLong {
        /// Its length.
        bytes: usize,
        /// The allowed range.
        max: usize,
    },
    /// The ring is too small or too large.
    #[error("an audit log's ring of {given} records is out of range: take 1 to {max}")]
    Ring {
        /// As asked.
        given: usize,
        /// The allowed range.
        max: usize,
    },
    /// The thread could not be started or placed.
    #[error("the audit log's thread cannot run: {0}")]
    Thread(String),
}

/// A log that can't be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file could not be read.
    #[error("cannot read the audit log: {0}")]
    Io(#[from] io::Error),
    /// Something else, or a log whose header was never written whole.
    #[error("this is no audit log: {0}; name a file that `tickpath run` or `tickpath trade` wrote")]
    Foreign(&'static str),
    /// A version that this program does not know.
    #[error(
        "the audit log has version {found}, this program reads {known}: use the program that wrote it"
    )]
    Version {
        /// The file's.
        found: u32,
        /// Ours.
        known: u32,
    },
    /// A record is not what was written.
    #[error(
        "the audit log is damaged: record {number} (byte {at}) is not what was written, {why}; nothing behind it can be \
         trusted: take another copy"
    )]
    Damaged {
        /// Which record, from 0.
        number: u64,
        /// Where it begins in the file.
        at: u64,
        /// How that is known.
        why: &'static str,
    },
}
