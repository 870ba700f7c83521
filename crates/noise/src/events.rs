//! The kernel's events on given cores while others measure: interrupts, softirqs, other threads.
//! For the slowest samples of a run; [`crate::beside`] sums up the same events.
//!
//! Tracepoints cost each event on those cores about 100 ns, so this is only for requested traces.
//! Linux 6.18 delivers no event of the idle thread here: a thread that begins on an idle core has
//! no span. A core whose measured thread spins is never idle.

use crate::cause::{self, Cause, Causes};
use crate::profile::named;
use crate::tally::moved;
use crate::trace::catalog::WorkKind;
use crate::trace::spans::Span;
use crate::trace::{EndSignal, Trace};
use clock::Clock;
use record::noise::Attribution;
use std::sync::Arc;
use std::thread::JoinHandle;

/// A softirq in a measured thread's own system call is that thread's work (loopback delivers in the
/// sender), unless it takes this long: then it also delivers datagrams of others.
const OWN_SOFTIRQ_NS_MAX: u64 = 10_000;

/// One event that took a core from the measured thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoreEvent {
    /// The core.
    pub core: usize,
    /// Begin, ns on the clock that [`Events::start`] was given.
    pub start_ns: u64,
    /// End, the same.
    pub end_ns: u64,
    /// The id of its cause: the table in [`cause`](crate::cause).
    pub cause: String,
}

/// Events that are being collected, until [`Events::finish`].
pub struct Events(Result<EventCollector, String>);

struct EventCollector {
    clock: Clock,
    /// The clock and the events' timeline, read together.
    first: (u64, u64),
    /// The measured thread of each core.
    own: Vec<i32>,
    ended: Arc<EndSignal>,
    keeper: JoinHandle<Trace>,
}

impl Events {
    /// Starts to collect the events of cores, each with its measured thread. If the kernel rejects
    /// this, [`Events::finish`] gives the reason.
    pub fn start(measured: &[(usize, i32)], clock: Clock) -> Events {
        Events(EventCollector::start(measured, clock))
    }

    /// Ends the collection. Returns the events by core and time, and why some are missing, if so.
    pub fn finish(self) -> (Vec<CoreEvent>, Option<String>) {
        match self.0 {
            Ok(keeping) => keeping.finish(),
            Err(why) => (Vec::new(), Some(why)),
        }
    }
}

impl EventCollector {
    fn start(measured: &[(usize, i32)], clock: Clock) -> Result<EventCollector, String> {
        let (cores, own): (Vec<usize>, Vec<i32>) = measured.iter().copied().unzip();
        let mut trace = Trace::open(&cores).map_err(|error| error.to_string())?;
        let ended = Arc::new(EndSignal::new().map_err(|error| error.to_string())?);
        let first = clock.beside_raw();
        trace.start().map_err(|error| error.to_string())?;
        let until = Arc::clone(&ended);
        let thread = std::thread::Builder::new().name("tickpath-events".to_owned());
        let keeper = thread.spawn(move || {
            trace.take_until(&until, 1);
            trace.stop();
            trace
        });
        Ok(EventCollector {
            clock,
            first,
            own,
            ended,
            keeper: keeper.map_err(|error| error.to_string())?,
        })
    }

    fn finish(self) -> (Vec<CoreEvent>, Option<String>) {
        self.ended.tell();
        let Ok(mut trace) = self.keeper.join() else {
            let why = "the thread that kept the events panicked; this is a bug in tickpath";
            return (Vec::new(), Some(why.to_owned()));
        };
        let anchors = [self.first, self.clock.beside_raw()];
        let cores: Vec<usize> = trace.cores().collect();
        let mut causes = Causes::default();
        let told = trace.told(self.first.1, &self.own, false, &mut causes);
        let mut attribution = Attribution {
            events_lost: told.iter().map(|told| told.lost).sum(),
            ..Attribution::default()
        };
        let blocked = causes.text(cause::BLOCKED);
        let ids = named(&causes, &mut attribution);
        let mut happened = Vec::new();
        for (core, told) in cores.into_iter().zip(told) {
            let spans = moved(&anchors, &told.spans);
            happened.extend(foreign(&spans, blocked).map(|span| CoreEvent {
                core,
                start_ns: span.start_ns,
                end_ns: span.end_ns,
                cause: ids[span.cause.index()].clone(),
            }));
        }
        let missing = (!attribution.missing.is_empty()).then(|| attribution.missing.join("; "));
        (happened, missing)
    }
}

