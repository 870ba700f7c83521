//! The gap meter: a pinned thread looks at the clock and does nothing else. Two looks that lie further
//! apart than usual are a gap: in between, the core did something else.

use host::HostError;
use host::scheduling::Scheduling;
use measure::clock::Clock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

/// A gap is longer than a usual look by more than this, unless told otherwise, ns.
pub const THRESHOLD_NS: u64 = 200;
/// Gaps of one core that are kept one by one, at most: 16 MiB of them. More are counted, and their time
/// is in the totals.
pub const GAPS_MAX: usize = 1 << 20;
/// The longest stretch, s. Every spin loop has an end.
pub const SECONDS_MAX: f64 = 86_400.0;

/// Spun before the first look counts: a virtual core that wakes is placed anew.
const WARM_UP_NS: u64 = 100_000_000;
/// Looks that are timed together to find the usual one.
const BATCH_LOOKS: u32 = 256;
/// Batches before the first look that counts, of which the median is taken; some 5 ms together.
const BATCHES: usize = 1001;
/// Batches while it looks, spread over the whole time, at most.
const BATCHES_KEPT_MAX: usize = 1 << 14;

/// One gap, on the timeline of the clock that it was seen with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The last look before it, ns.
    pub start_ns: u64,
    /// The first look after it, ns.
    pub end_ns: u64,
}

impl Gap {
    /// From look to look, ns.
    pub fn length_ns(self) -> u64 {
        self.end_ns - self.start_ns
    }
}

/// Where and how long to look.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// The core.
    pub core: usize,
    /// The class of the thread.
    pub scheduling: Scheduling,
    /// How much longer than usual a look must be to be a gap, ns.
    pub threshold_ns: u64,
    /// How long, at most [`SECONDS_MAX`].
    pub seconds: f64,
    /// Gaps that are kept one by one; [`GAPS_MAX`].
    pub gaps_max: usize,
}

/// What one thread saw.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The core it was on.
    pub core: usize,
    /// Its number in the kernel.
    pub thread: i32,
    /// The wall-clock time of `start_ns`.
    pub started: SystemTime,
    /// The first look, ns.
    pub start_ns: u64,
    /// The last look, ns.
    pub end_ns: u64,
    /// How often it looked, the first not counted.
    pub looks: u64,
    /// The usual time from look to look, ns.
    pub look_ns: f64,
    /// A time from look to look beyond this is a gap, ns.
    pub limit_ns: u64,
    /// The gaps, in order; of more than the limit the first.
    pub gaps: Vec<Gap>,
    /// All gaps, those that were not kept too.
    pub totals: Totals,
    /// The clock and `CLOCK_MONOTONIC_RAW` at one moment before and at one after, ns.
    pub anchors: [(u64, u64); 2],
}

impl Seen {
    /// What the gaps took from the thread: their lengths without a usual look each, ns.
    pub fn lost_ns(&self) -> u64 {
        let looks = (self.totals.count as f64 * self.look_ns) as u64;
        self.totals.length_ns.saturating_sub(looks)
    }

    /// What looks that were no gaps took more than usual, ns; below 0 where they were faster. With the
    /// lost time it is all that the thread's time exceeds its looks by.
    pub fn unaccounted_ns(&self) -> i64 {
        let wall_ns = (self.end_ns - self.start_ns) as f64;
        (wall_ns - self.looks as f64 * self.look_ns) as i64 - self.lost_ns() as i64
    }

    /// Gaps that were not kept one by one.
    pub fn gaps_not_kept(&self) -> u64 {
        self.totals.count - self.gaps.len() as u64
    }
}

/// Gaps by size from which they are counted, ns: 1, 10, 100 us, 1 ms.
pub const SIZES_NS: [u64; 4] = [1_000, 10_000, 100_000, 1_000_000];

/// Sums over all gaps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// How many.
    pub count: u64,
    /// Their lengths together, ns.
    pub length_ns: u64,
    /// The longest, ns.
    pub max_ns: u64,
    /// How many were at least as long as each of [`SIZES_NS`].
    pub at_least: [u64; SIZES_NS.len()],
}

impl Totals {
    #[inline]
    fn add(&mut self, length_ns: u64) {
        self.count += 1;
        self.length_ns += length_ns;
        self.max_ns = self.max_ns.max(length_ns);
        for (count, size_ns) in self.at_least.iter_mut().zip(SIZES_NS) {
            *count += u64::from(length_ns >= size_ns);
        }
    }
}

/// Looks with the calling thread, which it pins, until the time is over or `stop` is set. Neither allocates
/// nor calls the system in between.
///
/// # Errors
/// If the thread can't be pinned, or put in its class.
pub fn look(look: &Look, clock: Clock, stop: &AtomicBool) -> Result<Seen, HostError> {
    look_and(look, clock, stop, |_| ())
}

