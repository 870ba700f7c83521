//! Disturbance of the measured cores of one entrant in one run.

use clock::{monotonic_ns, wall_ns};
use ipc_bench::judge::DisturbedShares;
use noise::occupancy::{CoreOccupancy, OccupancyResult};
use record::hlog::measured_part;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

/// The log's times are rounded to this, and its clock may be adjusted by as much in a run, ns.
const ROUNDING_NS: f64 = 2e6;

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
    /// Count, seconds in total and longest, s.
    pub by: BTreeMap<Taker, (u64, f64, f64)>,
}

/// The threads of one name that took a core.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Taker {
    /// `thread.NAME`.
    pub name: String,
    /// Their process belongs to this run.
    pub is_own: bool,
}

/// Disturbance of the measured cores of one entrant in one run.
#[derive(Clone, Debug, Default)]
pub(crate) struct EntrantDisturbance {
    /// Length of the measured part.
    pub seconds: f64,
    pub cores: Vec<CoreSeen>,
    /// Shares that are known message by message, by name and kind of the series.
    pub exact: BTreeMap<String, DisturbedShares>,
    /// Why this is unknown; empty if it is known.
    pub unknown: String,
}

impl EntrantDisturbance {
    pub(crate) fn unknown(why: &str) -> EntrantDisturbance {
        EntrantDisturbance { unknown: why.to_owned(), ..EntrantDisturbance::default() }
    }

    /// Selects the measured part of `subject`, by its log.
    pub(crate) fn of(
        occupancy: &OccupancyResult,
        hlog: &Path,
        subject: &str,
        paces: Option<usize>,
    ) -> EntrantDisturbance {
        if !occupancy.missing.is_empty() {
            return EntrantDisturbance::unknown(&occupancy.missing);
        }
        let part = File::open(hlog)
            .map_err(|error| format!("the log can't be read: {error}"))
            .and_then(|log| measured_part(BufReader::new(log), subject));
        let (from, to) = match part {
            Ok(part) => part,
            Err(why) => return EntrantDisturbance::unknown(&why),
        };
        // Distance between the log's clock and the kernel's; both run at the same rate for a run.
        let ahead_ns = wall_ns() as f64 - monotonic_ns() as f64;
        let (from_ns, to_ns) = (from * 1e9 - ahead_ns, to * 1e9 - ahead_ns);
        if let Some(outside) = outside(occupancy, from_ns, to_ns) {
            return EntrantDisturbance::unknown(&outside);
        }
        let (from_ns, to_ns) = (from_ns.max(0.0) as u64, to_ns.max(0.0) as u64);
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
            for (number, taken) in taken {
                let (length, longest) = (taken.ns as f64 / 1e9, taken.longest_ns as f64 / 1e9);
                seen.windows += taken.windows;
                seen.away_seconds += length;
                let name = format!("thread.{}", occupancy.names.of(number));
                let is_own = occupancy.names.is_own(number);
                let taker = Taker { name, is_own };
                seen.by.insert(taker, (taken.windows, length, longest));
            }
            seen
        };
        EntrantDisturbance {
            seconds,
            cores: occupancy.cores.iter().map(core).collect(),
            ..EntrantDisturbance::default()
        }
    }
}

/// Why the occupancy does not cover the measured part; `None` if it does. Without this, a part at
/// any other time would count as undisturbed.
fn outside(occupancy: &OccupancyResult, from_ns: f64, to_ns: f64) -> Option<String> {
    let (start_ns, end_ns) = occupancy.span_ns;
    let before = start_ns as f64 - from_ns;
    let after = to_ns - end_ns as f64;
    let outside_ns = before.max(after);
    (outside_ns > ROUNDING_NS).then(|| {
        format!(
            "the log's times begin {:.3} s before or end {:.3} s after the occupancy of the cores; \
             a client writes the times that clients/CONTRACT.md names",
            before.max(0.0) / 1e9,
            after.max(0.0) / 1e9
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A log of `header` and one interval of a second, seen over an occupancy of 10 s around now.
    fn seen(log: impl Fn(f64) -> String) -> EntrantDisturbance {
        let (wall, monotonic_ns) = (wall_ns() as f64 / 1e9, monotonic_ns());
        let around = 5_000_000_000;
        let core = CoreOccupancy { core: 1, ..CoreOccupancy::default() };
        let occupancy = OccupancyResult {
            cores: vec![core],
            span_ns: (monotonic_ns.saturating_sub(around), monotonic_ns + around),
            ..OccupancyResult::default()
        };
        let directory = tempfile::tempdir().unwrap();
        let hlog = directory.path().join("001.hlog");
        std::fs::write(&hlog, log(wall)).unwrap();
        EntrantDisturbance::of(&occupancy, &hlog, "java", None)
    }

    /// Such a log's part once lay outside the occupancy, its disturbed share was 0, and the record
    /// held.
    #[test]
    fn a_part_outside_the_account_is_not_judged() {
        let interval = |start: f64| format!("Tag=java.order.service,{start:.3},1.000,1.0,AAAA\n");
        let inside = |wall| interval(wall - 2.0);
        assert_eq!(seen(inside).unknown, "");
        assert!((seen(inside).seconds - 1.0).abs() < 1e-3);
        let start = |wall: f64| format!("#[StartTime: {wall:.3} (seconds since epoch), now]\n");
        assert_eq!(seen(|wall| start(wall - 3.0) + &interval(wall - 2.0)).unknown, "");
        assert_eq!(seen(|wall| start(wall - 3.0) + &interval(1.0)).unknown, "");
        for outside in [0.0, 1e9] {
            let unknown = seen(|_| interval(outside)).unknown;
            assert!(unknown.contains("clients/CONTRACT.md"), "{unknown}");
        }
        let straddles = seen(|wall| interval(wall - 5.5)).unknown;
        assert!(straddles.contains("before"), "{straddles}");
        assert!(seen(|wall| interval(wall + 4.5)).unknown.contains("after"));
        assert!(seen(|wall| interval(wall) + "Tag=java.or").unknown.contains("line 2"));
        assert!(seen(|_| String::new()).unknown.contains("no interval"));
    }
}
