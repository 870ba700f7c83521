//! Is B different from A, or is it the machine? Three answers: better, worse, inconclusive.
//!
//! The unit is a run, not a message: the millions of messages of one run share one moment of the
//! machine. A run gives one value a percentile; this module compares the runs of A with those of B.
//!
//! A difference is believed if it passes two hurdles. It must be more than chance: a permutation test
//! over runs, corrected for the number of percentiles that are looked at (Holm 1979). And it must be
//! more than the machine's own noise: what the same estimator says, 95 times of 100, when it compares
//! runs of A with runs of A.

use crate::random::SplitMix64;
use crate::stats::median;
use serde::{Deserialize, Serialize};

/// A difference is believed if chance would show it less often than this, over all figures together.
pub const SIGNIFICANCE: f64 = 0.05;
/// With fewer runs of each no difference can be told from chance.
pub const RUNS_MIN: usize = 6;
/// Histograms keep three digits: differences below this are not seen at all.
const RESOLUTION: f64 = 0.001;
/// Up to so many relabellings are all looked at; of more, so many are drawn.
const RELABELLINGS_MAX: usize = 65_536;
/// Comparisons of A with A that the noise floor is taken from.
const NOISE_DRAWS: usize = 999;
/// Seed of everything that is drawn, so that the same runs give the same answer.
const SEED: u64 = 42;

/// How the runs of A and B belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Design {
    /// Interleaved A B B A A B …: run i of A was made beside run i of B.
    Interleaved,
    /// One after the other, or on another day.
    Apart,
}

/// What a comparison says of B against A.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// B's latency is lower.
    Better,
    /// B's latency is higher.
    Worse,
    /// Neither can be said.
    Inconclusive,
}

impl Outcome {
    /// As in a record.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Better => "better",
            Outcome::Worse => "worse",
            Outcome::Inconclusive => "inconclusive",
        }
    }
}

/// One figure of A against B, before it is known how many figures are looked at.
#[derive(Clone, Debug, PartialEq)]
pub struct Effect {
    /// Median over A's runs, ns.
    pub a: u64,
    /// Median over B's runs, ns.
    pub b: u64,
    /// By how much B is above A, as a share of A: 0.05 is 5 % slower. The Hodges-Lehmann estimate over
    /// the logarithms of the runs.
    pub change: f64,
    /// Confidence interval of `change`, at least 95 %.
    pub interval: [f64; 2],
    /// What the same estimate says of A against A on this machine, 95 times of 100, as a share.
    pub noise_floor: f64,
    /// How often chance alone would show as much, two-sided.
    pub p: f64,
}

/// Compares a figure's values of A's runs with those of B's, each in order of time, ns. `control` is the
/// change of something that cannot have changed (the raw echo), where there is such a thing: the
/// noise floor is at least as high. `None` if there are fewer than [`RUNS_MIN`] of either, or, if
/// interleaved, not as many of each.
pub fn effect(design: Design, a: &[u64], b: &[u64], control: Option<f64>) -> Option<Effect> {
    if a.len().min(b.len()) < RUNS_MIN || (design == Design::Interleaved && a.len() != b.len()) {
        return None;
    }
    let log = |values: &[u64]| -> Vec<f64> {
        values.iter().map(|value| (*value.max(&1) as f64).ln()).collect()
    };
    let (log_a, log_b) = (log(a), log(b));
    let (estimate, p, noise) = match design {
        Design::Interleaved => interleaved(&log_a, &log_b),
        Design::Apart => apart(&log_a, &log_b),
    };
    let noise_floor = share(noise).max(RESOLUTION).max(control.map_or(0.0, f64::abs));
    Some(Effect {
        a: median(a)?,
        b: median(b)?,
        change: share(estimate.middle),
        interval: [share(estimate.low), share(estimate.high)],
        noise_floor,
        p,
    })
}

/// A difference of logarithms as a share.
fn share(log: f64) -> f64 {
    log.exp_m1()
}

/// Of a difference of logarithms.
struct Estimate {
    low: f64,
    middle: f64,
    high: f64,
}

