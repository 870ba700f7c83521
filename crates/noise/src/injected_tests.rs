//! Injects disturbances on the measured core and checks their names. The tests need readable kernel
//! events, and are skipped visibly without. The ignored test measures the figures of the target on
//! a quiet machine: `cargo test --release -p noise -- --ignored --nocapture --test-threads 1`.

use crate::attribute::{GapPart, attribute};
use crate::cause::{self, Causes, HOST};
use crate::meter::{Gap, MeterResult, MeterSettings, THRESHOLD_NS, look_and};
use crate::tally::moved;
use crate::trace::Trace;
use clock::Clock;
use host::Scheduling;
use std::collections::BTreeMap;
use std::net::UdpSocket;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// One test at a time has the core.
static CORE: Mutex<()> = Mutex::new(());

/// Result of the core's thread, and the parts of each gap.
struct Observed {
    seen: MeterResult,
    parts: Vec<Vec<GapPart>>,
    ids: Vec<String>,
}

/// Quality of the attribution.
#[derive(Debug, Default)]
struct Score {
    /// Gaps with a disturbance.
    gaps: usize,
    /// Length of the disturbances.
    done_ns: u64,
    /// The share with the right name.
    right: f64,
    /// The share charged to the host.
    host: f64,
    /// Time outside of all gaps, as a share of the time in them.
    unaccounted: f64,
    /// Lost time as a share of the whole time.
    lost_share: f64,
}

impl Score {
    /// Whether the names are right, with the tolerance of tests on a busy machine; the ignored test
    /// checks the target.
    fn holds(&self, what: &str, strict: bool) -> bool {
        let &Score { gaps, done_ns, right, host, unaccounted, .. } = self;
        eprintln!(
            "{what}: {gaps} gaps, {done_ns} ns, {:.1} % right, {:.1} % host, {:.2} % unaccounted",
            right * 100.0,
            host * 100.0,
            unaccounted * 100.0
        );
        let (least, most) = if strict { (0.95, 0.05) } else { (0.75, 0.2) };
        // If little is lost, a tiny error of the usual look is a large share of it.
        let off = 0.02 + 0.001 / self.lost_share;
        let is_accounted = !strict || unaccounted.abs() <= off;
        gaps >= 10 && right >= least && host <= most && is_accounted
    }
}

fn core() -> usize {
    *host::thread::allowed().unwrap().last().unwrap()
}

/// Whether nothing else wants the core: next to busy loops, only a third of the disturbances got
/// the right name.
pub(crate) fn is_quiet(core: usize) -> bool {
    testing::cores::is_quiet_by(0.05, || {
        let looking = std::thread::spawn(move || {
            host::thread::pin(core).unwrap();
            testing::cores::share_taken(Duration::from_millis(200))
        });
        looking.join().unwrap()
    })
}

fn may_be_real_time() -> bool {
    let tried = std::thread::spawn(|| host::thread::set_scheduling(Scheduling::Fifo(20)).is_ok());
    tried.join().unwrap()
}

