//! Threads and causes that took the cores during the slowest ticks of a run: switches of the
//! measuring threads, what the kernel did meanwhile, and time that neither explains.

use crate::evidence::moment::{Moment, on_clock};
use clock::{Clock, Deadline};
use noise::events::Events;
use noise::occupancy::busiest_on;
use noise::watch::{Disturbance, DisturbanceKind, Watch};
use record::text::counted;
use record::tick::{CoreLoss, TracedTick};
use rustix::process::Pid;
use std::time::Duration;

/// Interval at which to look for threads that don't exist yet.
const LOOKS_EVERY: Duration = Duration::from_millis(20);
/// A stage that only computes takes some hundred nanoseconds, and no cache miss takes this long,
/// ns. Such time without an event of the kernel was taken by the hypervisor or the firmware.
const HOST_NS_MIN: u64 = 20_000;
/// Stages without a system call between their two stamps.
const COMPUTES: [&str; 4] = ["normalise", "signal", "risk", "engine"];

/// The end to which a watched thread belongs, and its core.
type Whose = (&'static str, usize);

/// Watches both ends until it is finished.
pub(crate) struct PreemptionWatch {
    whose: Vec<Whose>,
    watch: Result<Watch, String>,
    events: Events,
    clock: Clock,
    start: Moment,
}

/// Threads and causes that took the cores during one run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RunPreemptions {
    /// Begin and end, ns on the clock of the stamps; the thread; the cause.
    spans: Vec<(u64, u64, Whose, String)>,
    /// Whether events of the kernel are included: only then is the remainder the host's.
    has_events: bool,
    /// Why some or all of it is unknown.
    pub missing: Option<String>,
}

