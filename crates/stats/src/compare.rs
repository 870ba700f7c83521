//! Tells a difference between A and B from the machine's noise: better, worse or inconclusive.
//!
//! The unit is a run, not a message, because the millions of messages of one run share one state of
//! the machine. A run gives one value per percentile; this module compares the runs of A with those
//! of B.
//!
//! A difference counts if it passes two hurdles. It must be more than chance: a permutation test
//! over runs, corrected for the number of percentiles tested (Holm 1979). And it must exceed the
//! machine's own noise: the size that the same estimator stays below in 95 of 100 comparisons of A
//! with A.
//!
//! See docs/decisions/003-runs-and-records.md.

use crate::median;
use crate::permutation::{SEED, all_choices, all_flips, below, critical, ranks, two_sided};
use clock::random::SplitMix64;
use serde::{Deserialize, Serialize};

/// A difference counts if chance would show it less often than this, over all figures together.
pub const SIGNIFICANCE: f64 = 0.05;
/// With fewer runs of each, no difference can be told from chance.
pub const RUNS_MIN: usize = 6;
/// Histograms keep three digits: smaller differences are invisible.
const RESOLUTION: f64 = 0.001;
/// Histograms keep whole nanoseconds, so no clock's step is smaller.
const STEP_NS_MIN: u64 = 1;
/// Comparisons of A with A from which the noise floor is taken; fewer with very many runs.
const NOISE_DRAWS: usize = 999;
const NOISE_DRAWS_MIN: usize = 49;
const NOISE_DIFFERENCES_MAX: usize = 10_000_000;
/// How the runs of A and B were made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Design {
    /// Interleaved, A B B A A B …: run i of A was made next to run i of B.
    Interleaved,
    /// One after the other, or on another day.
    Apart,
}

/// Result of a comparison of B with A.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// B's latency is lower.
    Better,
    /// B's latency is higher.
    Worse,
    /// Neither could be shown.
    Inconclusive,
}

impl Outcome {
    /// The name in a record.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Better => "better",
            Outcome::Worse => "worse",
            Outcome::Inconclusive => "inconclusive",
        }
    }
}

/// One figure of A and B, before the correction for the number of figures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Effect {
    /// Median over A's runs, ns.
    pub a: u64,
    /// Median over B's runs, ns.
    pub b: u64,
    /// B less A as a share of A: 0.05 is 5 % slower. The Hodges-Lehmann estimate over the
    /// logarithms of the runs.
    pub change: f64,
    /// Confidence interval of `change`, at least 95 %.
    pub interval: [f64; 2],
    /// B less A, ns, by the same estimate.
    pub added_ns: i64,
    /// Confidence interval of `added_ns`, at least 95 %.
    pub added_ns_interval: [i64; 2],
    /// Size of the same estimate that 95 of 100 comparisons of A with A stay below, as a share.
    pub noise_floor: f64,
    /// Probability that chance alone shows as much, two-sided.
    pub p: f64,
}

/// Compares a figure's values of A's runs with those of B's, each in order of time, ns. The noise
/// floor is at least `control`, the change of something that cannot have changed (the raw echo),
/// and at least one step of the clock, `step_ns`, because half a nanosecond may move every run by a
/// step. `None` if either has fewer than [`RUNS_MIN`] runs or, when interleaved, if their numbers
/// differ.
pub fn effect(
    design: Design,
    a: &[u64],
    b: &[u64],
    control: Option<f64>,
    step_ns: u64,
) -> Option<Effect> {
    if a.len().min(b.len()) < RUNS_MIN || (design == Design::Interleaved && a.len() != b.len()) {
        return None;
    }
    let log = |values: &[u64]| -> Vec<f64> {
        values.iter().map(|value| (*value.max(&1) as f64).ln()).collect()
    };
    let (log_a, log_b) = (log(a), log(b));
    let plain = |values: &[u64]| -> Vec<f64> { values.iter().map(|value| *value as f64).collect() };
    let (plain_a, plain_b) = (plain(a), plain(b));
    let ScaledEffect { estimate, p, noise } = found(design, &log_a, &log_b);
    let added = match design {
        Design::Interleaved => beside(&pairs(&plain_a, &plain_b)),
        Design::Apart => apart(&plain_a, &plain_b),
    };
    // In logarithms, halving is as large as doubling.
    let control = control.map_or(0.0, |change| share(change.ln_1p().abs()));
    let (a, b) = (median(a)?, median(b)?);
    // The extra 1e-9 keeps one step from counting as more than one step after rounding.
    let step = step_ns.max(STEP_NS_MIN) as f64 / a.min(b).max(1) as f64 * (1.0 + 1e-6);
    Some(Effect {
        a,
        b,
        change: share(estimate.middle),
        interval: [share(estimate.low), share(estimate.high)],
        added_ns: added.middle as i64,
        added_ns_interval: [added.low as i64, added.high as i64],
        noise_floor: share(noise).max(RESOLUTION).max(step).max(control),
        p,
    })
}

