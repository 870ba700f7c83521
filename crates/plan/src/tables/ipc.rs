//! `[ipc]` of a scenario: the messages between threads.

use crate::range::{OutOfRange, within};
use serde::{Deserialize, Serialize};

/// A message holds its header at least.
pub const MESSAGE_BYTES_MIN: usize = 16;
/// The longest message.
pub const MESSAGE_BYTES_MAX: usize = 4096;
/// Slots of a ring, or of a key.
pub const SLOTS_MAX: usize = 1 << 20;
/// Keys of a distributor.
pub const KEYS_MAX: usize = 4096;
/// Bytes of a queue's block.
pub const BLOCK_BYTES_MAX: u64 = 4 << 30;

/// `[ipc]`: the messages between threads, and the structure that carries them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Ipc {
    /// Length of every message.
    pub message_bytes: usize,
    /// Slots of a ring, or of each key of a distributor.
    pub slots: usize,
    /// Keys of a distributor.
    pub keys: usize,
    /// Block size of a queue.
    pub block_bytes: u64,
    /// Directory of the structure's files. On tmpfs nothing is written to a disk.
    pub directory: String,
}

impl Default for Ipc {
    fn default() -> Ipc {
        Ipc {
            message_bytes: 256,
            slots: 1024,
            keys: 1,
            block_bytes: 256 << 20,
            directory: "/dev/shm".to_owned(),
        }
    }
}

impl Ipc {
    /// Checks every key against its range.
    ///
    /// # Errors
    /// The first key that is out of range, with the values that are allowed.
    pub fn check(&self) -> Result<(), OutOfRange> {
        let bytes = MESSAGE_BYTES_MIN..=MESSAGE_BYTES_MAX;
        within("ipc.message_bytes", self.message_bytes, bytes, "a message has {} bytes")?;
        within("ipc.slots", self.slots, 1..=SLOTS_MAX, "{}")?;
        within("ipc.keys", self.keys, 1..=KEYS_MAX, "{}")?;
        within("ipc.block_bytes", self.block_bytes, 0..=BLOCK_BYTES_MAX, "{}")
    }
}
