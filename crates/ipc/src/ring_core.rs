//! The ring's protocol, over any memory: the real one is `ring_memory`, and `tests/loom.rs` has
//! another.
//!
//! Every position `p` of the endless sequence of messages has slot `p % slots` and turn `p / slots + 1`.
//! A slot's word says which turn it is in, how long its message is, and who has claimed it:
//!
//! | bits | field |
//! |---|---|
//! | 24..64 | turn; 0 before the first |
//! | 8..24 | length of the message, bytes |
//! | 0..8 | owner: 0 published, 1..=[`PRODUCERS_MAX`] claimed by that producer, 255 abandoned |
//!
//! The consumer polls the word of its own position and nothing else: published in its turn, it is its
//! message. It does not touch the slot to free it; it stores its `head` once for all that a call has
//! received, and a producer reads that only when what it last knew of it says that the ring is full.
//! A slot whose word is of the turn before, and whose position is below `head + slots`, is free.
//!
//! **One producer** keeps its position for itself: it writes the message, then the word. In a batch the
//! first message's word is written last, so that the consumer, who waits for just that word, takes
//! no line away while the rest is written.
//!
//! **Many producers** claim a slot by exchanging its word for one that names them, and then move the shared
//! `tail`, which is only where to look first: whoever finds it behind moves it. There is no instant at
//! which a slot is claimed and nobody knows by whom, as there is between a `fetch_add` and what follows it.

use crate::atomics::{AtomicU32, AtomicU64, Ordering};
use crate::bell::Bell;

/// Most producers at a time on a ring for many.
pub const PRODUCERS_MAX: u8 = 64;

/// Largest number that a slot's word has room for as a length.
pub const MESSAGE_BYTES_MAX: usize = u16::MAX as usize;

const PUBLISHED: u8 = 0;
const ABANDONED: u8 = 255;
const TURN_MASK: u64 = (1 << 40) - 1;

/// Polls of one claimed slot before its producer is asked for a sign of life: some microseconds, so
/// that an ordinary claim never costs the system call.
const POLLS_BEFORE_PROBE: u32 = 512;

/// How often a claim is tried anew: each failure means that somebody else got a slot. A bound, so
/// that damaged memory can't hold a producer.
const CLAIM_ATTEMPTS_MAX: u32 = 1 << 16;

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
    /// Copies a message into a slot.
    ///
    /// # Safety
    /// `slot` exists and is the caller's to write by the protocol, and the message fits.
    unsafe fn write(&self, slot: usize, message: &[u8]);
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
    fn slot(&self, position: u64) -> usize {
        (position & (self.slots() - 1)) as usize
    }

    #[inline(always)]
    fn turn(&self, position: u64) -> u64 {
        ((position >> self.slots_log2) + 1) & TURN_MASK
    }

    /// The turn that a slot is in while it is free for `position`.
    #[inline(always)]
    fn turn_before(&self, position: u64) -> u64 {
        self.turn(position).wrapping_sub(1) & TURN_MASK
    }

    #[inline(always)]
    fn is_room(&self, position: u64, head: u64) -> bool {
        // Signed: `position` may be an old reading and behind `head`.
        (position.wrapping_sub(head) as i64) < self.slots() as i64
    }
}

#[inline(always)]
fn word(turn: u64, length: usize, owner: u8) -> u64 {
    turn << 24 | (length as u64) << 8 | u64::from(owner)
}

#[inline(always)]
fn turn_of(word: u64) -> u64 {
    word >> 24
}

#[inline(always)]
fn length_of(word: u64) -> usize {
    (word >> 8) as usize & MESSAGE_BYTES_MAX
}

#[inline(always)]
fn owner_of(word: u64) -> u8 {
    word as u8
}

