//! The present state of applied steps.

use host::Root;
use record::tune::StepResult as Outcome;

use crate::apply::{boot_id, explained, holds};
use crate::journal::Journal;
use crate::place::SettingPlace;
use crate::system::System;

/// Each step that was not reverted: as applied, drifted, failed, or waiting for a reboot.
pub fn status(system: &dyn System, root: &Root, journal: &Journal) -> Vec<Outcome> {
    let boot_id = boot_id(root);
    // The last of several steps of one place counts.
    let standing: Vec<_> = journal.standing().collect();
    let is_last = |index: usize| {
        standing[index + 1..].iter().all(|later| later.place != standing[index].place)
    };
    let last = standing.iter().enumerate().filter(|(index, _)| is_last(*index));
    last.map(|(_, entry)| {
        let (outcome, detail) = match (&entry.error, system.read(&entry.place)) {
            (Some(error), _) => ("failed", error.clone()),
            (None, Err(error)) => ("unknown", explained(&entry.place, &error)),
            (None, Ok(now)) if holds(&entry.place, now.as_deref(), entry.after.as_deref()) => {
                let is_fresh = entry.boot_id == boot_id;
                match &entry.place {
                    SettingPlace::Text(_) if entry.setting == "boot" && is_fresh => {
                        ("after_reboot", String::new())
                    }
                    _ => ("as_applied", String::new()),
                }
            }
            (None, Ok(now)) => {
                let shown = |text: Option<&str>| match (&entry.place, text) {
                    (SettingPlace::Text(_), Some(_)) => "another text".to_owned(),
                    (_, text) => format!("{:?}", text.unwrap_or("absent").trim()),
                };
                let after = shown(entry.after.as_deref());
                ("drifted", format!("it is {}, {after} was applied", shown(now.as_deref())))
            }
        };
        Outcome {
            setting: entry.setting.clone(),
            place: entry.place.to_string(),
            outcome: outcome.to_owned(),
            detail,
        }
    })
    .collect()
}