/// An effect on some scale.
struct ScaledEffect {
    estimate: Estimate,
    p: f64,
    noise: f64,
}

fn found(design: Design, a: &[f64], b: &[f64]) -> ScaledEffect {
    match design {
        Design::Interleaved => {
            let pairs = pairs(a, b);
            let estimate = beside(&pairs);
            let noise = noise_beside(a, b, &pairs, estimate.middle);
            ScaledEffect { estimate, p: p_beside(&pairs), noise }
        }
        Design::Apart => {
            ScaledEffect { estimate: apart(a, b), p: p_apart(a, b), noise: noise_within(a, b) }
        }
    }
}

/// As [`effect`], for shares in parts per million. A disturbance adds the same to a small share as
/// to a large one, so `change`, its interval and the noise floor are differences: 0.05 is five
/// percentage points more. `added_ns` is the same in parts per million. A change of less than
/// `step_ppm` is invisible.
pub fn effect_on_share(design: Design, a: &[u64], b: &[u64], step_ppm: u64) -> Option<Effect> {
    if a.len().min(b.len()) < RUNS_MIN || (design == Design::Interleaved && a.len() != b.len()) {
        return None;
    }
    let shares =
        |values: &[u64]| -> Vec<f64> { values.iter().map(|ppm| *ppm as f64 / 1e6).collect() };
    let ScaledEffect { estimate, p, noise } = found(design, &shares(a), &shares(b));
    let ppm = |share: f64| (share * 1e6).round() as i64;
    Some(Effect {
        a: median(a)?,
        b: median(b)?,
        change: estimate.middle,
        interval: [estimate.low, estimate.high],
        added_ns: ppm(estimate.middle),
        added_ns_interval: [ppm(estimate.low), ppm(estimate.high)],
        noise_floor: noise.max(step_ppm as f64 / 1e6),
        p,
    })
}

/// As [`outcome`], for [`effect_on_share`].
pub fn outcome_on_share(effect: &Effect, p_adjusted: f64) -> Outcome {
    match p_adjusted < SIGNIFICANCE && effect.change.abs() > effect.noise_floor {
        false => Outcome::Inconclusive,
        true if effect.change < 0.0 => Outcome::Better,
        true => Outcome::Worse,
    }
}

/// Converts a difference of logarithms to a share.
fn share(log: f64) -> f64 {
    log.exp_m1()
}

/// An estimate of a difference, with its interval.
struct Estimate {
    low: f64,
    middle: f64,
    high: f64,
}

impl Estimate {
    /// From the differences of all pairs. The interval leaves out `below` of them at either end.
    fn of(mut differences: Vec<f64>, below: usize) -> Estimate {
        differences.sort_unstable_by(f64::total_cmp);
        let last = differences.len() - 1;
        let below = below.min(last / 2);
        Estimate {
            low: differences[below],
            middle: middle(&differences),
            high: differences[last - below],
        }
    }
}

/// The median of sorted values.
fn middle(sorted: &[f64]) -> f64 {
    f64::midpoint(sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2])
}

/// B less A, run by run. Rounded far below the resolution, so that equal differences are equal to
/// the last bit.
fn pairs(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| ((b - a) * 1e9).round() / 1e9).collect()
}

/// Hodges and Lehmann's estimate over pairs. The interval holds the values that the test below
/// would not reject.
fn beside(pairs: &[f64]) -> Estimate {
    let places: Vec<f64> = (1..=pairs.len()).map(|place| place as f64).collect();
    let by_chance = all_flips(pairs.len(), |flips| signed_sum(&places, flips));
    let outside = (places.iter().sum::<f64>() - critical(by_chance, SIGNIFICANCE)) / 2.0;
    Estimate::of(walsh_averages(pairs), (outside.ceil() as usize).saturating_sub(1))
}

/// Wilcoxon's signed-rank test: if nothing differs, swapping any pair is as likely.
fn p_beside(pairs: &[f64]) -> f64 {
    let sizes: Vec<f64> = pairs.iter().map(|difference| difference.abs()).collect();
    let signed = |(rank, difference): (f64, &f64)| match *difference == 0.0 {
        true => 0.0,
        false => rank * difference.signum(),
    };
    let ranks: Vec<f64> = ranks(&sizes).into_iter().zip(pairs).map(signed).collect();
    let seen = ranks.iter().sum();
    two_sided(seen, &all_flips(ranks.len(), |flips| signed_sum(&ranks, flips)))
}

fn signed_sum(ranks: &[f64], flips: &dyn Fn(usize) -> bool) -> f64 {
    let signed = |(at, rank): (usize, &f64)| if flips(at) { -rank } else { *rank };
    ranks.iter().enumerate().map(signed).sum()
}

