//! One run of one plan.

use crate::flow::{Flow, FlowResult, Phase};
use crate::hosts;
use crate::judge::{self, Judgement, judge};
use crate::register::{self, RegisterError, Subscriber};
use clock::{Clock, wall_now};
use host::HostError;
use host::thread::Usage;
use plan::process::fan_out::FanOutPlan;
use plan::range::OutOfRange;
use record::directory::cannot_write;
use record::fan_out::{FanOutHeld, FanOutHosts};
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
    /// An end on another host can't be used.
    #[error("the subscribers at {host}: {why}")]
    End {
        /// As the plan names it.
        host: String,
        /// The reason, and what to try.
        why: String,
    },
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
pub(crate) struct SentMessages {
    pub flowed: FlowResult,
    usage: Usage,
    started: SystemTime,
}

/// A flow with its arrivals.
pub(crate) struct Measurement {
    pub sent: SentMessages,
    /// The hold that was applied.
    pub held: Option<FanOutHeld>,
    /// Copies that the kernel dropped in front of the subscribers; `None`: it does not say.
    pub dropped: Option<u64>,
    pub clock: Clock,
    /// The ends of subscribers on other hosts.
    pub hosts: Option<FanOutHosts>,
    /// Why the run is no result.
    pub failures: Vec<String>,
}

/// Carries the plan out. Returns soon after `stop` is set, with what was measured so far.
///
/// # Errors
/// If there is no result. A run that broke off has a result that says so.
pub fn run(plan: &FanOutPlan, stop: &AtomicBool) -> Result<ClientResult, FanOutBenchError> {
    plan.check()?;
    let measured = if plan.hosts.is_empty() {
        let measuring = std::thread::scope(|scope| scope.spawn(|| measure(plan, stop)).join());
        measuring.map_err(|_| FanOutBenchError::Panic)??
    } else {
        hosts::measure(plan, stop)?
    };
    let failed = |source| FanOutBenchError::Log { path: plan.hlog.clone(), source };
    let log = File::options().create(true).append(true).open(Path::new(&plan.hlog));
    let mut log = BufWriter::new(log.map_err(failed)?);
    let question = judge::Question { subject: &plan.subject, fair: plan.fair, held: measured.held };
    let SentMessages { flowed, started, .. } = &measured.sent;
    let judged = judge(&flowed.arrivals, question, *started, &mut log).map_err(failed)?;
    Ok(result(plan, measured, judged))
}

/// The measuring thread.
fn measure(plan: &FanOutPlan, stop: &AtomicBool) -> Result<Measurement, FanOutBenchError> {
    if let Some(core) = plan.core {
        host::thread::pin(core)?;
    }
    let clock = Clock::calibrate();
    let subscribers = register::all(plan.own, plan.registration, plan.subscribers, clock, stop)?;
    let scheduling = || host::thread::set_scheduling(plan.scheduling);
    let (phase, held, failure) = match plan.search_messages {
        0 => (phase(plan, 0, named_hold(plan)), named_hold(plan), None),
        _ => {
            scheduling()?;
            let (held, failure) = search(plan, clock, &subscribers, stop)?;
            let before = plan.warm_up_messages + plan.search_messages;
            (phase(plan, before, Some(held)), Some(held), failure)
        }
    };
    let mut sent = send(plan, phase, clock, &subscribers, stop)?;
    sent.flowed.failure = failure.or(sent.flowed.failure);
    let dropped =
        subscribers.iter().map(|one| transport::datagram::dropped(one.socket.as_ref())).sum();
    subscribers.iter().for_each(register::Subscriber::leave);
    Ok(Measurement { sent, held, dropped, clock, hosts: None, failures: Vec::new() })
}

