//! Harm done on purpose on the measured core: does it get its name? Where the kernel's events may be read;
//! elsewhere these are skipped, aloud. The figures of the target are measured by the ignored test, on a quiet
//! machine: `cargo test --release -p tickpath-noise -- --ignored --nocapture --test-threads 1`.

use crate::attribute::{Part, attribute};
use crate::cause::{self, Causes, HOST};
use crate::meter::{Gap, Look, Seen, THRESHOLD_NS, look_and};
use crate::spans::Own;
use crate::tally::moved;
use crate::trace::Trace;
use host::Scheduling;
use measure::clock::Clock;
use std::collections::BTreeMap;
use std::net::UdpSocket;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// One test at a time has the core.
static CORE: Mutex<()> = Mutex::new(());

/// What the core's thread saw, and whose each part of each gap is.
struct Observed {
    seen: Seen,
    parts: Vec<Vec<Part>>,
    ids: Vec<String>,
}

/// What became of harm.
#[derive(Debug, Default)]
struct Score {
    /// In which some was done.
    gaps: usize,
    /// How much was done.
    done_ns: u64,
    /// The share of it that got its name.
    right: f64,
    /// The share that was called the host's.
    host: f64,
    /// What is in no gap, as a share of what is in all.
    unaccounted: f64,
    /// Of the whole time.
    lost_share: f64,
}

impl Score {
    /// Whether harm got its name. As loosely as tests on a busy machine must; the target is checked by the ignored test.
    fn holds(&self, what: &str, strict: bool) -> bool {
        let &Score { gaps, done_ns, right, host, unaccounted, .. } = self;
        eprintln!(
            "{what}: {gaps} gaps, {done_ns} ns, {:.1} % right, {:.1} % host, {:.2} % unaccounted",
            right * 100.0,
            host * 100.0,
            unaccounted * 100.0
        );
        let (least, most) = if strict { (0.95, 0.05) } else { (0.75, 0.2) };
        // Where little is lost, a hair's breadth in the usual look is much of it.
        let off = 0.02 + 0.001 / self.lost_share;
        let is_accounted = !strict || unaccounted.abs() <= off;
        gaps >= 10 && right >= least && host <= most && is_accounted
    }
}

fn core() -> usize {
    *host::thread::allowed().unwrap().last().unwrap()
}

fn may_be_real_time() -> bool {
    let tried = std::thread::spawn(|| host::thread::set_scheduling(Scheduling::Fifo(20)).is_ok());
    tried.join().unwrap()
}

/// Looks with `harm` in the same thread after each look, and `beside` in one of its own on the same core
/// until its flag is set. Both note when they did harm.
fn observe(
    seconds: f64,
    harm: impl FnMut(u64) + Send,
    beside: impl FnOnce(Clock, &AtomicBool) + Send,
) -> Option<Observed> {
    let core = core();
    // The intruder has its way, where that is allowed. Who looks is a common thread: of a real-time one that
    // spins the kernel takes 50 ms a second back, in the midst of the harm.
    let above = if may_be_real_time() { Scheduling::Fifo(20) } else { Scheduling::Other };
    let mut trace = match Trace::open(&[core]) {
        Ok(trace) => trace,
        Err(error) => {
            eprintln!("skipped: {error}");
            return None;
        }
    };
    let clock = Clock::calibrate();
    let scheduling = Scheduling::Other;
    let look = Look { core, scheduling, threshold_ns: THRESHOLD_NS, seconds, gaps_max: 1 << 20 };
    let (_, start_ns) = clock.beside_raw();
    trace.start().unwrap();
    let stop = AtomicBool::new(false);
    let seen = std::thread::scope(|scope| {
        let intruder = std::thread::Builder::new().name("intruder".to_owned());
        let intruder = intruder.spawn_scoped(scope, || {
            // In this order: a common thread would wait there for the one that looks.
            host::thread::set_scheduling(above).unwrap();
            host::thread::pin(core).unwrap();
            beside(clock, &stop);
        });
        let seen = scope.spawn(|| look_and(&look, clock, &AtomicBool::new(false), harm));
        let seen = seen.join();
        stop.store(true, Ordering::Relaxed);
        intruder.unwrap().join().unwrap();
        seen.unwrap().unwrap()
    });
    trace.stop();
    let mut causes = Causes::default();
    let told = trace.told(start_ns, &[Own::Thread(seen.thread)], true, &mut causes).remove(0);
    assert_eq!(told.lost, 0);
    let parts = attribute(&seen.gaps, &moved(&seen.anchors, &told.spans));
    Some(Observed { seen, parts, ids: causes.ids(&cause::kallsyms()) })
}

