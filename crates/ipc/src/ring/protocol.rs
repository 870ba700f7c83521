//! The ring's protocol, over any memory: `ring::memory` in production, loom's in `tests/loom.rs`.
//!
//! Every position `p` of the endless sequence of messages has slot `p % slots` and turn `p / slots
//! + 1`. A slot's word contains its turn, the length of its message, and its owner:
//!
//! | bits | field |
//! |---|---|
//! | 24..64 | turn; 0 before the first |
//! | 8..24 | length of the message, bytes |
//! | 0..8 | owner: 0 published, 1..=[`PRODUCERS_MAX`] claimed by that producer, 255 abandoned |
//!
//! The consumer polls only the word of its own position. If that is published in its turn, it is
//! the next message. The consumer frees slots without touching them: it stores its `head` once for
//! all messages of a call. A producer reads `head` only when the ring seems full by its last
//! reading. A slot is free if its word has the previous turn and its position is below `head +
//! slots`.
//!
//! **One producer** keeps its position in private: it writes the message, then the word. In a batch
//! it writes the first message's word last, so that the consumer, which polls that word, takes no
//! line away during the batch.
//!
//! **Many producers** claim a slot by exchanging its word for one with their number, and then
//! advance the shared `tail`. The tail is only a hint; any producer that finds it behind advances
//! it. So a claimed slot always has a known owner, unlike between a `fetch_add` and the following
//! store.

use crate::atomics::{AtomicU32, AtomicU64, Ordering};

/// Maximum number of producers at a time on a ring for many.
pub const PRODUCERS_MAX: u8 = 64;

/// Largest length that fits in a slot's word.
pub const MESSAGE_BYTES_MAX: usize = u16::MAX as usize;

pub(crate) const PUBLISHED: u8 = 0;
pub(crate) const ABANDONED: u8 = 255;
const TURN_MASK: u64 = (1 << 40) - 1;

/// The memory of a ring.
pub(crate) trait Memory {
    /// The consumer's position; all messages before it have been received.
    fn head(&self) -> &AtomicU64;
    /// The position at which many producers start to look for a free slot.
    fn tail(&self) -> &AtomicU64;
    /// Skipped claims of dead producers since the ring was created.
    fn abandoned(&self) -> &AtomicU64;
    /// Skipped slots with an invalid word.
    fn damaged(&self) -> &AtomicU64;
    /// The bell of a sleeping consumer.
    fn bell(&self) -> &AtomicU32;
    /// The word of a slot; `slot` must be below the number of slots.
    fn word(&self, slot: usize) -> &AtomicU64;
    /// Copies a message into a slot whose word the consumer may be polling.
    ///
    /// # Safety
    /// `slot` must exist and by the protocol belong to the caller, and the message must fit.
    unsafe fn write(&self, slot: usize, message: &[u8]);
    /// As [`Memory::write`], in the order of addresses: for a batch, in which the consumer can poll
    /// only the first slot.
    ///
    /// # Safety
    /// As [`Memory::write`].
    unsafe fn write_in_batch(&self, slot: usize, message: &[u8]);
    /// Shows the first `length` bytes of a slot.
    ///
    /// # Safety
    /// `slot` must exist and by the protocol be readable, and `length` must fit.
    unsafe fn read<R>(&self, slot: usize, length: usize, show: impl FnOnce(&[u8]) -> R) -> R;
}

/// Parameters on which both ends must agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Geometry {
    /// Binary logarithm of the number of slots.
    pub slots_log2: u32,
    pub message_bytes_max: usize,
    pub many: bool,
    pub may_sleep: bool,
}

impl Geometry {
    #[inline(always)]
    pub(crate) fn slots(&self) -> u64 {
        1 << self.slots_log2
    }

    #[inline(always)]
    pub(crate) fn slot(&self, position: u64) -> usize {
        (position & (self.slots() - 1)) as usize
    }

    #[inline(always)]
    pub(crate) fn turn(&self, position: u64) -> u64 {
        ((position >> self.slots_log2) + 1) & TURN_MASK
    }

    /// The turn of a slot that is free for `position`.
    #[inline(always)]
    pub(crate) fn turn_before(&self, position: u64) -> u64 {
        self.turn(position).wrapping_sub(1) & TURN_MASK
    }

    #[inline(always)]
    pub(crate) fn is_room(&self, position: u64, head: u64) -> bool {
        // Signed, because `position` may be an old reading, less than `head`.
        (position.wrapping_sub(head) as i64) < self.slots() as i64
    }
}

#[inline(always)]
pub(crate) fn packed(turn: u64, length: usize, owner: u8) -> u64 {
    turn << 24 | (length as u64) << 8 | u64::from(owner)
}

#[inline(always)]
pub(crate) fn turn_of(word: u64) -> u64 {
    word >> 24
}

#[inline(always)]
pub(crate) fn length_of(word: u64) -> usize {
    (word >> 8) as usize & MESSAGE_BYTES_MAX
}

#[inline(always)]
pub(crate) fn owner_of(word: u64) -> u8 {
    word as u8
}

/// Marks a claim of a dead producer so that the consumer skips it. Fails only if another thread has
/// just done it.
pub(crate) fn abandon(word: &AtomicU64, seen: u64) -> bool {
    let abandoned = packed(turn_of(seen), 0, ABANDONED);
    word.compare_exchange(seen, abandoned, Ordering::Relaxed, Ordering::Relaxed).is_ok()
}