/// Sends the messages of a phase, and collects the copies of these subscribers.
pub(crate) fn send(
    plan: &FanOutPlan,
    phase: Phase,
    clock: Clock,
    subscribers: &[Subscriber],
    stop: &AtomicBool,
) -> Result<SentMessages, FanOutBenchError> {
    let flow = Flow::new(plan, phase, clock, subscribers).map_err(FanOutBenchError::Source)?;
    host::thread::set_scheduling(plan.scheduling)?;
    let before = host::thread::usage();
    let (before_wall, before_ns) = (wall_now(), clock.now_ns());
    let flowed = flow.run(stop);
    let started = before_wall + Duration::from_nanos(flowed.start_ns - before_ns);
    Ok(SentMessages { usage: host::thread::usage().since(before), started, flowed })
}

/// The hold that the plan names.
fn named_hold(plan: &FanOutPlan) -> Option<FanOutHeld> {
    let hold_ns = Some(plan.hold_ns).filter(|hold_ns| *hold_ns > 0);
    hold_ns.map(|_| FanOutHeld { hold_ns, ..FanOutHeld::default() })
}

/// The measured messages.
pub(crate) fn phase(plan: &FanOutPlan, before: u64, held: Option<FanOutHeld>) -> Phase {
    let hold_ns = held.and_then(|held| held.hold_ns);
    Phase { before, messages: plan.messages, hold_ns }
}

/// Finds the smallest hold, by messages of its own that are not held. Returns also why it broke
/// off, if it did.
fn search(
    plan: &FanOutPlan,
    clock: Clock,
    subscribers: &[Subscriber],
    stop: &AtomicBool,
) -> Result<(FanOutHeld, Option<String>), FanOutBenchError> {
    let phase = Phase { before: 0, messages: plan.search_messages, hold_ns: None };
    let flow = Flow::new(plan, phase, clock, subscribers).map_err(FanOutBenchError::Source)?;
    let flowed = flow.run(stop);
    let hold_ns = judge::smallest_hold(&flowed.arrivals, plan.fair);
    let searched = Some(flowed.sent);
    let held = FanOutHeld { hold_ns, searched, ..FanOutHeld::default() };
    Ok((held, flowed.failure))
}

fn result(plan: &FanOutPlan, measured: Measurement, mut judged: Judgement) -> ClientResult {
    let Measurement {
        sent: SentMessages { flowed, usage, .. },
        dropped,
        clock,
        hosts,
        mut failures,
        ..
    } = measured;
    let FlowResult { arrivals, sent, start_ns, last_ns, failure } = flowed;
    judged.run.dropped_after = dropped;
    if hosts.is_some() {
        // A hold that middles ask for may be too short by what the clocks leave open.
        (judged.run.hold_ns, judged.run.held_ns_mean, judged.run.late) = (None, None, None);
    }
    judged.run.hosts = hosts;
    failures.extend(failure);
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
    let held_back = arrivals.copies() - arrivals.released();
    if judged.run.held.is_some_and(|held| held.hold_ns.is_some()) && held_back > 0 {
        failures.push(format!(
            "{held_back} copies arrived and were not handed on; this is a bug in tickpath, please \
             report it"
        ));
    }
    let copies = sent * plan.subscribers as u64;
    // The last message is due one gap before the end of the schedule.
    let lasted = last_ns.saturating_sub(start_ns).max(1) as f64 / 1e9;
    let planned = sent as f64 / plan.rate_per_second;
    let load = Load {
        model: "open".to_owned(),
        rate_per_second_offered: Some(plan.rate_per_second),
        rate_per_second_achieved: sent as f64 / lasted.max(planned),
        sent,
        received: arrivals.copies(),
        lost: copies.saturating_sub(arrivals.copies()),
        duplicated: arrivals.duplicated,
        unexpected: arrivals.strange,
        warm_up_sent: match plan.search_messages {
            0 => plan.warm_up_messages,
            searched => 2 * plan.warm_up_messages + searched,
        },
        lateness_ns_p99: stats::percentiles(&judged.lateness).0.p99,
        context_switches_involuntary: usage.context_switches_involuntary,
        page_faults: usage.page_faults_minor + usage.page_faults_major,
        fan_out: vec![judged.run],
        ..Load::default()
    };
    let clock = record::Clock::of(&clock);
    ClientResult { complete: failures.is_empty(), failures, load, clock, exchange: None }
}

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;
