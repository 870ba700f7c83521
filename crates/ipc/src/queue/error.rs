//! Errors of a queue, each with its cause and advice.

use std::io;
use std::ops::Range;
use std::path::PathBuf;

use crate::IpcError;

/// Why an operation on a queue failed.
#[derive(Debug, thiserror::Error)]
pub enum QueueError {
    /// Another writer is alive.
    #[error(
        "the queue {} has a writer already: end that one (its lock goes with its process), or \
         write to another directory", .0.display()
    )]
    SecondWriter(PathBuf),

    /// The directory has no queue.
    #[error(
        "there is no queue in {}: start its writer first, or check the path", .0.display()
    )]
    NoQueue(PathBuf),

    /// An option out of its range.
    #[error("{name} is {given}: take one from {least} to {most}")]
    Option {
        /// Its name.
        name: &'static str,
        /// Its value.
        given: usize,
        /// The smallest value.
        least: usize,
        /// The largest value.
        most: usize,
    },

    /// The record is too long.
    #[error(
        "a record of {length} bytes is longer than this queue takes: at most {most}; split it, or \
         open the queue with larger blocks"
    )]
    RecordTooLong {
        /// Its length, bytes.
        length: usize,
        /// Longest record, bytes.
        most: usize,
    },

    /// The block numbers are used up.
    #[error("the queue has reached block {0}, the last: start a new queue")]
    LastBlock(u64),

    /// A block is missing.
    #[error(
        "{} is missing, and there are blocks before or behind it that are not: what stood in it is lost; \
         read the rest by opening a reader behind it, and start a new queue", .0.display()
    )]
    MissingBlock(PathBuf),

    /// A block has content that no writer writes.
    #[error(
        "{} is damaged at byte {byte}: {what}; a power failure left it so, or another program \
         changed it; messages before can be read; for those in later blocks open a reader at a \
         sequence in them, or start a new queue", block.display()
    )]
    Damaged {
        /// The file.
        block: PathBuf,
        /// Offset from its start.
        byte: usize,
        /// The fault.
        what: &'static str,
    },

    /// Records were removed before the reader read them. Reported once; the reader continues at the
    /// oldest record.
    #[error(
        "{} records, {} to {}, were removed before they were read: read faster, or keep more blocks",
        .missed.end - .missed.start, .missed.start, .missed.end - 1
    )]
    FellBehind {
        /// The sequences of these records.
        missed: Range<u64>,
    },

    /// The requested start is after the end.
    #[error("record {sequence} does not exist yet: the next one is {next}; start there or before")]
    NotYet {
        /// The requested sequence.
        sequence: u64,
        /// The sequence of the next record.
        next: u64,
    },

    /// A block's file failed.
    #[error(transparent)]
    Block(#[from] IpcError),

    /// A system call failed.
    #[error("cannot {doing} {}: {source}", path.display())]
    System {
        /// The failed action, such as "open".
        doing: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
}
