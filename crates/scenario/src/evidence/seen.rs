//! Disturbance of the measured cores of one entrant in one run.

use clock::{monotonic_ns, wall_ns};
use ipc_bench::judge::DisturbedShares;
use noise::occupancy::{CoreOccupancy, OccupancyResult};
use record::hlog::measured_part;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

/// Disturbance of one measured core in the measured part of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct CoreSeen {
    pub core: usize,
    /// The load's pacer runs on this core, and the log has its lateness.
    pub paces: bool,
    pub windows: u64,
    pub away_seconds: f64,
    pub faults: u64,
    pub stolen_share: f64,
    /// Count, seconds in total and longest, s, by thread name.
    pub by: BTreeMap<String, (u64, f64, f64)>,
}

/// Disturbance of the measured cores of one entrant in one run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    /// Length of the measured part.
    pub seconds: f64,
    pub cores: Vec<CoreSeen>,
    /// Shares that are known message by message, by name and kind of the series.
    pub exact: BTreeMap<String, DisturbedShares>,
    /// Why this is unknown; empty if it is known.
    pub unknown: String,
}

impl Seen {
    pub(crate) fn unknown(why: &str) -> Seen {
        Seen { unknown: why.to_owned(), ..Seen::default() }
    }

    /// Selects the measured part of `subject`, by its log.
    pub(crate) fn of(
        accounted: &OccupancyResult,
        hlog: &Path,
        subject: &str,
        paces: Option<usize>,
    ) -> Seen {
        if !accounted.missing.is_empty() {
            return Seen::unknown(&accounted.missing);
        }
        let part =
            File::open(hlog).ok().and_then(|log| measured_part(BufReader::new(log), subject));
        let Some((from, to)) = part else { return Seen::unknown("nothing was measured") };
        // Distance between the log's clock and the account's; both run at the same rate for a run.
        let ahead_ns = wall_ns() as f64 - monotonic_ns() as f64;
        let on_account = |seconds: f64| (seconds * 1e9 - ahead_ns).max(0.0) as u64;
        let (from_ns, to_ns) = (on_account(from), on_account(to));
        let seconds = (to_ns.saturating_sub(from_ns) as f64 / 1e9).max(1e-9);
        let core = |one: &CoreOccupancy| {
            let faults = one.faults.iter().filter(|ns| (from_ns..to_ns).contains(*ns)).count();
            let mut seen = CoreSeen {
                core: one.core,
                paces: paces == Some(one.core),
                stolen_share: one.stolen_share,
                faults: faults as u64 + one.faults_later,
                ..CoreSeen::default()
            };
            // Windows with sums only are the last ones: in the measured part, or just after it.
            let mut taken = one.windows_later.clone();
            for window in &one.windows {
                let (start, end) = (window.start_ns.max(from_ns), window.end_ns.min(to_ns));
                if start < end {
                    taken.entry(window.by).or_default().add(end - start);
                }
            }
            for (name, taken) in taken {
                let (length, longest) = (taken.ns as f64 / 1e9, taken.longest_ns as f64 / 1e9);
                seen.windows += taken.windows;
                seen.away_seconds += length;
                let name = format!("thread.{}", accounted.names.of(name));
                seen.by.insert(name, (taken.windows, length, longest));
            }
            seen
        };
        Seen { seconds, cores: accounted.cores.iter().map(core).collect(), ..Seen::default() }
    }
}
