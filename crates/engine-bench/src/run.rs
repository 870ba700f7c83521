//! One run of one plan: a pinned measuring thread, while the caller's thread writes the log.

use crate::bench::{Bench, Measured, Said};
use crate::error::EngineBenchError;
use crate::task::logged::{self, JournalTask};
use crate::task::open_loop;
use crate::task::passes;
use crate::task::soak::watch::Watch;
use crate::task::soak::{self, Soak};
use clock::Clock;
use clock::recorder::Interval;
use plan::process::engine::Row;
use plan::process::engine::{EnginePlan, Task};
use record::progress::Second;
use record::{self, ClientResult};
use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;

/// Carries the plan out. Returns soon after `stop` is set, with what was measured so far.
///
/// Measures on a thread of its own. The caller's thread writes the log after the run, or during a
/// soak, and calls `tell` with progress if the plan asks for it: keep it off the measured core.
///
/// # Errors
/// If there is no result. A run that broke off has a result that says so.
pub fn run(
    plan: &EnginePlan,
    stop: &AtomicBool,
    tell: &mut dyn FnMut(&Second),
) -> Result<ClientResult, EngineBenchError> {
    let row = plan.check()?;
    let log_failed = |source| EngineBenchError::Log { path: plan.hlog.clone(), source };
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
                        // Without a log there is no point in measuring on.
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
    let mut result = measured.map_err(|_| EngineBenchError::Panic)??;
    watch.finish(&mut result.load);
    if let Err(source) = logged {
        result.fail(log_failed(source).to_string());
    }
    Ok(result)
}

/// The measuring thread.
fn measure(
    plan: &EnginePlan,
    row: &Row,
    stop: &AtomicBool,
    say: mpsc::Sender<Said>,
) -> Result<ClientResult, EngineBenchError> {
    // Pin first, so that memory comes from the core's NUMA node.
    if let Some(core) = plan.core {
        host::thread::pin(core)?;
    }
    let clock = Clock::calibrate();
    host::thread::set_scheduling(plan.scheduling)?;
    let bench = Bench::new(clock, stop, say);
    let Measured { load, planned, failure } = match &plan.task {
        Task::Passes { operations, passes } => {
            passes::run(plan, row, (*operations, *passes), &bench)?
        }
        Task::Open { timing } => open_loop::run(plan, row, timing, &bench)?,
        Task::Journal { timing, mode, directory, writer_core } => {
            let logged = JournalTask { mode: *mode, directory, writer_core: *writer_core };
            logged::run(plan, row, &logged, timing, &bench)?
        }
        Task::Soak { operations, seconds, state, resume } => {
            let soak = Soak {
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