impl PreemptionWatch {
    /// Watches the measuring thread of each process, the one that has run longest on its core. It
    /// has the length of the warm-up to appear.
    pub(crate) fn start(
        ends: &[(&'static str, Pid, Option<usize>)],
        clock: Clock,
        patience: Duration,
    ) -> PreemptionWatch {
        let found = |(name, pid, core): &(&'static str, Pid, Option<usize>)| {
            let core = (*core)?;
            Some(((*name, core), busiest_on(pid.as_raw_pid(), core)?))
        };
        let deadline = Deadline::after(patience);
        let (whose, threads): (Vec<Whose>, Vec<i32>) = loop {
            let found: Vec<(Whose, i32)> = ends.iter().filter_map(found).collect();
            if found.len() == ends.len() || deadline.left().is_zero() {
                break found.into_iter().unzip();
            }
            std::thread::sleep(LOOKS_EVERY);
        };
        let watch =
            match threads.len() == ends.len() {
                true => Watch::start(&threads).map_err(|error| error.to_string()),
                false => Err("a measuring thread has no core of its own, or was not on it in time"
                    .to_owned()),
            };
        let measured: Vec<(usize, i32)> =
            whose.iter().map(|(_, core)| *core).zip(threads).collect();
        let events = Events::start(&measured, clock);
        PreemptionWatch { whose, watch, events, clock, start: Moment::now(clock) }
    }

    pub(crate) fn finish(self) -> RunPreemptions {
        let PreemptionWatch { whose, watch, events, clock, start } = self;
        let (happened, no_events) = events.finish();
        let watched = match watch {
            Ok(watch) => watch.finish(),
            Err(why) => return RunPreemptions::unknown(why),
        };
        let end = Moment::now(clock);
        let span = |one: &Disturbance| {
            let on = |ns| on_clock(start, end, ns);
            let what = match one.what {
                DisturbanceKind::Switch => "switched out",
                DisturbanceKind::Fault => "page fault",
            };
            Some((on(one.start_ns), on(one.end_ns), *whose.get(one.thread)?, what.to_owned()))
        };
        let mut spans: Vec<_> = watched.disturbances.iter().filter_map(span).collect();
        spans.extend(happened.into_iter().filter_map(|one| {
            let whose = whose.iter().find(|(_, core)| *core == one.core)?;
            Some((one.start_ns, one.end_ns, *whose, one.cause))
        }));
        let lost = (watched.lost_records > 0).then(|| {
            format!("the kernel had no room for {}", counted(watched.lost_records, "record"))
        });
        let has_events = no_events.is_none();
        let no_events =
            no_events.map(|why| format!("interrupts and softirqs are not known: {why}"));
        RunPreemptions { spans, has_events, missing: lost.or(no_events) }
    }
}

impl RunPreemptions {
    pub(crate) fn unknown(why: String) -> RunPreemptions {
        RunPreemptions { spans: Vec::new(), has_events: false, missing: Some(why) }
    }

    /// Adds to a tick what took a core during it.
    pub(crate) fn note(&self, traced: &mut TracedTick) {
        let (begin_ns, end_ns) = (traced.begin_ns, traced.begin_ns + traced.total_ns);
        let meanwhile =
            self.spans.iter().filter(|(from, to, ..)| *from <= end_ns && *to >= begin_ns);
        traced.noise.extend(meanwhile.map(|(from_ns, to_ns, (of, core), what)| CoreLoss {
            cause: what.clone(),
            of: (*of).to_owned(),
            core: Some(*core),
            from_ns: from_ns.wrapping_sub(begin_ns) as i64,
            length_ns: to_ns - from_ns,
        }));
        if self.has_events {
            note_host(traced);
        }
    }
}

/// Adds the time of computing stages that no event or switch explains.
fn note_host(traced: &mut TracedTick) {
    let (mut found, mut from_ns) = (Vec::new(), 0_i64);
    for (stage, length_ns) in &traced.stages {
        let to_ns = from_ns + length_ns;
        if COMPUTES.contains(&stage.as_str()) {
            let of = if stage == "engine" { "exchange" } else { "trader" };
            let covered = covered_ns(&traced.noise, of, from_ns, to_ns);
            let unseen_ns = u64::try_from(*length_ns).unwrap_or(0).saturating_sub(covered);
            if unseen_ns >= HOST_NS_MIN {
                let (cause, of, core) = ("host".to_owned(), of.to_owned(), None);
                found.push(CoreLoss { cause, of, core, from_ns, length_ns: unseen_ns });
            }
        }
        from_ns = to_ns;
    }
    traced.noise.extend(found);
}

/// The covered part of a stretch, counted once where causes overlap.
fn covered_ns(noise: &[CoreLoss], of: &str, from_ns: i64, to_ns: i64) -> u64 {
    let mut spans: Vec<(i64, i64)> = noise
        .iter()
        .filter(|one| one.of == of)
        .map(|one| (one.from_ns.max(from_ns), (one.from_ns + one.length_ns as i64).min(to_ns)))
        .filter(|(from, to)| from < to)
        .collect();
    spans.sort_unstable();
    let (mut covered, mut until) = (0, from_ns);
    for (from, to) in spans {
        covered += (to - from.max(until)).max(0);
        until = until.max(to);
    }
    covered as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_overlaps_a_tick_is_noted_with_it() {
        let span = |from, to| (from, to, ("trader", 1), "switched out".to_owned());
        let spans = vec![span(0, 900), span(950, 1_000), span(1_200, 1_300), span(1_501, 1_600)];
        let taking = RunPreemptions { spans, has_events: false, missing: None };
        let mut traced = TracedTick { begin_ns: 1_000, total_ns: 500, ..TracedTick::default() };
        taking.note(&mut traced);
        let noted: Vec<_> = traced.noise.iter().map(|one| (one.from_ns, one.length_ns)).collect();
        assert_eq!(noted, [(-50, 50), (200, 100)]);
        assert_eq!((traced.noise[0].of.as_str(), traced.noise[0].core), ("trader", Some(1)));
    }

    /// 100 us of `risk`, 40 of them in an interrupt: 60 are the host's. 100 us of `order`, which
    /// calls the kernel, are not.
    #[test]
    fn what_nothing_explains_of_a_stage_that_computes_is_the_hosts() {
        let stage = |name: &str, ns| (name.to_owned(), ns);
        let stages = vec![stage("signal", 1_000), stage("risk", 100_000), stage("order", 100_000)];
        let mut traced =
            TracedTick { begin_ns: 1_000_000, total_ns: 201_000, stages, ..TracedTick::default() };
        let irq = (1_010_000, 1_050_000, ("trader", 1), "irq.virtio0".to_owned());
        let same = (1_020_000, 1_030_000, ("trader", 1), "switched out".to_owned());
        let taking = RunPreemptions { spans: vec![irq, same], has_events: true, missing: None };
        taking.note(&mut traced);
        let host: Vec<_> = traced.noise.iter().filter(|one| one.cause == "host").collect();
        assert_eq!(host.len(), 1, "{:?}", traced.noise);
        assert_eq!((host[0].from_ns, host[0].length_ns), (1_000, 60_000));
    }

    /// A thread of this process that sleeps is reported as off its core.
    #[test]
    fn a_thread_that_sleeps_is_away() {
        let clock = Clock::calibrate();
        let core = *host::thread::allowed().unwrap().last().unwrap();
        let (told, hears) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            host::thread::pin(core).unwrap();
            told.send(()).unwrap();
            std::thread::sleep(Duration::from_millis(100));
            let from_ns = clock.now_ns();
            std::thread::sleep(Duration::from_millis(20));
            (from_ns, clock.now_ns())
        });
        hears.recv().unwrap();
        let own = Pid::from_raw(std::process::id() as i32).unwrap();
        let watching =
            PreemptionWatch::start(&[("trader", own, Some(core))], clock, Duration::ZERO);
        let (from_ns, to_ns) = thread.join().unwrap();
        let taking = watching.finish();
        if let Some(why) = taking.missing {
            testing::skip!(Tracepoints, "{why}");
        }
        let mut traced =
            TracedTick { begin_ns: from_ns, total_ns: to_ns - from_ns, ..TracedTick::default() };
        taking.note(&mut traced);
        let longest = traced.noise.iter().map(|one| one.length_ns).max().unwrap();
        assert!(longest >= 19_000_000, "{:?}", traced.noise);
    }
}