impl Observed {
    /// Of the harm that was done, not of what else happened in the same gaps: a hypervisor, or the kernel's
    /// limit for real-time threads, takes its own time on top, and that has causes of its own.
    fn score(&self, harm: &[(u64, u64)], expected: &[&str]) -> Score {
        let overlap_ns = |gap: &Gap, &(from_ns, to_ns): &(u64, u64)| {
            to_ns.min(gap.end_ns).saturating_sub(from_ns.max(gap.start_ns))
        };
        let usual_ns = self.usual_gap_ns(harm);
        // What took longer than this was itself disturbed: an 8 ms stall of the kernel's in the midst of a
        // fault of 4 us once was more than all faults of a test.
        let most_ns = 2 * ranked(harm.iter().map(|(from_ns, to_ns)| to_ns - from_ns), 0.5);
        let mut score = Score::default();
        let (mut wrong_ns, mut host_ns) = (0, 0);
        let mut by_id: BTreeMap<&str, u64> = BTreeMap::new();
        let mut next = 0;
        for (gap, parts) in self.seen.gaps.iter().zip(&self.parts) {
            while harm.get(next).is_some_and(|(_, to_ns)| *to_ns <= gap.start_ns) {
                next += 1;
            }
            let within = harm[next..].iter().take(2);
            let done_ns = within.map(|one| match overlap_ns(gap, one) {
                // Of a moment it isn't known what it cost: as much as is usual. What a longer gap holds
                // beside that is something else.
                1 => usual_ns,
                ns if ns * 2 > one.1 - one.0 => ns.min(most_ns),
                _ => 0,
            });
            let done_ns: u64 = done_ns.sum::<u64>().min(gap.length_ns());
            if done_ns == 0 {
                continue;
            }
            let of = |wanted: &dyn Fn(&str) -> bool| -> u64 {
                let is = |part: &&Part| wanted(&self.ids[part.cause.index()]);
                parts.iter().filter(is).map(|part| part.length_ns).sum()
            };
            for part in parts {
                *by_id.entry(&self.ids[part.cause.index()]).or_default() += part.length_ns;
            }
            let missing_ns = done_ns.saturating_sub(of(&|id| expected.contains(&id)));
            wrong_ns += missing_ns;
            host_ns += missing_ns.min(of(&|id| id == HOST));
            score.gaps += 1;
            score.done_ns += done_ns;
        }
        eprintln!("{by_id:?}");
        let done_ns = score.done_ns.max(1) as f64;
        Score {
            right: 1.0 - wrong_ns as f64 / done_ns,
            host: host_ns as f64 / done_ns,
            lost_share: self.seen.lost_ns() as f64 / (self.seen.end_ns - self.seen.start_ns) as f64,
            unaccounted: self.seen.unaccounted_ns() as f64 / self.seen.lost_ns().max(1) as f64,
            ..score
        }
    }
}

impl Observed {
    /// The shortest tenth of the gaps in which one of the moments of `harm` lies ends there: what such a moment costs where nothing else takes the
    /// core. Not the median: beside a compiler most gaps were the compiler's, and this test failed.
    fn usual_gap_ns(&self, harm: &[(u64, u64)]) -> u64 {
        let moments = harm.iter().filter_map(|(at_ns, _)| {
            let index = self.seen.gaps.partition_point(|gap| gap.end_ns <= *at_ns);
            let gap = self.seen.gaps.get(index).filter(|gap| gap.start_ns <= *at_ns)?;
            Some(gap.length_ns())
        });
        ranked(moments, 0.1)
    }
}

fn ranked(lengths: impl Iterator<Item = u64>, share: f64) -> u64 {
    let mut lengths: Vec<u64> = lengths.collect();
    lengths.sort_unstable();
    lengths.get((lengths.len() as f64 * share) as usize).copied().unwrap_or(0)
}

/// Another thread wants the core for 2 ms of every 12.
fn thread(seconds: f64) -> Option<Score> {
    let mut harm = Vec::new();
    let beside = |clock: Clock, stop: &AtomicBool| {
        while !stop.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(10));
            let start_ns = clock.now_ns();
            while clock.now_ns() < start_ns + 2_000_000 {}
            harm.push((start_ns, clock.now_ns()));
        }
    };
    let observed = observe(seconds, |_| (), beside)?;
    Some(observed.score(&harm, &["thread.intruder"]))
}

