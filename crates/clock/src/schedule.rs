//! The time at which each message is meant to be sent. An open-loop schedule is fixed before the
//! run and never re-based: a late message stays late, and its lateness is part of the response
//! time.

use crate::random::SplitMix64;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Distribution of messages over time at a given mean rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arrival {
    /// One message every `1 / rate`.
    #[default]
    Uniform,
    /// Independent exponential gaps: the memoryless arrivals of queueing theory.
    Poisson,
    /// Groups of `burst` messages due at the same instant, groups evenly spaced.
    Burst,
    /// Each message makes the next ones more likely for a while ([`crate::hawkes`]).
    Hawkes,
    /// As events that were recorded.
    Recorded,
}

impl Arrival {
    /// Whether all due times are made before the run.
    pub fn is_made_before(self) -> bool {
        matches!(self, Arrival::Hawkes | Arrival::Recorded)
    }

    /// The name in a scenario.
    pub fn name(self) -> &'static str {
        match self {
            Arrival::Uniform => "uniform",
            Arrival::Poisson => "poisson",
            Arrival::Burst => "burst",
            Arrival::Hawkes => "hawkes",
            Arrival::Recorded => "recorded",
        }
    }
}

/// The largest rate a schedule takes: one message a nanosecond.
pub const RATE_PER_SECOND_MAX: f64 = 1e9;

/// An endless sequence of intended send times, ns after the start of the run.
#[derive(Clone, Debug)]
pub struct Schedule {
    steps: Steps,
    /// Mean gap between messages, ns, 32 fractional bits: the error of a day at any rate stays
    /// below one gap.
    gap_fixed: u128,
    random: SplitMix64,
    index: u64,
    offset_fixed: u128,
}

/// The way from one message to the next.
#[derive(Clone, Debug)]
enum Steps {
    Uniform,
    Poisson,
    /// Messages of a burst.
    Burst(u64),
    /// Times that were made before, ns, ascending.
    Times(Arc<[u64]>),
}

impl Schedule {
    /// A schedule of `rate_per_second` messages, in `(0, 1e9]`; `burst` (at least 1) counts for
    /// [`Arrival::Burst`] only, `seed` for [`Arrival::Poisson`] only.
    ///
    /// # Panics
    /// If the rate or the burst is out of range, or if `arrival` needs times that are made before
    /// (use [`Schedule::at_times`]). The checks of a scenario exclude both.
    pub fn new(rate_per_second: f64, arrival: Arrival, burst: u64, seed: u64) -> Schedule {
        assert!(rate_per_second > 0.0 && rate_per_second <= RATE_PER_SECOND_MAX);
        assert!(burst >= 1);
        let steps = match arrival {
            Arrival::Uniform => Steps::Uniform,
            Arrival::Poisson => Steps::Poisson,
            Arrival::Burst => Steps::Burst(burst),
            Arrival::Hawkes | Arrival::Recorded => panic!("its times are made before"),
        };
        let gap_fixed = (1e9 / rate_per_second * FIXED_ONE).round() as u128;
        let random = SplitMix64::new(seed);
        let mut schedule = Schedule { steps, gap_fixed, random, index: 0, offset_fixed: 0 };
        if arrival == Arrival::Poisson {
            schedule.offset_fixed = schedule.exponential_gap();
        }
        schedule
    }

    /// A schedule at these times, ns after the start, ascending. After the last one it stands
    /// still. Copies share the times.
    pub fn at_times(times_ns: Arc<[u64]>) -> Schedule {
        let first_ns = times_ns.first().copied().unwrap_or(0);
        Schedule {
            steps: Steps::Times(times_ns),
            gap_fixed: 0,
            random: SplitMix64::new(0),
            index: 0,
            offset_fixed: u128::from(first_ns) << 32,
        }
    }

    /// When the next message is due, ns after the start.
    #[inline]
    pub fn offset_ns(&self) -> u64 {
        (self.offset_fixed >> 32) as u64
    }

    /// Number of that message, from 0.
    #[inline]
    pub fn index(&self) -> u64 {
        self.index
    }