/// Looks at the clock, with `harm` in the same thread after each look, and `beside` in its own
/// thread on the same core until its flag is set. Both note the times of their disturbances.
fn observe(
    seconds: f64,
    harm: impl FnMut(u64) + Send,
    beside: impl FnOnce(Clock, &AtomicBool) + Send,
) -> Option<Observed> {
    let core = core();
    // The intruder may preempt, if that is allowed. The looking thread has no real-time class: the
    // kernel takes 50 ms per second from one that spins, and would do so during a disturbance.
    let above = if may_be_real_time() { Scheduling::Fifo(20) } else { Scheduling::Other };
    let mut trace = match Trace::open(&[core]) {
        Ok(trace) => trace,
        Err(error) => {
            testing::skipped(testing::Need::Tracepoints, format_args!("{error}"));
            return None;
        }
    };
    let clock = Clock::calibrate();
    let scheduling = Scheduling::Other;
    let look =
        MeterSettings { core, scheduling, threshold_ns: THRESHOLD_NS, seconds, gaps_max: 1 << 20 };
    let (_, start_ns) = clock.beside_raw();
    trace.start().unwrap();
    let stop = AtomicBool::new(false);
    let seen = std::thread::scope(|scope| {
        let intruder = std::thread::Builder::new().name("intruder".to_owned());
        let intruder = intruder.spawn_scoped(scope, || {
            // In this order: otherwise a normal thread would wait there for the looking one.
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
    let told = trace.told(start_ns, &[seen.thread], true, &mut causes).remove(0);
    assert_eq!(told.lost, 0);
    let parts = attribute(&seen.gaps, &moved(&seen.anchors, &told.spans));
    Some(Observed { seen, parts, ids: causes.ids(&cause::kallsyms()) })
}

impl Observed {
    /// Only the injected disturbances count, not others in the same gaps: a hypervisor or the
    /// kernel's limit on real-time threads takes extra time, with causes of its own.
    fn score(&self, harm: &[(u64, u64)], expected: &[&str]) -> Score {
        let overlap_ns = |gap: &Gap, &(from_ns, to_ns): &(u64, u64)| {
            to_ns.min(gap.end_ns).saturating_sub(from_ns.max(gap.start_ns))
        };
        let usual_ns = self.usual_gap_ns(harm);
        // A longer disturbance was itself disturbed: an 8 ms stall of the kernel during a fault of
        // 4 us once exceeded all faults of a test.
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
                // The cost of a moment is unknown; the usual cost is assumed. The remainder of a
                // longer gap is something else.
                1 => usual_ns,
                ns if ns * 2 > one.1 - one.0 => ns.min(most_ns),
                _ => 0,
            });
            let done_ns: u64 = done_ns.sum::<u64>().min(gap.length_ns());
            if done_ns == 0 {
                continue;
            }
            let of = |wanted: &dyn Fn(&str) -> bool| -> u64 {
                let is = |part: &&GapPart| wanted(&self.ids[part.cause.index()]);
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
    /// The upper end of the shortest tenth of the gaps with one of the moments of `harm`: the cost
    /// of such a moment if nothing else takes the core. With the median this test failed beside a
    /// compiler, which had most gaps.
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

/// A timer wakes a thread that does nothing: the cost is the timer and the switches.
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
            // If the receiver's buffer is full the datagram is dropped, but only after that work.
            (0..200).for_each(|_| drop(from.send(&[0; 64])));
            harm.push((start_ns, clock.now_ns()));
        }
    };
    let observed = observe(seconds, |_| (), beside)?;
    Some(observed.score(&harm, &["softirq.net_rx", "thread.intruder"]))
}

/// The measuring thread itself touches memory that is not mapped yet.
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
    // With huge pages most touches find their memory mapped.
    harm.retain(|(from_ns, to_ns)| to_ns - from_ns > observed.seen.limit_ns);
    // The clock of the disturbances was calibrated separately: accurate enough for less than a
    // minute.
    Some(observed.score(&harm, &["page_fault"]))
}

/// Disturbs for half a second, up to three times. Another program may have the core in a try (a
/// compiler and this machine's own agents made a test fail once each); wrong attribution fails
/// every time.
fn check(what: &str, harm: fn(f64) -> Option<Score>) {
    let _alone = CORE.lock();
    if !is_quiet(core()) {
        return;
    }
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

/// The target: at least 95 % right, at most 5 % charged to the host, gaps and lost time within 2 %.
#[test]
#[ignore = "measures the target figures; wants a quiet machine"]
fn target() {
    let _alone = CORE.lock();
    type Harm = fn(f64) -> Option<Score>;
    let kinds: [(&str, Harm); 4] =
        [("thread", thread), ("timer", timer), ("datagrams", datagrams), ("page faults", faults)];
    // Print all figures first: one that misses must not hide the others.
    let missed: Vec<&str> = kinds
        .into_iter()
        .filter(|(what, harm)| harm(5.0).is_some_and(|score| !score.holds(what, true)))
        .map(|(what, _)| what)
        .collect();
    assert!(missed.is_empty(), "missed: {missed:?}");
}
