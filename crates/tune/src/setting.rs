//! A setting of the operating system: how to read, judge and write it, its cost and its source.

use host::Root;
use record::doctor::Grade;

use crate::goal::{Goal, Profile};
use crate::inspection::Inspection;
use crate::wish::{WantedValue, Wish};

/// The present value of a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// As the kernel writes it, or a list of cores.
    Is(String),
    /// The kernel has no such setting.
    Absent,
    /// It may exist, but this process can't read it.
    Unreadable,
}

/// A grade and an observation, in words.
pub type Judgement = (Grade, String);

/// The scope of a setting.
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
    /// The name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Scope::Cores => "cores",
            Scope::Nic => "nic",
            Scope::Host => "host",
        }
    }
}

/// The risk of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Risk {
    /// Only the cost.
    Low,
    /// Traffic may pause, or other programs become slower.
    Medium,
    /// The machine loses a protection, or may not come up as before.
    High,
}

impl Risk {
    /// The name in JSON.
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
    /// Its name, which must not change.
    pub id: &'static str,
    /// Its tier in the default order: 1 shows at p99 on most machines, 2 beyond p99.9 or under
    /// load, 3 seldom, or only together with others.
    pub tier: u8,
    /// Recommended value for a fast host, in words.
    pub wanted: &'static str,
    /// Why it matters.
    pub why: &'static str,
    /// Its disadvantages.
    pub cost: &'static str,
    /// How to change it by hand.
    pub what_to_do: &'static str,
    /// The kernel's document or the vendor's guide.
    pub source: &'static str,
    /// Ids of the noise causes that the recommended value removes or reduces; names in capitals
    /// stand for any name.
    pub removes: &'static [&'static str],
    /// Its scope.
    pub scope: Scope,
    /// Its risk.
    pub risk: Risk,
    /// Settings that make no sense together with it.
    pub conflicts: &'static [&'static str],
    /// Profiles whose plans include it. Empty: only by name.
    pub profiles: &'static [Profile],
    /// How it is judged; judged settings are doctor's findings too.
    pub(crate) check: Option<Check>,
    /// How it is written.
    pub(crate) wishes: Wishes,
}

/// How to read and judge a setting.
#[derive(Debug)]
pub(crate) struct Check {
    /// Reads it.
    pub(crate) read: fn(&Root, &Inspection) -> Value,
    /// Judges its value on this machine.
    pub(crate) judge: fn(&str, &Inspection) -> Judgement,
    /// The judgement if the kernel lacks the setting.
    pub(crate) absent: (Grade, &'static str),
}

/// How to write a setting.
#[derive(Debug)]
pub(crate) enum Wishes {
    /// It can't be set from here; there is only `what_to_do`.
    Advice,
    /// One value of a file below `/proc/sys`.
    Sysctl(&'static str, ValueBound),
    /// One value of a file.
    File(&'static str, ValueBound),
    /// Words on the kernel's command line.
    Boot(fn(&Goal) -> Vec<String>),
    /// Stops and disables these systemd units, as far as they exist.
    Stopped(&'static [&'static str]),
    /// Depends on the machine.
    Of(fn(&Root, &Inspection, &Goal) -> Vec<Wish>),
}

/// The required value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ValueBound {
    Is(&'static str),
    AtLeast(u64),
    AtMost(u64),
}

impl From<ValueBound> for WantedValue {
    fn from(bound: ValueBound) -> WantedValue {
        match bound {
            ValueBound::Is(value) => WantedValue::Is(value.to_owned()),
            ValueBound::AtLeast(number) => WantedValue::AtLeast(number),
            ValueBound::AtMost(number) => WantedValue::AtMost(number),
        }
    }
}

/// Defaults of most settings.
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

/// One setting on one machine.
#[derive(Clone, Debug)]
pub struct JudgedSetting {
    /// The setting.
    pub setting: &'static Setting,
    /// Its value.
    pub value: Value,
    /// Its grade on this machine.
    pub grade: Grade,
    /// The observation, in words.
    pub found: String,
}

impl Setting {
    /// Reads and judges it; `None` for settings that aren't judged.
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

    /// Whether it takes effect only after a reboot.
    pub fn needs_reboot(&self) -> bool {
        matches!(self.wishes, Wishes::Boot(_))
    }
}