/// Why a message was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The consumer is as many messages behind as the ring has slots.
    #[error("the ring is full: the consumer is slower, or gone; try again, or take more slots")]
    Full,
    /// The message is longer than a slot.
    #[error("the message is longer than the ring's slots: create the ring for longer ones")]
    TooLong,
    /// Other producers took every slot that was tried for, many times over.
    #[error("other producers took every slot that was tried for: try again, or look for damage")]
    Contended,
}

/// How a batch went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batch {
    /// So many messages were sent, from the first on.
    pub sent: usize,
    /// Why the next one was not; `None` when all were.
    pub refused: Option<Refused>,
}

/// The sending end. Exclusive by its owner's claim.
pub(crate) struct Sender<M> {
    memory: M,
    geometry: Geometry,
    /// This producer's number among many; 1 when it is the only one.
    id: u8,
    /// Next position of a single producer.
    next: u64,
    /// The consumer's head as last read.
    head: u64,
}

impl<M: Memory> Sender<M> {
    /// Takes over from whoever had this id before, who is dead or has given it back.
    pub(crate) fn take_over(memory: M, geometry: Geometry, id: u8) -> Sender<M> {
        let head = memory.head().load(Ordering::Acquire);
        let mut sender = Sender { memory, geometry, id, next: head, head };
        let positions = || head..head.wrapping_add(geometry.slots());
        if geometry.many {
            // What the former one had claimed will never be published.
            for slot in 0..geometry.slots() as usize {
                let word = sender.memory.word(slot);
                let seen = word.load(Ordering::Relaxed);
                if owner_of(seen) == id {
                    abandon(word, seen);
                }
            }
        } else {
            let published = |p: &u64| {
                let seen = sender.memory.word(geometry.slot(*p)).load(Ordering::Relaxed);
                turn_of(seen) == geometry.turn(*p)
            };
            sender.next = positions().find(|p| !published(p)).unwrap_or(positions().end);
            // A batch that was cut off has its words but for the first, and the consumer would come
            // to them behind our first message.
            for position in sender.next..positions().end {
                let word = sender.memory.word(geometry.slot(position));
                word.store(
                    self::word(geometry.turn(position) - 1, 0, PUBLISHED),
                    Ordering::Relaxed,
                );
            }
        }
        sender
    }

    #[inline]
    pub(crate) fn try_send(&mut self, message: &[u8]) -> Result<(), Refused> {
        if message.len() > self.geometry.message_bytes_max {
            return Err(Refused::TooLong);
        }
        let position = if self.geometry.many { self.claim()? } else { self.take_next()? };
        // SAFETY: the position was claimed, or is the only producer's next with room before the
        // consumer comes round; the length was looked at.
        unsafe { self.memory.write(self.geometry.slot(position), message) };
        self.publish(position, message.len(), Ordering::Release);
        self.ring();
        Ok(())
    }

    #[inline]
    pub(crate) fn try_send_batch<B: AsRef<[u8]>>(
        &mut self,
        messages: impl IntoIterator<Item = B>,
    ) -> Batch {
        if self.geometry.many { self.send_each(messages) } else { self.send_held(messages) }
    }

    /// One after the other: between two of ours there may be one of another producer.
    fn send_each<B: AsRef<[u8]>>(&mut self, messages: impl IntoIterator<Item = B>) -> Batch {
        let mut sent = 0;
        for message in messages {
            if let Err(refused) = self.try_send(message.as_ref()) {
                return Batch { sent, refused: Some(refused) };
            }
            sent += 1;
        }
        Batch { sent, refused: None }
    }