impl Estimate {
    /// From the differences of all that could be paired, of which `below` from either end lie outside
    /// the interval.
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

/// The estimate, p and the noise of A against A, where run i of A was made beside run i of B.
///
/// Wilcoxon's signed-rank test: if nothing differs, each pair is as likely the other way round.
fn interleaved(a: &[f64], b: &[f64]) -> (Estimate, f64, f64) {
    let differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| b - a).collect();
    let signed_rank = |ranks: &[f64], flips: &dyn Fn(usize) -> bool| -> f64 {
        let signed = |(at, rank): (usize, &f64)| if flips(at) { -rank } else { *rank };
        ranks.iter().enumerate().map(signed).sum()
    };
    let sizes: Vec<f64> = differences.iter().map(|difference| difference.abs()).collect();
    let ranks: Vec<f64> = ranks(&sizes)
        .iter()
        .zip(&differences)
        .map(|(rank, difference)| if *difference == 0.0 { 0.0 } else { rank * difference.signum() })
        .collect();
    let seen = signed_rank(&ranks, &|_| false);
    let p = two_sided(seen, &all_flips(ranks.len(), |flips| signed_rank(&ranks, flips)));
    // The interval holds what the same test would not reject.
    let plain: Vec<f64> = (1..=differences.len()).map(|rank| rank as f64).collect();
    let by_chance = all_flips(plain.len(), |flips| signed_rank(&plain, flips));
    let below = (((plain.iter().sum::<f64>() - critical(by_chance)) / 2.0).ceil() as usize)
        .saturating_sub(1);
    let estimate = Estimate::of(walsh_averages(&differences), below);
    (estimate, p, noise_beside(a, b))
}

/// What the estimate over pairs says of A against A: from neighbours in time that were made the same
/// way. In A B B A A B these are the two in the middle of each turn.
fn noise_beside(a: &[f64], b: &[f64]) -> f64 {
    let neighbours: Vec<f64> = (1..a.len())
        .map(|at| if at % 2 == 1 { b[at] - b[at - 1] } else { a[at] - a[at - 1] })
        .collect();
    let mut random = SplitMix64::new(SEED);
    noise(|| {
        let drawn: Vec<f64> = (0..a.len())
            .map(|_| {
                let one = neighbours[below(&mut random, neighbours.len())];
                if random.bits() & 1 == 0 { one } else { -one }
            })
            .collect();
        middle_of(walsh_averages(&drawn))
    })
}

/// The means of all pairs, each with itself too. Their median is the Hodges-Lehmann estimate.
fn walsh_averages(differences: &[f64]) -> Vec<f64> {
    let pairs = differences.iter().enumerate();
    pairs.flat_map(|(at, x)| differences[at..].iter().map(move |y| f64::midpoint(*x, *y))).collect()
}

/// The estimate, p and the noise of A against A, where the runs were made apart.
///
/// Wilcoxon's rank-sum test: if nothing differs, each run may as well be one of the other's.
fn apart(a: &[f64], b: &[f64]) -> (Estimate, f64, f64) {
    let all: Vec<f64> = a.iter().chain(b).copied().collect();
    let rank_sum = |ranks: &[f64], chosen: &[usize]| -> f64 {
        let mean = ranks.iter().sum::<f64>() / ranks.len() as f64;
        chosen.iter().map(|at| ranks[*at] - mean).sum()
    };
    let (n, m) = (a.len(), b.len());
    let of_b: Vec<usize> = (n..n + m).collect();
    let ranks = ranks(&all);
    let seen = rank_sum(&ranks, &of_b);
    let p = two_sided(seen, &all_choices(n + m, m, |chosen| rank_sum(&ranks, chosen)));
    let plain: Vec<f64> = (1..=n + m).map(|rank| rank as f64).collect();
    let by_chance = all_choices(n + m, m, |chosen| rank_sum(&plain, chosen));
    let below =
        ((n as f64 * m as f64 / 2.0 - critical(by_chance)).ceil() as usize).saturating_sub(1);
    let estimate = Estimate::of(differences(a, b), below);
    (estimate, p, noise_within(a, b))
}

fn differences(a: &[f64], b: &[f64]) -> Vec<f64> {
    b.iter().flat_map(|b| a.iter().map(move |a| b - a)).collect()
}

