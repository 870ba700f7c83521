//! One line of a comparison.

use crate::Kind;
use serde::{Deserialize, Serialize};
use stats::compare::{Effect, Outcome};

/// One figure of A against B. Shares are of A: 0.05 is 5 % slower.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ComparedFigure {
    /// A's name of the subject.
    pub subject: String,
    /// `order`, `cancel`, …
    pub series: String,
    /// Response or service time.
    pub kind: Kind,
    /// `p50`, `p99.9`, …
    pub figure: String,
    /// The measured difference; its fields stand next to these in compare.json.
    #[serde(flatten)]
    pub effect: Effect,
    /// The effect's `p`, corrected for the number of figures.
    pub p_adjusted: f64,
    /// Better, worse or inconclusive.
    pub outcome: Outcome,
}

impl ComparedFigure {
    /// `order.service.p99`, after the subject's name.
    pub fn name(&self) -> String {
        format!("{}.{}.{}.{}", self.subject, self.series, self.kind.name(), self.figure)
    }
}
