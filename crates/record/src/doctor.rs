//! What `tickpath doctor --json` prints: whether a machine is fit to measure on, and what speaks
//! against it.
//!
//! Readers ignore keys they don't know and take absent ones at their default.
//! docs/doctor.schema.json is its JSON Schema.

use serde::{Deserialize, Serialize};

/// Version of [`Findings`].
pub const SCHEMA: u32 = 1;

/// How one finding bears on what is measured here. The worst is the least.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Grade {
    /// Figures that are taken here mislead.
    Bad,
    /// The tail is wider, or less can be measured, than it has to be.
    Warn,
    /// It can't be read here, so nothing is said about it.
    #[default]
    Unknown,
    /// Nothing speaks against measuring.
    Ok,
}

impl Grade {
    /// All of them, the worst first.
    pub const ALL: [Grade; 4] = [Grade::Bad, Grade::Warn, Grade::Unknown, Grade::Ok];

    /// The word for it, as in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Grade::Bad => "bad",
            Grade::Warn => "warn",
            Grade::Unknown => "unknown",
            Grade::Ok => "ok",
        }
    }
}

/// One thing that was looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Finding {
    /// What was looked at, for example `cpu.governor`; the same id on every machine.
    pub id: String,
    /// The verdict.
    pub grade: Grade,
    /// What was found, in words.
    pub found: String,
    /// Why it matters, a sentence or two.
    pub why: String,
    /// What to do about it.
    pub what_to_do: String,
    /// The value of an operating system's setting, as the kernel writes it; `null` where it
    /// can't be read or the kernel has none.
    pub value: Option<String>,
    /// What a setting should be: what a host that is to be fast wants, in words.
    pub wanted: Option<String>,
    /// Where it is a setting, ids of the noise causes that the wanted value removes, for example
    /// `irq_vector.local_timer`. Names in capitals stand for any name: `thread.NAME`.
    pub removes: Vec<String>,
}

/// Everything that was looked at on one machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Findings {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The program that looked, for example `tickpath 0.1.0`.
    pub tool: String,
    /// No finding is [`Grade::Bad`]. The exit status is 0 if so, 1 if not.
    pub fit: bool,
    /// The machine's four letters, as in `machine.json`'s history
    /// (`record::machine::Fixed::identity`).
    pub machine: String,
    /// The cores that were judged, those that a run would measure on.
    pub cores: Vec<usize>,
    /// For how long load and interrupts were watched, seconds.
    pub watched_seconds: f64,
    /// In the order in which they were looked at.
    pub findings: Vec<Finding>,
}

impl Findings {
    /// How many findings have a grade.
    pub fn count(&self, grade: Grade) -> usize {
        self.findings.iter().filter(|finding| finding.grade == grade).count()
    }
}
