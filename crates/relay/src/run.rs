//! One run of one plan: the structure, its two threads, the samples.

use crate::ends::{Receiver, Sender};
use crate::load::{Common, Consumed, Produced, consume, produce};
use crate::plan::{BadPlan, Plan, Ready, Told};
use crate::samples::{self, Sample};
use host::HostError;
use measure::clock::Clock;
use measure::record;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;

/// From the word to start until the first message is due: both threads wake in that time.
const LEAD_NS: u64 = 20_000_000;
/// What a run may take beyond its schedule.
const GRACE_NS: u64 = 30_000_000_000;

/// Why there is no result at all.
#[derive(Debug, thiserror::Error)]
pub enum RelayError {
    /// The plan can't be carried out.
    #[error(transparent)]
    Plan(#[from] BadPlan),
    /// A thread can't be placed as asked.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The structure can't be set up.
    #[error("cannot set up {structure}: {why}")]
    Structure {
        /// Its name.
        structure: String,
        /// What it says.
        why: String,
    },
    /// The samples can't be written.
    #[error("cannot write {path}: {source}; free some space or choose another place")]
    Samples {
        /// Their path.
        path: String,
        /// What the file system said.
        source: io::Error,
    },
    /// Whoever started us is gone, or said to end.
    #[error("interrupted before the first message; nothing was measured")]
    Interrupted,
    /// A bug.
    #[error("a measuring thread panicked; this is a bug in tickpath, please report it")]
    Panic,
}

/// How a run talks with whoever started it.
pub struct Link<'a> {
    /// Called with the threads once they run; returns when they shall start, false if not at all.
    pub ready: &'a mut dyn FnMut(&Ready) -> bool,
    /// Set from outside: end.
    pub stop: &'a AtomicBool,
}

/// The plan over these two ends.
pub(crate) fn between(
    plan: &Plan,
    link: &mut Link,
    mut sender: impl Sender,
    mut receiver: impl Receiver,
) -> Result<Told, RelayError> {
    let clock = Clock::calibrate();
    let all_sent = AtomicBool::new(false);
    let stop = link.stop;
    let (tell_producer, producer_told) = mpsc::channel::<u64>();
    let (tell_consumer, consumer_told) = mpsc::channel::<u64>();
    let (say, said) = mpsc::channel();
    let say_too = say.clone();
    let common = |start_ns: u64| Common {
        clock,
        start_ns,
        deadline_ns: start_ns + schedule_ns(plan) + GRACE_NS,
        stop,
        all_sent: &all_sent,
    };
    let (started, produced, consumed) = std::thread::scope(|scope| {
        let producing = scope.spawn(move || {
            let _ = say.send((0, settle(plan, 0)));
            // Nobody tells us any more: somebody else could not be placed, or all ends.
            let start_ns = producer_told.recv().ok()?;
            Some(produce(plan, &common(start_ns), &mut sender))
        });
        let consuming = scope.spawn(move || {
            let placed = settle(plan, 1);
            // Written to, so that it is there when the first message comes.
            let samples = vec![Sample::NEVER; plan.messages as usize];
            let _ = say_too.send((1, placed));
            let start_ns = consumer_told.recv().ok()?;
            Some(consume(plan, &common(start_ns), &mut receiver, samples))
        });
        let started = threads(&said).and_then(|threads| {
            if !(link.ready)(&Ready { threads }) || stop.load(Ordering::Relaxed) {
                return Err(RelayError::Interrupted);
            }
            let start_ns = clock.now_ns() + LEAD_NS;
            let start_monotonic_ns = measure::clock::monotonic_ns() + LEAD_NS;
            let _ = tell_producer.send(start_ns);
            let _ = tell_consumer.send(start_ns);
            Ok(start_monotonic_ns)
        });
        drop((tell_producer, tell_consumer));
        (started, producing.join(), consuming.join())
    });
    let start_monotonic_ns = started?;
    let produced = produced.map_err(|_| RelayError::Panic)?.ok_or(RelayError::Interrupted)?;
    let consumed = consumed.map_err(|_| RelayError::Panic)?.ok_or(RelayError::Interrupted)?;
    let path = Path::new(&plan.samples);
    let failed = |source| RelayError::Samples { path: plan.samples.clone(), source };
    samples::write(path, &consumed.samples).map_err(failed)?;
    Ok(told(plan, clock, start_monotonic_ns, produced, consumed))
}

/// Pins the calling thread, which is number `which`, and says what its number is.
fn settle(plan: &Plan, which: usize) -> Result<i32, HostError> {
    if let Some(core) = plan.cores[which] {
        host::thread::pin(core)?;
    }
    host::thread::set_scheduling(plan.scheduling)?;
    Ok(rustix::thread::gettid().as_raw_nonzero().get())
}

fn threads(said: &mpsc::Receiver<(usize, Result<i32, HostError>)>) -> Result<[i32; 2], RelayError> {
    let mut threads = [0; 2];
    for _ in 0..2 {
        let (which, thread) = said.recv().map_err(|_| RelayError::Panic)?;
        threads[which] = thread?;
    }
    Ok(threads)
}

fn schedule_ns(plan: &Plan) -> u64 {
    (plan.messages_all() as f64 / plan.rate_per_second * 1e9) as u64
}

fn told(
    plan: &Plan,
    clock: Clock,
    start_monotonic_ns: u64,
    produced: Produced,
    consumed: Consumed,
) -> Told {
    let sent = produced.sent.saturating_sub(plan.warm_up_messages);
    let conflated = consumed.conflated;
    let missing = sent.saturating_sub(consumed.received);
    let mut schedule = plan.schedule();
    while schedule.index() < plan.warm_up_messages {
        schedule.advance();
    }
    let mut failures: Vec<String> = produced.failure.into_iter().chain(consumed.failure).collect();
    let complete = sent == plan.messages && failures.is_empty();
    if !complete && failures.is_empty() {
        failures.push(format!("it ended after {sent} of {} messages", plan.messages));
    }
    Told {
        complete,
        failures,
        sent,
        received: consumed.received,
        // What a reader was told that it missed may lie in the warm-up.
        lost: missing.saturating_sub(conflated.unwrap_or(0)),
        conflated: conflated.map_or(0, |conflated| conflated.min(missing)),
        duplicated: consumed.duplicated,
        // Keys have no order among each other.
        out_of_order: if conflated.is_some() { 0 } else { consumed.out_of_order },
        held_back: produced.held_back,
        start_monotonic_ns: start_monotonic_ns + schedule.offset_ns(),
        end_monotonic_ns: consumed.end_monotonic_ns,
        clock: record::Clock { source: clock.source().name().to_owned(), cost_ns: clock.cost_ns() },
    }
}