    /// Advances to the next message.
    #[inline]
    pub fn advance(&mut self) {
        self.index += 1;
        match &self.steps {
            Steps::Uniform => self.offset_fixed += self.gap_fixed,
            Steps::Poisson => self.offset_fixed += self.exponential_gap(),
            Steps::Burst(burst) => {
                if self.index.is_multiple_of(*burst) {
                    self.offset_fixed += self.gap_fixed * u128::from(*burst);
                }
            }
            Steps::Times(times_ns) => {
                if let Some(time_ns) = times_ns.get(self.index as usize) {
                    self.offset_fixed = u128::from(*time_ns) << 32;
                }
            }
        }
    }

    fn exponential_gap(&mut self) -> u128 {
        (-self.random.unit_open().ln() * self.gap_fixed as f64) as u128
    }
}

/// The due times of messages at exactly that mean rate, ns after the start, ascending from 0: the
/// given times, multiplied by one factor. The last of them is no message: it is where the next one
/// would be due.
pub fn stretched_ns(times: &[f64], rate_per_second: f64) -> Vec<u64> {
    let (Some((end, times)), Some(first)) = (times.split_last(), times.first()) else {
        return Vec::new();
    };
    let length = end - first;
    let factor =
        if length > 0.0 { times.len() as f64 / rate_per_second * 1e9 / length } else { 0.0 };
    times.iter().map(|time| ((time - first) * factor) as u64).collect()
}

const FIXED_ONE: f64 = (1u64 << 32) as f64;

#[cfg(test)]
mod tests {
    use super::*;

    fn offsets(mut schedule: Schedule, n: usize) -> Vec<u64> {
        (0..n)
            .map(|_| {
                let offset = schedule.offset_ns();
                schedule.advance();
                offset
            })
            .collect()
    }

    #[test]
    fn uniform_is_evenly_spaced_from_zero() {
        let schedule = Schedule::new(10_000.0, Arrival::Uniform, 1, 0);
        assert_eq!(offsets(schedule, 4), [0, 100_000, 200_000, 300_000]);
    }

    #[test]
    fn a_rate_that_does_not_divide_a_second_does_not_drift() {
        let mut schedule = Schedule::new(3_000_000.0, Arrival::Uniform, 1, 0);
        for _ in 0..30_000_000u64 {
            schedule.advance();
        }
        assert!(schedule.offset_ns().abs_diff(10_000_000_000) <= 10);
    }

    #[test]
    fn poisson_has_the_mean_and_the_spread_of_exponential_gaps() {
        let n = 200_000;
        let offsets = offsets(Schedule::new(1_000_000.0, Arrival::Poisson, 1, 7), n);
        let gaps: Vec<f64> = offsets.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let longer_than_mean = gaps.iter().filter(|gap| **gap > mean).count() as f64;
        // Standard error of the mean is 1000 / sqrt(n) = 2.2 ns; of the share, 0.11 %.
        assert!((mean - 1000.0).abs() < 15.0, "mean gap {mean} ns");
        let share = longer_than_mean / gaps.len() as f64;
        assert!((share - (-1.0f64).exp()).abs() < 0.008, "share above the mean {share}");
    }

    #[test]
    fn the_same_seed_gives_the_same_schedule() {
        let schedule = |seed| offsets(Schedule::new(5e5, Arrival::Poisson, 1, seed), 100);
        assert_eq!(schedule(3), schedule(3));
        assert_ne!(schedule(3), schedule(4));
    }

    #[test]
    fn bursts_are_due_together_and_keep_the_mean_rate() {
        let schedule = Schedule::new(1_000_000.0, Arrival::Burst, 3, 0);
        assert_eq!(offsets(schedule, 7), [0, 0, 0, 3_000, 3_000, 3_000, 6_000]);
    }

    #[test]
    fn times_that_were_made_are_kept_and_the_last_one_stays() {
        let schedule = Schedule::at_times([3, 3, 50].into());
        assert_eq!(offsets(schedule.clone(), 5), [3, 3, 50, 50, 50]);
        assert_eq!(schedule.index(), 0);
        assert_eq!(offsets(Schedule::at_times([].into()), 2), [0, 0]);
    }

    #[test]
    fn stretched_times_have_the_rate() {
        assert_eq!(stretched_ns(&[5.0, 5.0, 6.0, 9.0], 3.0), [0, 0, 250_000_000]);
        assert_eq!(stretched_ns(&[5.0, 5.0], 3.0), [0]);
        assert_eq!(stretched_ns(&[5.0], 3.0), [0; 0]);
        assert_eq!(stretched_ns(&[], 3.0), [0; 0]);
    }
}
