//! The memory of a session: both sequence numbers, and the messages that it may have to send again.

mod file;
mod record;
// A mapping.
#[allow(unsafe_code)]
mod segment;

pub use file::{FILE_BYTES_MAX, FileStore};

use std::collections::BTreeMap;
use std::io;
use std::ops::RangeInclusive;

/// The most messages that a store in memory keeps; the oldest ones go first.
pub const MEMORY_MESSAGES_MAX: usize = 65_536;

/// A message or a note that a store had when it was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept<'a> {
    /// A sent message.
    Message(&'a [u8]),
    /// A [note](Store::note).
    Note(&'a [u8]),
}

/// Memory of a session. Sequence numbers begin with 1.
pub trait Store {
    /// The number of the next message to send.
    fn next_out(&self) -> u64;

    /// The number of the next message that the peer shall send.
    fn next_in(&self) -> u64;

    /// Remembers the next number from the peer.
    ///
    /// # Errors
    /// If it can't be written; the session must end then.
    fn set_next_in(&mut self, next_in: u64) -> io::Result<()>;

    /// Remembers a sent message under [`next_out`](Store::next_out), which grows by one. Messages
    /// of the session layer are never sent again: for those `message` is empty.
    ///
    /// # Errors
    /// If it can't be written; the message must not be sent then.
    fn sent(&mut self, message: &[u8]) -> io::Result<()>;

    /// Keeps a text of the caller until its messages from now on are forgotten: see
    /// [`FileStore::open_with`]. A store that ends with the process keeps none.
    ///
    /// # Errors
    /// If it can't be written.
    fn note(&mut self, _text: &[u8]) -> io::Result<()> {
        Ok(())
    }

    /// Calls `each` with the number and bytes of every kept message in the range, in order.
    ///
    /// # Errors
    /// If it can't be read.
    fn read(
        &mut self,
        range: RangeInclusive<u64>,
        each: &mut dyn FnMut(u64, &[u8]),
    ) -> io::Result<()>;

    /// Forgets everything: both numbers are 1.
    ///
    /// # Errors
    /// If it can't be written.
    fn reset(&mut self) -> io::Result<()>;
}

/// A store that ends with the process: for tests, and for peers that reset at each logon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryStore {
    next_out: u64,
    next_in: u64,
    messages: BTreeMap<u64, Vec<u8>>,
}

impl Default for MemoryStore {
    fn default() -> MemoryStore {
        MemoryStore { next_out: 1, next_in: 1, messages: BTreeMap::new() }
    }
}

impl Store for MemoryStore {
    fn next_out(&self) -> u64 {
        self.next_out
    }

    fn next_in(&self) -> u64 {
        self.next_in
    }

    fn set_next_in(&mut self, next_in: u64) -> io::Result<()> {
        self.next_in = next_in;
        Ok(())
    }

    fn sent(&mut self, message: &[u8]) -> io::Result<()> {
        if !message.is_empty() {
            self.messages.insert(self.next_out, message.to_vec());
            if self.messages.len() > MEMORY_MESSAGES_MAX {
                self.messages.pop_first();
            }
        }
        self.next_out += 1;
        Ok(())
    }

    fn read(
        &mut self,
        range: RangeInclusive<u64>,
        each: &mut dyn FnMut(u64, &[u8]),
    ) -> io::Result<()> {
        if !range.is_empty() {
            self.messages.range(range).for_each(|(seq, message)| each(*seq, message));
        }
        Ok(())
    }

    fn reset(&mut self) -> io::Result<()> {
        *self = MemoryStore::default();
        Ok(())
    }
}

#[cfg(test)]
mod tests;
