//! Ways in which a receiver waits.

use std::time::Duration;

use clock::Deadline;

use crate::bell::Bell;

/// How a receiver waits. Every wait has a deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Polls without a pause: the fastest, but needs its own core.
    Spin,
    /// Polls a number of times with the processor's pause, then yields the core between polls.
    SpinThenYield {
        /// Polls before the first yield.
        spins: u32,
    },
    /// Polls a number of times, then sleeps until a publication. Only for a structure with
    /// `may_sleep`: each publication then costs a full fence, and a system call if a receiver
    /// sleeps.
    Futex {
        /// Polls before each sleep.
        spins: u32,
    },
}

/// Longest sleep before a receiver looks again by itself: the delay if a sender was killed between
/// publishing and waking.
pub const SLEEP_SLICE: Duration = Duration::from_millis(50);

/// Polls between two readings of the clock: a reading costs as much as a dozen polls.
const POLLS_PER_LOOK: u32 = 64;

/// The kind of look: before a sleep it may take longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    Poll,
    BeforeSleep,
}

impl Wait {
    /// Tries until success or until the patience ends, at least once. [`Wait::Futex`] without a
    /// bell yields.
    pub(crate) fn until<T>(
        self,
        patience: Duration,
        bell: Option<Bell<'_>>,
        mut attempt: impl FnMut(Look) -> Option<T>,
    ) -> Option<T> {
        // Reads the clock only if it must wait.
        if let Some(found) = attempt(Look::Poll) {
            return Some(found);
        }
        let deadline = Deadline::after(patience);
        let (spins, rests) = match self {
            Wait::Spin => (POLLS_PER_LOOK, false),
            Wait::SpinThenYield { spins } | Wait::Futex { spins } => (spins, true),
        };
        loop {
            for poll in 1..=spins {
                if let Some(found) = attempt(Look::Poll) {
                    return Some(found);
                }
                if rests {
                    std::hint::spin_loop();
                }
                if poll % POLLS_PER_LOOK == 0 && deadline.left().is_zero() {
                    return None;
                }
            }
            let left = deadline.left();
            if left.is_zero() {
                return None;
            }
            match (self, bell) {
                (Wait::Spin, _) => {}
                (Wait::Futex { .. }, Some(bell)) => {
                    let look = || attempt(Look::BeforeSleep);
                    if let Some(found) = bell.sleep_unless(left.min(SLEEP_SLICE), look) {
                        return Some(found);
                    }
                }
                _ => {
                    if let Some(found) = attempt(Look::BeforeSleep) {
                        return Some(found);
                    }
                    std::thread::yield_now();
                }
            }
        }
    }
}
