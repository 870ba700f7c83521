//! One run of one plan: a measuring thread, pinned; the log is written by the caller's.

use crate::logged::{self, Logged};
use crate::open_loop;
use crate::passes;
use crate::plan::{BadPlan, Plan, Task};
use crate::row::Row;
use crate::soak::{self, SoakError};
use crate::watch::Watch;
use host::HostError;
use host::thread::Usage;
use journal::JournalError;
use measure::clock::Clock;
use measure::progress::Second;
use measure::record::{self, ClientResult, Load};
use measure::recorder::{Drain, Interval};
use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::SystemTime;

/// Why there is no result at all.
#[derive(Debug, thiserror::Error)]
pub enum WorkloadError {
    /// The plan can't be carried out.
    #[error(transparent)]
    Plan(#[from] BadPlan),
    /// The thread can't be placed as asked.
    #[error(transparent)]
    Host(#[from] HostError),
    /// A soak can't go on from a state, or not leave its own.
    #[error(transparent)]
    Soak(#[from] SoakError),
    /// There is no journal.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The log can't be written.
    #[error("cannot write {path}: {source}; free some space or choose another place")]
    Log {
        /// Its path.
        path: String,
        /// What the file system said.
        source: io::Error,
    },
    /// Whoever started us is gone, or said to end.
    #[error("interrupted before anything was measured")]
    Interrupted,
    /// A bug.
    #[error("the measuring thread panicked; this is a bug in tickpath, please report it")]
    Panic,
}

/// What the measuring thread says to the other.
enum Said {
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

impl Bench<'_> {
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

/// Carries the plan out. Returns soon after `stop` is set, with what was measured until then.
///
/// The measuring thread is a thread of its own; the caller's writes the log, after the run or, of a soak, while it
/// lasts. Where the plan asks for progress it calls `tell`. Keep it off the measured core.
///
/// # Errors
/// If there is no result at all. A run that broke off has a result that says so.
pub fn run(
    plan: &Plan,
    stop: &AtomicBool,
    tell: &mut dyn FnMut(&Second),
) -> Result<ClientResult, WorkloadError> {
    let row = plan.check()?;
    let log_failed = |source| WorkloadError::Log { path: plan.hlog.clone(), source };
    let log = File::options().create(true).append(true).open(&plan.hlog).map_err(log_failed)?;
    let mut log = io::BufWriter::new(log);
    let mut watch = Watch::new(plan);
    let is_soak = matches!(plan.task, Task::Soak { .. });
    let (measured, logged) = std::thread::scope(|scope| {
        let (say, said) = mpsc::channel();
        let measuring = scope.spawn(move || measure(plan, row, stop, say));
        let mut logged = Ok(());
        let mut kept = None;
        for said in said {
            match said {
                Said::Second(second) if plan.progress => tell(&second),
                Said::Second(_) => {}
                Said::Draining { mut drain, started, start_ns } => {
                    let mut watching = |interval: &Interval| {
                        if let Some(second) = watch.take(interval).filter(|_| plan.progress) {
                            tell(&second);
                        }
                    };
                    if is_soak {
                        // A day that can't be written need not be measured.
                        let failed = || stop.store(true, Ordering::Relaxed);
                        let subject = &plan.subject;
                        logged = drain.run_watched(
                            subject,
                            &mut log,
                            started,
                            start_ns,
                            &failed,
                            &mut watching,
                        );
                        continue;
                    }
                    if plan.progress {
                        drain.keep(&mut watching);
                    }
                    kept = Some((drain, started, start_ns));
                }
            }
        }
        let measured = measuring.join();
        if let Some((drain, started, start_ns)) = kept {
            logged = drain.run(&plan.subject, &mut log, started, start_ns, &|| ());
        }
        (measured, logged)
    });
    let mut result = measured.map_err(|_| WorkloadError::Panic)??;
    watch.finish(&mut result.load);
    if let Err(source) = logged {
        result.complete = false;
        result.failures.insert(0, log_failed(source).to_string());
    }
    Ok(result)
}

/// The measuring thread.
fn measure(
    plan: &Plan,
    row: &Row,
    stop: &AtomicBool,
    say: mpsc::Sender<Said>,
) -> Result<ClientResult, WorkloadError> {
    // First the core, so that memory comes from its NUMA node.
    if let Some(core) = plan.core {
        host::thread::pin(core)?;
    }
    let clock = Clock::calibrate();
    host::thread::set_scheduling(plan.scheduling)?;
    let bench = Bench { clock, stop, say };
    let Measured { load, planned, failure } = match &plan.task {
        Task::Passes { operations, passes } => {
            passes::run(plan, row, (*operations, *passes), &bench)?
        }
        Task::Open { timing } => open_loop::run(plan, row, timing, &bench)?,
        Task::Journal { timing, mode, directory, writer_core } => {
            let logged = Logged { mode: *mode, directory, writer_core: *writer_core };
            logged::run(plan, row, &logged, timing, &bench)?
        }
        Task::Soak { operations, seconds, state, resume } => {
            let soak = soak::Soak {
                operations: *operations,
                seconds: *seconds,
                state,
                resume: resume.as_deref(),
            };
            soak::run(plan, row, &soak, &bench)?
        }
    };
    let all = load.sent == planned;
    let ended = (!all).then(|| format!("it ended after {} of {planned} operations", load.sent));
    let failures: Vec<String> = failure.into_iter().chain(ended).collect();
    let complete = failures.is_empty();
    let clock =
        record::Clock { source: clock.source().name().to_owned(), cost_ns: clock.cost_ns() };
    Ok(ClientResult { complete, failures, load, clock, exchange: None })
}
