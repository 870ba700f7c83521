//! Fits a process to event times by maximum likelihood, and checks the fit by time rescaling.
//!
//! The likelihood's derivatives are sums over events that a recursion gives in one pass (Ozaki
//! 1979). All three parameters are positive, so the search and the intervals are in logarithms.

use super::Hawkes;
use stats::kolmogorov::{self, Kolmogorov};

/// Fewest events of a fit.
pub const EVENTS_MIN: usize = 100;
/// Most steps of the search from one start.
const STEPS_MAX: usize = 200;
/// Starts of the search: decay times in mean gaps between events.
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
    /// The search found no maximum, or one where the events multiply without end.
    #[error("no process with a branching below 1 fits: the rate may change over the time")]
    NoMaximum,
}

/// A fitted process.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fit {
    /// The most likely process.
    pub process: Hawkes,
    /// Confidence interval of its base, 95 %, from the curvature of the likelihood.
    pub base: [f64; 2],
    /// That of the branching: the share of events that others cause.
    pub branching: [f64; 2],
    /// That of the decay, per second.
    pub decay: [f64; 2],
    /// Time rescaling: with the true process, the expected numbers of events between events are
    /// exponential. The test compares them with that. Its p is a little too large, because the same
    /// events gave the process.
    pub rescaled: Kolmogorov,
}

/// Fits a process to the times of events, ascending, seconds, observed from 0 to `end_seconds`.
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
    let found = starts.iter().filter_map(|start| climb(times, end_seconds, logs(start)));
    let best = found.max_by(|a, b| a.0.value.total_cmp(&b.0.value)).ok_or(FitError::NoMaximum)?;
    let (at, theta) = best;
    let poisson = n * rate.ln() - n;
    if 2.0 * (at.value - poisson) < GAIN_MIN {
        return Err(FitError::Poisson);
    }
    let process = process(theta);
    let variance = inverse(at.curvature.map(|row| row.map(|one| -one)));
    let variance = variance.ok_or(FitError::NoMaximum)?;
    let around = |log: f64, variance: f64| [-Z, Z].map(|z| (log + z * variance.sqrt()).exp());
    // The branching is jump / decay.
    let of_branching = variance[1][1] + variance[2][2] - 2.0 * variance[1][2];
    let spread = [variance[0][0], of_branching, variance[2][2]];
    if process.branching() >= 1.0 || !spread.iter().all(|one| *one > 0.0) {
        return Err(FitError::NoMaximum);
    }
    Ok(Fit {
        process,
        base: around(theta[0], spread[0]),
        branching: around(theta[1] - theta[2], spread[1]),
        decay: around(theta[2], spread[2]),
        rescaled: rescaled(&process, times),
    })
}

/// Time rescaling: how far the expected numbers of events between events are from an exponential
/// distribution.
#[must_use]
pub fn rescaled(process: &Hawkes, times: &[f64]) -> Kolmogorov {
    let Hawkes { base, jump, decay } = *process;
    let (mut before, mut excess) = (0.0, 0.0);
    let uniform = times.iter().map(|time| {
        let gap = time - before;
        let left = (-decay * gap).exp();
        let expected = base * gap + excess * (1.0 - left) / decay;
        (before, excess) = (*time, excess * left + jump);
        1.0 - (-expected).exp()
    });
    kolmogorov::against_uniform(uniform.collect())
}

type Vector = [f64; 3];
type Matrix = [Vector; 3];

/// The logarithm of the likelihood, with its derivatives by the logarithms of base, jump, decay.
#[derive(Clone, Copy, Debug)]
struct Likelihood {
    value: f64,
    slope: Vector,
    curvature: Matrix,
}

fn logs(process: &Hawkes) -> Vector {
    [process.base.ln(), process.jump.ln(), process.decay.ln()]
}

fn process(theta: Vector) -> Hawkes {
    let [base, jump, decay] = theta.map(f64::exp);
    Hawkes { base, jump, decay }
}

