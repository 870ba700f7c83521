//! An append-only log in memory-mapped files: one writer, any number of readers, each at its own
//! position, in threads or processes. Records stay readable after the writer has died.
//!
//! A queue is a directory (preferably on tmpfs) of blocks of one fixed size, `00000000.block`,
//! `00000001.block`, …; each is a [`region`](crate::region) whose first word of geometry is its
//! number. A block is fully allocated before it is mapped, so a full disk is an error of
//! [`Writer::append`] or [`Writer::prepare_next`], and never a SIGBUS.
//!
//! | bytes of a block | |
//! |---|---|
//! | 0..128 | the region's header |
//! | 128..192 | start mark: the writer has reached this block |
//! | 192.. | records, each at a multiple of 64 |
//! | 64, at a multiple of 64 | end mark: the next block continues |
//! | rest | zero |
//!
//! | bytes of a record | in the machine's byte order |
//! |---|---|
//! | 0..8 | word; zero until the record is complete. Bits 0..29 length, 29 whether the check covers
//! the bytes, 30..32 kind (1 record, 2 start, 3 end), 32..64 check |
//! | 8..16 | sequence, from 0 without a gap through all blocks; of a mark, that of the next record
//! |
//! | 16.. | the bytes |
//! | rest to a multiple of 64 | undefined |
//!
//! **Publishing.** The writer writes bytes and sequence, and then the word with one store
//! (release). A reader polls the word of the next record (acquire). There is no shared index, and
//! records share no cache line. A published record is never written again.
//!
//! **After a crash.** A writer that dies at any instruction leaves complete records, followed by a
//! zero word. The next writer walks the last block, zeroes the remains of an incomplete record
//! (they would disturb later words), and continues; readers never see it. The end of a block is
//! marked before the start of the next, so a block without a start was only prepared.
//!
//! **After a power failure** there is no guarantee, because nothing is synced. But damage is
//! detected: by each record's check (of 32 bits; over the bytes if [`Options::checked`] is set), by
//! a wrong sequence, or by bytes after the last record that no crash leaves.
//!
//! **Retention.** The writer keeps the newest blocks and removes older ones when it makes new ones.
//! A reader that has mapped one can read it to its end, and then learns which records it missed.
//!
//! **Trust.** Readers map the writer's files. A process that may write the files can change or
//! truncate them under a reader: see [`region`](crate::region) for the limits of the protection.

pub(crate) mod ahead;
pub(crate) mod bell;
#[allow(unsafe_code)]
pub(crate) mod block;
pub(crate) mod directory;
pub(crate) mod error;
pub(crate) mod publish;
pub(crate) mod reader;
pub(crate) mod record;
pub(crate) mod writer;

pub use crate::queue::ahead::{AHEAD_BLOCKS_MAX, BlockMaker};
pub use crate::queue::directory::BLOCK_NUMBER_MAX;
pub use crate::queue::error::QueueError;
pub use crate::queue::reader::{Reader, Start};
pub use crate::queue::writer::{
    BLOCK_BYTES_MAX, BLOCK_BYTES_MIN, Options, RECORD_BYTES_MAX, Writer,
};

#[cfg(test)]
mod tests;

#[cfg(test)]
mod damage_tests;
