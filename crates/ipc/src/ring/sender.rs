//! The sending end of the ring's protocol, see [`protocol`](crate::ring::protocol).

use crate::atomics::Ordering;
use crate::bell::Bell;
use crate::ring::protocol::{Geometry, Memory, PUBLISHED, abandon, owner_of, packed, turn_of};

/// How often a claim is tried anew: each failure means that somebody else got a slot. A bound, so
/// that damaged memory can't hold a producer.
const CLAIM_ATTEMPTS_MAX: u32 = 1 << 16;

/// Why a message was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
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
    pub refused: Option<SendError>,
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
                word.store(packed(geometry.turn_before(position), 0, PUBLISHED), Ordering::Relaxed);
            }
        }
        sender
    }

    #[inline]
    pub(crate) fn try_send(&mut self, message: &[u8]) -> Result<(), SendError> {
        if message.len() > self.geometry.message_bytes_max {
            return Err(SendError::TooLong);
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
        let mut held = BatchGuard { sender: self, first, first_length: 0 };
        let mut refused = None;
        for message in messages {
            let message = message.as_ref();
            if message.len() > held.sender.geometry.message_bytes_max {
                refused = Some(SendError::TooLong);
                break;
            }
            let position = match held.sender.take_next() {
                Ok(position) => position,
                Err(full) => {
                    refused = Some(full);
                    break;
                }
            };
            let slot = held.sender.geometry.slot(position);
            if position == first {
                held.first_length = message.len();
            } else {
                // The first one's release orders this as well.
                held.sender.publish(position, message.len(), Ordering::Relaxed);
            }
            // SAFETY: as in `try_send`.
            unsafe { held.sender.memory.write_in_batch(slot, message) };
        }
        Batch { sent: held.sender.next.wrapping_sub(first) as usize, refused }
    }

    /// The only producer's next position, once it is known to be free.
    #[inline(always)]
    fn take_next(&mut self) -> Result<u64, SendError> {
        let position = self.next;
        if !self.geometry.is_room(position, self.head) {
            self.head = self.memory.head().load(Ordering::Acquire);
            if !self.geometry.is_room(position, self.head) {
                return Err(SendError::Full);
            }
        }
        self.next = position.wrapping_add(1);
        Ok(position)
    }

    /// A position that is this producer's among many.
    #[inline]
    fn claim(&mut self) -> Result<u64, SendError> {
        for _ in 0..CLAIM_ATTEMPTS_MAX {
            let position = self.memory.tail().load(Ordering::Relaxed);
            if !self.geometry.is_room(position, self.head) {
                // Acquire: what the consumer read of the slot lies before what we write there.
                self.head = self.memory.head().load(Ordering::Acquire);
                if !self.geometry.is_room(position, self.head) {
                    return Err(SendError::Full);
                }
            }
            let turn = self.geometry.turn(position);
            let word = self.memory.word(self.geometry.slot(position));
            let seen = word.load(Ordering::Relaxed);
            if turn_of(seen) == self.geometry.turn_before(position) {
                let ours = packed(turn, 0, self.id);
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
        Err(SendError::Contended)
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
        let word = packed(self.geometry.turn(position), length, PUBLISHED);
        self.memory.word(self.geometry.slot(position)).store(word, order);
    }

    #[inline(always)]
    fn ring(&self) {
        if self.geometry.may_sleep {
            Bell(self.memory.bell()).ring();
        }
    }
}

/// A batch whose first word is not written yet. Dropping it writes it: also when the iterator
/// panics.
struct BatchGuard<'a, M: Memory> {
    sender: &'a mut Sender<M>,
    first: u64,
    first_length: usize,
}

impl<M: Memory> Drop for BatchGuard<'_, M> {
    fn drop(&mut self) {
        if self.sender.next != self.first {
            self.sender.publish(self.first, self.first_length, Ordering::Release);
            self.sender.ring();
        }
    }
}
