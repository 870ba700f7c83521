//! The one clock. Every stamp in tickpath is a `u64` of nanoseconds on this machine's monotonic
//! timeline, read from the cheapest counter that can be trusted here.
//!
//! x86-64 reads the time-stamp counter where the kernel itself uses it as its clock source (so
//! that it is invariant and synchronous between cores), aarch64 reads the virtual counter;
//! anything else falls back to `clock_gettime(CLOCK_MONOTONIC_RAW)`. Counters are converted with a
//! 32.32 fixed-point factor that was calibrated against `CLOCK_MONOTONIC_RAW`.

use serde::{Deserialize, Serialize};
use std::sync::OnceLock;
use std::time::{Duration, Instant, SystemTime};

/// The counter that a [`Clock`] reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The x86-64 time-stamp counter.
    Tsc,
    /// The aarch64 generic timer's virtual count, `CNTVCT_EL0`.
    ArmCounter,
    /// `clock_gettime(CLOCK_MONOTONIC_RAW)`, some 25 ns a reading.
    MonotonicRaw,
}

impl Source {
    /// The name in a record.
    pub fn name(self) -> &'static str {
        match self {
            Source::Tsc => "tsc",
            Source::ArmCounter => "cntvct",
            Source::MonotonicRaw => "monotonic_raw",
        }
    }
}

/// A calibrated monotonic clock; copy it to wherever stamps are taken.
///
/// Two clocks calibrated at different times (or in different processes) agree only to their
/// calibration error: take differences between stamps of one clock. Processes of one machine share
/// one by handing it on as text: the counters are the machine's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clock {
    source: Source,
    /// Nanoseconds per count, 32.32 fixed point.
    ns_per_count: u64,
    origin_count: u64,
    origin_ns: u64,
}

/// A reading of a [`Clock`] and of the wall clock at the same moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pair {
    /// On the [`Clock`], ns.
    pub clock_ns: u64,
    /// `CLOCK_REALTIME`, nanoseconds since 1970.
    pub wall_ns: u64,
    /// Longest time between the two readings, ns.
    pub bound_ns: u64,
}

/// Duration of a calibration of the TSC. At 40 ms the error of its rate is below 5 ppm: two
/// readings of `CLOCK_MONOTONIC_RAW` are each good to about 50 ns.
const CALIBRATION: Duration = Duration::from_millis(40);

impl Clock {
    /// Picks the counter and calibrates it; takes about 40 ms on x86-64.
    pub fn calibrate() -> Clock {
        let source = pick_source();
        let (origin_count, origin_ns, _) = simultaneous(source, libc::CLOCK_MONOTONIC_RAW);
        let ns_per_count = match source {
            Source::MonotonicRaw => 1 << 32,
            Source::ArmCounter => fixed_point(1_000_000_000, counter_frequency()),
            Source::Tsc => {
                std::thread::sleep(CALIBRATION);
                let (end_count, end_ns, _) = simultaneous(source, libc::CLOCK_MONOTONIC_RAW);
                fixed_point(end_ns - origin_ns, end_count - origin_count)
            }
        };
        Clock { source, ns_per_count, origin_count, origin_ns }
    }

    /// Nanoseconds now, on the timeline of `CLOCK_MONOTONIC_RAW`.
    ///
    /// Earlier instructions have completed when the counter is read.
    #[inline(always)]
    pub fn now_ns(&self) -> u64 {
        self.ns_of(read(self.source))
    }

    /// This clock and `CLOCK_MONOTONIC_RAW` at the same moment, ns. Two such pairs convert stamps
    /// of the kernel to this clock.
    pub fn beside_raw(&self) -> (u64, u64) {
        let (count, raw_ns, _) = simultaneous(self.source, libc::CLOCK_MONOTONIC_RAW);
        (self.ns_of(count), raw_ns)
    }

    /// Error of the calibration, parts per million: by how much this clock ran faster than
    /// `CLOCK_MONOTONIC_RAW` between two readings of [`Clock::beside_raw`]. Exact to some 100 ns
    /// over the time between them. `None` if no time passed.
    pub fn rate_off_ppm(from: (u64, u64), to: (u64, u64)) -> Option<f64> {
        let (ours, raw) = (to.0.checked_sub(from.0)?, to.1.checked_sub(from.1)?);
        (raw > 0).then(|| (ours as f64 / raw as f64 - 1.0) * 1e6)
    }

