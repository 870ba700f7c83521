//! One line of a comparison.

use crate::compare::Outcome;
use crate::record::Kind;
use serde::{Deserialize, Serialize};

/// One figure of A against B. Shares are of A: 0.05 is 5 % slower.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Compared {
    /// Whose: A's name of the subject.
    pub subject: String,
    /// `order`, `cancel`, …
    pub series: String,
    /// Response or service time.
    pub kind: Kind,
    /// `p50`, `p99.9`, …
    pub figure: String,
    /// Median over A's runs, ns.
    pub a: u64,
    /// Median over B's runs, ns.
    pub b: u64,
    /// By how much B is above A, as a share.
    pub change: f64,
    /// Confidence interval of `change`, at least 95 %.
    pub interval: [f64; 2],
    /// By how much B is above A, ns.
    pub added_ns: i64,
    /// Confidence interval of `added_ns`, at least 95 %.
    pub added_ns_interval: [i64; 2],
    /// What A against A shows on this machine, 95 times of 100, as a share.
    pub noise_floor: f64,
    /// How often chance alone would show as much.
    pub p: f64,
    /// The same, corrected for the number of figures.
    pub p_adjusted: f64,
    /// What that means.
    pub outcome: Outcome,
}

impl Compared {
    /// `order.service.p99`, with the subject before it.
    pub fn name(&self) -> String {
        format!("{}.{}.{}.{}", self.subject, self.series, self.kind.name(), self.figure)
    }
}
