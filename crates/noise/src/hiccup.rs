//! The hiccup row: on each core a pinned, spinning thread follows the schedule of the load, but at each
//! intended time it only looks at the clock. How late it sees that time is what the machine alone
//! adds to a response time: no message sent on this core could have gone out earlier.

use host::scheduling::Scheduling;
use measure::clock::Clock;
use measure::record::Kind;
use measure::recorder::{Drain, Series, recorder};
use measure::schedule::{Arrival, Schedule};
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

/// The subject's name in records and tags.
pub const SUBJECT: &str = "hiccup";

/// Looks a second, at most: beyond that a look takes longer than the gap to the next.
pub const RATE_PER_SECOND_MAX: f64 = 1e6;

/// Spun before the first look.
const WARM_UP_NS: u64 = 100_000_000;

/// Where, how often and how long to look.
#[derive(Clone, Debug)]
pub struct Look {
    /// One thread on each; the series is called `coreN`.
    pub cores: Vec<usize>,
    /// The class of the threads.
    pub scheduling: Scheduling,
    /// How often: the rate of the load that is to be compared, at most [`RATE_PER_SECOND_MAX`].
    pub rate_per_second: f64,
    /// How long.
    pub seconds: f64,
}

/// Why there is no hiccup row.
#[derive(Debug, thiserror::Error)]
pub enum HiccupError {
    /// A thread can't be placed as asked.
    #[error(transparent)]
    Host(#[from] host::HostError),
    /// The log can't be written.
    #[error("cannot write {path}: {source}; free some space or choose another place")]
    Log {
        /// Its path.
        path: String,
        /// What the file system said.
        source: io::Error,
    },
}

/// Looks, and appends a series a core to the log at `hlog`. Ends early when `stop` is set.
///
/// # Errors
/// If a thread can't be pinned, or the log not written.
pub fn look(look: &Look, clock: Clock, hlog: &Path, stop: &AtomicBool) -> Result<(), HiccupError> {
    let drains: Vec<(Drain, SystemTime, u64)> = std::thread::scope(|scope| {
        let threads: Vec<_> = look
            .cores
            .iter()
            .map(|&core| scope.spawn(move || look_on(look, core, clock, stop)))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("the thread below does not panic"))
            .collect::<Result<_, host::HostError>>()
    })?;
    let failed = |source| HiccupError::Log { path: hlog.display().to_string(), source };
    let log = File::options().create(true).append(true).open(hlog).map_err(failed)?;
    let mut log = BufWriter::new(log);
    for (drain, started, start_ns) in drains {
        drain.run(SUBJECT, &mut log, started, start_ns, &|| ()).map_err(failed)?;
    }
    Ok(())
}

fn look_on(
    look: &Look,
    core: usize,
    clock: Clock,
    stop: &AtomicBool,
) -> Result<(Drain, SystemTime, u64), host::HostError> {
    host::thread::pin(core)?;
    let series = Series { name: format!("core{core}").into(), kind: Kind::Noise };
    let (mut recorder, drain) = recorder(&[series], look.seconds);
    let rate_per_second = look.rate_per_second.min(RATE_PER_SECOND_MAX);
    let mut schedule = Schedule::new(rate_per_second, Arrival::Uniform, 1, 0);
    host::thread::set_scheduling(look.scheduling)?;
    // A virtual core that wakes is placed anew: it spins for a while before it is looked at, as a load
    // has its warm-up.
    let awake_ns = clock.now_ns() + WARM_UP_NS;
    while clock.now_ns() < awake_ns && !stop.load(Ordering::Relaxed) {}
    let started = SystemTime::now();
    let start_ns = clock.now_ns();
    let end_ns = start_ns + (look.seconds * 1e9) as u64;
    recorder.start(start_ns);
    let mut now_ns = start_ns;
    while now_ns < end_ns && !stop.load(Ordering::Relaxed) {
        now_ns = clock.now_ns();
        while start_ns + schedule.offset_ns() <= now_ns {
            recorder.record(0, now_ns - start_ns - schedule.offset_ns());
            schedule.advance();
        }
        recorder.roll(now_ns);
    }
    recorder.finish(now_ns);
    Ok((drain, started, start_ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_intended_time_is_seen_once_on_every_core() {
        let directory = tempfile::tempdir().unwrap();
        let hlog = directory.path().join("001.hlog");
        let cores = host::thread::allowed().unwrap();
        let wanted = Look {
            cores: cores.clone(),
            scheduling: Scheduling::Other,
            rate_per_second: 1_000.0,
            seconds: 0.2,
        };
        look(&wanted, Clock::calibrate(), &hlog, &AtomicBool::new(false)).unwrap();
        let totals = measure::hlog::totals(&std::fs::read(&hlog).unwrap()[..]).unwrap();
        for core in cores {
            let count = totals[&format!("hiccup.core{core}.noise")].len();
            // 200 in 0.2 s and one at 0; the last look may come after later ones were due.
            assert!((201..400).contains(&count), "{count}");
        }
    }
}