    /// All at once: the word of the first is written last.
    #[inline]
    fn send_held<B: AsRef<[u8]>>(&mut self, messages: impl IntoIterator<Item = B>) -> Batch {
        let first = self.next;
        let mut held = Held { sender: self, first, first_length: 0 };
        let mut refused = None;
        for message in messages {
            let message = message.as_ref();
            if message.len() > held.sender.geometry.message_bytes_max {
                refused = Some(Refused::TooLong);
                break;
            }
            let position = match held.sender.take_next() {
                Ok(position) => position,
                Err(full) => {
                    refused = Some(full);
                    break;
                }
            };
            // SAFETY: as in `try_send`.
            unsafe { held.sender.memory.write(held.sender.geometry.slot(position), message) };
            if position == first {
                held.first_length = message.len();
            } else {
                // The first one's release orders this as well.
                held.sender.publish(position, message.len(), Ordering::Relaxed);
            }
        }
        Batch { sent: held.sender.next.wrapping_sub(first) as usize, refused }
    }

    /// The only producer's next position, once it is known to be free.
    #[inline(always)]
    fn take_next(&mut self) -> Result<u64, Refused> {
        let position = self.next;
        if !self.geometry.is_room(position, self.head) {
            self.head = self.memory.head().load(Ordering::Acquire);
            if !self.geometry.is_room(position, self.head) {
                return Err(Refused::Full);
            }
        }
        self.next = position.wrapping_add(1);
        Ok(position)
    }

    /// A position that is this producer's among many.
    #[inline]
    fn claim(&mut self) -> Result<u64, Refused> {
        for _ in 0..CLAIM_ATTEMPTS_MAX {
            let position = self.memory.tail().load(Ordering::Relaxed);
            if !self.geometry.is_room(position, self.head) {
                // Acquire: what the consumer read of the slot lies before what we write there.
                self.head = self.memory.head().load(Ordering::Acquire);
                if !self.geometry.is_room(position, self.head) {
                    return Err(Refused::Full);
                }
            }
            let turn = self.geometry.turn(position);
            let word = self.memory.word(self.geometry.slot(position));
            let seen = word.load(Ordering::Relaxed);
            if turn_of(seen) == self.geometry.turn_before(position) {
                let ours = self::word(turn, 0, self.id);
                // Release: whoever sees the claim sees that its producer's lock was taken before.
                let (order, failed) = (Ordering::Release, Ordering::Relaxed);
                if word.compare_exchange(seen, ours, order, failed).is_ok() {
                    self.move_tail(position);
                    return Ok(position);
                }
            } else if turn_of(seen) == turn {
                self.move_tail(position);
            }
            // Otherwise the tail was moved a whole turn since we read it.
        }
        Err(Refused::Contended)
    }

    #[inline(always)]
    fn move_tail(&self, position: u64) {
        // A failure means that somebody else has moved it.
        let (from, to) = (position, position.wrapping_add(1));
        let order = Ordering::Relaxed;
        let _ = self.memory.tail().compare_exchange(from, to, order, order);
    }

    #[inline(always)]
    fn publish(&self, position: u64, length: usize, order: Ordering) {
        let word = word(self.geometry.turn(position), length, PUBLISHED);
        self.memory.word(self.geometry.slot(position)).store(word, order);
    }

    #[inline(always)]
    fn ring(&self) {
        if self.geometry.may_sleep {
            Bell(self.memory.bell()).ring();
        }
    }
}

/// A batch whose first word is not written yet. Dropping it writes it: also when the iterator panics.
struct Held<'a, M: Memory> {
    sender: &'a mut Sender<M>,
    first: u64,
    first_length: usize,
}

impl<M: Memory> Drop for Held<'_, M> {
    fn drop(&mut self) {
        if self.sender.next != self.first {
            self.sender.publish(self.first, self.first_length, Ordering::Release);
            self.sender.ring();
        }
    }
}

/// Makes a claim of a dead producer one that the consumer skips. Fails only when somebody else has
/// just done it.
fn abandon(word: &AtomicU64, seen: u64) -> bool {
    let abandoned = self::word(turn_of(seen), 0, ABANDONED);
    word.compare_exchange(seen, abandoned, Ordering::Relaxed, Ordering::Relaxed).is_ok()
}