/// Newton's method with the damping of Levenberg and Marquardt. `None` without a maximum.
fn climb(times: &[f64], end: f64, mut theta: Vector) -> Option<(Likelihood, Vector)> {
    let mut at = likelihood(times, end, &process(theta));
    let mut damping = 1.0;
    for _ in 0..STEPS_MAX {
        let mut damped = at.curvature.map(|row| row.map(|one| -one));
        for (index, row) in damped.iter_mut().enumerate() {
            row[index] += damping * times.len() as f64;
        }
        let step = inverse(damped).map(|inverse| times_vector(&inverse, &at.slope));
        let step = step.filter(|step| step.iter().all(|one| one.abs() < 2.0));
        let tried = step.map(|step| {
            let theta = [0, 1, 2].map(|index| theta[index] + step[index]);
            (likelihood(times, end, &process(theta)), theta, step)
        });
        match tried {
            Some((likelihood, to, step)) if likelihood.value >= at.value => {
                (at, theta, damping) = (likelihood, to, damping * 0.1);
                if step.iter().all(|one| one.abs() < 1e-9) {
                    return Some((at, theta));
                }
            }
            // A step back from a maximum found as exactly as the numbers allow.
            Some((.., step)) if step.iter().all(|one| one.abs() < 1e-7) => {
                return Some((at, theta));
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

fn likelihood(times: &[f64], end: f64, process: &Hawkes) -> Likelihood {
    let Hawkes { base, jump, decay } = *process;
    // Sums over earlier events of exp(-decay age), times age and age squared.
    let (mut a, mut b, mut c) = (0.0, 0.0, 0.0);
    let mut before = None;
    let (mut value, mut slope, mut h) = (0.0, [0.0; 3], [[0.0; 3]; 3]);
    for time in times {
        if let Some(before) = before {
            let gap: f64 = time - before;
            let left = (-decay * gap).exp();
            c = left * (c + 2.0 * gap * b + gap * gap * (1.0 + a));
            b = left * (b + gap * (1.0 + a));
            a = left * (1.0 + a);
        }
        before = Some(*time);
        let intensity = base + jump * a;
        // Derivatives of the intensity.
        let first = [1.0, a, -jump * b].map(|one| one / intensity);
        value += intensity.ln();
        for i in 0..3 {
            slope[i] += first[i];
            for j in 0..3 {
                h[i][j] -= first[i] * first[j];
            }
        }
        h[1][2] -= b / intensity;
        h[2][1] -= b / intensity;
        h[2][2] += jump * c / intensity;
    }
    // Less the expected number of events.
    let (mut g, mut g1, mut g2) = (0.0, 0.0, 0.0);
    for time in times {
        let s = end - time;
        let left = (-decay * s).exp();
        let gone = 1.0 - left;
        g += gone / decay;
        g1 += s * left / decay - gone / decay.powi(2);
        g2 += 2.0 * gone / decay.powi(3) - 2.0 * s * left / decay.powi(2) - s * s * left / decay;
    }
    value -= base * end + jump * g;
    let expected = [end, g, jump * g1];
    (0..3).for_each(|i| slope[i] -= expected[i]);
    h[1][2] -= g1;
    h[2][1] -= g1;
    h[2][2] -= jump * g2;
    in_logs(value, slope, h, [base, jump, decay])
}

/// From derivatives by the parameters to those by their logarithms.
fn in_logs(value: f64, slope: Vector, h: Matrix, p: Vector) -> Likelihood {
    let slope = [0, 1, 2].map(|i| p[i] * slope[i]);
    let entry = |i: usize, j: usize| p[i] * p[j] * h[i][j] + if i == j { slope[i] } else { 0.0 };
    let curvature = [0, 1, 2].map(|i| [0, 1, 2].map(|j| entry(i, j)));
    Likelihood { value, slope, curvature }
}

fn times_vector(m: &Matrix, v: &Vector) -> Vector {
    m.map(|row| row[0] * v[0] + row[1] * v[1] + row[2] * v[2])
}

/// The inverse of a symmetric matrix, by cofactors; `None` if there is none.
fn inverse(m: Matrix) -> Option<Matrix> {
    let minor = |i: usize, j: usize| {
        let [r, s] = [(i + 1) % 3, (i + 2) % 3];
        let [t, u] = [(j + 1) % 3, (j + 2) % 3];
        m[r][t] * m[s][u] - m[r][u] * m[s][t]
    };
    let determinant: f64 = (0..3).map(|j| m[0][j] * minor(0, j)).sum();
    (determinant.is_finite() && determinant != 0.0)
        .then(|| [0, 1, 2].map(|i| [0, 1, 2].map(|j| minor(j, i) / determinant)))
}

#[cfg(test)]
#[path = "fit_tests.rs"]
mod tests;
