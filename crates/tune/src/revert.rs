//! Reverts changes from the journal, the last one first.

use host::Root;
use record::tune::StepResult as Outcome;

use crate::apply::{boot_id, explained, holds, identity};
use crate::journal::{Journal, JournalError, JournalLine, JournaledStep};
use crate::place::SettingPlace;
use crate::system::{System, clear_beside};
use crate::wish::undone;

/// The steps to revert.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepSelection {
    /// All of them.
    All,
    /// This one and later ones.
    From(usize),
    /// The steps of these settings.
    Settings(Vec<String>),
}

impl StepSelection {
    fn takes(&self, entry: &JournaledStep) -> bool {
        match self {
            StepSelection::All => true,
            StepSelection::From(first) => entry.step >= *first,
            StepSelection::Settings(ids) => ids.contains(&entry.setting),
        }
    }
}

/// Reverts steps. Keeps a file that was changed since, unless `force`. Removes the journal when
/// nothing is left.
///
/// # Errors
/// If the journal can't be written.
pub fn revert(
    system: &mut dyn System,
    root: &Root,
    journal: &mut Journal,
    which: &StepSelection,
    force: bool,
) -> Result<Vec<Outcome>, JournalError> {
    let boot_id = boot_id(root);
    let entries: Vec<JournaledStep> =
        journal.standing().rev().filter(|entry| which.takes(entry)).cloned().collect();
    let mut outcomes = Vec::new();
    for entry in entries {
        clear_beside(root, &entry.place);
        let (outcome, detail) = one(system, root, &entry, &boot_id, force);
        if outcome != "failed" && outcome != "kept" {
            journal.append(system, JournalLine::Reverted { step: entry.step }, &boot_id)?;
        }
        outcomes.push(Outcome {
            setting: entry.setting,
            place: entry.place.to_string(),
            outcome: outcome.to_owned(),
            detail,
        });
    }
    if journal.standing().next().is_none() {
        journal.end()?;
    }
    Ok(outcomes)
}

fn one(
    system: &mut dyn System,
    root: &Root,
    entry: &JournaledStep,
    boot_id: &str,
    force: bool,
) -> (&'static str, String) {
    let place = &entry.place;
    let is_other_boot = entry.boot_id != boot_id;
    if is_other_boot && entry.identity.is_some() && identity(root, place) != entry.identity {
        return ("already", "the reboot gave this number to another device".to_owned());
    }
    let now = match system.read(place) {
        Ok(now) => now,
        Err(error) => return ("failed", explained(place, &error)),
    };
    if now == entry.before {
        return ("already", "it is as it was before".to_owned());
    }
    let was_ours = |now: Option<&str>| {
        holds(place, now, entry.after.as_deref())
            || entry.now.as_ref().is_some_and(|then| then.as_deref() == now)
    };
    match place {
        SettingPlace::Kernel(_) | SettingPlace::Nic { .. } if now.is_none() => {
            return ("already", "it no longer exists".to_owned());
        }
        // It exists only with its directory.
        SettingPlace::Kernel(_) if entry.before.is_none() => return ("already", String::new()),
        place if place.is_live() && is_other_boot && !was_ours(now.as_deref()) => {
            return ("already", "the reboot has reset it".to_owned());
        }
        SettingPlace::Text(_) if !force && !was_ours(now.as_deref()) => {
            return ("kept", "it was changed since: edit it, or use --force".to_owned());
        }
        _ => {}
    }
    let before = entry.before.as_deref();
    let value = before.map(|before| undone(place, before, now.as_deref().unwrap_or_default()));
    if let Err(error) = system.write(place, value.as_deref()) {
        return ("failed", explained(place, &error));
    }
    match system.read(place) {
        Ok(now) if now == entry.before => ("reverted", String::new()),
        Ok(now) => {
            let now = now.unwrap_or_default();
            ("failed", format!("it reads {:?}, and read {before:?} before", now.trim()))
        }
        Err(error) => ("failed", explained(place, &error)),
    }
}
