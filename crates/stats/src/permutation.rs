//! Permutation tests: the differences that chance alone would show, from every way to relabel the
//! measured values, or from a fixed sample of them. No assumption about any distribution.

use clock::random::SplitMix64;

/// Up to this number, all relabellings are tested; above it, this many random ones.
const RELABELLINGS_MAX: usize = 65_536;
/// Seed of all random draws, so that the same runs give the same answer.
pub const SEED: u64 = 42;

/// Each value's place in the order, from 1; equal values share the mean of their places.
pub fn ranks(values: &[f64]) -> Vec<f64> {
    let below = |value: f64| values.iter().filter(|other| **other < value).count();
    let equal = |value: f64| values.iter().filter(|other| **other == value).count();
    values.iter().map(|value| below(*value) as f64 + (equal(*value) as f64 + 1.0) / 2.0).collect()
}

/// The statistic under every way to change the signs of `n` pairs.
pub fn all_flips<T>(n: usize, statistic: impl Fn(&dyn Fn(usize) -> bool) -> T) -> Vec<T> {
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
pub fn all_choices<T>(n: usize, m: usize, statistic: impl Fn(&[usize]) -> T) -> Vec<T> {
    let mut statistics = Vec::new();
    let mut chosen: Vec<usize> = (0..m).collect();
    while statistics.len() < RELABELLINGS_MAX {
        statistics.push(statistic(&chosen));
        // The next choice in lexical order.
        let Some(at) = (0..m).rev().find(|at| chosen[*at] < n - m + at) else { return statistics };
        chosen[at] += 1;
        (at + 1..m).for_each(|next| chosen[next] = chosen[next - 1] + 1);
    }
    // Too many to test all of them.
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

/// The ranks of one question, and which relabellings are as likely as the measured one.
#[derive(Clone, Debug, PartialEq)]
pub enum Scores {
    /// A signed rank per pair. Swapping the runs of any pair is as likely.
    Pairs(Vec<f64>),
    /// A rank per run less the mean rank, A's runs before B's. Any `of_b` runs may be B's.
    Runs {
        /// The ranks.
        ranks: Vec<f64>,
        /// How many of the last ones are B's.
        of_b: usize,
    },
}

impl Scores {
    fn ranks(&self) -> &[f64] {
        match self {
            Scores::Pairs(ranks) | Scores::Runs { ranks, .. } => ranks,
        }
    }

    /// How many pairs or runs it is about. Questions of one size have the same relabellings.
    pub fn size(&self) -> (usize, usize) {
        match self {
            Scores::Pairs(ranks) => (ranks.len(), 0),
            Scores::Runs { ranks, of_b } => (ranks.len(), *of_b),
        }
    }

    /// The smallest probability that runs that all agree can have.
    pub fn p_least(&self) -> f64 {
        match self {
            Scores::Pairs(ranks) => pairs_p_least(ranks.len()),
            Scores::Runs { ranks, of_b } => 2.0 / choices(ranks.len(), *of_b),
        }
    }

    /// A sum of ranks in the unit in which questions with other ties are alike.
    fn scaled(&self, sum: f64) -> f64 {
        let squares: f64 = self.ranks().iter().map(|rank| rank * rank).sum();
        if squares > 0.0 { sum.abs() / squares.sqrt() } else { 0.0 }
    }

    fn seen(&self) -> f64 {
        match self {
            Scores::Pairs(ranks) => self.scaled(ranks.iter().sum()),
            Scores::Runs { ranks, of_b } => self.scaled(ranks[ranks.len() - of_b..].iter().sum()),
        }
    }
}

/// The smallest probability that `pairs` pairs can have: chance gives the same sign to all.
pub fn pairs_p_least(pairs: usize) -> f64 {
    2.0 * 0.5f64.powi(pairs.min(1_000) as i32)
}

/// Ways to choose `m` of `n`, approximate for large results.
fn choices(n: usize, m: usize) -> f64 {
    (0..m).map(|at| (n - at) as f64 / (m - at) as f64).product()
}

/// The probability that chance shows as much in any of several questions about the same runs, for
/// each question (Westfall and Young 1993, step-down). One relabelling counts for all of them, so
/// figures that move together cost little. All questions have the same size.
pub fn joint(questions: &[&Scores]) -> Vec<f64> {
    let Some(first) = questions.first() else { return Vec::new() };
    let seen: Vec<f64> = questions.iter().map(|one| one.seen()).collect();
    let mut order: Vec<usize> = (0..questions.len()).collect();
    order.sort_by(|x, y| seen[*x].total_cmp(&seen[*y]));
    // The tolerance absorbs rounding: the same sum in another order differs in its last bit.
    let as_much = |sum: &dyn Fn(&[f64]) -> f64| -> Vec<bool> {
        let mut largest: f64 = 0.0;
        let exceeds = |at: &usize| {
            largest = largest.max(questions[*at].scaled(sum(questions[*at].ranks())));
            largest >= seen[*at] - 1e-9
        };
        order.iter().map(exceeds).collect()
    };
    let relabelled = match first {
        Scores::Pairs(ranks) => all_flips(ranks.len(), |flips| {
            as_much(&|ranks| {
                let signed = |(at, rank): (usize, &f64)| if flips(at) { -rank } else { *rank };
                ranks.iter().enumerate().map(signed).sum()
            })
        }),
        Scores::Runs { ranks, of_b } => all_choices(ranks.len(), *of_b, |chosen| {
            as_much(&|ranks| chosen.iter().map(|at| ranks[*at]).sum())
        }),
    };
    let mut p = vec![1.0; questions.len()];
    let mut so_far: f64 = 0.0;
    for (place, at) in order.iter().enumerate().rev() {
        // The measured order is itself one of the relabellings, drawn or not.
        let count = relabelled.iter().filter(|one| one[place]).count().max(1);
        so_far = so_far.max(count as f64 / relabelled.len() as f64);
        p[*at] = so_far;
    }
    p
}

/// The size that chance exceeds in at most `significance` of all cases.
pub fn critical(mut by_chance: Vec<f64>, significance: f64) -> f64 {
    by_chance.iter_mut().for_each(|one| *one = one.abs());
    by_chance.sort_unstable_by(f64::total_cmp);
    by_chance
        [((by_chance.len() as f64 * (1.0 - significance)).ceil() as usize).min(by_chance.len() - 1)]
}

/// A random index below `n`.
pub fn below(random: &mut SplitMix64, n: usize) -> usize {
    ((u128::from(random.bits()) * n as u128) >> 64) as usize
}

/// Holm's correction: adjusts the p values of several questions, so that all of them together give
/// a wrong "yes" no more often than one alone. Each question may err as often as its share of
/// `weights` allows; an answered one leaves its share to the others.
pub fn holm(p: &[f64], weights: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|x, y| (p[*x] / weights[*x]).total_cmp(&(p[*y] / weights[*y])));
    let mut adjusted = vec![1.0; p.len()];
    let (mut so_far, mut left) = (0.0_f64, weights.iter().sum::<f64>());
    for at in order {
        so_far = so_far.max(p[at] * left / weights[at]).min(1.0);
        adjusted[at] = so_far;
        left -= weights[at];
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_share_their_places() {
        assert_eq!(ranks(&[3.0, 1.0, 3.0, 9.0]), [2.5, 1.0, 2.5, 4.0]);
    }

    #[test]
    fn every_choice_is_looked_at_once() {
        let mut seen: Vec<f64> = all_choices(5, 2, |chosen| (chosen[0] * 10 + chosen[1]) as f64);
        seen.dedup();
        assert_eq!(seen, [1.0, 2.0, 3.0, 4.0, 12.0, 13.0, 14.0, 23.0, 24.0, 34.0]);
        assert_eq!(all_choices(3, 3, |_| 1.0).len(), 1);
        assert_eq!(all_flips(3, |flips| f64::from(u8::from(flips(0)))).iter().sum::<f64>(), 4.0);
    }

    #[test]
    fn of_too_many_a_fixed_sample_is_drawn() {
        let of = || all_choices(40, 20, |chosen| chosen.iter().sum::<usize>() as f64);
        assert_eq!(of().len(), RELABELLINGS_MAX);
        assert_eq!(of(), of());
        // The mean of a sum of 20 of the numbers 0 to 39 is 390; a fair draw is close to it.
        assert!((of().iter().sum::<f64>() / RELABELLINGS_MAX as f64 - 390.0).abs() < 1.0);
        let heads = all_flips(40, |flips| (0..40).filter(|at| flips(*at)).count() as f64);
        assert!((heads.iter().sum::<f64>() / RELABELLINGS_MAX as f64 - 20.0).abs() < 0.1);
    }

    /// Two figures that always move together are one question; two that don't are two.
    #[test]
    fn figures_that_move_together_are_corrected_as_one() {
        let all = Scores::Pairs((1..=6).map(f64::from).collect());
        assert_eq!(joint(&[&all]), [2.0 / 64.0]);
        assert_eq!(joint(&[&all, &all, &all]), [2.0 / 64.0; 3]);
        let other = Scores::Pairs(vec![-6.0, 5.0, -1.0, 2.0, -3.0, 4.0]);
        let p = joint(&[&other, &all]);
        assert!(p[1] > 2.0 / 64.0 && p[1] <= 4.0 / 64.0 && p[0] > 0.5, "{p:?}");
        let nothing = Scores::Pairs(vec![0.0; 6]);
        assert_eq!(joint(&[&nothing, &all]), [1.0, 2.0 / 64.0]);
        assert!(joint(&[]).is_empty());
    }

    /// Each p value times the number of questions still open.
    #[test]
    fn holm_corrects_the_smallest_most() {
        let alike = |p: &[f64]| -> Vec<f64> {
            let round = |p: f64| (p * 1e6).round() / 1e6;
            holm(p, &vec![0.5; p.len()]).into_iter().map(round).collect()
        };
        assert_eq!(alike(&[0.01, 0.04, 0.03]), [0.03, 0.06, 0.06]);
        assert_eq!(alike(&[0.9, 0.5]), [1.0, 1.0]);
        assert!(holm(&[], &[]).is_empty());
        let weighted = holm(&[0.03, 0.04], &[0.75, 0.25]);
        assert!((weighted[0] - 0.04).abs() < 1e-9 && (weighted[1] - 0.04).abs() < 1e-9);
    }
}
