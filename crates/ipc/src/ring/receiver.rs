//! The receiving end of the ring's protocol, see [`protocol`](crate::ring::protocol).

use crate::atomics::{AtomicU64, Ordering};
use crate::ring::protocol::{
    ABANDONED, Geometry, Memory, PRODUCERS_MAX, PUBLISHED, abandon, length_of, owner_of, turn_of,
};

/// Polls of one claimed slot before checking that its producer lives: some microseconds, so that an
/// ordinary claim never costs the system call.
const POLLS_BEFORE_PROBE: u32 = 512;

/// The receiving end. Its owner's claim makes it exclusive.
pub(crate) struct Receiver<M> {
    memory: M,
    geometry: Geometry,
    next: u64,
    /// Polls that found the next slot claimed.
    polls: u32,
}

/// The content at the consumer's position.
enum SlotContent {
    Nothing,
    Message(usize),
    Claimed(u8),
    Abandoned,
    Damaged,
}

impl<M: Memory> Receiver<M> {
    /// Continues where the previous consumer stopped.
    pub(crate) fn take_over(memory: M, geometry: Geometry) -> Receiver<M> {
        let next = memory.head().load(Ordering::Acquire);
        Receiver { memory, geometry, next, polls: 0 }
    }

    /// Shows at most `max` messages. `is_alive` tells whether the producer with an id lives. It is
    /// called now and then while a claimed slot blocks, or at once with `probe`.
    #[inline]
    pub(crate) fn receive(
        &mut self,
        max: usize,
        probe: bool,
        mut is_alive: impl FnMut(u8) -> bool,
        mut show: impl FnMut(&[u8]),
    ) -> usize {
        let start = self.next;
        let taken = HeadGuard { receiver: self, start };
        let mut received = 0;
        while received < max {
            let receiver = &mut *taken.receiver;
            match receiver.look() {
                SlotContent::Message(length) => {
                    let slot = receiver.geometry.slot(receiver.next);
                    // SAFETY: published in our turn, so nobody writes it before `head` has passed
                    // it. The length was checked.
                    unsafe { receiver.memory.read(slot, length, &mut show) };
                    received += 1;
                }
                SlotContent::Nothing => break,
                SlotContent::Claimed(id) => {
                    if !receiver.may_skip(id, probe, &mut is_alive) {
                        break;
                    }
                    // It is now abandoned, or its producer published it just before it died.
                    continue;
                }
                SlotContent::Abandoned => add_one(receiver.memory.abandoned()),
                SlotContent::Damaged => add_one(receiver.memory.damaged()),
            }
            receiver.next = receiver.next.wrapping_add(1);
            receiver.polls = 0;
        }
        received
    }

    #[inline(always)]
    fn look(&self) -> SlotContent {
        let seen = self.memory.word(self.geometry.slot(self.next)).load(Ordering::Acquire);
        if turn_of(seen) != self.geometry.turn(self.next) {
            return SlotContent::Nothing;
        }
        match owner_of(seen) {
            PUBLISHED if length_of(seen) <= self.geometry.message_bytes_max => {
                SlotContent::Message(length_of(seen))
            }
            id @ 1..=PRODUCERS_MAX if self.geometry.many => SlotContent::Claimed(id),
            ABANDONED => SlotContent::Abandoned,
            _ => SlotContent::Damaged,
        }
    }

    #[cold]
    fn may_skip(&mut self, id: u8, probe: bool, is_alive: &mut impl FnMut(u8) -> bool) -> bool {
        self.polls = self.polls.wrapping_add(1);
        if !probe && !self.polls.is_multiple_of(POLLS_BEFORE_PROBE) {
            return false;
        }
        let word = self.memory.word(self.geometry.slot(self.next));
        let seen = word.load(Ordering::Acquire);
        // First read the claim, then check that its producer lives, then exchange. The exchange
        // fails if a producer has published in between, or has taken over the id and abandoned the
        // claim itself.
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
    count.store(count.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
}

/// Stores the head when a call ends, also if the caller's closure panics: then the message of the
/// panic comes again.
struct HeadGuard<'a, M: Memory> {
    receiver: &'a mut Receiver<M>,
    start: u64,
}

impl<M: Memory> Drop for HeadGuard<'_, M> {
    #[inline(always)]
    fn drop(&mut self) {
        if self.receiver.next != self.start {
            self.receiver.memory.head().store(self.receiver.next, Ordering::Release);
        }
    }
}
