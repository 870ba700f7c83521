//! An append-only log in memory-mapped files: one writer, any number of readers, each at its own
//! place, in threads or processes; what was written is read after the writer died, too.
//!
//! A queue is a directory (on tmpfs by preference) of blocks of one fixed size, `00000000.block`,
//! `00000001.block`, …; each is a [`region`](crate::region) whose first word of geometry is its
//! number. All of a block is allocated before it is mapped, so a full disk is an error of
//! [`Writer::append`] or [`Writer::prepare_next`], and never a SIGBUS.
//!
//! | bytes of a block | |
//! |---|---|
//! | 0..128 | the region's header |
//! | 128..192 | start mark: the writer has come to this block |
//! | 192.. | records, each at a multiple of 64 |
//! | 64, at a multiple of 64 | end mark: what follows is in the next block |
//! | rest | zero |
//!
//! | bytes of a record | in the machine's byte order |
//! |---|---|
//! | 0..8 | word; zero until the record is whole. Bits 0..29 length, 29 whether the check is over the bytes, 30..32 kind (1 record, 2 start, 3 end), 32..64 check |
//! | 8..16 | sequence, from 0 and without a gap through all blocks; of a mark, that of the record that follows it |
//! | 16.. | the bytes |
//! | rest to a multiple of 64 | whatever |
//!
//! **Publishing.** The writer writes bytes and sequence, and then the word, by one store
//! (release). A reader polls the word of the record that it waits for (acquire); there is no index
//! that all share, and no line of a record is any other's. A published record is never written
//! again.
//!
//! **After a crash.** A writer that dies at any instruction leaves records that are whole, and
//! behind them a word that is zero. The next writer walks the last block, makes zero what the dead
//! one had begun (it would be in the way of words to come), and goes on; readers see nothing of
//! it. The end of a block is marked before the start of the next: a block without a start was only
//! made ahead.
//!
//! **After a power failure** nothing is promised: nothing is synced. What a disk kept in part is
//! noticed, though: by each record's check (of 32 bits; over the bytes if the writer was told so,
//! [`Options::checked`]), by a sequence that is not the next one, or by bytes behind the last
//! record that no crash leaves.
//!
//! **Retention.** The writer keeps the newest blocks and removes older ones as it makes new ones. A
//! reader that has one mapped reads it to its end, and is then told which records it missed.
//!
//! **Trust.** Readers map what the writer wrote. A process that may write the files can change or
//! truncate them under a reader: see [`region`](crate::region) for what is and is not protected.

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

pub use crate::queue::ahead::{AHEAD_BLOCKS_MAX, Ahead};
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
