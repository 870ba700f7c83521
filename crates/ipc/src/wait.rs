//! How a receiver waits.

use std::time::Duration;

use clock::Deadline;

use crate::bell::Bell;

/// What a receiver does while there is nothing to receive. Every wait has a deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Polls without a pause: the quickest, and a core of its own.
    Spin,
    /// Polls so often, with the processor's pause, then gives up the core between polls.
    SpinThenYield {
        /// Polls before the first yield.
        spins: u32,
    },
    /// Polls so often, then sleeps until somebody publishes. Only where the structure was created
    /// for it (`may_sleep`): each publication then costs a full fence, and a system call when
    /// somebody sleeps.
    Futex {
        /// Polls before each sleep.
        spins: u32,
    },
}

/// Longest sleep before a receiver looks again by itself: what a wake-up that never came can cost,
/// because its sender was killed between publishing and waking.
pub const SLEEP_SLICE: Duration = Duration::from_millis(50);

/// Polls between two looks at the clock: one look costs as much as a dozen polls.
const POLLS_PER_LOOK: u32 = 64;

/// Which look it is: before a sleep it may take longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    Poll,
    BeforeSleep,
}

impl Wait {
    /// Tries until it succeeds, or until the patience is gone; at least once. A [`Wait::Futex`]
    /// without a bell yields.
    pub(crate) fn until<T>(
        self,
        patience: Duration,
        bell: Option<Bell<'_>>,
        mut attempt: impl FnMut(Look) -> Option<T>,
    ) -> Option<T> {
        // The clock is read only when there is something to wait for.
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
