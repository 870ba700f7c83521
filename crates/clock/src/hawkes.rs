//! Self-exciting arrivals: each one makes the next more likely for a while, so they come in bursts.
//! Logarithms come from `libm`, not from the platform, so that a seed means the same everywhere.

use crate::random::{SplitMix64, exponential};
use crate::schedule::stretched_ns;

/// The most kernels of a process.
pub const KERNELS_MAX: usize = 2;

/// How an event excites later ones: the intensity gets `jump * exp(-decay * age)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kernel {
    /// Added by an event, events per second.
    pub jump: f64,
    /// How fast that fades, per second.
    pub decay: f64,
}

impl Kernel {
    /// It excites nothing.
    pub const NONE: Kernel = Kernel { jump: 0.0, decay: 1.0 };

    /// Number of events that an event causes directly.
    #[must_use]
    pub fn branching(&self) -> f64 {
        self.jump / self.decay
    }
}

/// A Hawkes process with exponential kernels. Its intensity, in events per second, is `base`
/// plus, for each earlier event, the part of each kernel that has not faded yet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hawkes {
    /// Intensity without earlier events, events per second.
    pub base: f64,
    /// A fast and a slow one; the second may be [`Kernel::NONE`].
    pub kernels: [Kernel; KERNELS_MAX],
}

impl Hawkes {
    /// Without events.
    pub const NONE: Hawkes = Hawkes { base: 0.0, kernels: [Kernel::NONE; KERNELS_MAX] };

    /// The process with this mean rate per second and one kernel; `branching`, in `[0, 1)`, is the
    /// share of events that earlier ones cause. With 0 it is a Poisson process.
    #[must_use]
    pub fn with_rate(rate_per_second: f64, branching: f64, decay_per_second: f64) -> Hawkes {
        Hawkes::with_kernels(rate_per_second, [(branching, decay_per_second), (0.0, 1.0)])
    }

    /// The process with this mean rate per second; each kernel has its branching and its decay per
    /// second. The sum of the branchings must be below 1, or the events multiply without end.
    #[must_use]
    pub fn with_kernels(rate_per_second: f64, kernels: [(f64, f64); KERNELS_MAX]) -> Hawkes {
        let total: f64 = kernels.iter().map(|(branching, _)| branching).sum();
        let kernel = |(branching, decay)| Kernel { jump: branching * decay, decay };
        Hawkes { base: rate_per_second * (1.0 - total), kernels: kernels.map(kernel) }
    }

    /// Share of events that earlier ones cause.
    #[must_use]
    pub fn branching(&self) -> f64 {
        self.kernels.iter().map(Kernel::branching).sum()
    }
}

/// Draws the arrivals of a process one by one, without approximation (Dassios and Zhao 2013).
#[derive(Clone, Debug)]
pub struct Arrivals {
    process: Hawkes,
    /// Intensity above the base by each kernel, at the last event.
    excess: [f64; KERNELS_MAX],
    time_seconds: f64,
    random: SplitMix64,
}

impl Arrivals {
    /// From time 0, without earlier events.
    #[must_use]
    pub fn new(process: Hawkes, random: SplitMix64) -> Arrivals {
        Arrivals { process, excess: [0.0; KERNELS_MAX], time_seconds: 0.0, random }
    }

    /// The time of the next event, seconds; infinite if there will be none.
    pub fn next_seconds(&mut self) -> f64 {
        let Hawkes { base, kernels } = self.process;
        let mut gap = exponential(&mut self.random) / base;
        gap = gap.min(caused(kernels[0].decay, self.excess[0], &mut self.random));
        // Without a second kernel there is no draw for it: the markets of one kernel stay the same.
        if kernels[1].jump > 0.0 {
            gap = gap.min(caused(kernels[1].decay, self.excess[1], &mut self.random));
        }
        for (kernel, excess) in kernels.iter().zip(&mut self.excess) {
            *excess = *excess * libm::exp(-kernel.decay * gap) + kernel.jump;
        }
        self.time_seconds += gap;
        self.time_seconds
    }
}

/// The due times of `count` messages at exactly that mean rate, ns after the start: the first
/// events of the process, stretched. By itself the process would end early or late.
#[must_use]
pub fn schedule_ns(process: Hawkes, seed: u64, count: usize, rate_per_second: f64) -> Vec<u64> {
    let mut arrivals = Arrivals::new(process, SplitMix64::new(seed));
    let times: Vec<f64> = (0..=count).map(|_| arrivals.next_seconds()).collect();
    stretched_ns(&times, rate_per_second)
}

