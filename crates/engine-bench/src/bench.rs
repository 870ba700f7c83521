//! The measuring thread's inputs, messages and result.

use clock::Clock;
use clock::recorder::Drain;
use host::measuring::Reporter;
use host::thread::Usage;
use record::Load;
use record::progress::Second;
use std::sync::atomic::{AtomicBool, Ordering};

/// The measuring thread's result.
pub(crate) struct TaskResult {
    pub(crate) load: Load,
    /// Operations of the plan.
    pub(crate) planned: u64,
    /// Why it broke off.
    pub(crate) failure: Option<String>,
}

/// The measuring thread's context.
pub(crate) struct Bench<'a> {
    pub(crate) clock: Clock,
    /// Set from outside to end the run.
    pub(crate) stop: &'a AtomicBool,
    reporter: Reporter,
}

impl<'a> Bench<'a> {
    pub(crate) fn new(clock: Clock, stop: &'a AtomicBool, reporter: Reporter) -> Bench<'a> {
        Bench { clock, stop, reporter }
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Reports progress; never while operations are timed.
    pub(crate) fn tell(&self, second: &Second) {
        self.reporter.tell(second);
    }

    /// Hands out `drain`, and returns the time from which it is filled.
    pub(crate) fn start(&self, drain: Drain) -> u64 {
        let start_ns = self.clock.now_ns();
        self.start_at(drain, start_ns);
        start_ns
    }

    /// The same from a known time.
    pub(crate) fn start_at(&self, drain: Drain, start_ns: u64) {
        self.reporter.start(drain, start_ns);
    }

    /// Adds the kernel's counts for this thread since `earlier` to `load`.
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
