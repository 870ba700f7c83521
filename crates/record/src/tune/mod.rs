//! What `tickpath tune --json` prints: settings as they are and as they should be, and what was
//! done about them.
//!
//! Readers ignore keys they don't know and take absent ones at their default.

mod judge;
mod trial;

pub use judge::{corrected, figures};
pub use trial::{FIGURES, NOISE_SHARE, NotTried, TRIAL_SCHEMA, Trial, Tried, TriedFigure, Unit};

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of [`Survey`] and [`Account`].
pub const SCHEMA: u32 = 1;

/// How a setting stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Something else would be better here.
    Better,
    /// It can't be read, or only outside this machine.
    #[default]
    Unknown,
    /// As it should be.
    AsWanted,
    /// This machine has no such thing.
    NotApplicable,
}

impl State {
    /// All of them, those to look at first.
    pub const ALL: [State; 4] =
        [State::Better, State::Unknown, State::AsWanted, State::NotApplicable];

    /// The words for it.
    pub fn name(self) -> &'static str {
        match self {
            State::Better => "better possible",
            State::Unknown => "unknown",
            State::AsWanted => "as wanted",
            State::NotApplicable => "not applicable",
        }
    }
}

/// One change of one place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Step {
    /// Where: `kernel:/proc/sys/vm/swappiness`, `file:/etc/default/grub`, `nic:ens5/rx-usecs`.
    pub place: String,
    /// The present value; `null` where there is none.
    pub before: Option<String>,
    /// What shall be there.
    pub after: Option<String>,
}

/// One setting on one machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SettingState {
    /// Its name, the same on every machine.
    pub id: String,
    /// 1 shows at p99 on most machines, 2 beyond p99.9 or under load, 3 seldom.
    pub tier: u8,
    /// How it stands.
    pub state: State,
    /// What was found, in words.
    pub found: String,
    /// What a host that is to be fast wants.
    pub wanted: String,
    /// Why it matters.
    pub why: String,
    /// What one pays for it.
    pub cost: String,
    /// What to do by hand.
    pub what_to_do: String,
    /// The document that describes it.
    pub source: String,
    /// What it changes: `cores`, `nic`, `host`.
    pub scope: String,
    /// `low`, `medium`, `high`.
    pub risk: String,
    /// What it takes: `root`, `reboot`, or why it can't be done.
    pub needs: Vec<String>,
    /// What brings it back when the machine starts again.
    pub survives: String,
    /// Settings that make no sense beside it.
    pub conflicts: Vec<String>,
    /// Causes of noise that it removes.
    pub removes: Vec<String>,
    /// What to change now.
    pub steps: Vec<Step>,
    /// Words for the kernel's command line.
    pub boot_words: Vec<String>,
}

impl SettingState {
    /// Whether it takes effect with the next start of the machine only.
    pub fn needs_reboot(&self) -> bool {
        self.needs.iter().any(|need| need == "reboot")
    }
}

/// What `inspect` and `plan` print.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Survey {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The program that looked.
    pub tool: String,
    /// The machine's four letters.
    pub machine: String,
    /// What it is tuned for.
    pub profile: String,
    /// Cores to leave alone.
    pub cores: Vec<usize>,
    /// Cores for everything else.
    pub housekeeping: Vec<usize>,
    /// Network interfaces that messages go through.
    pub nics: Vec<String>,
    /// Sockets, caches, cores and interfaces, a line each.
    pub topology: Vec<String>,
    /// Settings, in the order in which they are applied.
    pub settings: Vec<SettingState>,
    /// Files that bring the settings back when the machine starts again, in order.
    pub persistence: Vec<Step>,
    /// `inspect` only: what was read, so that a plan can be made elsewhere.
    pub files: BTreeMap<String, Read>,
}

/// One thing that was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Read {
    /// A file's text.
    Text(String),
    /// A directory.
    Directory,
    /// A link and where it leads.
    Link(String),
}

/// What became of one step, or what it is now.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StepResult {
    /// The setting, or the kind of file: `boot`, `sysctl.d`, `systemd`, `udev`.
    pub setting: String,
    /// Where.
    pub place: String,
    /// A word: `changed`, `already`, `failed`, `reverted`, `kept`, `drifted`, `as_applied`,
    /// `after_reboot`, `effective`, `not_effective`, `unknown`.
    pub outcome: String,
    /// What there is to say about it.
    pub detail: String,
}

/// What `apply`, `revert`, `verify` and `status` print.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Account {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The program that did it.
    pub tool: String,
    /// `apply`, `revert`, `verify`, `status`.
    pub verb: String,
    /// Whether anything on the machine is other than before.
    pub changed: bool,
    /// Whether nothing failed, drifted or is without effect.
    pub ok: bool,
    /// Whether something waits for a reboot.
    pub reboot: bool,
    /// Step by step.
    pub results: Vec<StepResult>,
}
