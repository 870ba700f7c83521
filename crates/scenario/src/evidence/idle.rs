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
    /// Number and total time, s, of the gaps in which other threads ran. The account of a run
    /// counts those separately.
    preempted: u64,
    preempted_seconds: f64,
}

impl Idle {
    /// From the meter's gaps and the account of the same time.
    pub(crate) fn of(seen: &MeterResult, accounted: &OccupancyResult) -> Idle {
        let mut gaps_ns: Vec<u64> = seen.gaps.iter().map(|gap| gap.length_ns()).collect();
        gaps_ns.sort_unstable();
        let on_core = accounted.cores.iter().find(|core| core.core == seen.core);
        let windows = on_core.map_or(&[][..], |core| &core.windows);
        Idle {
            core: seen.core,
            seconds: (seen.end_ns - seen.start_ns) as f64 / 1e9,
            gaps_ns,
            preempted: windows.len() as u64,
            preempted_seconds: windows.iter().map(|one| one.end_ns - one.start_ns).sum::<u64>()
                as f64
                / 1e9,
        }
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

    #[test]
    fn gaps_that_other_threads_made_are_not_counted_twice() {
        let idle = Idle { preempted: 1, preempted_seconds: 30e-6, ..idle(vec![10_000, 30_000]) };
        let (share, mean) = idle.interrupted(1_000);
        assert!((share - 10e-6).abs() < 1e-9 && (mean - 10e-6).abs() < 1e-9, "{share} {mean}");
    }
}
