//! The atomics of the protocols. `tests/loom.rs` compiles the same protocols with loom's atomics
//! and a futex that loom can check.

pub(crate) use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

/// Sleeping on a word that processes share.
pub(crate) mod futex {
    use std::sync::atomic::AtomicU32;
    use std::time::Duration;

    use rustix::thread::futex::{Flags, Timespec, wait, wake};

    /// Sleeps while `word` is `seen`, at most `at_most`. May wake without a reason.
    pub(crate) fn sleep(word: &AtomicU32, seen: u32, at_most: Duration) {
        let timeout = Timespec {
            tv_sec: at_most.as_secs().min(i64::MAX as u64) as i64,
            tv_nsec: at_most.subsec_nanos().into(),
        };
        // Ignore why it returned (a changed word, a time-out, a signal): the caller checks again.
        let _ = wait(word, Flags::empty(), seen, Some(&timeout));
    }

    /// Wakes all sleepers on `word`.
    pub(crate) fn wake_all(word: &AtomicU32) {
        // Fails only for an invalid address, and a reference is valid.
        let _ = wake(word, Flags::empty(), i32::MAX as u32);
    }
}
