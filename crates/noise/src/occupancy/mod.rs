//! Records which threads ran on the measured cores during a run, from the kernel's events;
//! `scenario` calculates from it how far each figure holds. The recording is outside the measured
//! processes, and is read while they run, so that no ring overflows.
//!
//! With CAP_PERFMON (root) it sees every switch of threads on the cores, and names each disturber.
//! Without it, at `kernel.perf_event_paranoid` 2, it sees only the measured threads: windows
//! without names.

mod core;
mod names;

pub use self::core::{CoreOccupancy, CoreShare, WINDOWS_MAX, Window};
pub use self::names::{Name, Names};

use self::core::Core;
use crate::trace::EndSignal;
use crate::trace::perf::{Event, PerfTarget, Ring, Timeline};
use crate::trace::records::switches;
use clock::monotonic_ns;
use host::Root;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Pid;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// Size of a core's ring: about 50 000 records of 40 bytes.
const RING_BYTES: usize = 2 << 20;
/// Interval at which the rings are drained, s, unless they are half full earlier: an ended thread
/// has no name.
const DRAIN_SECONDS: i64 = 1;
/// Interval of the search for threads, if they must be found first, ns.
const SEARCH_NS: i64 = 10_000_000;

/// A running recording.
pub struct Occupancy(Result<OccupancyKeeper, String>);

/// The recording thread, and the channels to it.
struct OccupancyKeeper {
    ended: Arc<EndSignal>,
    processes: Arc<Mutex<Vec<i32>>>,
    keeper: JoinHandle<OccupancyResult>,
}

/// A finished recording.
#[derive(Clone, Debug, Default)]
pub struct OccupancyResult {
    /// One entry per core, in the given order.
    pub cores: Vec<CoreOccupancy>,
    /// Begin and end of the recording of all cores, ns on `CLOCK_MONOTONIC`.
    pub span_ns: (u64, u64),
    /// Names of threads.
    pub names: Names,
    /// Why the recording is missing or incomplete; otherwise empty.
    pub missing: String,
}

impl Occupancy {
    /// Starts a recording of `cores`. If the kernel allows nothing, [`Occupancy::finish`] gives the
    /// reason.
    pub fn start(cores: &[usize]) -> Occupancy {
        Occupancy(
            OccupancyKeeper::start(cores)
                .map_err(|error| format!("the threads on the cores are not recorded: {error}")),
        )
    }

    /// Adds process `pid` to the measured ones.
    pub fn is_measured(&self, pid: Pid) {
        if let Ok(keeping) = &self.0 {
            let mut processes = keeping.processes.lock().unwrap_or_else(PoisonError::into_inner);
            processes.push(pid.as_raw_pid());
        }
    }

    /// Ends the recording.
    pub fn finish(self) -> OccupancyResult {
        let missing = |missing| OccupancyResult { missing, ..OccupancyResult::default() };
        let keeping = match self.0 {
            Ok(keeping) => keeping,
            Err(why) => return missing(why),
        };
        keeping.ended.tell();
        let panicked = "the recording thread panicked; this is a bug in tickpath";
        keeping.keeper.join().unwrap_or_else(|_| missing(panicked.to_owned()))
    }
}

impl OccupancyKeeper {
    fn start(cores: &[usize]) -> io::Result<OccupancyKeeper> {
        let processes = Arc::new(Mutex::new(Vec::new()));
        let ended = Arc::new(EndSignal::new()?);
        let (keeper, until) = (Keeper::new(cores, Arc::clone(&processes)), Arc::clone(&ended));
        let thread = std::thread::Builder::new().name("tickpath-cores".to_owned());
        let keeper = thread.spawn(move || keeper.keep(&until))?;
        Ok(OccupancyKeeper { ended, processes, keeper })
    }
}

/// A source of records: all threads of a core, or one thread.
struct Source {
    event: Event,
    ring: Ring,
    /// Index of its core.
    core: usize,
    /// The thread, if only one is visible.
    thread: Option<i32>,
}

/// State of the recording thread.
struct Keeper {
    processes: Arc<Mutex<Vec<i32>>>,
    sources: Vec<Source>,
    cores: Vec<Core>,
    names: Names,
    /// Without privilege: threads must be found, and only they are visible.
    searches: bool,
    stolen_before: BTreeMap<usize, (u64, u64)>,
    /// When the last source was opened.
    start_ns: u64,
    denied: String,
}

impl Keeper {
    fn new(cores: &[usize], processes: Arc<Mutex<Vec<i32>>>) -> Keeper {
        let mut keeper = Keeper {
            processes,
            sources: Vec::new(),
            cores: cores.iter().map(|&core| Core::new(core)).collect(),
            names: Names::of_all_threads(),
            searches: false,
            stolen_before: stolen(),
            start_ns: 0,
            denied: String::new(),
        };
        for (index, &core) in cores.iter().enumerate() {
            match Source::open(PerfTarget::Threads { core }, index, None) {
                Ok(source) => keeper.sources.push(source),
                Err(_) => keeper.searches = true,
            }
        }
        if keeper.searches {
            keeper.sources.clear();
        }
        keeper.start_ns = monotonic_ns();
        keeper
    }

