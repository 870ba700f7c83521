//! One line of a comparison.

use crate::Kind;
use serde::{Deserialize, Serialize};
use stats::compare::{Effect, Outcome};

/// One figure of A against B. Shares are of A: 0.05 is 5 % slower.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Compared {
    /// Whose: A's name of the subject.
    pub subject: String,
    /// `order`, `cancel`, …
    pub series: String,
    /// Response or service time.
    pub kind: Kind,
    /// `p50`, `p99.9`, …
    pub figure: String,
    /// What was found; its fields stand beside these in compare.json.
    #[serde(flatten)]
    pub effect: Effect,
    /// The effect's `p`, corrected for the number of figures.
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
