//! The atomics that the protocols are written in. `tests/loom.rs` compiles the same protocols with
//! loom's instead, and with a futex that loom can see.

pub(crate) use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

/// Sleeping on a word that processes share.
pub(crate) mod futex {
    use std::sync::atomic::AtomicU32;
    use std::time::Duration;

    use rustix::thread::futex::{Flags, Timespec, wait, wake};

    /// Sleeps while `word` is `seen`, at most so long. Wakes for no reason too.
    pub(crate) fn sleep(word: &AtomicU32, seen: u32, at_most: Duration) {
        let timeout = Timespec {
            tv_sec: at_most.as_secs().min(i64::MAX as u64) as i64,
            tv_nsec: at_most.subsec_nanos().into(),
        };
        // Whatever the reason for not sleeping (the word has changed, time is up, a signal), the
        // caller looks again.
        let _ = wait(word, Flags::empty(), seen, Some(&timeout));
    }

    /// Wakes everybody who sleeps on `word`.
    pub(crate) fn wake_all(word: &AtomicU32) {
        // Fails only for an address that is no futex, and a reference is one.
        let _ = wake(word, Flags::empty(), i32::MAX as u32);
    }
}