/// A timer wakes a thread that does nothing: what is lost is the timer and the change of threads.
fn timer(seconds: f64) -> Option<Score> {
    let mut harm = Vec::new();
    let beside = |clock: Clock, stop: &AtomicBool| {
        while !stop.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(2));
            let now_ns = clock.now_ns();
            harm.push((now_ns, now_ns + 1));
        }
    };
    let observed = observe(seconds, |_| (), beside)?;
    Some(observed.score(&harm, &["hrtimer.hrtimer_wakeup", "thread.intruder"]))
}

/// Datagrams over loopback: each is received by the softirq of the core that sends it.
fn datagrams(seconds: f64) -> Option<Score> {
    let to = UdpSocket::bind("127.0.0.1:0").unwrap();
    let from = UdpSocket::bind("127.0.0.1:0").unwrap();
    from.connect(to.local_addr().unwrap()).unwrap();
    let mut harm = Vec::new();
    let beside = |clock: Clock, stop: &AtomicBool| {
        while !stop.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(10));
            let start_ns = clock.now_ns();
            // What finds the receiver's buffer full is dropped, after it came so far.
            (0..200).for_each(|_| drop(from.send(&[0; 64])));
            harm.push((start_ns, clock.now_ns()));
        }
    };
    let observed = observe(seconds, |_| (), beside)?;
    Some(observed.score(&harm, &["softirq.net_rx", "thread.intruder"]))
}

/// The measuring thread itself touches memory that is not there.
fn faults(seconds: f64) -> Option<Score> {
    const PAGE_BYTES: usize = 65_536;
    let mut memory = vec![0u8; 4096 * PAGE_BYTES];
    let clock = Clock::calibrate();
    let every_ns = (seconds * 1e9) as u64 / 4096;
    let (mut harm, mut page, mut next_ns) = (Vec::with_capacity(4096), 0, 0);
    let touch = |now_ns: u64| {
        if now_ns >= next_ns && page < 4096 {
            memory[page * PAGE_BYTES] = 1;
            harm.push((now_ns, clock.now_ns()));
            page += 1;
            next_ns = now_ns + every_ns;
        }
    };
    let observed = observe(seconds, touch, |_, _| ())?;
    // Where memory comes in huge pages, most touches find it there.
    harm.retain(|(from_ns, to_ns)| to_ns - from_ns > observed.seen.limit_ns);
    // The clock of the harm was calibrated apart: near enough for less than a minute.
    Some(observed.score(&harm, &["page_fault"]))
}

/// Does harm for half a second. Somebody else may have the core meanwhile, whose doing it is not (a compiler, this machine's own agents: both made
/// a test fail once), so it is done up to three times; attribution that is wrong is wrong each time.
fn check(what: &str, harm: fn(f64) -> Option<Score>) {
    let _alone = CORE.lock();
    let mut seen = Vec::new();
    for _ in 0..3 {
        let Some(score) = harm(0.5) else { return };
        if score.holds(what, false) {
            return;
        }
        seen.push(score);
    }
    panic!("{what}: {seen:?}");
}

#[test]
fn a_thread_gets_its_time() {
    check("thread", thread);
}

#[test]
fn a_timer_gets_its_time() {
    check("timer", timer);
}

#[test]
fn datagrams_get_their_time() {
    check("datagrams", datagrams);
}

#[test]
fn page_faults_get_their_time() {
    check("page faults", faults);
}

/// The target: at least 95 % right, at most 5 % called outside, gaps and lost time within 2 %.
#[test]
#[ignore = "measures the target figures; wants a quiet machine"]
fn target() {
    let _alone = CORE.lock();
    type Harm = fn(f64) -> Option<Score>;
    let kinds: [(&str, Harm); 4] =
        [("thread", thread), ("timer", timer), ("datagrams", datagrams), ("page faults", faults)];
    // All figures first: one that misses does not hide the others.
    let missed: Vec<&str> = kinds
        .into_iter()
        .filter(|(what, harm)| harm(5.0).is_some_and(|score| !score.holds(what, true)))
        .map(|(what, _)| what)
        .collect();
    assert!(missed.is_empty(), "missed: {missed:?}");
}
