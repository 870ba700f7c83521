//! The hiccup row of a run: how late an idle thread would have met the schedule of the load. The
//! machine alone adds this to a response time, because no message of this core could have left
//! earlier.
//!
//! The gap meter looks at the clock; the lateness of each intended time follows from its gaps.

use crate::meter::{self, MeterResult};
use clock::Clock;
use clock::recorder::{Drain, INTERVAL_NS, SECONDS_IN_MEMORY_MAX, Series, recorder};
use clock::schedule::{Arrival, Schedule};
use host::HostError;
use host::scheduling::Scheduling;
use record::Kind;
use record::directory::cannot_write;
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// The subject's name in records and tags.
pub use record::HICCUP as SUBJECT;

/// Limit on looks per second: beyond it a look takes longer than the time to the next.
pub const RATE_PER_SECOND_MAX: f64 = 1e6;

/// A look is a gap here if it is longer than usual by this, ns, which is also the largest error of
/// a lateness.
const THRESHOLD_NS: u64 = 50;

/// Cores, rate and duration of the measurement.
#[derive(Clone, Debug)]
pub struct HiccupSettings {
    /// One thread on each; the series is `coreN`.
    pub cores: Vec<usize>,
    /// Scheduling class of the threads.
    pub scheduling: Scheduling,
    /// The rate of the load to compare with, at most [`RATE_PER_SECOND_MAX`].
    pub rate_per_second: f64,
    /// Duration, at most [`SECONDS_IN_MEMORY_MAX`].
    pub seconds: f64,
}

