//! The sending end of the ring's protocol, see [`protocol`](crate::ring::protocol).

use crate::atomics::Ordering;
use crate::bell::Bell;
use crate::ring::protocol::{Geometry, Memory, PUBLISHED, abandon, owner_of, packed, turn_of};

/// How often a claim is tried: each failure means that another producer got a slot. Bounded, so
/// that damaged memory can't hold a producer.
const CLAIM_ATTEMPTS_MAX: u32 = 1 << 16;

/// Why a message was not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// The consumer is as many messages behind as the ring has slots.
    #[error("the ring is full: the consumer is slower, or gone; try again, or take more slots")]
    Full,
    /// The message is longer than a slot.
    #[error("the message is longer than the ring's slots: create the ring for longer ones")]
    TooLong,
    /// Other producers took every tried slot.
    #[error("other producers took every slot that was tried: try again, or check for damage")]
    Contended,
}

/// Result of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batch {
    /// Number of sent messages, from the first on.
    pub sent: usize,
    /// Why the next one was not sent; `None` if all were.
    pub error: Option<SendError>,
}

/// The sending end. Its owner's claim makes it exclusive.
pub(crate) struct Sender<M> {
    memory: M,
    geometry: Geometry,
    /// This producer's number; 1 if it is the only one.
    id: u8,
    /// Next position of a single producer.
    next: u64,
    /// The consumer's head as last read.
    head: u64,
}

impl<M: Memory> Sender<M> {
    /// Takes over from the previous producer with this id, which has died or released it.
    pub(crate) fn take_over(memory: M, geometry: Geometry, id: u8) -> Sender<M> {
        let head = memory.head().load(Ordering::Acquire);
        let mut sender = Sender { memory, geometry, id, next: head, head };
        let positions = || head..head.wrapping_add(geometry.slots());
        if geometry.many {
            // The previous producer's claims will never be published.
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
            // An interrupted batch has all of its words except the first, and the consumer would
            // find them after our first message.
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
        // consumer; the length was checked.
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

    /// One by one: another producer's message may come in between.
    fn send_each<B: AsRef<[u8]>>(&mut self, messages: impl IntoIterator<Item = B>) -> Batch {
        let mut sent = 0;
        for message in messages {
            if let Err(error) = self.try_send(message.as_ref()) {
                return Batch { sent, error: Some(error) };
            }
            sent += 1;
        }
        Batch { sent, error: None }
    }

    /// All at once: the first message's word is written last.
    #[inline]
    fn send_held<B: AsRef<[u8]>>(&mut self, messages: impl IntoIterator<Item = B>) -> Batch {
        let first = self.next;
        let mut held = BatchGuard { sender: self, first, first_length: 0 };
        let mut error = None;
        for message in messages {
            let message = message.as_ref();
            if message.len() > held.sender.geometry.message_bytes_max {
                error = Some(SendError::TooLong);
                break;
            }
            let position = match held.sender.take_next() {
                Ok(position) => position,
                Err(full) => {
                    error = Some(full);
                    break;
                }
            };
            let slot = held.sender.geometry.slot(position);
            if position == first {
                held.first_length = message.len();
            } else {
                // The release of the first word orders this too.
                held.sender.publish(position, message.len(), Ordering::Relaxed);
            }
            // SAFETY: as in `try_send`.
            unsafe { held.sender.memory.write_in_batch(slot, message) };
        }
        Batch { sent: held.sender.next.wrapping_sub(first) as usize, error }
    }

    /// The only producer's next position, once it is free.
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

    /// Claims a position among many producers.
    #[inline]
    fn claim(&mut self) -> Result<u64, SendError> {
        for _ in 0..CLAIM_ATTEMPTS_MAX {
            let position = self.memory.tail().load(Ordering::Relaxed);
            if !self.geometry.is_room(position, self.head) {
                // Acquire: the consumer's reads of the slot come before our writes.
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
                // Release: a thread that sees the claim sees that its producer's lock was taken
                // before.
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
        // A failure means that another producer has advanced it.
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

/// A batch whose first word is not yet written. Dropping it writes the word, also if the iterator
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
