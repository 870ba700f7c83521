//! The one word between a queue's writer and its readers. `tests/queue_loom.rs` tries all
//! interleavings of this source.

use crate::atomics::{AtomicU64, Ordering, fence};

/// Makes a record visible whose bytes are in place: `word` is not zero. What the writer wrote
/// before is seen by whoever sees the word.
#[inline(always)]
pub(crate) fn publish(place: &AtomicU64, sequence: &AtomicU64, number: u64, word: u64) {
    sequence.store(number, Ordering::Relaxed);
    place.store(word, Ordering::Release);
}

/// The word, if there is one. A load that is relaxed, and a fence when it found something, rather
/// than a load that acquires: only the former is defined for memory that is mapped to be read.
#[inline(always)]
pub(crate) fn look(place: &AtomicU64) -> Option<u64> {
    let word = place.load(Ordering::Relaxed);
    if word == 0 {
        return None;
    }
    fence(Ordering::Acquire);
    Some(word)
}