/// The receiving end. Exclusive by its owner's claim.
pub(crate) struct Receiver<M> {
    memory: M,
    geometry: Geometry,
    next: u64,
    /// Polls that found the next slot claimed.
    polls: u32,
}

/// What stands at the consumer's position.
enum Found {
    Nothing,
    Message(usize),
    Claimed(u8),
    Abandoned,
    Damaged,
}

impl<M: Memory> Receiver<M> {
    /// Goes on where the one before stopped.
    pub(crate) fn take_over(memory: M, geometry: Geometry) -> Receiver<M> {
        let next = memory.head().load(Ordering::Acquire);
        Receiver { memory, geometry, next, polls: 0 }
    }

    /// Shows at most `max` messages. `is_alive` says whether the producer of that id lives; it is
    /// asked now and then while a claimed slot is in the way, or at once with `probe`.
    #[inline]
    pub(crate) fn receive(
        &mut self,
        max: usize,
        probe: bool,
        mut is_alive: impl FnMut(u8) -> bool,
        mut show: impl FnMut(&[u8]),
    ) -> usize {
        let start = self.next;
        let taken = Taken { receiver: self, start };
        let mut received = 0;
        while received < max {
            let receiver = &mut *taken.receiver;
            match receiver.look() {
                Found::Message(length) => {
                    let slot = receiver.geometry.slot(receiver.next);
                    // SAFETY: published in our turn: nobody writes it before `head` has passed it. The
                    // length was held against the slot's.
                    unsafe { receiver.memory.read(slot, length, &mut show) };
                    received += 1;
                }
                Found::Nothing => break,
                Found::Claimed(id) => {
                    if !receiver.may_skip(id, probe, &mut is_alive) {
                        break;
                    }
                    // It is abandoned now, or was published just before its producer died.
                    continue;
                }
                Found::Abandoned => add_one(receiver.memory.abandoned()),
                Found::Damaged => add_one(receiver.memory.damaged()),
            }
            receiver.next = receiver.next.wrapping_add(1);
            receiver.polls = 0;
        }
        received
    }

    #[inline(always)]
    fn look(&self) -> Found {
        let seen = self.memory.word(self.geometry.slot(self.next)).load(Ordering::Acquire);
        if turn_of(seen) != self.geometry.turn(self.next) {
            return Found::Nothing;
        }
        match owner_of(seen) {
            PUBLISHED if length_of(seen) <= self.geometry.message_bytes_max => {
                Found::Message(length_of(seen))
            }
            id @ 1..=PRODUCERS_MAX if self.geometry.many => Found::Claimed(id),
            ABANDONED => Found::Abandoned,
            _ => Found::Damaged,
        }
    }

    #[cold]
    fn may_skip(&mut self, id: u8, probe: bool, is_alive: &mut impl FnMut(u8) -> bool) -> bool {
        self.polls += 1;
        if !probe && !self.polls.is_multiple_of(POLLS_BEFORE_PROBE) {
            return false;
        }
        let word = self.memory.word(self.geometry.slot(self.next));
        let seen = word.load(Ordering::Acquire);
        // First the claim, then the sign of life: it is asked of whoever made this claim. And only then
        // the exchange: who publishes in between, or takes the id over and
        // abandons it himself, makes it fail.
        if owner_of(seen) == id && !is_alive(id) {
            abandon(word, seen);
            return true;
        }
        false
    }
}

#[cold]
fn add_one(count: &AtomicU64) {
    // Only the consumer writes it.
    count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
}

/// Stores the head when a call ends, also by a panic of the caller's closure: then the message that
/// it panicked on comes again.
struct Taken<'a, M: Memory> {
    receiver: &'a mut Receiver<M>,
    start: u64,
}

impl<M: Memory> Drop for Taken<'_, M> {
    #[inline(always)]
    fn drop(&mut self) {
        if self.receiver.next != self.start {
            self.receiver.memory.head().store(self.receiver.next, Ordering::Release);
        }
    }
}
