//! One line of a comparison.

use crate::Kind;
use crate::unit::Unit;
use serde::{Deserialize, Serialize};
use stats::compare::Effect;
use stats::verdict::Outcome;

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
    /// `p50`, `p99.9`, …; `p50 / floor` for its ratio to the floor.
    pub figure: String,
    /// The unit of `a`, `b` and `added_ns`: for a ratio parts per million, so 1 070 000 is 1.07 x.
    #[serde(default)]
    pub unit: Unit,
    /// The measured difference; its fields stand next to these in compare.json.
    #[serde(flatten)]
    pub effect: Effect,
    /// The interval of `change`, widened by all that disturbance may have done: each run's figure
    /// at the worse end of its bracket. `null` if a run was not judged.
    #[serde(default)]
    pub range: Option<[f64; 2]>,
    /// Runs of A and of B in which the figure holds; `null` in schema 1, which does not count them.
    #[serde(default)]
    pub held: Option<[usize; 2]>,
    /// Whether it holds in at least half of the runs of both. Schema 1 has only figures that hold.
    #[serde(default = "holds_in_schema_1")]
    pub holds: bool,
    /// Arms with disturbed runs, and the cause; empty if there are none.
    #[serde(default)]
    pub disturbance: String,
    /// How the offset of two hosts' clocks was dealt with, in words; empty if one clock stamped it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub one_way: String,
    /// The effect's `p`, corrected for the number of figures.
    pub p_adjusted: f64,
    /// Better, worse, no difference seen, not known, or inconclusive.
    pub outcome: Outcome,
}

fn holds_in_schema_1() -> bool {
    true
}

/// Suffix of a percentile's name that makes it the name of its ratio to the floor.
pub(crate) const OVER_FLOOR: &str = " / floor";

impl ComparedFigure {
    /// Whether it is a ratio to the floor.
    pub fn is_ratio(&self) -> bool {
        self.unit == Unit::Ppm
    }

    /// Whether `self` is the ratio to the floor of `absolute`.
    pub(crate) fn is_ratio_of(&self, absolute: &ComparedFigure) -> bool {
        self.is_ratio() && self.name() == absolute.name() + OVER_FLOOR
    }

    /// `order.service.p99`, after the subject's name.
    pub fn name(&self) -> String {
        format!("{}.{}.{}.{}", self.subject, self.series, self.kind.name(), self.figure)
    }

    /// The size above which no difference was seen, as a share: the furthest end of the range, or
    /// the noise.
    pub fn seen_above(&self) -> f64 {
        let [low, high] = self.range.unwrap_or(self.effect.interval);
        low.abs().max(high.abs()).max(self.effect.noise_floor)
    }
}
