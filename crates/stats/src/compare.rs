//! Measures a difference between A and B, and the noise of the machine beside it.
//!
//! The unit is a run, not a message, because the millions of messages of one run share one state of
//! the machine. A run gives one value per percentile; this module compares the runs of A with those
//! of B.
//!
//! A difference counts if it passes two hurdles. It must be more than chance: a permutation test
//! over runs, corrected for the number of percentiles tested. And it must exceed the machine's own
//! noise: the size that the same estimator stays below in 95 of 100 comparisons of A
//! with A.
//!
//! See docs/decisions/003-runs-and-records.md.

use crate::median;
use crate::permutation::{SEED, Scores, all_choices, all_flips, below, critical, joint, ranks};
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
/// A pair further from the median of all pairs than this many times the median distance lies apart
/// from the others, as where the machine changed its speed between the two runs.
const APART_FROM: f64 = 6.0;

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
) -> Option<(Effect, Scores)> {
    if a.len().min(b.len()) < RUNS_MIN || (design == Design::Interleaved && a.len() != b.len()) {
        return None;
    }
    let log = |values: &[u64]| -> Vec<f64> {
        values.iter().map(|value| (*value.max(&1) as f64).ln()).collect()
    };
    let (log_a, log_b) = (log(a), log(b));
    let plain = |values: &[u64]| -> Vec<f64> { values.iter().map(|value| *value as f64).collect() };
    let (plain_a, plain_b) = (plain(a), plain(b));
    let ScaledEffect { estimate, scores, noise } = found(design, &log_a, &log_b);
    let added = match design {
        Design::Interleaved => beside(&pairs(&plain_a, &plain_b)),
        Design::Apart => apart(&plain_a, &plain_b),
    };
    // In logarithms, halving is as large as doubling.
    let control = control.map_or(0.0, |change| share(change.ln_1p().abs()));
    let (a, b) = (median(a)?, median(b)?);
    // The extra 1e-9 keeps one step from counting as more than one step after rounding.
    let step = step_ns.max(STEP_NS_MIN) as f64 / a.min(b).max(1) as f64 * (1.0 + 1e-6);
    let effect = Effect {
        a,
        b,
        change: share(estimate.middle),
        interval: [share(estimate.low), share(estimate.high)],
        added_ns: added.middle as i64,
        added_ns_interval: [added.low as i64, added.high as i64],
        noise_floor: share(noise).max(RESOLUTION).max(step).max(control),
        p: joint(&[&scores])[0],
    };
    Some((effect, scores))
}

/// An effect on some scale.
struct ScaledEffect {
    estimate: Estimate,
    scores: Scores,
    noise: f64,
}

fn found(design: Design, a: &[f64], b: &[f64]) -> ScaledEffect {
    match design {
        Design::Interleaved => {
            let pairs = pairs(a, b);
            let estimate = beside(&pairs);
            let noise = noise_beside(a, b, &pairs, estimate.middle);
            ScaledEffect { estimate, scores: scores_beside(&pairs), noise }
        }
        Design::Apart => ScaledEffect {
            estimate: apart(a, b),
            scores: scores_apart(a, b),
            noise: noise_within(a, b),
        },
    }
}

