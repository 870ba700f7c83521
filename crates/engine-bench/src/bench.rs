//! What the measuring thread gets for a task, what it sends meanwhile, and its result.

use clock::recorder::Drain;
use clock::{Clock, wall_now};
use host::thread::Usage;
use record::Load;
use record::progress::Second;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::SystemTime;

/// A message from the measuring thread to the caller's.
pub(crate) enum Said {
    /// Recording starts.
    Draining { drain: Drain, started: SystemTime, start_ns: u64 },
    /// Progress of a pass.
    Second(Second),
}

/// The measuring thread's result.
pub(crate) struct Measured {
    pub(crate) load: Load,
    /// Operations of the plan.
    pub(crate) planned: u64,
    /// Why it broke off.
    pub(crate) failure: Option<String>,
}

/// What the measuring thread works with.
pub(crate) struct Bench<'a> {
    pub(crate) clock: Clock,
    /// Set from outside to end the run.
    pub(crate) stop: &'a AtomicBool,
    say: mpsc::Sender<Said>,
}

impl<'a> Bench<'a> {
    pub(crate) fn new(clock: Clock, stop: &'a AtomicBool, say: mpsc::Sender<Said>) -> Bench<'a> {
        Bench { clock, stop, say }
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Reports progress; never while operations are timed.
    pub(crate) fn tell(&self, second: &Second) {
        // The other thread outlives this one.
        let _ = self.say.send(Said::Second(second.clone()));
    }

    /// Hands out `drain`, and returns the time from which it is filled.
    pub(crate) fn start(&self, drain: Drain) -> u64 {
        let start_ns = self.clock.now_ns();
        self.start_at(drain, start_ns);
        start_ns
    }

    /// The same from a known time.
    pub(crate) fn start_at(&self, drain: Drain, start_ns: u64) {
        let started = wall_now();
        let _ = self.say.send(Said::Draining { drain, started, start_ns });
    }

    /// Adds to `load` what the kernel did to this thread since `earlier`.
    pub(crate) fn disturbed(&self, earlier: Usage, load: Load) -> Load {
        let usage = host::thread::usage().since(earlier);
        Load {
            context_switches_involuntary: usage.context_switches_involuntary,
            // The count starts a moment before the measured part.
            page_faults: usage.page_faults_minor + usage.page_faults_major,
            ..load
        }
    }
}
