//! One run of one plan: a pinned measuring thread, while the caller's thread writes the log.

use crate::bench::{Bench, TaskResult};
use crate::error::EngineBenchError;
use crate::task::logged::{self, JournalTask};
use crate::task::open_loop;
use crate::task::passes;
use crate::task::soak::watch::Watch;
use crate::task::soak::{self, Soak};
use clock::Clock;
use host::measuring::{MeasuringRun, Report, Reporter};
use plan::process::engine::Row;
use plan::process::engine::{EnginePlan, Task};
use record::progress::Second;
use record::{self, ClientResult};
use std::sync::atomic::AtomicBool;

/// Runs the plan. Returns soon after `stop` is set, with the operations measured so far.
///
/// Measures on its own thread. The caller's thread writes the log after the run, or during a soak,
/// and calls `tell` with progress if the plan asks for it: keep it off the measured core.
///
/// # Errors
/// If there is no result. An interrupted run has a result that says so.
pub fn run(
    plan: &EnginePlan,
    stop: &AtomicBool,
    tell: &mut dyn FnMut(&Second),
) -> Result<ClientResult, EngineBenchError> {
    let row = plan.check()?;
    let mut intervals = Watch::new(plan);
    let mut watch = |report: Report<'_>| {
        let second = match report {
            Report::Interval(interval) => intervals.take(interval),
            Report::Second(second) => Some(second),
        };
        if let Some(second) = second.filter(|_| plan.progress) {
            tell(&second);
        }
    };
    let measuring = MeasuringRun {
        subject: &plan.subject,
        hlog: &plan.hlog,
        core: plan.core,
        writes_meanwhile: matches!(plan.task, Task::Soak { .. }),
        progress: plan.progress,
        stop,
    };
    let measured = measuring.carry_out(|reporter| measure(plan, row, stop, reporter), &mut watch);
    let mut result = measured?;
    intervals.finish(&mut result.load);
    Ok(result)
}

/// The measuring thread.
fn measure(
    plan: &EnginePlan,
    row: &Row,
    stop: &AtomicBool,
    reporter: Reporter,
) -> Result<ClientResult, EngineBenchError> {
    let clock = Clock::calibrate();
    host::thread::set_scheduling(plan.scheduling)?;
    let bench = Bench::new(clock, stop, reporter);
    let TaskResult { load, planned, failure } = match &plan.task {
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
    let clock = record::Clock::of(&clock);
    Ok(ClientResult { complete, failures, load, clock, exchange: None })
}
