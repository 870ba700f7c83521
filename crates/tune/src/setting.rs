//! What a setting of the operating system is: how it is read, what its value means, how it is
//! written, what it costs and where that stands.

use host::Root;
use record::doctor::Grade;

use crate::goal::{Goal, Profile};
use crate::inspection::Inspection;
use crate::wish::Wish;

/// What a setting is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// As the kernel writes it, or a list of cores.
    Is(String),
    /// The kernel has no such setting.
    Absent,
    /// It may be there, but not for this process to read.
    Unreadable,
}

/// A grade and what was found, in words.
pub type Judgement = (Grade, String);

/// How much of a machine a setting changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The measured cores.
    Cores,
    /// The network interfaces.
    Nic,
    /// Everything that runs on the machine.
    Host,
}

impl Scope {
    /// The word for it, as in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Scope::Cores => "cores",
            Scope::Nic => "nic",
            Scope::Host => "host",
        }
    }
}

/// What may go wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Risk {
    /// Nothing but the cost.
    Low,
    /// Traffic may pause, or other programs become slower.
    Medium,
    /// The machine loses a protection, or may not come up as before.
    High,
}

impl Risk {
    /// The word for it, as in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Risk::Low => "low",
            Risk::Medium => "medium",
            Risk::High => "high",
        }
    }
}

/// One setting of the operating system.
#[derive(Debug)]
pub struct Setting {
    /// Its name here, for ever.
    pub id: &'static str,
    /// Where it stands in the default order: 1 shows at p99 on most machines, 2 beyond p99.9 or
    /// under load, 3 seldom, or only together with others.
    pub tier: u8,
    /// What a host that is to be fast wants, in words.
    pub wanted: &'static str,
    /// Why it matters.
    pub why: &'static str,
    /// What one pays for it.
    pub cost: &'static str,
    /// What to do about it by hand.
    pub what_to_do: &'static str,
    /// The kernel's document or the vendor's guide that describes it.
    pub source: &'static str,
    /// Ids of the noise causes that the wanted value removes or makes rarer; names in capitals
    /// stand for any name.
    pub removes: &'static [&'static str],
    /// How much of the machine it changes.
    pub scope: Scope,
    /// What may go wrong.
    pub risk: Risk,
    /// Settings that make no sense beside it.
    pub conflicts: &'static [&'static str],
    /// What a plan takes it for unless it is named. Empty: only by name.
    pub profiles: &'static [Profile],
    /// How it is judged; those that are judged are doctor's findings too.
    pub(crate) check: Option<Check>,
    /// How it is written.
    pub(crate) wishes: Wishes,
}

/// How a setting is read and judged.
#[derive(Debug)]
pub(crate) struct Check {
    /// How it is read.
    pub(crate) read: fn(&Root, &Inspection) -> Value,
    /// What its value means on this machine.
    pub(crate) judge: fn(&str, &Inspection) -> Judgement,
    /// What it means that the kernel has no such setting.
    pub(crate) absent: (Grade, &'static str),
}

/// How a setting is written.
#[derive(Debug)]
pub(crate) enum Wishes {
    /// It can't be set from here: `what_to_do` is all there is.
    Advice,
    /// One value of a file below `/proc/sys`.
    Sysctl(&'static str, ValueBound),
    /// One value of a file.
    File(&'static str, ValueBound),
    /// Words on the kernel's command line.
    Boot(fn(&Goal) -> Vec<String>),
    /// Stopped and not started again: these systemd units, as far as they are there.
    Stopped(&'static [&'static str]),
    /// Whatever fits this machine.
    Of(fn(&Root, &Inspection, &Goal) -> Vec<Wish>),
}

/// What a value must be.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ValueBound {
    Is(&'static str),
    AtLeast(u64),
    AtMost(u64),
}

/// What most settings have in common.
pub(crate) const BASE: Setting = Setting {
    id: "",
    tier: 3,
    wanted: "",
    why: "",
    cost: "None worth naming.",
    what_to_do: "",
    source: "",
    removes: &[],
    scope: Scope::Host,
    risk: Risk::Low,
    conflicts: &[],
    profiles: &[],
    check: None,
    wishes: Wishes::Advice,
};

/// One setting as it is on one machine.
#[derive(Clone, Debug)]
pub struct JudgedSetting {
    /// Which.
    pub setting: &'static Setting,
    /// What it is.
    pub value: Value,
    /// What that means here.
    pub grade: Grade,
    /// The finding, in words.
    pub found: String,
}

impl Setting {
    /// Reads it and judges what was read; `None` of settings that aren't judged.
    pub fn judge(&'static self, root: &Root, seen: &Inspection) -> Option<JudgedSetting> {
        let check = self.check.as_ref()?;
        let value = (check.read)(root, seen);
        let (grade, found) = match &value {
            _ if seen.cores.is_empty() => (Grade::Unknown, "there is no core to judge".to_owned()),
            Value::Is(text) => match (check.judge)(text, seen) {
                (_, found) if found.is_empty() => (Grade::Unknown, "is empty".to_owned()),
                judgement => judgement,
            },
            Value::Absent => (check.absent.0, check.absent.1.to_owned()),
            Value::Unreadable => (Grade::Unknown, "can't be read here".to_owned()),
        };
        Some(JudgedSetting { setting: self, value, grade, found })
    }

    /// Whether it takes effect with the next start of the machine only.
    pub fn needs_reboot(&self) -> bool {
        matches!(self.wishes, Wishes::Boot(_))
    }
}
