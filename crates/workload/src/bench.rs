//! What every task is given on the measuring thread, what it says from there, and what it comes to.

use host::thread::Usage;
use measure::clock::Clock;
use measure::progress::Second;
use measure::record::Load;
use measure::recorder::Drain;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::SystemTime;

/// What the measuring thread says to the other.
pub(crate) enum Said {
    /// It records from now on.
    Draining { drain: Drain, started: SystemTime, start_ns: u64 },
    /// What a pass came to.
    Second(Second),
}

/// What the measuring thread comes to.
pub(crate) struct Measured {
    pub(crate) load: Load,
    /// Operations that there should be.
    pub(crate) planned: u64,
    /// What broke it off.
    pub(crate) failure: Option<String>,
}

/// What the measuring thread works with.
pub(crate) struct Bench<'a> {
    pub(crate) clock: Clock,
    /// Set from outside: end.
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

    /// For whoever looks on; never while operations are timed.
    pub(crate) fn tell(&self, second: &Second) {
        // The other thread listens as long as we live.
        let _ = self.say.send(Said::Second(second.clone()));
    }

    /// Hands out `drain`; the time from which on it is filled.
    pub(crate) fn start(&self, drain: Drain) -> u64 {
        let start_ns = self.clock.now_ns();
        self.start_at(drain, start_ns);
        start_ns
    }

    /// The same from a time that is known already.
    pub(crate) fn start_at(&self, drain: Drain, start_ns: u64) {
        let started = SystemTime::now();
        let _ = self.say.send(Said::Draining { drain, started, start_ns });
    }

    /// Puts into `load` what the kernel did to this thread since `earlier`, in `length_ns`.
    pub(crate) fn disturbed(&self, earlier: Usage, length_ns: u64, load: Load) -> Load {
        let usage = host::thread::usage().since(earlier);
        Load {
            context_switches_involuntary: usage.context_switches_involuntary,
            // The account begins a moment before the part that is measured.
            core_waited_share: (usage.core_waited_ns as f64 / length_ns.max(1) as f64).min(1.0),
            page_faults: usage.page_faults_minor + usage.page_faults_major,
            ..load
        }
    }
}