    /// This clock and `CLOCK_REALTIME` at the same moment, with the error of that moment.
    pub fn beside_wall(&self) -> Pair {
        let (count, wall_ns, width) = simultaneous(self.source, libc::CLOCK_REALTIME);
        let clock_ns = self.ns_of(count);
        let width_ns = self.ns_of(count + width) - clock_ns;
        Pair { clock_ns, wall_ns, bound_ns: width_ns / 2 + 1 }
    }

    #[inline(always)]
    fn ns_of(&self, count: u64) -> u64 {
        let elapsed = count.wrapping_sub(self.origin_count);
        self.origin_ns + ((elapsed as u128 * self.ns_per_count as u128) >> 32) as u64
    }

    /// A stamp of another clock of this machine on this one, exact to a count and a nanosecond;
    /// `None` if that clock reads another counter, or the stamp is before its beginning.
    pub fn stamp_of(&self, theirs: &Clock, ns: u64) -> Option<u64> {
        let elapsed_ns =
            ns.checked_sub(theirs.origin_ns).filter(|_| self.source == theirs.source)?;
        let elapsed = (u128::from(elapsed_ns) << 32).div_ceil(u128::from(theirs.ns_per_count));
        let count = theirs.origin_count.wrapping_add(u64::try_from(elapsed).ok()?);
        // The other clock may have begun before this one.
        let from_ours = count.wrapping_sub(self.origin_count).cast_signed();
        let ns = (i128::from(from_ours) * i128::from(self.ns_per_count)) >> 32;
        u64::try_from(i128::from(self.origin_ns) + ns).ok()
    }

    /// Whether this machine has the counter. A clock that another machine wrote may name a counter
    /// that is missing here.
    pub fn is_readable(&self) -> bool {
        self.source == Source::MonotonicRaw || self.source == pick_source()
    }

    /// Smallest difference of two different stamps, ns, rounded up: 40 at 25 MHz, which some Arm
    /// processors have.
    pub fn step_ns(&self) -> u64 {
        self.ns_per_count.div_ceil(1 << 32).max(1)
    }

    /// The counter that this clock reads.
    pub fn source(&self) -> Source {
        self.source
    }

    /// Median cost of one reading over `n` back-to-back pairs, ns.
    pub fn cost_ns(&self) -> u64 {
        const READINGS: usize = 1001;
        let mut costs: Vec<u64> = (0..READINGS)
            .map(|_| {
                let start = self.now_ns();
                let end = self.now_ns();
                end - start
            })
            .collect();
        costs.sort_unstable();
        costs[READINGS / 2]
    }
}

/// A time limit. For the cold path; a measuring thread compares stamps.
#[derive(Clone, Copy, Debug)]
pub struct Deadline(Instant);

impl Deadline {
    /// A limit that ends `patience` from now.
    pub fn after(patience: Duration) -> Deadline {
        Deadline(Instant::now() + patience)
    }

    /// The remaining time; zero when it has passed.
    pub fn left(&self) -> Duration {
        self.0.saturating_duration_since(Instant::now())
    }
}

/// Wall-clock time, for dates and file names, never for an interval.
pub fn wall_now() -> SystemTime {
    SystemTime::now()
}

/// Wall-clock time, milliseconds since the Unix epoch. For message fields and file names, never for
/// an interval.
pub fn wall_ms() -> u64 {
    wall_ns() / 1_000_000
}

/// Wall-clock time, nanoseconds since the Unix epoch, until the year 2554. For dates, never for an
/// interval.
pub fn wall_ns() -> u64 {
    wall_now().duration_since(std::time::UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_nanos() as u64)
}

/// Nanoseconds since the Unix epoch: the wall clock at the first call, continued by the kernel's
/// monotonic clock. NTP slews it like the wall clock, but it never steps.
pub fn steady_wall_ns() -> u64 {
    static FIRST: OnceLock<(Instant, u64)> = OnceLock::new();
    let (first, wall_ns) = FIRST.get_or_init(|| (Instant::now(), wall_ns()));
    wall_ns + first.elapsed().as_nanos() as u64
}

