//! One run of one plan: the structure, its two threads or one of them, the samples.

use crate::load::{ConsumerResult, ProducerResult, SharedState, consume, produce};
use crate::report::ClientReport;
use crate::samples::{self, Sample};
use crate::structure::ends::{Receiver, Sender};
use clock::Clock;
use host::HostError;
use plan::process::ipc::{IpcPlan, Ready, Word};
use plan::range::OutOfRange;
use record::directory::cannot_write;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::ScopedJoinHandle;

/// Time from the start command to the first message, in which both threads wake.
const LEAD_NS: u64 = 20_000_000;
/// Largest distance of a start time that the parent process chose.
const LEAD_NS_MAX: u64 = 10_000_000_000;
/// Time that a run may take beyond its schedule.
const GRACE_NS: u64 = 30_000_000_000;

/// Why there is no result at all.
#[derive(Debug, thiserror::Error)]
pub enum IpcBenchError {
    /// The plan can't be carried out.
    #[error(transparent)]
    Plan(#[from] OutOfRange),
    /// A thread can't be placed as asked.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The structure can't be set up.
    #[error("cannot set up {structure}: {why}")]
    Structure {
        /// Its name.
        structure: String,
        /// Its reason.
        why: String,
    },
    /// The plan's clock belongs to another machine.
    #[error(
        "the plan's clock counts by {0}, which can't be read here; leave `clock` away, or give both \
         processes one that was calibrated on this machine"
    )]
    Clock(&'static str),
    /// The start time is too far away.
    #[error(
        "message 0 shall be due at {ns} ns, and it is {now_ns} ns: more than 10 s off; do both \
         processes have the same clock?"
    )]
    Start {
        /// The start time.
        ns: u64,
        /// The reading of the same clock.
        now_ns: u64,
    },
    /// The samples can't be written.
    #[error("{}", cannot_write(path, source))]
    Samples {
        /// Their path.
        path: String,
        /// The system's reason.
        source: io::Error,
    },
    /// The parent process has ended, or told us to end.
    #[error("interrupted before the first message; nothing was measured")]
    Interrupted,
    /// A bug.
    #[error("a measuring thread panicked; this is a bug in tickpath, please report it")]
    Panic,
}

/// Connection of a run to the process that started it.
pub struct Link<'a> {
    /// Called once the threads run; returns the time to start, or `None` to end.
    pub ready: &'a mut dyn FnMut(&Ready) -> Option<Word>,
    /// Set from outside to end the run.
    pub stop: &'a AtomicBool,
    /// The producer has sent all. Set from outside if it is another process.
    pub all_sent: &'a AtomicBool,
}

/// Runs the plan over the ends of this process.
pub(crate) fn between(
    plan: &IpcPlan,
    link: &mut Link,
    sender: Option<impl Sender>,
    receiver: Option<impl Receiver>,
) -> Result<ClientReport, IpcBenchError> {
    let clock = plan.clock.unwrap_or_else(Clock::calibrate);
    if !clock.is_readable() {
        return Err(IpcBenchError::Clock(clock.source().name()));
    }
    let (tell_producer, producer_told) = mpsc::channel::<u64>();
    let (tell_consumer, consumer_told) = mpsc::channel::<u64>();
    let (say, said) = mpsc::channel();
    let say_too = say.clone();
    let (stop, all_sent) = (link.stop, link.all_sent);
    let common = |start_ns: u64| {
        let deadline_ns = start_ns + schedule_ns(plan) + GRACE_NS;
        SharedState { clock, start_ns, deadline_ns, stop, all_sent }
    };
    let (started, produced, consumed) = std::thread::scope(|scope| {
        let producing = sender.map(|mut sender| {
            scope.spawn(move || {
                let _ = say.send((0, settle(plan, 0)));
                // The sender was dropped if the other thread could not be placed, or at the end.
                let start_ns = producer_told.recv().ok()?;
                Some(produce(plan, &common(start_ns), &mut sender))
            })
        });
        let consuming = receiver.map(|mut receiver| {
            scope.spawn(move || {
                let placed = settle(plan, 1);
                // Written now, so that the pages are mapped before the first message.
                let samples = vec![Sample::NEVER; plan.messages as usize];
                let _ = say_too.send((1, placed));
                let start_ns = consumer_told.recv().ok()?;
                Some(consume(plan, &common(start_ns), &mut receiver, samples))
            })
        });
        let ends = usize::from(producing.is_some()) + usize::from(consuming.is_some());
        let started = threads(&said, ends).and_then(|threads| start(clock, link, threads));
        if let Ok(started) = &started {
            // The other end may not exist.
            let _ = tell_producer.send(started.ns);
            let _ = tell_consumer.send(started.ns);
        }
        drop((tell_producer, tell_consumer));
        (started, producing.map(ScopedJoinHandle::join), consuming.map(ScopedJoinHandle::join))
    });
    let started = started?;
    let produced = produced.transpose().map_err(|_| IpcBenchError::Panic)?;
    let consumed = consumed.transpose().map_err(|_| IpcBenchError::Panic)?;
    let told = |told: ClientReport| ClientReport {
        start_monotonic_ns: started.monotonic_ns + warm_up_ns(plan),
        clock: record::Clock::of(&clock),
        ..told
    };
    let sent = produced.map(|done| done.ok_or(IpcBenchError::Interrupted)).transpose()?;
    let sent = sent.map(|done| told(told_by_producer(plan, done)));
    let received = consumed.map(|done| done.ok_or(IpcBenchError::Interrupted)).transpose()?;
    let received = match received {
        Some(done) => Some(told(told_by_consumer(plan, done)?)),
        None => None,
    };
    match (sent, received) {
        (Some(sent), Some(received)) => Ok(ClientReport::joined(sent, received)),
        (one, other) => one.or(other).ok_or(IpcBenchError::Interrupted),
    }
}