/// Time to the next event of an intensity that fades; infinite if it causes none.
fn caused(decay: f64, excess: f64, random: &mut SplitMix64) -> f64 {
    let left = 1.0 - decay * exponential(random) / excess;
    if left > 0.0 { -libm::log(left) / decay } else { f64::INFINITY }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(process: Hawkes, seed: u64, seconds: f64) -> Vec<f64> {
        let mut arrivals = Arrivals::new(process, SplitMix64::new(seed));
        std::iter::from_fn(|| Some(arrivals.next_seconds())).take_while(|t| *t < seconds).collect()
    }

    /// The number of events in a long time has the mean `rate * time` and the variance
    /// `rate * time / (1 - branching)^2`.
    #[test]
    fn counts_have_the_known_mean_and_variance() {
        for branching in [0.0, 0.5, 0.8] {
            let process = Hawkes::with_rate(100.0, branching, 50.0);
            assert!((process.branching() - branching).abs() < 1e-12);
            let counts: Vec<f64> =
                (0..400).map(|seed| times(process, seed, 50.0).len() as f64).collect();
            let mean = counts.iter().sum::<f64>() / 400.0;
            let variance = counts.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / 399.0;
            let expected = 5_000.0 / (1.0 - branching).powi(2);
            // Four standard errors. The process begins without a past, which costs 1 event at most.
            let bound = 4.0 * (expected / 400.0_f64).sqrt() + 1.0;
            assert!((mean - 5_000.0).abs() < bound, "{branching}: {mean}");
            let ratio = variance / expected;
            assert!((ratio - 1.0).abs() < 4.0 * (2.0_f64 / 399.0).sqrt(), "{branching}: {ratio}");
        }
    }

    /// The same law holds for two kernels, whatever their decays are.
    #[test]
    fn two_kernels_branch_together() {
        let process = Hawkes::with_kernels(100.0, [(0.3, 400.0), (0.4, 5.0)]);
        assert!((process.branching() - 0.7).abs() < 1e-12);
        let counts: Vec<f64> =
            (0..300).map(|seed| times(process, seed, 100.0).len() as f64).collect();
        let mean = counts.iter().sum::<f64>() / 300.0;
        let expected = 10_000.0 / 0.3_f64.powi(2);
        // The process begins without a past: the slow kernel loses some events.
        let bound = 4.0 * (expected / 300.0_f64).sqrt();
        assert!((mean - 10_000.0).abs() < bound + 60.0, "{mean}");
        let variance = counts.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / 299.0;
        let ratio = variance / expected;
        assert!((ratio - 1.0).abs() < 4.0 * (2.0_f64 / 299.0).sqrt(), "{ratio}");
    }

    #[test]
    fn without_a_rate_nothing_arrives() {
        let mut arrivals = Arrivals::new(Hawkes::with_rate(0.0, 0.0, 1.0), SplitMix64::new(1));
        assert_eq!(arrivals.next_seconds(), f64::INFINITY);
    }

    /// The end of the schedule is the end of a uniform one, in bursts or without, and most of a
    /// schedule of bursts is closer together than the mean gap.
    #[test]
    fn a_schedule_keeps_the_rate_exactly() {
        for branching in [0.0, 0.9] {
            let process = Hawkes::with_rate(1_000.0, branching, 5_000.0);
            let times = schedule_ns(process, 7, 20_000, 1_000.0);
            assert_eq!((times.len(), times[0]), (20_000, 0));
            assert!(times.is_sorted());
            let last = times[19_999];
            assert!((19_000_000_000..20_000_000_000).contains(&last), "{branching}: {last}");
            let close = times.windows(2).filter(|pair| pair[1] - pair[0] < 100_000).count();
            // A tenth of the mean is longer than 1 - exp(-0.1) = 9.5 % of exponential gaps.
            let expected = if branching == 0.0 { 1_700..2_100 } else { 8_000..20_000 };
            assert!(expected.contains(&close), "{branching}: {close}");
            assert_eq!(times, schedule_ns(process, 7, 20_000, 1_000.0));
            assert_ne!(times, schedule_ns(process, 8, 20_000, 1_000.0));
        }
    }

    #[test]
    fn a_schedule_may_be_empty() {
        assert_eq!(schedule_ns(Hawkes::with_rate(1.0, 0.5, 1.0), 1, 0, 1.0), [0; 0]);
    }
}