/// As [`effect`], for shares in parts per million. A disturbance adds the same to a small share as
/// to a large one, so `change`, its interval and the noise floor are differences: 0.05 is five
/// percentage points more. `added_ns` is the same in parts per million. A change of less than
/// `step_ppm` is invisible.
pub fn effect_on_share(
    design: Design,
    a: &[u64],
    b: &[u64],
    step_ppm: u64,
) -> Option<(Effect, Scores)> {
    if a.len().min(b.len()) < RUNS_MIN || (design == Design::Interleaved && a.len() != b.len()) {
        return None;
    }
    let shares =
        |values: &[u64]| -> Vec<f64> { values.iter().map(|ppm| *ppm as f64 / 1e6).collect() };
    let ScaledEffect { estimate, scores, noise } = found(design, &shares(a), &shares(b));
    let ppm = |share: f64| (share * 1e6).round() as i64;
    let effect = Effect {
        a: median(a)?,
        b: median(b)?,
        change: estimate.middle,
        interval: [estimate.low, estimate.high],
        added_ns: ppm(estimate.middle),
        added_ns_interval: [ppm(estimate.low), ppm(estimate.high)],
        noise_floor: noise.max(step_ppm as f64 / 1e6),
        p: joint(&[&scores])[0],
    };
    Some((effect, scores))
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

/// Hodges and Lehmann's estimate over the pairs that don't lie apart. The interval holds the values
/// that the test below would not reject.
fn beside(pairs: &[f64]) -> Estimate {
    let pairs = together(pairs);
    let places: Vec<f64> = (1..=pairs.len()).map(|place| place as f64).collect();
    let by_chance = all_flips(pairs.len(), |flips| {
        let signed = |(at, rank): (usize, &f64)| if flips(at) { -rank } else { *rank };
        places.iter().enumerate().map(signed).sum()
    });
    let outside = (places.iter().sum::<f64>() - critical(by_chance, SIGNIFICANCE)) / 2.0;
    Estimate::of(walsh_averages(&pairs), (outside.ceil() as usize).saturating_sub(1))
}

/// Wilcoxon's signed ranks: if nothing differs, swapping any pair is as likely. A pair that lies
/// apart gets the lowest rank instead of the highest. Sizes alone decide which pairs do, so the
/// test stays exact.
fn scores_beside(pairs: &[f64]) -> Scores {
    let sizes: Vec<f64> = pairs.iter().map(|difference| difference.abs()).collect();
    let by_place = |(size, apart): (&f64, bool)| if apart { 0.0 } else { *size };
    let sizes: Vec<f64> = sizes.iter().zip(lie_apart(&sizes)).map(by_place).collect();
    let signed = |(rank, difference): (f64, &f64)| match *difference == 0.0 {
        true => 0.0,
        false => rank * difference.signum(),
    };
    Scores::Pairs(ranks(&sizes).into_iter().zip(pairs).map(signed).collect())
}

/// Which values lie apart from most others; none if most are equal.
fn lie_apart(values: &[f64]) -> Vec<bool> {
    let middle = middle_of(values.to_vec());
    let distances: Vec<f64> = values.iter().map(|value| (value - middle).abs()).collect();
    let limit = APART_FROM * middle_of(distances.clone());
    distances.iter().map(|distance| limit > 0.0 && *distance > limit).collect()
}

/// The pairs that don't lie apart from the others; all if those are too few.
fn together(pairs: &[f64]) -> Vec<f64> {
    let all = pairs.iter().zip(lie_apart(pairs));
    let together: Vec<f64> = all.filter(|(_, apart)| !apart).map(|(pair, _)| *pair).collect();
    if together.len() < RUNS_MIN { pairs.to_vec() } else { together }
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
        middle_of(walsh_averages(&together(&drawn)))
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
    let mean = (n + m + 1) as f64 / 2.0;
    let by_chance =
        all_choices(n + m, m, |chosen| -> f64 { chosen.iter().map(|at| places[*at] - mean).sum() });
    let outside = n as f64 * m as f64 / 2.0 - critical(by_chance, SIGNIFICANCE);
    Estimate::of(differences(a, b), (outside.ceil() as usize).saturating_sub(1))
}

/// Wilcoxon's ranks over all runs: if nothing differs, any assignment of runs to A and B is as
/// likely.
fn scores_apart(a: &[f64], b: &[f64]) -> Scores {
    let all: Vec<f64> = a.iter().chain(b).copied().collect();
    let mean = (all.len() + 1) as f64 / 2.0;
    Scores::Runs { ranks: ranks(&all).into_iter().map(|rank| rank - mean).collect(), of_b: b.len() }
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

#[cfg(test)]
#[path = "compare_tests.rs"]
mod tests;