/// Due time of message 0, on two clocks.
struct StartTime {
    ns: u64,
    monotonic_ns: u64,
}

/// Reports the threads, and waits for the start command.
fn start(clock: Clock, link: &mut Link, threads: Vec<i32>) -> Result<StartTime, IpcBenchError> {
    let word = (link.ready)(&Ready { threads }).ok_or(IpcBenchError::Interrupted)?;
    if link.stop.load(Ordering::Relaxed) {
        return Err(IpcBenchError::Interrupted);
    }
    let now_ns = clock.now_ns();
    let now_monotonic_ns = clock::monotonic_ns();
    let ns = match word {
        Word::Go => now_ns + LEAD_NS,
        Word::GoAt(ns) if ns.abs_diff(now_ns) <= LEAD_NS_MAX => ns,
        Word::GoAt(ns) => return Err(IpcBenchError::Start { ns, now_ns }),
    };
    Ok(StartTime { ns, monotonic_ns: (now_monotonic_ns + ns).saturating_sub(now_ns) })
}

/// Pins the calling thread with index `which`, and returns its number.
fn settle(plan: &IpcPlan, which: usize) -> Result<i32, HostError> {
    if let Some(core) = plan.cores[which] {
        host::thread::pin(core)?;
    }
    host::thread::set_scheduling(plan.scheduling)?;
    Ok(rustix::thread::gettid().as_raw_nonzero().get())
}

/// One entry per end, in order.
fn threads(
    said: &mpsc::Receiver<(usize, Result<i32, HostError>)>,
    ends: usize,
) -> Result<Vec<i32>, IpcBenchError> {
    let mut threads = Vec::new();
    for _ in 0..ends {
        let (which, thread) = said.recv().map_err(|_| IpcBenchError::Panic)?;
        threads.push((which, thread?));
    }
    threads.sort_unstable();
    Ok(threads.into_iter().map(|(_, thread)| thread).collect())
}

fn schedule_ns(plan: &IpcPlan) -> u64 {
    (plan.messages_all() as f64 / plan.rate_per_second * 1e9) as u64
}

/// Due time of the first measured message, from the start.
fn warm_up_ns(plan: &IpcPlan) -> u64 {
    let mut schedule = plan.schedule();
    while schedule.index() < plan.warm_up_messages {
        schedule.advance();
    }
    schedule.offset_ns()
}

fn told_by_producer(plan: &IpcPlan, produced: ProducerResult) -> ClientReport {
    let sent = produced.sent.saturating_sub(plan.warm_up_messages);
    let mut failures = Vec::from_iter(produced.failure);
    if sent < plan.messages && failures.is_empty() {
        failures.push(format!("it ended after {sent} of {} messages", plan.messages));
    }
    ClientReport {
        complete: failures.is_empty(),
        failures,
        sent,
        held_back: produced.held_back,
        blocks_late: produced.blocks_late,
        end_monotonic_ns: clock::monotonic_ns(),
        ..ClientReport::default()
    }
}

/// Writes the samples to their file.
fn told_by_consumer(
    plan: &IpcPlan,
    consumed: ConsumerResult,
) -> Result<ClientReport, IpcBenchError> {
    let failed = |source| IpcBenchError::Samples { path: plan.samples.clone(), source };
    samples::write(Path::new(&plan.samples), &consumed.samples).map_err(failed)?;
    Ok(ClientReport {
        complete: consumed.failure.is_none(),
        failures: Vec::from_iter(consumed.failure),
        received: consumed.received,
        conflated: consumed.conflated.unwrap_or(0),
        duplicated: consumed.duplicated,
        // Messages of different keys have no order.
        out_of_order: if consumed.conflated.is_some() { 0 } else { consumed.out_of_order },
        blocks_late: consumed.blocks_late,
        end_monotonic_ns: consumed.end_monotonic_ns,
        ..ClientReport::default()
    })
}
