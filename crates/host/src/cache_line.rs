//! Round trip of one cache line between two cores: the minimum for every message between threads.
//!
//! A thread on a core that a real-time thread holds never runs, so the two threads are not joined.
//! The caller waits for a limited time and then abandons them; they end by their own deadline as
//! soon as they run.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use clock::Clock;

use crate::thread::pin;

/// Time that each of the two threads has to report after the budget.
pub const GRACE: Duration = Duration::from_millis(20);

const SAMPLES_WARM_UP: usize = 50;
/// Round trips of the cache line per sample, so that the cost of the clock is negligible.
pub const BATCH: u64 = 64;
/// Loads of the line between two readings of the clock.
const LOADS_PER_LOOK: u32 = 256;

/// Alone in its cache line, and in the pair of lines that some processors fetch together.
#[repr(align(128))]
struct CacheLinePair(AtomicU64);

/// Value of the line that ends the other thread's wait.
const STOP: u64 = u64::MAX;

/// Round trips of one line between two cores, ns, each the mean of [`BATCH`]: as many samples as
/// fit in `budget`, at most `samples_max`.
///
/// # Errors
/// A message if a thread can't be started or pinned, or did not run in time.
pub fn round_trips_ns(
    clock: Clock,
    (first, second): (usize, usize),
    samples_max: usize,
    budget: Duration,
) -> Result<Vec<u64>, String> {
    let deadline_ns = clock.now_ns() + budget.as_nanos() as u64;
    let line = Arc::new(CacheLinePair(AtomicU64::new(0)));
    let answering = Arc::clone(&line);
    let answer = start_on(second, move || answer(&answering, &clock, deadline_ns))?;
    let ask = start_on(first, move || {
        let samples = ask(&line, &clock, samples_max, deadline_ns);
        line.0.store(STOP, Ordering::Release);
        samples
    })?;
    let samples = report_of(&ask, budget + GRACE)?;
    report_of(&answer, GRACE)?;
    Ok(samples)
}

/// Increments the line and waits for the other thread to do the same.
fn ask(line: &CacheLinePair, clock: &Clock, samples_max: usize, deadline_ns: u64) -> Vec<u64> {
    let mut samples = Vec::with_capacity(samples_max);
    let mut turn = 0;
    for sample in 0..SAMPLES_WARM_UP + samples_max {
        let start_ns = clock.now_ns();
        for _ in 0..BATCH {
            line.0.store(turn + 1, Ordering::Release);
            turn += 2;
            if !wait_for(line, turn, clock, deadline_ns) {
                return samples;
            }
        }
        if sample >= SAMPLES_WARM_UP {
            samples.push((clock.now_ns() - start_ns) / BATCH);
        }
    }
    samples
}

fn answer(line: &CacheLinePair, clock: &Clock, deadline_ns: u64) {
    let mut turn = 1;
    while wait_for(line, turn, clock, deadline_ns) {
        line.0.store(turn + 1, Ordering::Release);
        turn += 2;
    }
}

/// Spins until the line holds `value`; false if it was stopped or the deadline passed. Does not use
/// `PAUSE`, which on some processors takes as long as the measured round trip.
fn wait_for(line: &CacheLinePair, value: u64, clock: &Clock, deadline_ns: u64) -> bool {
    loop {
        for _ in 0..LOADS_PER_LOOK {
            match line.0.load(Ordering::Acquire) {
                found if found == value => return true,
                STOP => return false,
                _ => {}
            }
        }
        if clock.now_ns() > deadline_ns {
            return false;
        }
    }
}

/// Starts a pinned thread; its report comes over the channel.
pub(crate) fn start_on<T: Send + 'static>(
    core: usize,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<Receiver<Result<T, String>>, String> {
    let (report, reports) = mpsc::sync_channel(1);
    let thread = move || {
        let result = pin(core).map(|()| work()).map_err(|error| error.to_string());
        // If this thread was late, the receiver is gone.
        let _ = report.send(result);
    };
    let started = thread::Builder::new().name(format!("probe-{core}")).spawn(thread);
    started.map_err(|error| format!("the probe's thread could not be started: {error}"))?;
    Ok(reports)
}

/// The report of such a thread.
pub(crate) fn report_of<T>(
    reports: &Receiver<Result<T, String>>,
    within: Duration,
) -> Result<T, String> {
    reports.recv_timeout(within).unwrap_or_else(|_| {
        Err("a probe's thread did not run in time; a real-time thread may hold its core".to_owned())
    })
}
