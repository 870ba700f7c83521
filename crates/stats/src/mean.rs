//! Means of independent values, such as one per seed of a simulation. Latencies have medians.

/// Fewest values of an interval, as for [`crate::median_interval`].
pub const VALUES_MIN: usize = 6;

/// The 97.5th percentile of the normal distribution.
const Z: f64 = 1.959_963_984_540_054;

/// The mean; `None` without values.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// A confidence interval of 95 % for the mean, by Student's t distribution. It assumes independent
/// values, and a mean that is about normal. `None` for fewer than [`VALUES_MIN`] values.
pub fn mean_interval(values: &[f64]) -> Option<[f64; 2]> {
    if values.len() < VALUES_MIN {
        return None;
    }
    let (n, mean) = (values.len() as f64, mean(values)?);
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    let half = t_975(n - 1.0) * (squares / (n - 1.0) / n).sqrt();
    Some([mean - half, mean + half])
}

/// The 97.5th percentile of Student's t distribution, for at least five degrees of freedom: the
/// expansion of Fisher and Cornish (1960), within 0.001 of the tables.
fn t_975(degrees: f64) -> f64 {
    let z2 = Z * Z;
    let first = Z * (z2 + 1.0) / 4.0;
    let second = Z * ((5.0 * z2 + 16.0) * z2 + 3.0) / 96.0;
    let third = Z * (((3.0 * z2 + 19.0) * z2 + 17.0) * z2 - 15.0) / 384.0;
    let fourth =
        Z * ((((79.0 * z2 + 776.0) * z2 + 1_482.0) * z2 - 1_920.0) * z2 - 945.0) / 92_160.0;
    let terms = [first, second, third, fourth];
    Z + terms.iter().zip(1..).map(|(term, power)| term / degrees.powi(power)).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clock::random::SplitMix64;

    #[test]
    fn t_is_that_of_the_tables() {
        for (degrees, expected) in [(5.0, 2.5706), (10.0, 2.2281), (29.0, 2.0452), (99.0, 1.9842)] {
            let t = t_975(degrees);
            assert!((t - expected).abs() < 0.001, "{degrees}: {t}");
        }
    }

    #[test]
    fn the_interval_covers_the_mean_in_95_of_100() {
        let mut random = SplitMix64::new(11);
        let covered = (0..4_000)
            .filter(|_| {
                let values: Vec<f64> =
                    (0..8).map(|_| random.unit_open() + random.unit_open()).collect();
                let [low, high] = mean_interval(&values).unwrap();
                low <= 1.0 && 1.0 <= high
            })
            .count();
        // 3 800 and four standard deviations of the binomial, 13.8 each.
        assert!((3_745..=3_855).contains(&covered), "{covered}");
    }

    #[test]
    fn too_few_values_have_no_interval() {
        assert_eq!(mean(&[]), None);
        assert_eq!(mean(&[3.0]), Some(3.0));
        assert_eq!(mean_interval(&[1.0; 5]), None);
        assert_eq!(mean_interval(&[1.0; 6]), Some([1.0, 1.0]));
    }
}