/// The spans that took time from the measured thread: without those in which it waited (`blocked`),
/// those without an end, and its own softirqs. Spans nest: an interrupt during another thread's
/// time is an event of its own.
fn foreign(spans: &[Span], blocked: Cause) -> impl Iterator<Item = &Span> {
    let (mut blocked_until_ns, mut others_until_ns) = (0, 0);
    spans.iter().filter(move |span| {
        let (start_ns, end_ns) = (span.start_ns, span.end_ns);
        if end_ns == u64::MAX || end_ns <= start_ns {
            return false;
        }
        if span.cause == blocked {
            blocked_until_ns = end_ns.max(blocked_until_ns);
        }
        if span.kind == WorkKind::Thread {
            others_until_ns = end_ns.max(others_until_ns);
        }
        let is_own = span.kind == WorkKind::Softirq
            && start_ns >= others_until_ns
            && end_ns - start_ns <= OWN_SOFTIRQ_NS_MAX;
        start_ns >= blocked_until_ns && !is_own
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;
    use std::sync::atomic::{AtomicBool, Ordering};

    const INTRUDER: &str = "thread.intruder";
    const FLOOD: &str = "softirq.net_rx";

    /// From and to, ns.
    type Time = (u64, u64);

    /// When the intruder was busy and when it sent datagrams, on a core that another thread keeps
    /// busy (on an idle one the intruder has no span), and what was collected meanwhile. `factor`
    /// times 20 ms, and 20 000 datagrams.
    fn intrude(core: usize, factor: u32) -> ([Time; 2], Vec<CoreEvent>, Option<String>) {
        let clock = Clock::calibrate();
        let over = Arc::new(AtomicBool::new(false));
        let (until, deadline_ns) = (Arc::clone(&over), clock.now_ns() + 60_000_000_000);
        let (number, spinner) = std::sync::mpsc::channel();
        let spinning = std::thread::spawn(move || {
            host::thread::pin(core).unwrap();
            number.send(rustix::thread::gettid().as_raw_pid()).unwrap();
            while !until.load(Ordering::Relaxed) && clock.now_ns() < deadline_ns {}
        });
        let events = Events::start(&[(core, spinner.recv().unwrap())], clock);
        let intruder = std::thread::Builder::new().name("intruder".to_owned());
        let intruder = intruder.spawn(move || {
            host::thread::pin(core).unwrap();
            let from_ns = clock.now_ns();
            while clock.now_ns() < from_ns + u64::from(factor) * 20_000_000 {}
            let busy = (from_ns, clock.now_ns());
            std::thread::sleep(std::time::Duration::from_millis(5));
            let to = UdpSocket::bind("127.0.0.1:0").unwrap();
            let from = UdpSocket::bind("127.0.0.1:0").unwrap();
            from.connect(to.local_addr().unwrap()).unwrap();
            let from_ns = clock.now_ns();
            (0..factor * 20_000).for_each(|_| drop(from.send(&[0; 64])));
            [busy, (from_ns, clock.now_ns())]
        });
        let times = intruder.unwrap().join().unwrap();
        let (happened, missing) = events.finish();
        over.store(true, Ordering::Relaxed);
        spinning.join().unwrap();
        (times, happened, missing)
    }

    /// A thread and many datagrams, each at its time and under its name.
    #[test]
    fn a_thread_and_a_softirq_flood_are_seen_when_they_happen() {
        let core = *host::thread::allowed().unwrap().last().unwrap();
        testing::quiet::or_doubled("the core runs the intruder for 1 ms of 20", |factor| {
            let ([busy, flood], happened, missing) = intrude(core, factor);
            if happened.is_empty() {
                testing::skipped(testing::Need::Tracepoints, format_args!("{missing:?}"));
                return Ok(());
            }
            for ((from_ns, to_ns), cause) in [(busy, INTRUDER), (flood, FLOOD)] {
                let of_cause = happened.iter().filter(|one| one.cause == cause);
                let within = of_cause
                    .map(|one| one.end_ns.min(to_ns).saturating_sub(one.start_ns.max(from_ns)));
                let within_ns: u64 = within.sum();
                testing::unless!(
                    within_ns > 1_000_000,
                    "{cause}: {within_ns} ns of {from_ns} to {to_ns}, {missing:?}, {happened:?}"
                );
            }
            Ok(())
        });
    }
}