/// As [`look`], and calls `disturb` with the time after each look: tests do harm there.
pub(crate) fn look_and(
    look: &Look,
    clock: Clock,
    stop: &AtomicBool,
    mut disturb: impl FnMut(u64),
) -> Result<Seen, HostError> {
    host::thread::pin(look.core)?;
    // Written to, so that no page is missing when the first gap comes.
    let mut gaps = vec![Gap { start_ns: 1, end_ns: 1 }; look.gaps_max];
    gaps.clear();
    host::thread::set_scheduling(look.scheduling)?;
    let awake_ns = clock.now_ns() + WARM_UP_NS;
    while clock.now_ns() < awake_ns && !stop.load(Ordering::Relaxed) {}
    let before_ns = usual_look_ns(clock, stop);
    let limit_ns = before_ns.round() as u64 + look.threshold_ns;
    let length_ns = (look.seconds.clamp(0.0, SECONDS_MAX) * 1e9) as u64;
    let mut batches = Batches::new(length_ns, before_ns);
    let mut totals = Totals::default();
    let mut looks = 0;
    let anchor = clock.beside_raw();
    let started = SystemTime::now();
    let start_ns = clock.now_ns();
    let mut last_ns = start_ns;
    batches.start(start_ns);
    while last_ns - start_ns < length_ns && !stop.load(Ordering::Relaxed) {
        disturb(last_ns);
        let now_ns = clock.now_ns();
        looks += 1;
        if now_ns - last_ns > limit_ns {
            totals.add(now_ns - last_ns);
            if gaps.len() < look.gaps_max {
                gaps.push(Gap { start_ns: last_ns, end_ns: now_ns });
            }
        }
        batches.look(looks, now_ns);
        last_ns = now_ns;
    }
    Ok(Seen {
        core: look.core,
        thread: rustix::thread::gettid().as_raw_nonzero().get(),
        started,
        start_ns,
        end_ns: last_ns,
        looks,
        look_ns: batches.usual_look_ns().unwrap_or(before_ns),
        limit_ns,
        gaps,
        totals,
        anchors: [anchor, clock.beside_raw()],
    })
}

/// How long batches of looks take while it looks: the usual look is theirs, in the same loop and at the same
/// speed of the core. Some of the batches, so that those kept lie over the whole time.
struct Batches {
    kept: Vec<u64>,
    /// Of so many batches one is kept.
    every: u64,
    start_ns: u64,
    until_look: u64,
    number: u64,
}

impl Batches {
    fn new(length_ns: u64, look_ns: f64) -> Batches {
        let batches = length_ns as f64 / (look_ns.max(1.0) * f64::from(BATCH_LOOKS));
        let mut kept = vec![1; BATCHES_KEPT_MAX];
        kept.clear();
        let every = (batches / BATCHES_KEPT_MAX as f64).ceil().max(1.0) as u64;
        Batches { kept, every, start_ns: 0, until_look: u64::from(BATCH_LOOKS), number: 0 }
    }

    fn start(&mut self, now_ns: u64) {
        self.start_ns = now_ns;
    }

    #[inline(always)]
    fn look(&mut self, looks: u64, now_ns: u64) {
        if looks == self.until_look {
            self.end(now_ns);
        }
    }

    #[inline(never)]
    fn end(&mut self, now_ns: u64) {
        if self.number.is_multiple_of(self.every) && self.kept.len() < BATCHES_KEPT_MAX {
            self.kept.push(now_ns - self.start_ns);
        }
        self.number += 1;
        self.start_ns = now_ns;
        self.until_look += u64::from(BATCH_LOOKS);
    }

    /// `None` where there are too few.
    fn usual_look_ns(mut self) -> Option<f64> {
        self.kept.sort_unstable();
        let middle = self.kept.get(self.kept.len() / 2).filter(|_| self.kept.len() >= BATCHES / 10);
        middle.map(|batch_ns| *batch_ns as f64 / f64::from(BATCH_LOOKS))
    }
}

/// The usual time from look to look, ns: the median over batches, so that it is finer than the clock, and
/// batches with a gap don't count. The same loop as the meter's.
fn usual_look_ns(clock: Clock, stop: &AtomicBool) -> f64 {
    let mut batches = [0; BATCHES];
    for batch in &mut batches {
        let start_ns = clock.now_ns();
        let (mut looks, mut longest_ns, mut last_ns) = (0, 0, start_ns);
        while looks < BATCH_LOOKS && !stop.load(Ordering::Relaxed) {
            let now_ns = clock.now_ns();
            looks += 1;
            longest_ns = longest_ns.max(now_ns - last_ns);
            last_ns = now_ns;
        }
        *batch = std::hint::black_box(last_ns - start_ns);
        std::hint::black_box(longest_ns);
    }
    batches.sort_unstable();
    batches[BATCHES / 2] as f64 / f64::from(BATCH_LOOKS)
}

/// As [`look`] on several cores at once, a thread each; the calling thread does `meanwhile`, which should
/// sleep where it has no core of its own. `ended` is called by each thread as it ends.
///
/// # Errors
/// If a thread can't be pinned, or put in its class.
pub fn look_on_each(
    looks: &[Look],
    clock: Clock,
    stop: &AtomicBool,
    ended: &(dyn Fn() + Sync),
    meanwhile: impl FnOnce(),
) -> Result<Vec<Seen>, HostError> {
    std::thread::scope(|scope| {
        let threads: Vec<_> = looks
            .iter()
            .map(|one| {
                scope.spawn(move || {
                    let seen = look(one, clock, stop);
                    ended();
                    seen
                })
            })
            .collect();
        meanwhile();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("the thread above does not panic"))
            .collect()
    })
}

#[cfg(test)]
#[path = "meter_tests.rs"]
mod tests;
