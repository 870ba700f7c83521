//! `trial.json`: each setting alone against none, and those that help together.

use serde::{Deserialize, Serialize};
use stats::compare::{Effect, Outcome};

/// Version of [`Trial`]. 2: figures with a reason, the noise share, times.
pub const TRIAL_SCHEMA: u32 = 2;
/// Percentiles of the main series that are compared.
pub const FIGURES: [&str; 3] = ["p50", "p99", "p99.9"];
/// The figure beside them: the share of the main series' messages that were disturbed.
pub const NOISE_SHARE: &str = "noise share";

/// What `tickpath tune trial` leaves, and `tune apply --from-trial` reads.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Trial {
    /// Version of this schema.
    pub schema: u32,
    /// The program that made it.
    pub tool: String,
    /// When it began, UTC, RFC 3339.
    pub started: String,
    /// The command line that repeats it.
    pub command: Vec<String>,
    /// The scenario that measured.
    pub scenario: String,
    /// The machine's four letters.
    pub machine: String,
    /// What it was tuned for.
    pub profile: String,
    /// Cores that were to be left alone.
    pub cores: Vec<usize>,
    /// The time that it had, s.
    pub budget_seconds: f64,
    /// The time that it took, s.
    pub took_seconds: f64,
    /// What one run took, with its processes and switching the setting, s: measured first.
    pub run_seconds: f64,
    /// Pairs of runs planned for each setting.
    pub pairs: u32,
    /// All settings at once, measured before and after a restart of the machine. Nothing was
    /// selected among several, so there is no confirmation.
    pub restarted: bool,
    /// Settings that were tried, in order.
    pub tried: Vec<Tried>,
    /// Settings that were not tried.
    pub not_tried: Vec<NotTried>,
    /// Those that made something better and nothing worse.
    pub chosen: Vec<String>,
    /// All chosen ones together against none, on fresh runs.
    pub confirmation: Option<Tried>,
    /// Why it ended early.
    pub ended_because: Option<String>,
}

/// A setting that was not tried.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct NotTried {
    /// Which.
    pub id: String,
    /// Why not.
    pub why: String,
}

/// One setting, or several together, against none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Tried {
    /// Which; of several the ids, separated by commas.
    pub id: String,
    /// Pairs of runs that count.
    pub pairs: usize,
    /// Pairs of which one run was void.
    pub pairs_void: usize,
    /// What it took, s.
    pub seconds: f64,
    /// The figures of the main series, corrected for all settings that were tried.
    pub figures: Vec<TriedFigure>,
    /// All figures together: worse if one is, better if one is and none is worse.
    pub outcome: Outcome,
    /// Why it is inconclusive, and what else there is to say.
    pub why: String,
}

/// What a figure counts in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Nanoseconds.
    #[default]
    Ns,
    /// Parts per million of all messages.
    Ppm,
}

/// One figure without and with a setting.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TriedFigure {
    /// `p50`, `p99`, `p99.9` of the main series, or `noise share`.
    pub figure: String,
    /// The unit of the effect's `a`, `b` and `added_ns`.
    pub unit: Unit,
    /// Pairs in which it holds in both runs; only those count.
    pub pairs: usize,
    /// `null` if too few pairs count. For the noise share, `change`, its interval and the noise
    /// floor are differences in percentage points: 0.05 is five more.
    pub effect: Option<Effect>,
    /// The effect's `p`, corrected for all figures of all settings (Holm 1979).
    pub p_adjusted: Option<f64>,
    /// What that means: `b` is with the setting.
    pub outcome: Outcome,
    /// Why it is inconclusive; empty otherwise.
    pub why: String,
}