fn fixed_point(ns: u64, counts: u64) -> u64 {
    assert!(counts > 0, "the counter did not advance during calibration");
    (((ns as u128) << 32) / counts as u128) as u64
}

/// The counter and one of the kernel's clocks (ns) at the same moment, and the counts between the
/// two readings of the counter around it. Takes the pair with the fewest counts of several, so that
/// an interrupt doesn't matter.
fn simultaneous(source: Source, clock: libc::clockid_t) -> (u64, u64, u64) {
    let mut best = (u64::MAX, 0, 0);
    for _ in 0..64 {
        let before = read(source);
        let ns = kernel_ns(clock);
        let width = read(source) - before;
        if width < best.0 {
            best = (width, before + width / 2, ns);
        }
    }
    (best.1, best.2, best.0)
}

/// `CLOCK_MONOTONIC`, ns: the timeline of clients in other languages and of the kernel's events.
/// NTP slews it, so take stamps with a [`Clock`].
pub fn monotonic_ns() -> u64 {
    kernel_ns(libc::CLOCK_MONOTONIC)
}

fn monotonic_raw_ns() -> u64 {
    kernel_ns(libc::CLOCK_MONOTONIC_RAW)
}

fn kernel_ns(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid, exclusively borrowed timespec for the length of the call.
    let result = unsafe { libc::clock_gettime(clock, &mut time) };
    assert_eq!(result, 0, "these clocks cannot fail on Linux >= 2.6.28");
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(target_arch = "x86_64")]
fn pick_source() -> Source {
    // The kernel lists the TSC only after it has tested that it is invariant, synchronous between
    // cores, and not trapped by a hypervisor.
    let available = std::fs::read_to_string(
        "/sys/devices/system/clocksource/clocksource0/available_clocksource",
    );
    match available {
        Ok(names) if names.split_whitespace().any(|name| name == "tsc") => Source::Tsc,
        _ => Source::MonotonicRaw,
    }
}

