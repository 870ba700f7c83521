//! The likelihood of a process, with its derivatives.

use crate::hawkes::{Hawkes, Kernel};

/// The logarithm of the likelihood, with its derivatives by the logarithms of the parameters: base,
/// then jump and decay of each kernel.
#[derive(Clone, Debug)]
pub(super) struct Likelihood {
    pub value: f64,
    pub slope: Vec<f64>,
    pub curvature: Vec<Vec<f64>>,
}

/// Sums over earlier events of exp(-decay age), times age, and times age squared.
#[derive(Clone, Copy, Default)]
struct Sums {
    a: f64,
    b: f64,
    c: f64,
}

impl Sums {
    /// From just before an event to just before the next one.
    fn after(self, decay: f64, gap: f64) -> Sums {
        let Sums { a, b, c } = self;
        let left = (-decay * gap).exp();
        Sums {
            a: left * (1.0 + a),
            b: left * (b + gap * (1.0 + a)),
            c: left * (c + 2.0 * gap * b + gap * gap * (1.0 + a)),
        }
    }
}

/// The likelihood of `times`, observed to `end`, by the first `kernels` kernels.
pub(super) fn likelihood(times: &[f64], end: f64, process: &Hawkes, kernels: usize) -> Likelihood {
    let kernels = &process.kernels[..kernels];
    let size = 1 + 2 * kernels.len();
    let mut sums = vec![Sums::default(); kernels.len()];
    let mut first = vec![0.0; size];
    let (mut value, mut slope, mut h) = (0.0, vec![0.0; size], vec![vec![0.0; size]; size]);
    let mut before = None;
    for time in times {
        if let Some(before) = before {
            let gap: f64 = time - before;
            for (sums, kernel) in sums.iter_mut().zip(kernels) {
                *sums = sums.after(kernel.decay, gap);
            }
        }
        before = Some(*time);
        let pairs = kernels.iter().zip(&sums);
        let intensity =
            process.base + pairs.map(|(kernel, sums)| kernel.jump * sums.a).sum::<f64>();
        value += intensity.ln();
        first[0] = 1.0 / intensity;
        for (k, (kernel, Sums { a, b, c })) in kernels.iter().zip(&sums).enumerate() {
            let (jump, decay) = (1 + 2 * k, 2 + 2 * k);
            (first[jump], first[decay]) = (a / intensity, -kernel.jump * b / intensity);
            h[jump][decay] -= b / intensity;
            h[decay][jump] -= b / intensity;
            h[decay][decay] += kernel.jump * c / intensity;
        }
        for i in 0..size {
            slope[i] += first[i];
            for j in 0..size {
                h[i][j] -= first[i] * first[j];
            }
        }
    }
    value -= process.base * end;
    slope[0] -= end;
    for (k, kernel) in kernels.iter().enumerate() {
        let (jump, decay) = (1 + 2 * k, 2 + 2 * k);
        let [g, g1, g2] = expected(times, end, kernel.decay);
        value -= kernel.jump * g;
        slope[jump] -= g;
        slope[decay] -= kernel.jump * g1;
        h[jump][decay] -= g1;
        h[decay][jump] -= g1;
        h[decay][decay] -= kernel.jump * g2;
    }
    in_logs(value, &slope, &h, &parameters(process.base, kernels))
}

/// The number of events that a kernel with a jump of 1 is expected to cause by `end`, and its first
/// two derivatives by the decay.
fn expected(times: &[f64], end: f64, decay: f64) -> [f64; 3] {
    let mut sums = [0.0; 3];
    for time in times {
        let s = end - time;
        let left = (-decay * s).exp();
        let gone = 1.0 - left;
        sums[0] += gone / decay;
        sums[1] += s * left / decay - gone / decay.powi(2);
        sums[2] +=
            2.0 * gone / decay.powi(3) - 2.0 * s * left / decay.powi(2) - s * s * left / decay;
    }
    sums
}

fn parameters(base: f64, kernels: &[Kernel]) -> Vec<f64> {
    let of = |kernel: &Kernel| [kernel.jump, kernel.decay];
    std::iter::once(base).chain(kernels.iter().flat_map(of)).collect()
}

/// From derivatives by the parameters to those by their logarithms.
fn in_logs(value: f64, slope: &[f64], h: &[Vec<f64>], p: &[f64]) -> Likelihood {
    let slope: Vec<f64> = slope.iter().zip(p).map(|(slope, p)| p * slope).collect();
    let entry = |i: usize, j: usize| p[i] * p[j] * h[i][j] + if i == j { slope[i] } else { 0.0 };
    let row = |i: usize| (0..p.len()).map(|j| entry(i, j)).collect();
    let curvature = (0..p.len()).map(row).collect();
    Likelihood { value, slope, curvature }
}
