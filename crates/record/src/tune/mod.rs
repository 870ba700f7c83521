//! The output of `tickpath tune --json`: present and recommended settings, and their changes.
//!
//! Readers ignore keys they don't know and take absent ones at their default.

mod judge;
mod trial;

pub use judge::{corrected, figures};
pub use trial::{
    FIGURES, NOISE_SHARE, TRIAL_SCHEMA, Trial, TriedFigure, TriedSetting, UntriedSetting,
};

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of [`Survey`] and [`TuneReport`].
pub const SCHEMA: u32 = 1;

/// State of a setting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Another value would be better.
    Better,
    /// It can't be read, or only outside this machine.
    #[default]
    Unknown,
    /// It has the recommended value.
    AsWanted,
    /// This machine does not have the setting.
    NotApplicable,
}

impl State {
    /// All states, the most urgent first.
    pub const ALL: [State; 4] =
        [State::Better, State::Unknown, State::AsWanted, State::NotApplicable];

    /// The name in JSON.
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
    /// The place: `kernel:/proc/sys/vm/swappiness`, `file:/etc/default/grub`, `nic:ens5/rx-usecs`.
    pub place: String,
    /// The present value; `null` without one.
    pub before: Option<String>,
    /// The new value.
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
    /// Its state.
    pub state: State,
    /// The observation, in words.
    pub found: String,
    /// Recommended value for a fast host.
    pub wanted: String,
    /// Why it matters.
    pub why: String,
    /// Its disadvantages.
    pub cost: String,
    /// How to change it by hand.
    pub what_to_do: String,
    /// The document that describes it.
    pub source: String,
    /// Its scope: `cores`, `nic`, `host`.
    pub scope: String,
    /// `low`, `medium`, `high`.
    pub risk: String,
    /// Requirements: `root`, `reboot`, or why it can't be changed.
    pub needs: Vec<String>,
    /// How it is restored after a reboot.
    pub survives: String,
    /// Settings that make no sense together with it.
    pub conflicts: Vec<String>,
    /// Causes of noise that it removes.
    pub removes: Vec<String>,
    /// Changes to make now.
    pub steps: Vec<Step>,
    /// Words for the kernel's command line.
    pub boot_words: Vec<String>,
}

impl SettingState {
    /// Whether it takes effect only after a reboot.
    pub fn needs_reboot(&self) -> bool {
        self.needs.iter().any(|need| need == "reboot")
    }
}

/// The output of `inspect` and `plan`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Survey {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The program that wrote it.
    pub tool: String,
    /// The machine's four letters.
    pub machine: String,
    /// The tuning profile.
    pub profile: String,
    /// Cores to keep free.
    pub cores: Vec<usize>,
    /// Cores for everything else.
    pub housekeeping: Vec<usize>,
    /// Network interfaces of the messages.
    pub nics: Vec<String>,
    /// Sockets, caches, cores and interfaces, one line each.
    pub topology: Vec<String>,
    /// Settings, in the order in which they are applied.
    pub settings: Vec<SettingState>,
    /// Files that restore the settings at boot, in order.
    pub persistence: Vec<Step>,
    /// `inspect` only: the files read, so that another machine can make a plan.
    pub files: BTreeMap<String, PathContent>,
}

/// The content of one path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PathContent {
    /// A file's text.
    Text(String),
    /// A directory.
    Directory,
    /// A link and its target.
    Link(String),
}

/// Result or present state of one step.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StepResult {
    /// The setting, or the kind of file: `boot`, `sysctl.d`, `systemd`, `udev`.
    pub setting: String,
    /// The place.
    pub place: String,
    /// A word: `changed`, `already`, `failed`, `reverted`, `kept`, `drifted`, `as_applied`,
    /// `after_reboot`, `effective`, `not_effective`, `unknown`.
    pub outcome: String,
    /// An explanation.
    pub detail: String,
}

/// The output of `apply`, `revert`, `verify` and `status`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TuneReport {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The program that wrote it.
    pub tool: String,
    /// `apply`, `revert`, `verify`, `status`.
    pub verb: String,
    /// Whether the machine was changed.
    pub changed: bool,
    /// Whether nothing failed, drifted or has no effect.
    pub ok: bool,
    /// Whether a change waits for a reboot.
    pub reboot: bool,
    /// Result of each step.
    pub results: Vec<StepResult>,
}