#[cfg(target_arch = "aarch64")]
fn pick_source() -> Source {
    Source::ArmCounter
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn pick_source() -> Source {
    Source::MonotonicRaw
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn read(source: Source) -> u64 {
    if source == Source::Tsc {
        // SAFETY: every x86-64 processor has SSE2 and so LFENCE.
        unsafe { std::arch::x86_64::_mm_lfence() };
        // SAFETY: RDTSC reads a register; Linux leaves it open to user space.
        unsafe { std::arch::x86_64::_rdtsc() }
    } else {
        monotonic_raw_ns()
    }
}

#[cfg(target_arch = "aarch64")]
#[inline(always)]
fn read(source: Source) -> u64 {
    if source == Source::ArmCounter {
        let count: u64;
        // SAFETY: Linux lets user space read CNTVCT_EL0; ISB keeps the reading behind earlier
        // instructions.
        unsafe {
            std::arch::asm!("isb", "mrs {}, cntvct_el0", out(reg) count, options(nomem, nostack));
        }
        count
    } else {
        monotonic_raw_ns()
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[inline(always)]
fn read(_: Source) -> u64 {
    monotonic_raw_ns()
}

#[cfg(target_arch = "aarch64")]
fn counter_frequency() -> u64 {
    let frequency: u64;
    // SAFETY: Linux lets user space read CNTFRQ_EL0.
    unsafe {
        std::arch::asm!("mrs {}, cntfrq_el0", out(reg) frequency, options(nomem, nostack));
    }
    frequency
}

#[cfg(not(target_arch = "aarch64"))]
fn counter_frequency() -> u64 {
    unreachable!("only aarch64 has a counter that states its own frequency")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn never_steps_back() {
        let clock = Clock::calibrate();
        let mut last = clock.now_ns();
        for _ in 0..100_000 {
            let now = clock.now_ns();
            assert!(now >= last);
            last = now;
        }
    }

    /// Two processes calibrate at different times, and get rates that differ a little.
    #[test]
    fn a_stamp_of_another_clock_is_that_of_the_same_count() {
        let clock = |ns_per_count, origin_count, origin_ns| Clock {
            source: Source::Tsc,
            ns_per_count,
            origin_count,
            origin_ns,
        };
        let ours = clock(1_431_655_765, 3_000_000, 1_000_000);
        let theirs = clock(1_431_662_000, 9_000_000_000, 3_000_000_700);
        for count in [9_000_000_000, 9_000_000_001, 9_123_456_789, 900_000_000_000] {
            let stamp = ours.stamp_of(&theirs, theirs.ns_of(count)).unwrap();
            assert!(stamp.abs_diff(ours.ns_of(count)) <= 1, "{count}");
            // From before the origin of the clock that it is converted to.
            let later = clock(1_431_662_000, 950_000_000_000, 400_000_000_000_000);
            let back = ours.stamp_of(&later, later.stamp_of(&ours, ours.ns_of(count)).unwrap());
            assert!(back.is_none_or(|back| back.abs_diff(ours.ns_of(count)) <= 2), "{back:?}");
        }
        assert_eq!(ours.stamp_of(&theirs, 5), None);
        let raw = Clock { source: Source::MonotonicRaw, ..theirs };
        assert_eq!(ours.stamp_of(&raw, 4_000_000_000), None);
    }

    #[test]
    fn a_step_is_that_of_the_counter() {
        let step_ns = |frequency| {
            let ns_per_count = fixed_point(1_000_000_000, frequency);
            Clock { source: Source::ArmCounter, ns_per_count, origin_count: 0, origin_ns: 0 }
                .step_ns()
        };
        assert_eq!(
            [25_000_000, 24_000_000, 1_000_000_000, 3_000_000_000].map(step_ns),
            [40, 42, 1, 1]
        );
    }

    #[test]
    fn a_steady_wall_clock_stays_beside_the_wall_clock_and_never_steps_back() {
        let times: Vec<u64> = (0..100_000).map(|_| steady_wall_ns()).collect();
        assert!(times.is_sorted());
        assert!(steady_wall_ns().abs_diff(wall_ns()) < 60_000_000_000);
    }

    /// Like two processes: the same text gives the same timeline.
    #[test]
    fn is_the_same_clock_when_it_is_handed_on() {
        let clock = Clock::calibrate();
        let text = serde_json::to_string(&clock).unwrap();
        let other: Clock = serde_json::from_str(&text).unwrap();
        assert_eq!(other, clock);
        assert!(other.is_readable());
        let stamps = [clock.now_ns(), other.now_ns(), clock.now_ns()];
        assert!(stamps.is_sorted(), "{stamps:?}");
    }

    #[test]
    fn a_rate_that_is_off_is_told_in_parts_in_a_million() {
        let off = Clock::rate_off_ppm((1_000, 5_000), (1_000_001_003_000, 1_000_000_005_000));
        assert!((off.unwrap() - 1.002).abs() < 1e-6, "{off:?}");
        assert_eq!(Clock::rate_off_ppm((1, 5), (2, 5)), None);
        assert_eq!(Clock::rate_off_ppm((2, 5), (1, 6)), None);
    }

    /// Against the kernel's own clock over 50 ms: the calibrated rate must agree within 1000 ppm.
    /// That is 200 times its error, because other work may delay a reading; a wrong factor would be
    /// off by tens of percent.
    #[test]
    fn runs_at_the_rate_of_the_kernels_clock() {
        let clock = Clock::calibrate();
        // The kernel may preempt this thread between two readings (once in 100 test runs), so take
        // the closest of a few pairs.
        let both = || {
            let pairs = (0..64).map(|_| (clock.now_ns(), monotonic_raw_ns(), clock.now_ns()));
            let closest = pairs.min_by_key(|(before, _, after)| after - before).unwrap();
            (closest.0, closest.1)
        };
        let start = both();
        std::thread::sleep(Duration::from_millis(50));
        let end = both();
        let ours = (end.0 - start.0) as f64;
        let kernels = (end.1 - start.1) as f64;
        assert!((ours / kernels - 1.0).abs() < 1e-3, "{ours} ns against {kernels} ns");
    }
}
