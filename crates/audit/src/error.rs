//! Errors of an audit log.

use std::io;
use std::path::PathBuf;

/// Why a log can't be started.
#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    /// The file could not be made.
    #[error(
        "cannot write the audit log {path}: {source}; does the file exist already, or is the disk full?"
    )]
    Create {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The header does not fit into its block.
    #[error(
        "the header of an audit log takes {bytes} bytes, {max} are allowed: shorten the scenario's name"
    )]
    HeaderTooLong {
        /// Its length.
        bytes: usize,
        /// Its largest length.
        max: usize,
    },
    /// The ring is too small or too large.
    #[error("an audit log's ring of {given} records is out of range: take 1 to {max}")]
    Ring {
        /// The requested size.
        given: usize,
        /// The largest size.
        max: usize,
    },
    /// The thread could not be started or placed.
    #[error("the audit log's thread cannot run: {0}")]
    Thread(String),
}

/// Why a log can't be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file could not be read.
    #[error("cannot read the audit log: {0}")]
    Io(#[from] io::Error),
    /// The file is something else, or its header is incomplete.
    #[error(
        "this is not an audit log: {0}; name a file that `tickpath run` or `tickpath trade` wrote"
    )]
    Foreign(&'static str),
    /// The version is unknown to this program.
    #[error(
        "the audit log has version {found}, this program reads 1 to {known}: use the program that wrote it"
    )]
    Version {
        /// The version of the file.
        found: u32,
        /// The version of this program.
        known: u32,
    },
    /// A record differs from the written one.
    #[error(
        "the audit log is damaged: record {number} (byte {at}) is not as written, {why}; nothing after it can be \
         trusted: take another copy"
    )]
    Damaged {
        /// Its number, from 0.
        number: u64,
        /// Its offset in the file.
        at: u64,
        /// The proof.
        why: &'static str,
    },
}
