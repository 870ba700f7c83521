//! Evaluates a core's records: the windows in which its measured thread wanted to run and something
//! else did.

use crate::occupancy::names::{Name, Names};
use crate::trace::records::Switch;
use std::collections::BTreeMap;

/// Limit on the windows, and on the faults, of one core that are kept one by one. For later ones
/// only sums are kept, so that memory stays bounded over a day.
pub const WINDOWS_MAX: usize = 1 << 18;
/// If a thread leaves its core voluntarily this soon after a page fault, it waits for the page, ns.
const FAULT_WAITS_NS: u64 = 50_000;
/// Time of one switch between two threads, ns.
const SWITCH_NS: u64 = 5_000;
/// The idle thread of every core.
const IDLE: i32 = 0;

/// A time in which the measured thread of a core wanted to run, but another thread did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Begin, ns on `CLOCK_MONOTONIC`.
    pub start_ns: u64,
    /// End, the same.
    pub end_ns: u64,
    /// The thread that ran for most of it.
    pub by: Name,
}

/// Time that other threads of one name took from a core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CoreShare {
    /// Windows.
    pub windows: u64,
    /// Their time, ns.
    pub ns: u64,
    /// The longest, ns.
    pub longest_ns: u64,
}

impl CoreShare {
    /// Adds a window of `ns`.
    pub fn add(&mut self, ns: u64) {
        self.windows += 1;
        self.ns += ns;
        self.longest_ns = self.longest_ns.max(ns);
    }
}

/// The evaluation of one core.
#[derive(Clone, Debug, Default)]
pub struct CoreOccupancy {
    /// Its number.
    pub core: usize,
    /// Its measured thread: of all threads of the measured processes, the one that ran longest
    /// here.
    pub thread: Option<i32>,
    /// The first [`WINDOWS_MAX`], in order of time, without overlaps.
    pub windows: Vec<Window>,
    /// Shares of the windows after these, by name.
    pub windows_later: BTreeMap<Name, CoreShare>,
    /// Times of that thread's first [`WINDOWS_MAX`] page faults, ns on `CLOCK_MONOTONIC`.
    pub faults: Vec<u64>,
    /// Faults after them.
    pub faults_later: u64,
    /// Share of the core's time that the hypervisor reports as stolen, to a hundredth of a second.
    pub stolen_share: f64,
    /// Records lost because the ring was full.
    pub lost: u64,
}

impl CoreOccupancy {
    /// Whether every window and fault is kept by itself.
    pub fn is_exact(&self) -> bool {
        self.windows_later.is_empty() && self.faults_later == 0
    }
}

/// The measured thread is off its core.
#[derive(Clone, Copy)]
struct Absence {
    since_ns: u64,
    /// Whether it was preempted, and did not leave voluntarily.
    preempted: bool,
}

/// A core whose records are being read.
pub(super) struct Core {
    occupancy: CoreOccupancy,
    /// Run time of each thread of the measured processes here.
    ran_ns: BTreeMap<i32, u64>,
    /// The thread that runs, and its start.
    running: Option<(i32, u64)>,
    /// The thread before it, with start and end.
    before: Option<(i32, u64, u64)>,
    away: Option<Absence>,
    /// Time of the measured thread's last fault.
    fault_ns: Option<u64>,
    /// Run times of other threads since the measured thread left, by name.
    others: BTreeMap<Name, u64>,
}

impl Core {
    pub(super) fn new(core: usize) -> Core {
        Core {
            occupancy: CoreOccupancy { core, ..CoreOccupancy::default() },
            ran_ns: BTreeMap::new(),
            running: None,
            before: None,
            away: None,
            fault_ns: None,
            others: BTreeMap::new(),
        }
    }

    pub(super) fn core(&self) -> usize {
        self.occupancy.core
    }

    /// Sets the measured thread if no other is visible.
    pub(super) fn measures(&mut self, thread: i32) {
        self.occupancy.thread = Some(thread);
    }

    /// Takes one record. `measured` are the measured processes.
    pub(super) fn take(&mut self, switch: Switch, measured: &[i32], names: &Names) {
        match switch {
            Switch::On { thread, at_ns, .. } => self.on(thread, at_ns),
            Switch::Off { process, thread, at_ns, preempted } => {
                let name = names.of_thread(thread);
                self.off(thread, name, at_ns, preempted, measured.contains(&process));
            }
            Switch::Fault { thread, at_ns } if self.occupancy.thread == Some(thread) => {
                self.fault_ns = Some(at_ns);
                if self.occupancy.faults.len() < WINDOWS_MAX {
                    self.occupancy.faults.push(at_ns);
                } else {
                    self.occupancy.faults_later += 1;
                }
            }
            Switch::Fault { .. } => {}
            Switch::Lost { count } => {
                self.occupancy.lost += count;
                (self.running, self.before, self.away) = (None, None, None);
            }
        }
    }

    fn on(&mut self, thread: i32, at_ns: u64) {
        self.running = Some((thread, at_ns));
        if self.occupancy.thread != Some(thread) {
            return;
        }
        let Some(away) = self.away.take() else { return };
        let start_ns = match (away.preempted, self.before) {
            (true, _) => away.since_ns,
            // It waited. When it was woken, another thread may have been running, for at most that
            // thread's run time.
            (false, Some((other, from_ns, to_ns)))
                if other != IDLE && other != thread && to_ns + SWITCH_NS >= at_ns =>
            {
                from_ns.max(away.since_ns)
            }
            _ => return,
        };
        let most = self.others.iter().max_by_key(|(_, ns)| **ns);
        let by = most.map_or(Name::UNKNOWN, |(name, _)| *name);
        if self.occupancy.windows.len() < WINDOWS_MAX {
            self.occupancy.windows.push(Window { start_ns, end_ns: at_ns, by });
        } else {
            self.occupancy.windows_later.entry(by).or_default().add(at_ns - start_ns);
        }
    }

    fn off(&mut self, thread: i32, name: Name, at_ns: u64, preempted: bool, is_measured: bool) {
        let from_ns = match self.running.take() {
            Some((running, since_ns)) if running == thread => since_ns,
            _ => at_ns,
        };
        self.before = Some((thread, from_ns, at_ns));
        if is_measured {
            self.ran(thread, at_ns - from_ns);
        }
        if self.occupancy.thread == Some(thread) {
            let waits_for_a_page = self.fault_ns.is_some_and(|ns| at_ns < ns + FAULT_WAITS_NS);
            self.away = Some(Absence { since_ns: at_ns, preempted: preempted || waits_for_a_page });
            self.others.clear();
        } else if thread != IDLE {
            *self.others.entry(name).or_default() += at_ns - from_ns;
        }
    }

    /// The thread that ran longest is the measured one: a client's other threads hardly run next to
    /// a thread that spins or reads.
    fn ran(&mut self, thread: i32, ns: u64) {
        let sum = self.ran_ns.entry(thread).or_default();
        *sum += ns;
        let sum = *sum;
        let longest = self.occupancy.thread.and_then(|thread| self.ran_ns.get(&thread));
        if longest.is_none_or(|longest| sum > *longest) {
            self.occupancy.thread = Some(thread);
        }
    }

    pub(super) fn finish(self) -> CoreOccupancy {
        self.occupancy
    }
}
