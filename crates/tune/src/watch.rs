//! Watches the machine for a while: load and interrupts between two readings.

use std::collections::BTreeMap;
use std::thread;
use std::time::Duration;

use clock::Clock;
use host::Root;
use host::fingerprint::load;
use host::interrupts::{self, Interrupt};
use host::processes::{self, Process};
use record::machine::Ticks;

/// Duration of [`watch`]. The kernel counts in ticks of 10 ms, so a share is exact to half a
/// percent.
pub const WATCH: Duration = Duration::from_secs(2);
/// With fewer ticks the watch says nothing: in a sandbox with a fake `/proc/stat` they stand still.
const TICKS_MIN: u64 = 50;

/// The kernel's counters at one moment.
#[derive(Clone, Debug, Default)]
pub struct CounterReading {
    /// Time counters of each core.
    pub ticks: BTreeMap<usize, Ticks>,
    /// Counts of each interrupt; `None` if they can't be read.
    pub interrupts: Option<Vec<Interrupt>>,
    /// Processes by number; `None` if they can't be listed.
    pub processes: Option<BTreeMap<usize, Process>>,
}

impl CounterReading {
    /// Reads `/proc/stat`, `/proc/interrupts`, `/proc/irq` and `/proc/PID/stat`.
    pub fn take(root: &Root) -> CounterReading {
        CounterReading {
            ticks: load(root).ticks,
            interrupts: interrupts::read(root),
            processes: processes::read(root),
        }
    }
}

/// Differences between two readings.
#[derive(Clone, Debug, Default)]
pub struct Activity {
    /// Its duration, seconds; more than 0.
    pub seconds: f64,
    /// Ticks of each core.
    pub ticks: BTreeMap<usize, Ticks>,
    /// Each interrupt with its count.
    pub interrupts: Option<Vec<Interrupt>>,
    /// Number and time of each process that ran, on any core, the busiest first.
    pub busy: Vec<(usize, Process)>,
}

impl Activity {
    /// The difference between two readings that are `seconds` apart.
    pub fn between(before: &CounterReading, after: &CounterReading, seconds: f64) -> Activity {
        let passed = |(&core, now): (&usize, &Ticks)| {
            let then = before.ticks.get(&core)?;
            let ticks = Ticks {
                steal: now.steal.saturating_sub(then.steal),
                idle: now.idle.saturating_sub(then.idle),
                total: now.total.saturating_sub(then.total),
            };
            Some((core, ticks))
        };
        let lists = before.processes.as_ref().zip(after.processes.as_ref());
        let pair = before.interrupts.as_ref().zip(after.interrupts.as_ref());
        Activity {
            seconds,
            ticks: after.ticks.iter().filter_map(passed).collect(),
            interrupts: pair.map(|(before, after)| interrupts::since(after, before)),
            busy: lists.map_or(Vec::new(), |(before, after)| processes::since(after, before)),
        }
    }

    /// The share of the time in which a core was busy, 0 to 1. `None` if unknown.
    pub fn busy_share(&self, core: usize) -> Option<f64> {
        let ticks = self.ticks.get(&core).filter(|ticks| ticks.total >= TICKS_MIN)?;
        let busy = ticks.total.saturating_sub(ticks.idle).saturating_sub(ticks.steal);
        Some(busy as f64 / ticks.total as f64)
    }

    /// `count` as a rate per second.
    pub fn per_second(&self, count: u64) -> f64 {
        count as f64 / self.seconds
    }
}

/// Sleeps for [`WATCH`] and returns the activity in that time.
pub fn watch(root: &Root, clock: &Clock) -> Activity {
    let before = CounterReading::take(root);
    // Read the load again last: reading a thousand processes is a load of our own.
    let (before, start_ns) = (CounterReading { ticks: load(root).ticks, ..before }, clock.now_ns());
    thread::sleep(WATCH);
    let elapsed_ns = clock.now_ns().saturating_sub(start_ns);
    let mut watched =
        Activity::between(&before, &CounterReading::take(root), elapsed_ns as f64 / 1e9);
    let ourselves = std::process::id() as usize;
    watched.busy.retain(|(number, _)| *number != ourselves);
    watched
}
