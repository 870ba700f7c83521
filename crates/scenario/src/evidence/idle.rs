//! Idle looks before and after a run: what interrupts and the hypervisor take from a core, whatever
//! runs there.

use noise::meter::MeterResult;
use noise::occupancy::OccupancyResult;

/// The gaps that an idle thread saw on one core.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Idle {
    pub core: usize,
    seconds: f64,
    /// Lengths of the gaps between two looks, ns, sorted.
    gaps_ns: Vec<u64>,
    /// Number and total time, s, of the gaps in which other threads ran. The occupancy of a run
    /// counts those separately.
    preempted: u64,
    preempted_seconds: f64,
}

impl Idle {
    /// From the meter's gaps and the occupancy of the same time. If the meter could not keep all
    /// gaps, the look ends with the last one that it kept.
    pub(crate) fn of(seen: &MeterResult, occupancy: &OccupancyResult) -> Idle {
        let end_ns = match seen.gaps.last() {
            Some(last) if seen.gaps_not_kept() > 0 => last.end_ns,
            _ => seen.end_ns,
        };
        let mut gaps_ns: Vec<u64> = seen.gaps.iter().map(|gap| gap.length_ns()).collect();
        gaps_ns.sort_unstable();
        let on_core = occupancy.cores.iter().find(|core| core.core == seen.core);
        let windows = on_core.map_or(&[][..], |core| &core.windows);
        Idle {
            core: seen.core,
            seconds: (end_ns - seen.start_ns) as f64 / 1e9,
            gaps_ns,
            preempted: windows.len() as u64,
            preempted_seconds: windows.iter().map(|one| one.end_ns - one.start_ns).sum::<u64>()
                as f64
                / 1e9,
        }
    }

    /// A second without a gap.
    #[cfg(test)]
    pub(crate) fn quiet(core: usize) -> Idle {
        Idle { core, seconds: 1.0, ..Idle::default() }
    }

    /// Share of the time in gaps of at least `from_ns`, without those of other threads, and the
    /// mean length of such a gap, s.
    pub(crate) fn interrupted(&self, from_ns: u64) -> (f64, f64) {
        let first = self.gaps_ns.partition_point(|ns| *ns < from_ns);
        let gaps = &self.gaps_ns[first..];
        let times = (gaps.len() as u64).saturating_sub(self.preempted).max(1);
        let lost = gaps.iter().sum::<u64>() as f64 / 1e9;
        let seconds = (lost - self.preempted_seconds).max(0.0);
        (seconds / self.seconds.max(1e-9), seconds / times as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use noise::meter::{Gap, Totals};

    fn idle(gaps_ns: Vec<u64>) -> Idle {
        Idle { core: 1, seconds: 1.0, gaps_ns, preempted: 0, preempted_seconds: 0.0 }
    }

    #[test]
    fn only_gaps_that_a_figure_would_show_count() {
        let idle = idle(vec![100, 900, 10_000, 30_000]);
        let (share, mean) = idle.interrupted(1_000);
        assert!((share - 40e-6).abs() < 1e-9 && (mean - 20e-6).abs() < 1e-12, "{share} {mean}");
        assert_eq!(idle.interrupted(50_000).0, 0.0);
    }

    /// The rest of the time counted as undisturbed.
    #[test]
    fn a_look_of_which_gaps_are_missing_ends_with_the_last_one() {
        let totals = |count| Totals { count, ..Totals::default() };
        let seen = |count| MeterResult {
            core: 1,
            thread: 1,
            started: std::time::SystemTime::UNIX_EPOCH,
            start_ns: 0,
            end_ns: 1_000_000_000,
            looks: 0,
            look_ns: 20.0,
            limit_ns: 70,
            gaps: vec![
                Gap { start_ns: 40_000, end_ns: 50_000 },
                Gap { start_ns: 90_000, end_ns: 100_000 },
            ],
            totals: totals(count),
            anchors: [(0, 0); 2],
        };
        let share =
            |count| Idle::of(&seen(count), &OccupancyResult::default()).interrupted(1_000).0;
        assert!((share(2) - 20e-6).abs() < 1e-12);
        assert!((share(3) - 0.2).abs() < 1e-12);
    }

    #[test]
    fn gaps_that_other_threads_made_are_not_counted_twice() {
        let idle = Idle { preempted: 1, preempted_seconds: 30e-6, ..idle(vec![10_000, 30_000]) };
        let (share, mean) = idle.interrupted(1_000);
        assert!((share - 10e-6).abs() < 1e-9 && (mean - 10e-6).abs() < 1e-9, "{share} {mean}");
    }
}
