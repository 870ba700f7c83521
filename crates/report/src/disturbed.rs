//! The result of `selftest --disturbed`, as a table.

use serde::Serialize;
use std::fmt::Write;

/// One figure under one disturbance.
#[derive(Clone, Debug, Serialize)]
pub struct DisturbedFigure {
    /// `p50`, `p99.9`, …
    pub percentile: String,
    /// By how much undisturbed pairs differ, 95 times of 100, as a natural logarithm.
    pub limit: f64,
    /// Pairs that have the figure.
    pub pairs: usize,
    /// Disturbed runs in which it holds.
    pub holds: usize,
    /// How many of those differ by more than the limit.
    pub differ: usize,
    /// Number of all pairs that do. A verdict that takes every figure to hold would let them pass.
    pub differ_if_all_held: usize,
}

/// Every figure under one disturbance.
#[derive(Clone, Debug, Serialize)]
pub struct DisturbedRow {
    /// The disturbance that was made on purpose.
    pub disturbance: String,
    /// Pairs that were made.
    pub pairs: usize,
    /// By percentile.
    pub figures: Vec<DisturbedFigure>,
}

/// The table and the verdict.
pub fn disturbed(rows: &[DisturbedRow], passed: bool) -> String {
    let mut out = String::new();
    let word = if passed { "ok" } else { "FAILED" };
    let _ = writeln!(out, "{word} what holds stays as it is under disturbance\n");
    let _ = writeln!(
        out,
        "{:<48}{:>8}{:>8}{:>9}{:>9}{:>15}",
        "disturbed on purpose", "figure", "holds", "limit", "differ", "if all \"held\""
    );
    for row in rows {
        let mut name = row.disturbance.as_str();
        for figure in row.figures.iter().filter(|figure| figure.pairs > 0) {
            let _ = writeln!(
                out,
                "{name:<48}{:>8}{:>8}{:>8.1}%{:>9}{:>15}",
                figure.percentile,
                format!("{}/{}", figure.holds, figure.pairs),
                figure.limit.exp_m1() * 100.0,
                figure.differ,
                figure.differ_if_all_held
            );
            name = "";
        }
    }
    out.push_str(
        "  limit: by how much pairs differ that nobody disturbed, 95 of 100; differ: of the disturbed runs in\n  \
         which the figure holds, those beyond the limit (at most 4 of 40); the last column counts all runs\n",
    );
    out
}