/// The estimate over pairs for A against A: from neighbours in time made the same way (in A B B A A
/// B the middle two of each turn), and from the scatter of the pairs about their own estimate.
fn noise_beside(a: &[f64], b: &[f64], differences: &[f64], estimate: f64) -> f64 {
    let neighbours = (1..a.len()).map(|at| {
        let same = if at % 2 == 1 { b } else { a };
        same[at] - same[at - 1]
    });
    let scatter = differences.iter().map(|difference| difference - estimate);
    let noises: Vec<f64> = neighbours.chain(scatter).collect();
    let mut random = SplitMix64::new(SEED);
    noise(a.len() * a.len() / 2, || {
        let drawn: Vec<f64> = (0..a.len())
            .map(|_| {
                let one = noises[below(&mut random, noises.len())];
                if random.bits() & 1 == 0 { one } else { -one }
            })
            .collect();
        middle_of(walsh_averages(&drawn))
    })
}

/// The means of all pairs, including each value with itself. Their median is the Hodges-Lehmann
/// estimate.
fn walsh_averages(differences: &[f64]) -> Vec<f64> {
    let pairs = differences.iter().enumerate();
    pairs.flat_map(|(at, x)| differences[at..].iter().map(move |y| f64::midpoint(*x, *y))).collect()
}

/// Hodges and Lehmann's estimate over runs made apart. The interval holds the values that the test
/// below would not reject.
fn apart(a: &[f64], b: &[f64]) -> Estimate {
    let (n, m) = (a.len(), b.len());
    let places: Vec<f64> = (1..=n + m).map(|place| place as f64).collect();
    let by_chance = all_choices(n + m, m, |chosen| rank_sum(&places, chosen));
    let outside = n as f64 * m as f64 / 2.0 - critical(by_chance, SIGNIFICANCE);
    Estimate::of(differences(a, b), (outside.ceil() as usize).saturating_sub(1))
}

/// Wilcoxon's rank-sum test: if nothing differs, any assignment of runs to A and B is as likely.
fn p_apart(a: &[f64], b: &[f64]) -> f64 {
    let (n, m) = (a.len(), b.len());
    let all: Vec<f64> = a.iter().chain(b).copied().collect();
    let ranks = ranks(&all);
    let of_b: Vec<usize> = (n..n + m).collect();
    let relabelled = all_choices(n + m, m, |chosen| rank_sum(&ranks, chosen));
    two_sided(rank_sum(&ranks, &of_b), &relabelled)
}

/// The sum of the chosen ranks, less its expected value.
fn rank_sum(ranks: &[f64], chosen: &[usize]) -> f64 {
    let mean = ranks.iter().sum::<f64>() / ranks.len() as f64;
    chosen.iter().map(|at| ranks[*at] - mean).sum()
}

fn differences(a: &[f64], b: &[f64]) -> Vec<f64> {
    b.iter().flat_map(|b| a.iter().map(move |a| b - a)).collect()
}

/// The estimate over runs made apart for A against A: each record about its own median.
fn noise_within(a: &[f64], b: &[f64]) -> f64 {
    let about_median = |values: &[f64]| -> Vec<f64> {
        let middle = middle_of(values.to_vec());
        values.iter().map(|value| value - middle).collect()
    };
    let (a, b) = (about_median(a), about_median(b));
    let mut random = SplitMix64::new(SEED);
    noise(a.len() * b.len(), || {
        let mut draw = |from: &[f64]| -> Vec<f64> {
            (0..from.len()).map(|_| from[below(&mut random, from.len())]).collect()
        };
        let (a, b) = (draw(&a), draw(&b));
        middle_of(differences(&a, &b))
    })
}

fn middle_of(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    middle(&values)
}

/// The size that 95 of 100 draws stay below. Each draw compares `differences` differences.
fn noise(differences: usize, mut draw: impl FnMut() -> f64) -> f64 {
    let draws = (NOISE_DIFFERENCES_MAX / differences).clamp(NOISE_DRAWS_MIN, NOISE_DRAWS);
    let mut sizes: Vec<f64> = (0..draws).map(|_| draw().abs()).collect();
    sizes.sort_unstable_by(f64::total_cmp);
    sizes[(draws as f64 * (1.0 - SIGNIFICANCE)) as usize]
}

/// The outcome for one figure, with its p value after Holm's correction.
pub fn outcome(effect: &Effect, p_adjusted: f64) -> Outcome {
    let beyond_noise = effect.change.ln_1p().abs() > effect.noise_floor.ln_1p();
    match p_adjusted < SIGNIFICANCE && beyond_noise {
        false => Outcome::Inconclusive,
        true if effect.change < 0.0 => Outcome::Better,
        true => Outcome::Worse,
    }
}

#[cfg(test)]
#[path = "compare_tests.rs"]
mod tests;
