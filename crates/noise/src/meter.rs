//! The gap meter: a pinned thread looks at the clock and does nothing else. A gap is a longer time
//! than usual between two looks: the core did something else.

use clock::{Clock, wall_now};
use host::HostError;
use host::scheduling::Scheduling;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

/// Default threshold, ns: a gap is longer than a usual look by more than this.
pub const THRESHOLD_NS: u64 = 200;
/// Limit on stored gaps of one core: 16 MiB. Further ones are counted, and their time is in the
/// totals.
pub const GAPS_MAX: usize = 1 << 20;
/// Limit on a stretch, s.
pub const SECONDS_MAX: f64 = 86_400.0;

/// Spins before the first look: a virtual core that wakes up is placed anew.
const WARM_UP_NS: u64 = 100_000_000;
/// Looks that are timed together to find the usual look.
const BATCH_LOOKS: u32 = 256;
/// Batches before the first look, about 5 ms in total; their median counts.
const BATCHES: usize = 1001;
/// Limit on batches during the looks, spread over the whole time.
const BATCHES_KEPT_MAX: usize = 1 << 14;

/// One gap, on the timeline of the clock that saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The last look before it, ns.
    pub start_ns: u64,
    /// The first look after it, ns.
    pub end_ns: u64,
}

impl Gap {
    /// Time between the two looks, ns.
    pub fn length_ns(self) -> u64 {
        self.end_ns - self.start_ns
    }
}

/// Core and duration of a measurement.
#[derive(Clone, Copy, Debug)]
pub struct MeterSettings {
    /// The core.
    pub core: usize,
    /// Scheduling class of the thread.
    pub scheduling: Scheduling,
    /// How much longer than usual a look must be to be a gap, ns.
    pub threshold_ns: u64,
    /// Duration, at most [`SECONDS_MAX`].
    pub seconds: f64,
    /// Gaps to store; [`GAPS_MAX`].
    pub gaps_max: usize,
}

/// Result of one thread.
#[derive(Clone, Debug)]
pub struct MeterResult {
    /// Its core.
    pub core: usize,
    /// Its number in the kernel.
    pub thread: i32,
    /// The wall-clock time of `start_ns`.
    pub started: SystemTime,
    /// The first look, ns.
    pub start_ns: u64,
    /// The last look, ns.
    pub end_ns: u64,
    /// Number of looks, without the first.
    pub looks: u64,
    /// The usual time between two looks, ns.
    pub look_ns: f64,
    /// A longer time between two looks is a gap, ns.
    pub limit_ns: u64,
    /// The gaps in order; the first ones if there are too many.
    pub gaps: Vec<Gap>,
    /// Sums over all gaps, also those that are not stored.
    pub totals: Totals,
    /// The clock and `CLOCK_MONOTONIC_RAW` at one moment before and at one after, ns.
    pub anchors: [(u64, u64); 2],
}

impl MeterResult {
    /// Time that gaps took from the thread: their lengths, each without one usual look, ns.
    pub fn lost_ns(&self) -> u64 {
        let looks = (self.totals.count as f64 * self.look_ns) as u64;
        self.totals.length_ns.saturating_sub(looks)
    }

    /// Excess time of looks that were no gaps, ns; negative if they were faster than usual. With
    /// the lost time it is the whole difference between the thread's time and its looks.
    pub fn unaccounted_ns(&self) -> i64 {
        let wall_ns = (self.end_ns - self.start_ns) as f64;
        (wall_ns - self.looks as f64 * self.look_ns) as i64 - self.lost_ns() as i64
    }

    /// Gaps that are not stored.
    pub fn gaps_not_kept(&self) -> u64 {
        self.totals.count - self.gaps.len() as u64
    }
}

/// Sizes from which gaps are counted, ns: 1, 10, 100 us, 1 ms.
pub const SIZES_NS: [u64; 4] = [1_000, 10_000, 100_000, 1_000_000];

/// Sums over all gaps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Their number.
    pub count: u64,
    /// Their total length, ns.
    pub length_ns: u64,
    /// The longest, ns.
    pub max_ns: u64,
    /// Number of gaps at least as long as each of [`SIZES_NS`].
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

/// Pins the calling thread and looks until the time is over or `stop` is set. Between looks it does
/// not allocate or call the system.
///
/// # Errors
/// If the thread can't be pinned, or get its scheduling class.
pub fn look(
    look: &MeterSettings,
    clock: Clock,
    stop: &AtomicBool,
) -> Result<MeterResult, HostError> {
    look_and(look, clock, stop, |_| ())
}

/// As [`look`], and calls `disturb` with the time after each look: tests disturb there.
pub(crate) fn look_and(
    look: &MeterSettings,
    clock: Clock,
    stop: &AtomicBool,
    mut disturb: impl FnMut(u64),
) -> Result<MeterResult, HostError> {
    host::thread::pin(look.core)?;
    // Written now, so that all pages exist at the first gap.
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
    let started = wall_now();
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
    Ok(MeterResult {
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

/// Lengths of batches during the looks: they give the usual look in the same loop, at the same
/// speed of the core. Only some are stored, spread over the whole time.
struct Batches {
    kept: Vec<u64>,
    /// One of this many batches is stored.
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

    /// `None` if there are too few.
    fn usual_look_ns(mut self) -> Option<f64> {
        self.kept.sort_unstable();
        let middle = self.kept.get(self.kept.len() / 2).filter(|_| self.kept.len() >= BATCHES / 10);
        middle.map(|batch_ns| *batch_ns as f64 / f64::from(BATCH_LOOKS))
    }
}

/// The usual time between two looks, ns: the median over batches, which is finer than the clock and
/// ignores batches with a gap. The same loop as the meter's.
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

/// As [`look`] on several cores at once, with a thread each. The calling thread runs `meanwhile`,
/// which should sleep unless it has its own core. Each thread calls `ended` at its end.
///
/// # Errors
/// If a thread can't be pinned, or get its scheduling class.
/// If a thread can't be pinned, or get its scheduling class.
pub fn look_on_each(
    looks: &[MeterSettings],
    clock: Clock,
    stop: &AtomicBool,
    ended: &(dyn Fn() + Sync),
    meanwhile: impl FnOnce(),
) -> Result<Vec<MeterResult>, HostError> {
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
