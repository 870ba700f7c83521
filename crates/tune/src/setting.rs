//! What a setting of the operating system is: how it is read, what its value means, what to do about it.

use host::Root;
use measure::doctor::Grade;

use crate::inspection::Inspection;

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

/// One setting of the operating system.
#[derive(Debug)]
pub struct Setting {
    /// Its name here, for ever.
    pub id: &'static str,
    /// What a host that is to be fast wants, in words.
    pub wanted: &'static str,
    /// Why it matters.
    pub why: &'static str,
    /// What to do about it.
    pub what_to_do: &'static str,
    /// Ids of the noise causes that the wanted value removes or makes rarer; names in capitals stand
    /// for any name.
    pub removes: &'static [&'static str],
    /// How it is read.
    pub(crate) read: fn(&Root, &Inspection) -> Value,
    /// What its value means on this machine.
    pub(crate) judge: fn(&str, &Inspection) -> Judgement,
    /// What it means that the kernel has no such setting.
    pub(crate) absent: (Grade, &'static str),
}

/// One setting as it is on one machine.
#[derive(Clone, Debug)]
pub struct Inspected {
    /// Which.
    pub setting: &'static Setting,
    /// What it is.
    pub value: Value,
    /// What that means here.
    pub grade: Grade,
    /// What was found, in words.
    pub found: String,
}

impl Setting {
    /// Reads it and judges what was read.
    pub fn inspect(&'static self, root: &Root, seen: &Inspection) -> Inspected {
        let value = (self.read)(root, seen);
        let (grade, found) = match &value {
            _ if seen.cores.is_empty() => (Grade::Unknown, "there is no core to judge".to_owned()),
            Value::Is(text) => match (self.judge)(text, seen) {
                (_, found) if found.is_empty() => (Grade::Unknown, "is empty".to_owned()),
                judgement => judgement,
            },
            Value::Absent => (self.absent.0, self.absent.1.to_owned()),
            Value::Unreadable => (Grade::Unknown, "can't be read here".to_owned()),
        };
        Inspected { setting: self, value, grade, found }
    }
}
