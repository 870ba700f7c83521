//! Self-exciting arrivals: each one makes the next more likely for a while, so they come in bursts.

mod fit;

pub use fit::{EVENTS_MIN, Fit, FitError, fit, rescaled};

use crate::random::exponential;
use clock::random::SplitMix64;

/// A Hawkes process with an exponential kernel. Its intensity, in events per second, is `base` plus
/// `jump * exp(-decay * age)` for each earlier event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hawkes {
    /// Intensity without earlier events, events per second.
    pub base: f64,
    /// Added by an event, events per second. Below `decay`, or the events multiply without end.
    pub jump: f64,
    /// How fast that fades, per second.
    pub decay: f64,
}

impl Hawkes {
    /// Without events.
    pub const NONE: Hawkes = Hawkes { base: 0.0, jump: 0.0, decay: 1.0 };

    /// The process with this mean rate per second; `branching`, in `[0, 1)`, is the share of events
    /// that earlier ones cause. With 0 it is a Poisson process.
    #[must_use]
    pub fn with_rate(rate_per_second: f64, branching: f64, decay_per_second: f64) -> Hawkes {
        Hawkes {
            base: rate_per_second * (1.0 - branching),
            jump: branching * decay_per_second,
            decay: decay_per_second,
        }
    }

    /// Share of events that earlier ones cause.
    #[must_use]
    pub fn branching(&self) -> f64 {
        self.jump / self.decay
    }
}

/// Draws the arrivals of a process one by one, without approximation (Dassios and Zhao 2013).
#[derive(Clone, Debug)]
pub struct Arrivals {
    process: Hawkes,
    /// Intensity above the base, at the last event.
    excess: f64,
    time_seconds: f64,
    random: SplitMix64,
}

impl Arrivals {
    /// From time 0, without earlier events.
    #[must_use]
    pub fn new(process: Hawkes, random: SplitMix64) -> Arrivals {
        Arrivals { process, excess: 0.0, time_seconds: 0.0, random }
    }

    /// The time of the next event, seconds; infinite if there will be none.
    pub fn next_seconds(&mut self) -> f64 {
        let Hawkes { base, jump, decay } = self.process;
        let own = exponential(&mut self.random) / base;
        // The excess fades, so it may cause no event at all.
        let left = 1.0 - decay * exponential(&mut self.random) / self.excess;
        let caused = if left > 0.0 { -libm::log(left) / decay } else { f64::INFINITY };
        let gap = own.min(caused);
        self.excess = self.excess * libm::exp(-decay * gap) + jump;
        self.time_seconds += gap;
        self.time_seconds
    }
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

    #[test]
    fn without_a_rate_nothing_arrives() {
        let mut arrivals = Arrivals::new(Hawkes::with_rate(0.0, 0.0, 1.0), SplitMix64::new(1));
        assert_eq!(arrivals.next_seconds(), f64::INFINITY);
    }
}