    fn keep(mut self, until: &EndSignal) -> OccupancyResult {
        let mut is_over = false;
        while !is_over {
            let is_searching = self.searches && self.sources.len() < self.cores.len();
            let timeout = match is_searching {
                true => Timespec { tv_sec: 0, tv_nsec: SEARCH_NS },
                false => Timespec { tv_sec: DRAIN_SECONDS, tv_nsec: 0 },
            };
            let mut descriptors = vec![PollFd::from_borrowed_fd(until.as_fd(), PollFlags::IN)];
            let rings = self.sources.iter();
            descriptors.extend(
                rings.map(|one| PollFd::from_borrowed_fd(one.event.as_fd(), PollFlags::IN)),
            );
            let polled = poll(&mut descriptors, Some(&timeout));
            is_over = polled.is_ok() && descriptors[0].revents().contains(PollFlags::IN);
            drop(descriptors);
            if is_searching {
                self.search();
            }
            self.drain();
        }
        self.finish()
    }

    /// Searches for measured threads: those that may run on only one of the cores.
    fn search(&mut self) {
        for pid in self.measured() {
            for index in 0..self.cores.len() {
                let is_found = self.sources.iter().any(|source| source.core == index);
                let Some(thread) = busiest_on(pid, self.cores[index].core()).filter(|_| !is_found)
                else {
                    continue;
                };
                match Source::open(PerfTarget::Thread(thread), index, Some(thread)) {
                    Ok(source) => {
                        self.cores[index].measures(thread);
                        self.sources.push(source);
                        self.start_ns = monotonic_ns();
                    }
                    Err(error) => {
                        self.denied = format!(
                            "cannot watch thread {thread}: {error}; kernel.perf_event_paranoid must be 2 or less, \
                             or tickpath needs CAP_PERFMON"
                        );
                    }
                }
            }
        }
    }

    fn measured(&self) -> Vec<i32> {
        self.processes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn drain(&mut self) {
        let measured = self.measured();
        let mut bytes = Vec::new();
        for source in &mut self.sources {
            bytes.clear();
            source.ring.drain(&mut bytes);
            let core = &mut self.cores[source.core];
            for switch in switches(&bytes, source.thread) {
                self.names.see(&switch);
                core.take(switch, &measured, &self.names);
            }
        }
    }

    fn finish(self) -> OccupancyResult {
        let end_ns = monotonic_ns();
        let after = stolen();
        // A kernel without this count still leaves records of losses in the rings.
        let lost: u64 =
            self.sources.iter().map(|source| source.event.lost().unwrap_or_default()).sum();
        let mut missing = self.denied;
        let mut note = |why: String| {
            if missing.is_empty() {
                missing = why;
            }
        };
        if self.sources.len() < self.cores.len() {
            note("a measured thread has no core of its own, and without CAP_PERFMON only such threads are seen".to_owned());
        }
        let stolen = |core: usize| {
            let (before, after) = (self.stolen_before.get(&core)?, after.get(&core)?);
            let total = after.1.saturating_sub(before.1).max(1);
            Some(after.0.saturating_sub(before.0) as f64 / total as f64)
        };
        let mut cores = Vec::with_capacity(self.cores.len());
        for core in self.cores {
            let number = core.core();
            let stolen_share = stolen(number).unwrap_or_else(|| {
                note(format!("/proc/stat has no times of core {number}"));
                0.0
            });
            cores.push(CoreOccupancy { stolen_share, ..core.finish() });
        }
        let lost = lost + cores.iter().map(|core| core.lost).sum::<u64>();
        if lost > 0 {
            note(format!("the kernel lost {lost} records, because its buffer was full"));
        }
        let span_ns = (self.start_ns, end_ns);
        OccupancyResult { cores, span_ns, names: self.names, missing }
    }
}

impl Source {
    fn open(what: PerfTarget, core: usize, thread: Option<i32>) -> io::Result<Source> {
        let event = Event::open(what, Timeline::Monotonic, (RING_BYTES / 2) as u32)?;
        let ring = Ring::of(&event, RING_BYTES)?;
        event.enable()?;
        Ok(Source { event, ring, core, thread })
    }
}

/// Ticks that were stolen, and all ticks, by core.
fn stolen() -> BTreeMap<usize, (u64, u64)> {
    let ticks = host::fingerprint::load(&Root::system()).ticks;
    ticks.into_iter().map(|(core, ticks)| (core, (ticks.steal, ticks.total))).collect()
}

/// The thread of process `pid` that has run longest, among those that may run only on `core`.
pub fn busiest_on(pid: i32, core: usize) -> Option<i32> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).ok()?;
    let ran = |task: fs::DirEntry| {
        let thread = task.file_name().to_str()?.parse::<i32>().ok()?;
        let mask = rustix::thread::sched_getaffinity(Pid::from_raw(thread)).ok()?;
        let text = fs::read_to_string(task.path().join("schedstat")).unwrap_or_default();
        let ran_ns: u64 =
            text.split_whitespace().next().and_then(|ns| ns.parse().ok()).unwrap_or(0);
        (mask.count() == 1 && mask.is_set(core)).then_some((ran_ns, thread))
    };
    tasks.flatten().filter_map(ran).max().map(|(_, thread)| thread)
}

#[cfg(test)]
mod tests;
