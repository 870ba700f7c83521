//! `one_way`: when to show figures from the clock of one host to that of another.

use serde::{Deserialize, Serialize};

/// When a figure between two clocks is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OneWay {
    /// If the clocks are known to within a tenth of it.
    #[default]
    Tenth,
    /// Always, as an interval: as far as the bracket of the clocks' offset reaches.
    Bracket,
}