/// What the estimate over runs made apart says of A against A: each record about its own median.
fn noise_within(a: &[f64], b: &[f64]) -> f64 {
    let about_median = |values: &[f64]| -> Vec<f64> {
        let middle = middle_of(values.to_vec());
        values.iter().map(|value| value - middle).collect()
    };
    let (a, b) = (about_median(a), about_median(b));
    let mut random = SplitMix64::new(SEED);
    noise(|| {
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

/// The size that 95 of 100 draws stay below.
fn noise(mut draw: impl FnMut() -> f64) -> f64 {
    let mut sizes: Vec<f64> = (0..NOISE_DRAWS).map(|_| draw().abs()).collect();
    sizes.sort_unstable_by(f64::total_cmp);
    sizes[(NOISE_DRAWS as f64 * (1.0 - SIGNIFICANCE)) as usize]
}

/// Each value's place in the order, from 1; equal values share the mean of their places.
fn ranks(values: &[f64]) -> Vec<f64> {
    let below = |value: f64| values.iter().filter(|other| **other < value).count();
    let equal = |value: f64| values.iter().filter(|other| **other == value).count();
    values.iter().map(|value| below(*value) as f64 + (equal(*value) as f64 + 1.0) / 2.0).collect()
}

/// The statistic under every way to turn `n` pairs round.
fn all_flips(n: usize, statistic: impl Fn(&dyn Fn(usize) -> bool) -> f64) -> Vec<f64> {
    if n < usize::BITS as usize && 1 << n <= RELABELLINGS_MAX {
        return (0..1usize << n).map(|bits| statistic(&|at| bits >> at & 1 == 1)).collect();
    }
    let mut random = SplitMix64::new(SEED);
    let mut flips = vec![false; n];
    (0..RELABELLINGS_MAX)
        .map(|_| {
            flips.fill_with(|| random.bits() & 1 == 1);
            statistic(&|at| flips[at])
        })
        .collect()
}

/// The statistic under every choice of `m` from `n`.
fn all_choices(n: usize, m: usize, statistic: impl Fn(&[usize]) -> f64) -> Vec<f64> {
    let mut statistics = Vec::new();
    let mut chosen: Vec<usize> = (0..m).collect();
    while statistics.len() < RELABELLINGS_MAX {
        statistics.push(statistic(&chosen));
        // The next choice in lexical order.
        let Some(at) = (0..m).rev().find(|at| chosen[*at] < n - m + at) else { return statistics };
        chosen[at] += 1;
        (at + 1..m).for_each(|next| chosen[next] = chosen[next - 1] + 1);
    }
    // Too many to look at all of them.
    let mut random = SplitMix64::new(SEED);
    let mut shuffled: Vec<usize> = (0..n).collect();
    statistics.clear();
    statistics.resize_with(RELABELLINGS_MAX, || {
        for at in 0..m {
            shuffled.swap(at, at + below(&mut random, n - at));
        }
        statistic(&shuffled[..m])
    });
    statistics
}

/// The share of relabellings that show at least as much as was seen, in either direction.
fn two_sided(seen: f64, relabelled: &[f64]) -> f64 {
    // A hair of slack: the same sum in another order differs in its last bit.
    let as_much = relabelled.iter().filter(|one| one.abs() >= seen.abs() - 1e-9).count();
    // What was seen is one of the relabellings, be it drawn or not.
    as_much.max(1) as f64 / relabelled.len() as f64
}

/// The size that chance exceeds at most [`SIGNIFICANCE`] of the time.
fn critical(mut by_chance: Vec<f64>) -> f64 {
    by_chance.iter_mut().for_each(|one| *one = one.abs());
    by_chance.sort_unstable_by(f64::total_cmp);
    by_chance
        [((by_chance.len() as f64 * (1.0 - SIGNIFICANCE)).ceil() as usize).min(by_chance.len() - 1)]
}

fn below(random: &mut SplitMix64, n: usize) -> usize {
    ((u128::from(random.bits()) * n as u128) >> 64) as usize
}

/// Holm's correction: p values of several questions, such that all "yes" together are wrong at most as
/// often as one of them alone. Smallest first, each times the number of those not yet answered.
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|x, y| p[*x].total_cmp(&p[*y]));
    let mut adjusted = vec![1.0; p.len()];
    let mut so_far: f64 = 0.0;
    for (answered, at) in order.into_iter().enumerate() {
        so_far = so_far.max(p[at] * (p.len() - answered) as f64).min(1.0);
        adjusted[at] = so_far;
    }
    adjusted
}

/// The outcome for one figure, with its p value after [`holm`].
pub fn outcome(effect: &Effect, p_adjusted: f64) -> Outcome {
    let size = effect.change.abs();
    // A share downwards is smaller than the same factor upwards; ask for the same factor.
    let beyond = match effect.change < 0.0 {
        true => -effect.change > 1.0 - 1.0 / (1.0 + effect.noise_floor),
        false => size > effect.noise_floor,
    };
    match p_adjusted < SIGNIFICANCE && beyond {
        false => Outcome::Inconclusive,
        true if effect.change < 0.0 => Outcome::Better,
        true => Outcome::Worse,
    }
}
