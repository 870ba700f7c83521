//! The test of Kolmogorov and Smirnov: could these values come from that distribution?

/// The result of a test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kolmogorov {
    /// The largest distance between the values' distribution and the expected one, 0 to 1.
    pub distance: f64,
    /// Probability that chance alone makes it as large.
    pub p: f64,
}

/// Tests whether values are uniform between 0 and 1. The p is that of a large sample, with the
/// correction of Stephens (1970): good from about ten values on. Without values, p is 1.
pub fn against_uniform(mut values: Vec<f64>) -> Kolmogorov {
    values.sort_unstable_by(f64::total_cmp);
    let n = values.len() as f64;
    let farther = |(rank, value): (usize, &f64)| {
        let [below, above] = [rank as f64 / n, (rank + 1) as f64 / n];
        (value - below).max(above - value)
    };
    let distance = values.iter().enumerate().map(farther).fold(0.0, f64::max);
    let root = n.sqrt();
    Kolmogorov { distance, p: tail((root + 0.12 + 0.11 / root.max(1.0)) * distance) }
}

/// Probability that Kolmogorov's distribution is above `x`.
fn tail(x: f64) -> f64 {
    // The series converges slowly where the result is 1.
    if x < 0.2 {
        return 1.0;
    }
    let term = |k: i32| {
        let size = 2.0 * (-2.0 * f64::from(k * k) * x * x).exp();
        if k % 2 == 1 { size } else { -size }
    };
    (1..=100).map(term).sum::<f64>().clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clock::random::SplitMix64;

    #[test]
    fn the_tail_is_that_of_the_tables() {
        for (x, expected) in [(1.224, 0.1), (1.358, 0.05), (1.628, 0.01), (0.5, 0.9639)] {
            assert!((tail(x) - expected).abs() < 2e-3, "{x}: {}", tail(x));
        }
        assert_eq!((tail(0.0), tail(0.1)), (1.0, 1.0));
    }

    #[test]
    fn uniform_values_are_rejected_as_often_as_they_should_be() {
        let mut random = SplitMix64::new(5);
        let rejected = (0..2_000)
            .filter(|_| against_uniform((0..50).map(|_| random.unit_open()).collect()).p < 0.05)
            .count();
        // 100 and four standard deviations of 10.
        assert!((60..=140).contains(&rejected), "{rejected}");
    }

    #[test]
    fn other_values_are_rejected() {
        let squares = (1..100).map(|n| (f64::from(n) / 100.0).powi(2)).collect();
        let result = against_uniform(squares);
        assert!((result.distance - 0.25).abs() < 0.02 && result.p < 1e-4, "{result:?}");
        assert_eq!(against_uniform(Vec::new()), Kolmogorov { distance: 0.0, p: 1.0 });
    }
}
