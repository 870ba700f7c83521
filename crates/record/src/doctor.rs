//! The output of `tickpath doctor --json`: whether a machine is fit to measure on, and its
//! problems.
//!
//! Readers ignore keys they don't know and take absent ones at their default.
//! docs/doctor.schema.json is the JSON Schema.

use serde::{Deserialize, Serialize};

/// Version of [`Findings`].
pub const SCHEMA: u32 = 1;

/// Effect of a finding on measurements on this machine. The worst is the least.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Grade {
    /// Figures measured here are misleading.
    Bad,
    /// The tail is wider than necessary, or some quantities can't be measured.
    Warn,
    /// The check can't be done on this machine.
    #[default]
    Unknown,
    /// The check found no problem.
    Ok,
}

impl Grade {
    /// All of them, the worst first.
    pub const ALL: [Grade; 4] = [Grade::Bad, Grade::Warn, Grade::Unknown, Grade::Ok];

    /// The name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Grade::Bad => "bad",
            Grade::Warn => "warn",
            Grade::Unknown => "unknown",
            Grade::Ok => "ok",
        }
    }
}

/// Result of one check.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Finding {
    /// Name of the check, for example `cpu.governor`; the same on every machine.
    pub id: String,
    /// The verdict.
    pub grade: Grade,
    /// The observation, in words.
    pub found: String,
    /// Why it matters, a sentence or two.
    pub why: String,
    /// Advice.
    pub what_to_do: String,
    /// The value of an operating system's setting, as the kernel writes it; `null` if it can't be
    /// read or the kernel has none.
    pub value: Option<String>,
    /// Recommended value of the setting, in words.
    pub wanted: Option<String>,
    /// For a setting, ids of the noise causes that the recommended value removes, for example
    /// `irq_vector.local_timer`. Capitals stand for any name: `thread.NAME`.
    pub removes: Vec<String>,
}

/// All checks on one machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Findings {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The program that wrote it, for example `tickpath 0.1.0`.
    pub tool: String,
    /// Whether no finding is [`Grade::Bad`]. The exit status is 0 if so, 1 if not.
    pub fit: bool,
    /// The machine's four letters, as in `machine.json`'s history
    /// (`record::machine::Fixed::identity`).
    pub machine: String,
    /// The checked cores, on which a run would measure.
    pub cores: Vec<usize>,
    /// Time for which load and interrupts were watched, seconds.
    pub watched_seconds: f64,
    /// In the order of the checks.
    pub findings: Vec<Finding>,
}

impl Findings {
    /// Number of findings with this grade.
    pub fn count(&self, grade: Grade) -> usize {
        self.findings.iter().filter(|finding| finding.grade == grade).count()
    }
}
