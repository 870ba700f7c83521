//! Fits a process to event times by maximum likelihood, and checks the fit by time rescaling.
//!
//! The likelihood's derivatives are sums over events that a recursion gives in one pass (Ozaki
//! 1979). All parameters are positive, so the search and the intervals are in logarithms: those of
//! the base, then of jump and decay for each kernel.

mod likelihood;
mod matrix;

use super::{Hawkes, KERNELS_MAX, Kernel};
use likelihood::{Likelihood, likelihood};
use matrix::{inverse, times_vector};
use stats::kolmogorov::{self, Kolmogorov};

/// Fewest events of a fit.
pub const EVENTS_MIN: usize = 100;
/// Most steps of the search from one start.
const STEPS_MAX: usize = 200;
/// Starts of the search: decay times in mean gaps between events. With two kernels, pairs that are
/// far apart.
const DECAYS: [f64; 5] = [0.05, 0.5, 5.0, 50.0, 500.0];
/// The 97.5th percentile of the normal distribution.
const Z: f64 = 1.959_963_984_540_054;
/// The 99.9th percentile of the chi-squared distribution with two degrees of freedom: what the
/// likelihood of two more parameters must gain, doubled.
const GAIN_MIN: f64 = 13.82;

/// Why there is no fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FitError {
    /// There are fewer than [`EVENTS_MIN`] events.
    #[error("{0} events are too few for a fit; {EVENTS_MIN} are needed: take a longer time")]
    TooFew(usize),
    /// Times are not finite, not ascending, or not within the observed time.
    #[error("the times of the events are not ascending within the observed time")]
    Times,
    /// The events are not seen to excite each other.
    #[error("the events are not seen to come in bursts: a Poisson process is as likely")]
    Poisson,
    /// Two kernels are not seen to fit better than one.
    #[error("a second kernel is not seen to fit better")]
    OneKernel,
    /// The search found no maximum, or one where the events multiply without end.
    #[error("no process with a branching below 1 fits: the rate may change over the time")]
    NoMaximum,
}

/// A fitted process.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// The most likely process.
    pub process: Hawkes,
    /// Confidence interval of its base, 95 %, from the curvature of the likelihood.
    pub base: [f64; 2],
    /// The process's kernels, the fastest first.
    pub kernels: Vec<FittedKernel>,
    /// Time rescaling: with the true process, the expected numbers of events between events are
    /// exponential. The test compares them with that. Its p is a little too large, because the same
    /// events gave the process.
    pub rescaled: Kolmogorov,
    /// The logarithm of the likelihood.
    likelihood: f64,
}

/// A kernel's confidence intervals, 95 %.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FittedKernel {
    /// The branching's: how many events an event causes directly.
    pub branching: [f64; 2],
    /// The decay's, per second.
    pub decay: [f64; 2],
}

/// Fits a process with one kernel to the times of events, ascending, seconds, observed from 0 to
/// `end_seconds`.
///
/// # Errors
/// [`FitError`].
pub fn fit(times: &[f64], end_seconds: f64) -> Result<Fit, FitError> {
    if times.len() < EVENTS_MIN {
        return Err(FitError::TooFew(times.len()));
    }
    let first_last = [times[0], times[times.len() - 1]];
    let is_in = first_last[0] >= 0.0 && first_last[1] <= end_seconds && end_seconds.is_finite();
    if !(is_in && times.is_sorted()) {
        return Err(FitError::Times);
    }
    let n = times.len() as f64;
    let rate = n / end_seconds;
    let starts = DECAYS.map(|gaps| Hawkes::with_rate(rate, 0.5, rate / gaps));
    let found = best(times, end_seconds, starts.iter().map(|start| logs(start, 1)))?;
    let poisson = n * rate.ln() - n;
    if 2.0 * (found.0.value - poisson) < GAIN_MIN {
        return Err(FitError::Poisson);
    }
    fitted(times, found)
}

/// As [`fit`], with two kernels: bursts within bursts. `one` is the fit with one kernel.
///
/// # Errors
/// [`FitError`]; also if `one` is as likely.
pub fn fit_two(times: &[f64], end_seconds: f64, one: &Fit) -> Result<Fit, FitError> {
    let rate = times.len() as f64 / end_seconds;
    let mut starts = Vec::new();
    for (at, fast) in DECAYS.iter().enumerate() {
        for slow in DECAYS.iter().skip(at + 2) {
            let kernels = [(0.3, rate / fast), (0.3, rate / slow)];
            starts.push(logs(&Hawkes::with_kernels(rate, kernels), 2));
        }
    }
    let found = best(times, end_seconds, starts.into_iter())?;
    if 2.0 * (found.0.value - one.likelihood) < GAIN_MIN {
        return Err(FitError::OneKernel);
    }
    fitted(times, found)
}

/// The highest maximum that the search finds from several starts.
fn best(
    times: &[f64],
    end: f64,
    starts: impl Iterator<Item = Vec<f64>>,
) -> Result<(Likelihood, Vec<f64>), FitError> {
    let found = starts.filter_map(|start| climb(times, end, start));
    found.max_by(|a, b| a.0.value.total_cmp(&b.0.value)).ok_or(FitError::NoMaximum)
}

