//! When the measuring threads of a run were off their cores, for the worst ticks that it keeps.

use measure::clock::{Clock, Deadline, monotonic_ns};
use measure::tick::{Taken, Traced};
use noise::watch::{Disturbance, Watch, What};
use rustix::process::Pid;
use std::fs;
use std::time::Duration;

/// How often threads are looked for that are not there yet.
const LOOKS_EVERY: Duration = Duration::from_millis(20);
/// Readings of both clocks of which the closest counts.
const READINGS: usize = 64;

/// Both clocks at the same moment, ns.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Moment {
    clock_ns: u64,
    monotonic_ns: u64,
}

impl Moment {
    fn now(clock: Clock) -> Moment {
        let read = |_| {
            let before_ns = clock.now_ns();
            let monotonic_ns = monotonic_ns();
            let width_ns = clock.now_ns() - before_ns;
            (width_ns, Moment { clock_ns: before_ns + width_ns / 2, monotonic_ns })
        };
        let closest = (0..READINGS).map(read).min_by_key(|(width_ns, _)| *width_ns);
        closest.map_or(Moment { clock_ns: 0, monotonic_ns: 0 }, |(_, moment)| moment)
    }
}

/// Who is watched: whose thread it is, and its core.
type Whose = (&'static str, usize);

/// A watch over both ends that is going on.
pub(crate) struct Watching {
    whose: Vec<Whose>,
    watch: Result<Watch, String>,
    clock: Clock,
    start: Moment,
}

/// What took the cores of one run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Taking {
    /// Begin and end, ns on the clock that stamps; whose, and what it was.
    spans: Vec<(u64, u64, Whose, What)>,
    /// Why it is not known, where it isn't.
    pub missing: Option<String>,
}

impl Watching {
    /// Watches the measuring thread of each process: of those on its core the one that ran longest so far. They have so
    /// long to go there, and are watched from then on.
    pub(crate) fn start(
        ends: &[(&'static str, Pid, Option<usize>)],
        clock: Clock,
        patience: Duration,
    ) -> Watching {
        let found = |(name, pid, core): &(&'static str, Pid, Option<usize>)| {
            let core = (*core)?;
            Some(((*name, core), busiest_on(*pid, core)?))
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
        Watching { whose, watch, clock, start: Moment::now(clock) }
    }

    pub(crate) fn finish(self) -> Taking {
        let Watching { whose, watch, clock, start } = self;
        let watched = match watch {
            Ok(watch) => watch.finish(),
            Err(why) => return Taking::unknown(why),
        };
        let end = Moment::now(clock);
        let span = |one: &Disturbance| {
            let on = |ns| on_clock(start, end, ns);
            Some((on(one.start_ns), on(one.end_ns), *whose.get(one.thread)?, one.what))
        };
        let missing = (watched.lost_records > 0)
            .then(|| format!("the kernel had no room for {} records", watched.lost_records));
        Taking { spans: watched.disturbances.iter().filter_map(span).collect(), missing }
    }
}

/// A moment of `CLOCK_MONOTONIC` on the clock that stamps: between two moments both run straight.
fn on_clock(start: Moment, end: Moment, monotonic_ns: u64) -> u64 {
    let (length_ns, its_ns) =
        (end.clock_ns - start.clock_ns, end.monotonic_ns - start.monotonic_ns);
    let since_ns = monotonic_ns as i128 - i128::from(start.monotonic_ns);
    let on =
        i128::from(start.clock_ns) + since_ns * i128::from(length_ns) / i128::from(its_ns.max(1));
    u64::try_from(on).unwrap_or(0)
}

/// Of the threads of process `pid` that may run on `core` alone the one that has run longest.
fn busiest_on(pid: Pid, core: usize) -> Option<i32> {
    let tasks = fs::read_dir(format!("/proc/{}/task", pid.as_raw_pid())).ok()?;
    let ran = |task: fs::DirEntry| {
        let thread = task.file_name().to_str()?.parse::<i32>().ok()?;
        let mask = rustix::thread::sched_getaffinity(Pid::from_raw(thread)).ok()?;
        let told = fs::read_to_string(task.path().join("schedstat")).unwrap_or_default();
        let ran_ns: u64 =
            told.split_whitespace().next().and_then(|ns| ns.parse().ok()).unwrap_or(0);
        (mask.count() == 1 && mask.is_set(core)).then_some((ran_ns, thread))
    };
    tasks.flatten().filter_map(ran).max().map(|(_, thread)| thread)
}

impl Taking {
    pub(crate) fn unknown(why: String) -> Taking {
        Taking { spans: Vec::new(), missing: Some(why) }
    }

    /// Notes with a tick what took a core on its way.
    pub(crate) fn note(&self, traced: &mut Traced) {
        let (begin_ns, end_ns) = (traced.begin_ns, traced.begin_ns + traced.total_ns);
        let meanwhile =
            self.spans.iter().filter(|(from, to, ..)| *from <= end_ns && *to >= begin_ns);
        traced.noise.extend(meanwhile.map(|&(from_ns, to_ns, (of, core), what)| Taken {
            cause: match what {
                What::Switch => "switched out".to_owned(),
                What::Fault => "page fault".to_owned(),
            },
            of: of.to_owned(),
            core: Some(core),
            from_ns: from_ns.wrapping_sub(begin_ns) as i64,
            length_ns: to_ns - from_ns,
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_overlaps_a_tick_is_noted_with_it() {
        let span = |from, to| (from, to, ("trader", 1), What::Switch);
        let spans = vec![span(0, 900), span(950, 1_000), span(1_200, 1_300), span(1_501, 1_600)];
        let taking = Taking { spans, missing: None };
        let mut traced = Traced { begin_ns: 1_000, total_ns: 500, ..Traced::default() };
        taking.note(&mut traced);
        let noted: Vec<_> = traced.noise.iter().map(|one| (one.from_ns, one.length_ns)).collect();
        assert_eq!(noted, [(-50, 50), (200, 100)]);
        assert_eq!((traced.noise[0].of.as_str(), traced.noise[0].core), ("trader", Some(1)));
    }

    #[test]
    fn both_clocks_run_straight_between_two_moments() {
        let moment = |clock_ns, monotonic_ns| Moment { clock_ns, monotonic_ns };
        let (start, end) = (moment(1_000, 500), moment(3_000, 1_500));
        let on: Vec<u64> = [500, 501, 1_000, 1_500, 400].map(|ns| on_clock(start, end, ns)).into();
        assert_eq!(on, [1_000, 1_002, 2_000, 3_000, 800]);
        assert_eq!(on_clock(start, start, 500), 1_000);
    }

    /// A thread of this process that sleeps on a core of its own is seen to have been away from it.
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
        let watching = Watching::start(&[("trader", own, Some(core))], clock, Duration::ZERO);
        let (from_ns, to_ns) = thread.join().unwrap();
        let taking = watching.finish();
        if let Some(why) = taking.missing {
            eprintln!("skipped: {why}");
            return;
        }
        let mut traced =
            Traced { begin_ns: from_ns, total_ns: to_ns - from_ns, ..Traced::default() };
        taking.note(&mut traced);
        let longest = traced.noise.iter().map(|one| one.length_ns).max().unwrap();
        assert!(longest >= 19_000_000, "{:?}", traced.noise);
    }
}
