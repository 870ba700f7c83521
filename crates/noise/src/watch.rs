//! Times at which given threads were off their cores, or faulted. This needs no privilege: at
//! `kernel.perf_event_paranoid` 2 the kernel reports the switches of a user's own threads to that
//! user.

use crate::trace::perf::{self, Event, Ring, Timeline};
use crate::trace::records::{Record, records};
use clock::monotonic_ns;
use std::io;

/// Maximum number of threads of one watch.
pub const THREADS_MAX: usize = 256;
/// Size of a thread's ring: 16 384 records. It is smaller if less can be locked: without privilege
/// all threads share `kernel.perf_event_mlock_kb` (516) per core.
const RING_BYTES: usize = 256 << 10;

/// Kind of a disturbance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DisturbanceKind {
    /// It was off its core, voluntarily or not.
    Switch,
    /// It faulted in user mode. The kernel reports the start of a fault, not its end: start and end
    /// are equal.
    Fault,
}

/// One interval in which a thread did not run, or a moment at which it faulted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Disturbance {
    /// Index into the thread numbers that the watch was started with.
    pub thread: usize,
    /// Start, ns on `CLOCK_MONOTONIC`.
    pub start_ns: u64,
    /// End; the end of the watch if the thread was still off its core, or gone.
    pub end_ns: u64,
    /// The kind of disturbance.
    pub what: DisturbanceKind,
}

/// Result of a watch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WatchResult {
    /// By thread, then by start.
    pub disturbances: Vec<Disturbance>,
    /// Records lost because the ring was full: at least this many switches and faults are missing.
    pub lost_records: u64,
}

/// Why nothing can be watched.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// There are too many threads.
    #[error("{0} threads can't be watched at once: {THREADS_MAX} is the limit; watch fewer")]
    Threads(usize),
    /// The kernel rejects the watch.
    #[error(
        "cannot watch thread {thread}: {source}; kernel.perf_event_paranoid must be 2 or less \
         (or CAP_PERFMON), a container's seccomp filter must allow perf_event_open, and the thread must \
         be alive and of the same user"
    )]
    Open {
        /// The thread's number in the kernel.
        thread: i32,
        /// The system's reason.
        source: io::Error,
    },
    /// The memory for the records can't be locked.
    #[error(
        "cannot lock memory for the records of thread {thread}: {source}; raise \
         kernel.perf_event_mlock_kb or RLIMIT_MEMLOCK, or watch fewer threads"
    )]
    Memory {
        /// The thread's number in the kernel.
        thread: i32,
        /// The system's reason.
        source: io::Error,
    },
}

struct Thread {
    event: Event,
    ring: Ring,
}

/// A running watch. It costs each switch of a watched thread about 200 ns.
pub struct Watch {
    threads: Vec<Thread>,
    start_ns: u64,
}

impl Watch {
    /// Watches the threads with these numbers (`gettid`), of this process or a child, from now on.
    /// Threads that they start are not watched.
    ///
    /// # Errors
    /// If the kernel doesn't allow it, a thread has ended, or there are more than [`THREADS_MAX`].
    pub fn start(tids: &[i32]) -> Result<Watch, WatchError> {
        Watch::with_room(tids, RING_BYTES)
    }

    fn with_room(tids: &[i32], ring_bytes: usize) -> Result<Watch, WatchError> {
        if tids.len() > THREADS_MAX {
            return Err(WatchError::Threads(tids.len()));
        }
        let open = |&thread: &i32| {
            let failed = |source| WatchError::Open { thread, source };
            // No thread waits for records, so no wake-up disturbs the watched threads.
            let event =
                Event::open(perf::PerfTarget::Thread(thread), Timeline::Monotonic, u32::MAX);
            let event = event.map_err(failed)?;
            let ring = Ring::of(&event, ring_bytes)
                .map_err(|source| WatchError::Memory { thread, source })?;
            Ok(Thread { event, ring })
        };
        let threads = tids.iter().map(open).collect::<Result<Vec<_>, _>>()?;
        let start_ns = monotonic_ns();
        for (thread, &tid) in threads.iter().zip(tids) {
            let failed = |source| WatchError::Open { thread: tid, source };
            thread.event.enable().map_err(failed)?;
        }
        Ok(Watch { threads, start_ns })
    }

    /// Ends the watch and returns its result.
    pub fn finish(self) -> WatchResult {
        for thread in &self.threads {
            // If this fails it just continues until it is closed.
            let _ = thread.event.disable();
        }
        let end_ns = monotonic_ns();
        let mut watched = WatchResult::default();
        let mut bytes = Vec::new();
        for (number, mut thread) in self.threads.into_iter().enumerate() {
            bytes.clear();
            let filled = thread.ring.drain(&mut bytes);
            let told = add(&mut watched.disturbances, number, &bytes, (self.start_ns, end_ns));
            // Before Linux 6.0 the last losses come with the next record that fits, and there is
            // none.
            let is_full = thread.ring.capacity_bytes() - filled < RECORD_BYTES_MAX;
            let lost = thread.event.lost().unwrap_or(u64::from(is_full));
            watched.lost_records += told.max(lost);
        }
        watched
    }
}

/// The longest record of these events: a loss, with its time.
const RECORD_BYTES_MAX: usize = 64;

/// Adds the disturbances of thread number `thread` from `bytes`. Returns the number of lost
/// records. A disturbance that is open at a loss ends there, because its end is unknown.
fn add(to: &mut Vec<Disturbance>, thread: usize, bytes: &[u8], during: (u64, u64)) -> u64 {
    let (start_ns, end_ns) = during;
    let first = to.len();
    let mut lost = 0;
    let mut out_ns = None;
    // A thread whose first event is coming back was off its core when the watch began.
    let mut before_ns = Some(start_ns);
    let mut push = |from_ns: u64, until_ns: u64, what| {
        let (from_ns, until_ns) = (from_ns.max(start_ns), until_ns.min(end_ns));
        if from_ns <= until_ns {
            to.push(Disturbance { thread, start_ns: from_ns, end_ns: until_ns, what });
        }
    };
    for record in records(bytes) {
        match record {
            Record::Out { at_ns } => out_ns = Some(at_ns),
            Record::In { at_ns } => {
                if let Some(from_ns) = out_ns.take().or(before_ns) {
                    push(from_ns, at_ns, DisturbanceKind::Switch);
                }
            }
            Record::Sample { at_ns, .. } => push(at_ns, at_ns, DisturbanceKind::Fault),
            Record::Lost { at_ns, count } => {
                lost += count;
                if let Some(from_ns) = out_ns.take() {
                    push(from_ns, at_ns, DisturbanceKind::Switch);
                }
            }
        }
        before_ns = None;
    }
    if let Some(from_ns) = out_ns {
        push(from_ns, end_ns, DisturbanceKind::Switch);
    }
    to[first..].sort_by_key(|disturbance| disturbance.start_ns);
    lost
}

#[cfg(test)]
#[path = "watch_tests.rs"]
mod tests;