/// The fit at a maximum, with intervals from the curvature there.
fn fitted(times: &[f64], (at, theta): (Likelihood, Vec<f64>)) -> Result<Fit, FitError> {
    let process = process(&theta);
    let variance = inverse(&negative(&at.curvature)).ok_or(FitError::NoMaximum)?;
    let around = |log: f64, variance: f64| [-Z, Z].map(|z| (log + z * variance.sqrt()).exp());
    let mut spreads = vec![variance[0][0]];
    let mut kernels = Vec::new();
    for jump in (1..theta.len()).step_by(2) {
        let decay = jump + 1;
        // The branching is jump / decay.
        let of_branching =
            variance[jump][jump] + variance[decay][decay] - 2.0 * variance[jump][decay];
        spreads.extend([of_branching, variance[decay][decay]]);
        kernels.push(FittedKernel {
            branching: around(theta[jump] - theta[decay], of_branching),
            decay: around(theta[decay], variance[decay][decay]),
        });
    }
    if process.branching() >= 1.0 || !spreads.iter().all(|one| *one > 0.0) {
        return Err(FitError::NoMaximum);
    }
    Ok(in_order(Fit {
        process,
        base: around(theta[0], variance[0][0]),
        kernels,
        rescaled: rescaled(&process, times),
        likelihood: at.value,
    }))
}

/// The fast kernel first.
fn in_order(mut fit: Fit) -> Fit {
    if fit.kernels.len() == KERNELS_MAX
        && fit.process.kernels[0].decay < fit.process.kernels[1].decay
    {
        fit.process.kernels.reverse();
        fit.kernels.reverse();
    }
    fit
}

/// Time rescaling: how far the expected numbers of events between events are from an exponential
/// distribution.
#[must_use]
pub fn rescaled(process: &Hawkes, times: &[f64]) -> Kolmogorov {
    let (mut before, mut excess) = (0.0, [0.0; KERNELS_MAX]);
    let uniform = times.iter().map(|time| {
        let gap = time - before;
        let mut expected = process.base * gap;
        for (kernel, excess) in process.kernels.iter().zip(&mut excess) {
            let left = (-kernel.decay * gap).exp();
            expected += *excess * (1.0 - left) / kernel.decay;
            *excess = *excess * left + kernel.jump;
        }
        before = *time;
        1.0 - (-expected).exp()
    });
    kolmogorov::against_uniform(uniform.collect())
}

/// The logarithms of a process's base and of its first kernels.
fn logs(process: &Hawkes, kernels: usize) -> Vec<f64> {
    let of = |kernel: &Kernel| [kernel.jump.ln(), kernel.decay.ln()];
    let kernels = process.kernels[..kernels].iter().flat_map(of);
    std::iter::once(process.base.ln()).chain(kernels).collect()
}

fn process(theta: &[f64]) -> Hawkes {
    let mut process = Hawkes { base: theta[0].exp(), ..Hawkes::NONE };
    for (kernel, logs) in process.kernels.iter_mut().zip(theta[1..].chunks_exact(2)) {
        *kernel = Kernel { jump: logs[0].exp(), decay: logs[1].exp() };
    }
    process
}

fn negative(matrix: &[Vec<f64>]) -> Vec<Vec<f64>> {
    matrix.iter().map(|row| row.iter().map(|one| -one).collect()).collect()
}

/// Newton's method with the damping of Levenberg and Marquardt. `None` without a maximum.
fn climb(times: &[f64], end: f64, mut theta: Vec<f64>) -> Option<(Likelihood, Vec<f64>)> {
    let kernels = theta.len() / 2;
    let at = |theta: &[f64]| likelihood(times, end, &process(theta), kernels);
    let mut here = at(&theta);
    let mut damping = 1.0;
    for _ in 0..STEPS_MAX {
        let mut damped = negative(&here.curvature);
        for (index, row) in damped.iter_mut().enumerate() {
            row[index] += damping * times.len() as f64;
        }
        let step = inverse(&damped).map(|inverse| times_vector(&inverse, &here.slope));
        let step = step.filter(|step| step.iter().all(|one| one.abs() < 2.0));
        let tried = step.map(|step| {
            let to: Vec<f64> = theta.iter().zip(&step).map(|(from, step)| from + step).collect();
            (at(&to), to, step)
        });
        match tried {
            Some((likelihood, to, step)) if likelihood.value >= here.value => {
                (here, theta, damping) = (likelihood, to, damping * 0.1);
                if step.iter().all(|one| one.abs() < 1e-9) {
                    return Some((here, theta));
                }
            }
            // A step back from a maximum found as exactly as the numbers allow.
            Some((.., step)) if step.iter().all(|one| one.abs() < 1e-7) => {
                return Some((here, theta));
            }
            _ if damping > 1e12 => return None,
            _ => damping *= 10.0,
        }
        if !theta.iter().all(|one| one.abs() < 60.0) {
            return None;
        }
    }
    None
}

#[cfg(test)]
#[path = "fit_tests.rs"]
mod tests;
