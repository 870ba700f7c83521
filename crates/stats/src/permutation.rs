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
pub fn all_flips(n: usize, statistic: impl Fn(&dyn Fn(usize) -> bool) -> f64) -> Vec<f64> {
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
pub fn all_choices(n: usize, m: usize, statistic: impl Fn(&[usize]) -> f64) -> Vec<f64> {
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

/// The share of relabellings with at least the measured size, in either direction.
pub fn two_sided(seen: f64, relabelled: &[f64]) -> f64 {
    // The tolerance absorbs rounding: the same sum in another order differs in its last bit.
    let as_much = relabelled.iter().filter(|one| one.abs() >= seen.abs() - 1e-9).count();
    // The measured order is itself one of the relabellings, drawn or not.
    as_much.max(1) as f64 / relabelled.len() as f64
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
/// a wrong "yes" no more often than one alone. Multiplies the p values, smallest first, by the
/// number of questions not yet answered.
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

    /// Each p value times the number of questions still open.
    #[test]
    fn holm_corrects_the_smallest_most() {
        assert_eq!(holm(&[0.01, 0.04, 0.03]), [0.03, 0.06, 0.06]);
        assert_eq!(holm(&[0.9, 0.5]), [1.0, 1.0]);
        assert!(holm(&[]).is_empty());
    }
}
