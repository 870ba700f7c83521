//! Wakes sleepers. If there are none, a publication costs only a fence and a load.
//!
//! One futex word, shared between processes. It is odd if a thread sleeps or is about to. A
//! publisher reads it after a full fence; if it is odd, the publisher makes it even and wakes all
//! sleepers. A thread that wants to sleep makes it odd, looks for data once more after a full
//! fence, and sleeps only while the word is unchanged. No wake-up is lost, because of the two
//! fences (one of the two threads sees the other's store) and the order in the sleeper: first the
//! word, then the look. `tests/loom.rs` tries all interleavings.
//!
//! A killed sleeper leaves the word odd, which costs one unnecessary wake-up. A publisher killed
//! between publishing and ringing leaves a sleeper without a wake-up; therefore no thread sleeps
//! longer than [`crate::wait::SLEEP_SLICE`] at a time.

use std::time::Duration;

use crate::atomics::{AtomicU32, Ordering, fence, futex};

/// The futex word.
#[derive(Clone, Copy)]
pub(crate) struct Bell<'a>(pub(crate) &'a AtomicU32);

impl Bell<'_> {
    /// Call it after each publication.
    #[inline(always)]
    pub(crate) fn ring(self) {
        fence(Ordering::SeqCst);
        if self.0.load(Ordering::Relaxed) % 2 == 1 {
            self.wake();
        }
    }

    #[cold]
    fn wake(self) {
        let seen = self.0.load(Ordering::Relaxed);
        // If another publisher won the exchange, it wakes the sleepers.
        if seen % 2 == 1
            && self
                .0
                .compare_exchange(seen, seen.wrapping_add(1), Ordering::Release, Ordering::Relaxed)
                .is_ok()
        {
            futex::wake_all(self.0);
        }
    }

    /// Sleeps at most `at_most` unless `look` finds something; returns what `look` found. May
    /// return `None` early.
    pub(crate) fn sleep_unless<T>(
        self,
        at_most: Duration,
        look: impl FnOnce() -> Option<T>,
    ) -> Option<T> {
        let mut seen = self.0.load(Ordering::Acquire);
        if seen.is_multiple_of(2) {
            let odd = seen.wrapping_add(1);
            let swapped = self.0.compare_exchange(seen, odd, Ordering::AcqRel, Ordering::Acquire);
            seen = swapped.map_or_else(|now| now, |_| odd);
            if seen.is_multiple_of(2) {
                // A publisher rang in between: the caller looks again.
                return None;
            }
        }
        fence(Ordering::SeqCst);
        let found = look();
        if found.is_none() {
            futex::sleep(self.0, seen, at_most);
        }
        found
    }
}
