//! The word between a queue's writer and its readers. `tests/queue_loom.rs` tries all interleavings
//! of this source.

use crate::atomics::{AtomicU64, Ordering, fence};

/// Publishes a record whose bytes are in place: `word` is not zero. A reader that sees the word
/// sees all earlier stores of the writer.
#[inline(always)]
pub(crate) fn publish(place: &AtomicU64, sequence: &AtomicU64, number: u64, word: u64) {
    sequence.store(number, Ordering::Relaxed);
    place.store(word, Ordering::Release);
}

/// The word, if it is published. Uses a relaxed load and then a fence instead of an acquire load,
/// because only the former is defined for read-only memory.
#[inline(always)]
pub(crate) fn look(place: &AtomicU64) -> Option<u64> {
    let word = place.load(Ordering::Relaxed);
    if word == 0 {
        return None;
    }
    fence(Ordering::Acquire);
    Some(word)
}