/// Why there is no hiccup row.
#[derive(Debug, thiserror::Error)]
pub enum HiccupError {
    /// A thread can't be placed as asked.
    #[error(transparent)]
    Host(#[from] host::HostError),
    /// The log can't be written.
    #[error("{}", cannot_write(path, source))]
    Log {
        /// Its path.
        path: String,
        /// The system's reason.
        source: io::Error,
    },
}

/// Looks. Ends early when `stop` is set.
///
/// # Errors
/// If a thread can't be pinned.
pub fn look(
    look: &HiccupSettings,
    clock: Clock,
    stop: &AtomicBool,
) -> Result<Vec<MeterResult>, HostError> {
    let looks: Vec<meter::MeterSettings> = look.cores.iter().map(|&core| look.on(core)).collect();
    meter::look_on_each(&looks, clock, stop, &|| (), || ())
}

impl HiccupSettings {
    /// The meter's settings for one core.
    pub fn on(&self, core: usize) -> meter::MeterSettings {
        meter::MeterSettings {
            core,
            scheduling: self.scheduling,
            threshold_ns: THRESHOLD_NS,
            seconds: self.seconds.min(SECONDS_IN_MEMORY_MAX),
            gaps_max: meter::GAPS_MAX,
        }
    }
}

/// Appends the results of `look` to the log at `hlog`, one series per core.
///
/// # Errors
/// If the log can't be written.
pub fn write(look: &HiccupSettings, seen: &[MeterResult], hlog: &Path) -> Result<(), HiccupError> {
    let failed = |source| HiccupError::Log { path: hlog.display().to_string(), source };
    let log = File::options().create(true).append(true).open(hlog).map_err(failed)?;
    let mut log = BufWriter::new(log);
    for seen in seen {
        let drain = lateness(seen, look.rate_per_second.min(RATE_PER_SECOND_MAX));
        drain.run(SUBJECT, &mut log, seen.started, seen.start_ns, &|| ()).map_err(failed)?;
    }
    Ok(())
}

/// The lateness at each intended time: the time to the end of its gap, otherwise half a usual look.
/// If gaps are missing, only the part up to the last one counts.
fn lateness(seen: &MeterResult, rate_per_second: f64) -> Drain {
    let end_ns = match seen.gaps.last() {
        Some(last) if seen.gaps_not_kept() > 0 => last.end_ns,
        _ => seen.end_ns,
    };
    let series = Series { name: format!("core{}", seen.core).into(), kind: Kind::Noise };
    let seconds = (end_ns - seen.start_ns) as f64 / INTERVAL_NS as f64;
    let (mut recorder, drain) = recorder(&[series], seconds.min(SECONDS_IN_MEMORY_MAX));
    let mut schedule = Schedule::new(rate_per_second, Arrival::Uniform, 1, 0);
    let mut gaps = seen.gaps.iter().peekable();
    recorder.start(seen.start_ns);
    loop {
        let intended_ns = seen.start_ns + schedule.offset_ns();
        if intended_ns > end_ns {
            break;
        }
        while gaps.next_if(|gap| gap.end_ns < intended_ns).is_some() {}
        let gap = gaps.peek().filter(|gap| gap.start_ns < intended_ns);
        let usual_ns = (seen.look_ns / 2.0) as u64;
        let late_ns = gap.map_or(usual_ns, |gap| gap.end_ns - intended_ns);
        recorder.roll(intended_ns + late_ns);
        recorder.record(0, late_ns);
        schedule.advance();
    }
    recorder.finish(end_ns);
    drain
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::{Gap, Totals};
    use std::time::SystemTime;

    #[test]
    fn every_intended_time_is_seen_once_on_every_core() {
        let directory = tempfile::tempdir().unwrap();
        let hlog = directory.path().join("001.hlog");
        let cores = host::thread::allowed().unwrap();
        let wanted = HiccupSettings {
            cores: cores.clone(),
            scheduling: Scheduling::Other,
            rate_per_second: 1_000.0,
            seconds: 0.2,
        };
        let seen = look(&wanted, Clock::calibrate(), &AtomicBool::new(false)).unwrap();
        write(&wanted, &seen, &hlog).unwrap();
        let totals = record::hlog::totals(&std::fs::read(&hlog).unwrap()[..]).unwrap();
        assert_eq!(seen.iter().map(|seen| seen.core).collect::<Vec<_>>(), cores);
        for seen in seen {
            let count = totals[&format!("hiccup.core{}.noise", seen.core)].len();
            // One at 0, and one each millisecond up to the last look. In a sanitizer's build on a
            // busy machine, more looks are gaps than are kept: there, up to the last one kept.
            let is_whole = seen.gaps_not_kept() == 0;
            let end_ns = if is_whole { seen.end_ns } else { seen.gaps.last().unwrap().end_ns };
            let expected = (end_ns - seen.start_ns) / 1_000_000 + 1;
            assert!(count.abs_diff(expected) <= 1, "{count}, not {expected}");
            assert!(!is_whole || count >= 201, "{count}");
        }
    }

    fn seen(gaps: &[(u64, u64)], end_ns: u64, count: u64) -> MeterResult {
        let gap = |&(start_ns, end_ns): &(u64, u64)| Gap { start_ns, end_ns };
        MeterResult {
            core: 3,
            thread: 1,
            started: SystemTime::UNIX_EPOCH,
            start_ns: 0,
            end_ns,
            looks: 0,
            look_ns: 20.0,
            limit_ns: 70,
            gaps: gaps.iter().map(gap).collect(),
            totals: Totals { count, ..Totals::default() },
            anchors: [(0, 0); 2],
        }
    }

    fn counts(seen: &MeterResult) -> Vec<(u64, u64)> {
        let mut log = Vec::new();
        let drain = lateness(seen, 1_000.0);
        drain.run(SUBJECT, &mut log, SystemTime::UNIX_EPOCH, 0, &|| ()).unwrap();
        let totals = record::hlog::totals(&log[..]).unwrap();
        let values = totals["hiccup.core3.noise"].iter_recorded();
        values.map(|value| (value.value_iterated_to(), value.count_at_value())).collect()
    }

    /// Intended at 0, 1, 2, ... ms. A gap from 0.9 to 3.5 ms holds three of them back.
    #[test]
    fn lateness_comes_from_the_gaps() {
        let three = [(500_223, 1), (1_500_159, 1), (2_500_607, 1)];
        let gaps = [(900_000, 3_500_000), (3_600_000, 3_700_000)];
        let counted = counts(&seen(&gaps, 9_500_000, 2));
        assert_eq!(counted[0], (10, 7));
        assert_eq!(counted[1..], three);
        // One gap was not kept, so everything after the last kept one is unknown.
        let counted = counts(&seen(&gaps[..1], 9_500_000, 2));
        assert_eq!(counted[0], (10, 1));
        assert_eq!(counted[1..], three);
    }
}
