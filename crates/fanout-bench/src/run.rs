//! One run of one plan.

use crate::flow::{Flow, Flowed};
use crate::judge::{Judged, judge};
use crate::register::{self, RegisterError};
use clock::{Clock, wall_now};
use host::HostError;
use host::thread::Usage;
use plan::process::fan_out::FanOutPlan;
use plan::range::OutOfRange;
use record::directory::cannot_write;
use record::{ClientResult, Load};
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime};

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub enum FanOutBenchError {
    /// The plan can't be carried out.
    #[error(transparent)]
    Plan(#[from] OutOfRange),
    /// The thread can't be placed as asked.
    #[error(transparent)]
    Host(#[from] HostError),
    /// There are no subscribers.
    #[error(transparent)]
    Register(#[from] RegisterError),
    /// The source has no socket.
    #[error("cannot send to the replicator: {0}; check that the network is up")]
    Source(io::Error),
    /// The log can't be written.
    #[error("{}", cannot_write(path, source))]
    Log {
        /// Its path.
        path: String,
        /// The system's reason.
        source: io::Error,
    },
    /// A bug.
    #[error("the measuring thread panicked; this is a bug in tickpath, please report it")]
    Panic,
}

/// A flow as the measuring thread left it.
struct Measured {
    flowed: Flowed,
    /// Copies that the kernel dropped in front of the subscribers; `None`: it does not say.
    dropped: Option<u64>,
    usage: Usage,
    clock: Clock,
    started: SystemTime,
}

/// Carries the plan out. Returns soon after `stop` is set, with what was measured so far.
///
/// # Errors
/// If there is no result. A run that broke off has a result that says so.
pub fn run(plan: &FanOutPlan, stop: &AtomicBool) -> Result<ClientResult, FanOutBenchError> {
    plan.check()?;
    let measured = std::thread::scope(|scope| scope.spawn(|| measure(plan, stop)).join());
    let measured = measured.map_err(|_| FanOutBenchError::Panic)??;
    let failed = |source| FanOutBenchError::Log { path: plan.hlog.clone(), source };
    let log = File::options().create(true).append(true).open(Path::new(&plan.hlog));
    let mut log = BufWriter::new(log.map_err(failed)?);
    let Measured { flowed, dropped, usage, clock, started } = measured;
    let judged = judge(&flowed.arrivals, &plan.subject, plan.fair, started, &mut log);
    let mut judged = judged.map_err(failed)?;
    judged.run.dropped_after = dropped;
    Ok(result(plan, &flowed, usage, clock, judged))
}

/// The measuring thread.
fn measure(plan: &FanOutPlan, stop: &AtomicBool) -> Result<Measured, FanOutBenchError> {
    if let Some(core) = plan.core {
        host::thread::pin(core)?;
    }
    let clock = Clock::calibrate();
    let subscribers = register::all(plan.own, plan.registration, plan.subscribers, clock, stop)?;
    let flow = Flow::new(plan, clock, &subscribers).map_err(FanOutBenchError::Source)?;
    host::thread::set_scheduling(plan.scheduling)?;
    let before = host::thread::usage();
    let (before_wall, before_ns) = (wall_now(), clock.now_ns());
    let flowed = flow.run(stop);
    let started = before_wall + Duration::from_nanos(flowed.start_ns - before_ns);
    let usage = host::thread::usage().since(before);
    let dropped =
        subscribers.iter().map(|one| transport::datagram::dropped(one.socket.as_ref())).sum();
    subscribers.iter().for_each(register::Subscriber::leave);
    Ok(Measured { flowed, dropped, usage, clock, started })
}

fn result(
    plan: &FanOutPlan,
    flowed: &Flowed,
    usage: Usage,
    clock: Clock,
    judged: Judged,
) -> ClientResult {
    let Flowed { arrivals, sent, start_ns, last_ns, failure } = flowed;
    let mut failures: Vec<String> = failure.iter().cloned().collect();
    if arrivals.unstamped > 0 {
        failures.push(format!(
            "the kernel did not stamp {} copies on arrival (SO_TIMESTAMPING); a sandbox or an old \
             kernel may not offer it",
            arrivals.unstamped
        ));
    }
    if arrivals.backwards > 0 {
        failures.push(format!(
            "{} copies have stamps that go backwards: somebody set the wall clock during the run; \
             run it again",
            arrivals.backwards
        ));
    }
    let copies = sent * plan.subscribers as u64;
    // The last message is due one gap before the end of the schedule.
    let lasted = last_ns.saturating_sub(*start_ns).max(1) as f64 / 1e9;
    let planned = *sent as f64 / plan.rate_per_second;
    let load = Load {
        model: "open".to_owned(),
        rate_per_second_offered: Some(plan.rate_per_second),
        rate_per_second_achieved: *sent as f64 / lasted.max(planned),
        sent: *sent,
        received: arrivals.copies(),
        lost: copies.saturating_sub(arrivals.copies()),
        duplicated: arrivals.duplicated,
        unexpected: arrivals.strange,
        warm_up_sent: plan.warm_up_messages,
        lateness_ns_p99: stats::percentiles(&judged.lateness).0.p99,
        context_switches_involuntary: usage.context_switches_involuntary,
        page_faults: usage.page_faults_minor + usage.page_faults_major,
        fan_out: vec![judged.run],
        ..Load::default()
    };
    let clock = record::Clock::of(&clock);
    ClientResult { complete: failures.is_empty(), failures, load, clock, exchange: None }
}
