//! Small matrices, as rows.

/// A matrix times a vector.
pub(super) fn times_vector(m: &[Vec<f64>], v: &[f64]) -> Vec<f64> {
    m.iter().map(|row| row.iter().zip(v).map(|(a, b)| a * b).sum()).collect()
}

/// The inverse, by elimination with the largest pivot; `None` if there is none.
pub(super) fn inverse(m: &[Vec<f64>]) -> Option<Vec<Vec<f64>>> {
    let n = m.len();
    // The matrix, and the unit matrix beside it.
    let unit = |i: usize| (0..n).map(move |j| if i == j { 1.0 } else { 0.0 });
    let mut rows: Vec<Vec<f64>> =
        m.iter().enumerate().map(|(i, row)| row.iter().copied().chain(unit(i)).collect()).collect();
    for column in 0..n {
        let size = |row: &usize| rows[*row][column].abs();
        let pivot = (column..n).max_by(|a, b| size(a).total_cmp(&size(b)))?;
        rows.swap(column, pivot);
        let divisor = rows[column][column];
        if !divisor.is_finite() || divisor == 0.0 {
            return None;
        }
        rows[column].iter_mut().for_each(|one| *one /= divisor);
        let chosen = rows[column].clone();
        for (at, row) in rows.iter_mut().enumerate() {
            let factor = row[column];
            if at != column && factor != 0.0 {
                row.iter_mut().zip(&chosen).for_each(|(one, chosen)| *one -= factor * chosen);
            }
        }
    }
    Some(rows.into_iter().map(|row| row[n..].to_vec()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_matrix_times_its_inverse_is_one() {
        // The first pivot is 0.
        let m = vec![vec![0.0, 2.0, 1.0], vec![2.0, 0.0, 3.0], vec![1.0, 3.0, 0.5]];
        let inverse = inverse(&m).unwrap();
        for (i, row) in m.iter().enumerate() {
            let unit = (0..3).map(|j| if i == j { 1.0 } else { 0.0 });
            for (j, one) in unit.enumerate() {
                let entry: f64 = row.iter().zip(&inverse).map(|(a, b)| a * b[j]).sum();
                assert!((entry - one).abs() < 1e-12, "{i} {j}: {entry}");
            }
        }
        assert_eq!(super::inverse(&[vec![1.0, 2.0], vec![2.0, 4.0]]), None);
        assert_eq!(super::inverse(&[vec![f64::NAN]]), None);
    }
}
