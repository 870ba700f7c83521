//! The ring's protocol, over any memory: the real one is `ring::memory`, and `tests/loom.rs` has
//! another.
//!
//! Every position `p` of the endless sequence of messages has slot `p % slots` and turn `p / slots
//! + 1`. A slot's word says which turn it is in, how long its message is, and who has claimed it:
//!
//! | bits | field |
//! |---|---|
//! | 24..64 | turn; 0 before the first |
//! | 8..24 | length of the message, bytes |
//! | 0..8 | owner: 0 published, 1..=[`PRODUCERS_MAX`] claimed by that producer, 255 abandoned |
//!
//! The consumer polls the word of its own position and nothing else: published in its turn, it is
//! its message. It does not touch the slot to free it; it stores its `head` once for all that a
//! call has received, and a producer reads that only when what it last knew of it says that the
//! ring is full. A slot whose word is of the turn before, and whose position is below `head +
//! slots`, is free.
//!
//! **One producer** keeps its position for itself: it writes the message, then the word. In a
//! batch the first message's word is written last, so that the consumer, which waits for that
//! word, takes no line away while the rest is written.
//!
//! **Many producers** claim a slot by exchanging its word for one that names them, and then move
//! the shared `tail`, which is only where to look first: whoever finds it behind moves it. There
//! is no instant at which a slot is claimed and nobody knows by whom, as there is between a
//! `fetch_add` and what follows it.

use crate::atomics::{AtomicU32, AtomicU64, Ordering};

/// Most producers at a time on a ring for many.
pub const PRODUCERS_MAX: u8 = 64;

/// Largest number that a slot's word has room for as a length.
pub const MESSAGE_BYTES_MAX: usize = u16::MAX as usize;

pub(crate) const PUBLISHED: u8 = 0;
pub(crate) const ABANDONED: u8 = 255;
const TURN_MASK: u64 = (1 << 40) - 1;

/// Where the parts of a ring lie.
pub(crate) trait Memory {
    /// The consumer's position: all before it has been received.
    fn head(&self) -> &AtomicU64;
    /// Where many producers look first for a free slot.
    fn tail(&self) -> &AtomicU64;
    /// How many claims of dead producers were skipped since the ring was created.
    fn abandoned(&self) -> &AtomicU64;
    /// How many slots were skipped because their word made no sense.
    fn damaged(&self) -> &AtomicU64;
    /// For a consumer that sleeps.
    fn bell(&self) -> &AtomicU32;
    /// The word of a slot; `slot` below the number of slots.
    fn word(&self, slot: usize) -> &AtomicU64;
    /// Copies a message into a slot whose word the consumer may be polling.
    ///
    /// # Safety
    /// `slot` exists and is the caller's to write by the protocol, and the message fits.
    unsafe fn write(&self, slot: usize, message: &[u8]);
    /// As [`Memory::write`], in the order of addresses: for a batch, of which the consumer may
    /// poll the first slot at most.
    ///
    /// # Safety
    /// As [`Memory::write`].
    unsafe fn write_in_batch(&self, slot: usize, message: &[u8]);
    /// Shows the first `length` bytes of a slot.
    ///
    /// # Safety
    /// `slot` exists and is the caller's to read by the protocol, and `length` fits.
    unsafe fn read<R>(&self, slot: usize, length: usize, show: impl FnOnce(&[u8]) -> R) -> R;
}

/// What both ends must agree on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Geometry {
    /// `slots` is a power of two: 2 to the power of this.
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

    /// The turn that a slot is in while it is free for `position`.
    #[inline(always)]
    pub(crate) fn turn_before(&self, position: u64) -> u64 {
        self.turn(position).wrapping_sub(1) & TURN_MASK
    }

    #[inline(always)]
    pub(crate) fn is_room(&self, position: u64, head: u64) -> bool {
        // Signed: `position` may be an old reading and behind `head`.
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

/// Makes a claim of a dead producer one that the consumer skips. Fails only when somebody else has
/// just done it.
pub(crate) fn abandon(word: &AtomicU64, seen: u64) -> bool {
    let abandoned = packed(turn_of(seen), 0, ABANDONED);
    word.compare_exchange(seen, abandoned, Ordering::Relaxed, Ordering::Relaxed).is_ok()
}
