//! `trial.json`: each setting alone compared with none, and the useful ones together.

use crate::unit::Unit;
use serde::{Deserialize, Serialize};
use stats::compare::Effect;
use stats::verdict::{Difference, Outcome};

/// Version of [`Trial`]. Since 2: figures with a reason, the noise share, times. Since 3: every
/// pair counts, with its brackets; `no_difference` and `not_known`.
pub const TRIAL_SCHEMA: u32 = 3;
/// The compared percentiles of the main series.
pub const FIGURES: [&str; 3] = ["p50", "p99", "p99.9"];
/// The additional figure: the share of the main series' messages that were disturbed.
pub const NOISE_SHARE: &str = "noise share";

/// Result of `tickpath tune trial`, input of `tune apply --from-trial`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Trial {
    /// Version of this schema.
    pub schema: u32,
    /// The program that wrote it.
    pub tool: String,
    /// Its start, UTC, RFC 3339.
    pub started: String,
    /// The command line that repeats it.
    pub command: Vec<String>,
    /// The scenario that measured.
    pub scenario: String,
    /// The machine's four letters.
    pub machine: String,
    /// The tuning profile.
    pub profile: String,
    /// Cores to keep free.
    pub cores: Vec<usize>,
    /// Available time, s.
    pub budget_seconds: f64,
    /// Time used, s.
    pub took_seconds: f64,
    /// Time of one run with its processes and switching the setting, s: measured first.
    pub run_seconds: f64,
    /// Pairs of runs planned for each setting.
    pub pairs: u32,
    /// Whether all settings were measured together before and after a reboot. Nothing was selected,
    /// so there is no confirmation.
    pub restarted: bool,
    /// Settings that were tried, in order.
    pub tried: Vec<TriedSetting>,
    /// Settings that were not tried.
    pub not_tried: Vec<UntriedSetting>,
    /// Settings that improved something and worsened nothing.
    pub chosen: Vec<String>,
    /// All chosen settings together compared with none, on fresh runs.
    pub confirmation: Option<TriedSetting>,
    /// Why it ended early.
    pub ended_because: Option<String>,
}

/// A setting that was not tried.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct UntriedSetting {
    /// Its name.
    pub id: String,
    /// Why it was not tried.
    pub why: String,
}

/// One setting, or several together, compared with none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TriedSetting {
    /// Its name; the names of several are separated by commas.
    pub id: String,
    /// Pairs of runs that count.
    pub pairs: usize,
    /// Pairs with a void run.
    pub pairs_void: usize,
    /// Its duration, s.
    pub seconds: f64,
    /// The figures of the main series, corrected for all settings that were tried.
    pub figures: Vec<TriedFigure>,
    /// Verdict over all figures: worse if one is, better if one is and none is worse; not known if
    /// one is not known.
    pub outcome: Outcome,
    /// Remarks, such as why pairs were void.
    pub why: String,
}

/// One figure without and with a setting.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TriedFigure {
    /// `p50`, `p99`, `p99.9` of the main series, or `noise share`.
    pub figure: String,
    /// The unit of the effect's `a`, `b` and `added_ns`.
    pub unit: Unit,
    /// Pairs in which both runs have samples enough for it; only those count.
    pub pairs: usize,
    /// `null` if too few pairs count. For the noise share, `change`, its interval and the noise
    /// floor are differences in percentage points: 0.05 is five points more.
    pub effect: Option<Effect>,
    /// The interval of the effect's `change`, widened by all that disturbance may have done; `null`
    /// if not judged.
    pub range: Option<[f64; 2]>,
    /// The effect's `p`, corrected for all figures of all settings (Holm 1979).
    pub p_adjusted: Option<f64>,
    /// Verdict; `b` is with the setting.
    pub outcome: Outcome,
    /// Why it is neither better nor worse; empty otherwise.
    pub why: String,
    /// The difference that is judged.
    #[serde(skip)]
    pub difference: Option<Difference>,
}
