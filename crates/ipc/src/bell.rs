//! Wakes who sleeps, and costs who publishes only a fence and a look where nobody does.
//!
//! One futex word, shared between processes. Odd: somebody sleeps, or is about to. A publisher
//! looks at it after a full fence; if it is odd, the publisher makes it even and wakes all
//! sleepers. A thread that wants to sleep makes it odd, looks once more after a full fence, and
//! sleeps only while the word is still the one that it saw. That no wake-up is lost follows from
//! the two fences (one of the two sees the other) and from the order in the sleeper: first the
//! word, then the look. `tests/loom.rs` tries all interleavings.
//!
//! A sleeper that was killed leaves the word odd: that costs one wake-up of nobody. A publisher
//! that was killed between publishing and ringing leaves a sleeper without a wake-up: so nobody
//! sleeps longer than a slice at a time ([`crate::wait::SLEEP_SLICE`]).

use std::time::Duration;

use crate::atomics::{AtomicU32, Ordering, fence, futex};

/// The word, wherever it lies.
#[derive(Clone, Copy)]
pub(crate) struct Bell<'a>(pub(crate) &'a AtomicU32);

impl Bell<'_> {
    /// To be called after each publication.
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
        // If another publisher won the exchange, that one wakes the sleepers.
        if seen % 2 == 1
            && self
                .0
                .compare_exchange(seen, seen.wrapping_add(1), Ordering::Release, Ordering::Relaxed)
                .is_ok()
        {
            futex::wake_all(self.0);
        }
    }

    /// Sleeps at most so long, unless `look` finds something; returns what it found. May return
    /// early without.
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
                // Somebody rang meanwhile: the caller looks again.
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
