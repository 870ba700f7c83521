//! What can go wrong with a queue: what happened, why, and what to try.

use std::io;
use std::ops::Range;
use std::path::PathBuf;

use crate::IpcError;

/// Why a queue did not do as asked.
#[derive(Debug, thiserror::Error)]
pub enum QueueError {
    /// Another writer is alive.
    #[error(
        "the queue {} has a writer already: end that one (its lock goes with its process), or \
         write to another directory", .0.display()
    )]
    SecondWriter(PathBuf),

    /// Nothing to read there.
    #[error(
        "there is no queue in {}: start its writer first, or look at the path", .0.display()
    )]
    NoQueue(PathBuf),

    /// An option out of its range.
    #[error("{name} is {given}: take one from {least} to {most}")]
    Option {
        /// Which option.
        name: &'static str,
        /// What was asked for.
        given: usize,
        /// The smallest that is taken.
        least: usize,
        /// The largest that is taken.
        most: usize,
    },

    /// A record that no block has room for.
    #[error(
        "a record of {length} bytes is longer than this queue takes: at most {most}; split it, or \
         open the queue with larger blocks"
    )]
    RecordTooLong {
        /// Its bytes.
        length: usize,
        /// Most bytes that are taken.
        most: usize,
    },

    /// No number is left for another block.
    #[error("the queue has come to block {0}, the last: start a new queue")]
    LastBlock(u64),

    /// A block is not where it must be.
    #[error(
        "{} is missing, and there are blocks before or behind it that are not: what stood in it is lost; \
         read the rest by opening a reader behind it, and start a new queue", .0.display()
    )]
    MissingBlock(PathBuf),

    /// What stands in a block can't have been written there by a writer.
    #[error(
        "{} is damaged at byte {byte}: {what}; it was changed by something else, or is what a \
         power failure left; what stands before can be read, blocks behind by opening a reader at \
         a sequence in them, and a new queue be started", block.display()
    )]
    Damaged {
        /// The file.
        block: PathBuf,
        /// Bytes from its begin.
        byte: usize,
        /// The fault.
        what: &'static str,
    },

    /// The reader was too slow, and what it had not read was removed. Told once; the reader goes on
    /// at the oldest record that there is.
    #[error(
        "{} records, {} to {}, were removed before they were read: read faster, or keep more blocks",
        .missed.end - .missed.start, .missed.start, .missed.end - 1
    )]
    FellBehind {
        /// The sequences of the records that are gone.
        missed: Range<u64>,
    },

    /// A reader was to start behind the end.
    #[error("record {sequence} is not written yet: the next one is {next}; start there or before")]
    NotYet {
        /// The sequence that was asked for.
        sequence: u64,
        /// That of the next record to be written.
        next: u64,
    },

    /// The file of a block.
    #[error(transparent)]
    Block(#[from] IpcError),

    /// The system refused.
    #[error("cannot {doing} {}: {source}", path.display())]
    System {
        /// The failed action, such as "open".
        doing: &'static str,
        /// With which file or directory.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
}
