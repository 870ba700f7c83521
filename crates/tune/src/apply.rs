//! Changes places one after the other. The journal records each previous value first, so that the
//! work can be interrupted anywhere.

use clock::calendar::utc;
use clock::wall_ms;
use host::Root;
use record::tune::{Step, StepResult as Outcome, Survey};

use crate::journal::{Journal, JournalError, JournalLine};
use crate::place::SettingPlace;
use crate::revert::{self, StepSelection};
use crate::system::System;
use crate::wish::same;

/// Reaction to a change that fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnFailure {
    /// Report it and continue.
    #[default]
    GoOn,
    /// Revert the changes of this apply.
    RollBack,
}

/// Identifies this boot of the machine.
pub fn boot_id(root: &Root) -> String {
    root.read("proc/sys/kernel/random/boot_id").unwrap_or_default()
}

/// The name of the device behind an interrupt's number, which changes with a reboot.
pub(crate) fn identity(root: &Root, place: &SettingPlace) -> Option<String> {
    let number = place.interrupt()?;
    let all = host::interrupts::read(root)?;
    all.into_iter().find(|one| one.id == number).map(|one| one.name)
}

/// Applies a plan: its settings in order, then the files that restore them at boot.
///
/// # Errors
/// If the journal can't be written. Nothing is changed after that.
pub fn apply(
    system: &mut dyn System,
    root: &Root,
    journal: &mut Journal,
    plan: &Survey,
    on_failure: OnFailure,
) -> Result<Vec<Outcome>, JournalError> {
    let steps = plan
        .settings
        .iter()
        .flat_map(|setting| setting.steps.iter().map(|step| (setting.id.as_str(), step)));
    let files = plan.persistence.iter().map(|step| (kind_of_file(&step.place), step));
    let steps: Vec<(&str, &Step)> = steps.chain(files).collect();
    let mut outcomes = Vec::new();
    if steps.is_empty() {
        return Ok(outcomes);
    }
    let boot_id = boot_id(root);
    let begin = JournalLine::Begin {
        tool: plan.tool.clone(),
        boot_id: boot_id.clone(),
        at: utc(wall_ms()),
    };
    journal.append(system, begin, &boot_id)?;
    let first = journal.next_step();
    for (setting, step) in steps {
        let outcome = one(system, root, journal, setting, step, &boot_id)?;
        let has_failed = outcome.outcome == "failed";
        outcomes.push(outcome);
        if has_failed && on_failure == OnFailure::RollBack {
            let back = revert::revert(system, root, journal, &StepSelection::From(first), true)?;
            outcomes.extend(back);
            break;
        }
    }
    if journal.standing().next().is_none() {
        journal.end()?;
    }
    Ok(outcomes)
}

/// The kind of a file of ours or of the boot loader.
fn kind_of_file(place: &str) -> &'static str {
    let kinds = [("sysctl.d", "sysctl.d"), ("udev", "udev"), ("systemd", "systemd")];
    kinds.into_iter().find(|(part, _)| place.contains(part)).map_or("boot", |(_, kind)| kind)
}

fn one(
    system: &mut dyn System,
    root: &Root,
    journal: &mut Journal,
    setting: &str,
    step: &Step,
    boot_id: &str,
) -> Result<Outcome, JournalError> {
    let told = |outcome: &str, detail: String| Outcome {
        setting: setting.to_owned(),
        place: step.place.clone(),
        outcome: outcome.to_owned(),
        detail,
    };
    let place: SettingPlace = match step.place.parse() {
        Ok(place) => place,
        Err(why) => return Ok(told("failed", why)),
    };
    let before = match system.read(&place) {
        Ok(before) => before,
        Err(error) => return Ok(told("failed", explained(&place, &error))),
    };
    let after = step.after.as_deref();
    if holds(&place, before.as_deref(), after) {
        return Ok(told("already", String::new()));
    }
    if matches!(place, SettingPlace::Text(_)) && before != step.before {
        let why = "it changed since the plan was made; plan again".to_owned();
        return Ok(told("failed", why));
    }
    let number = announce(system, root, journal, (setting, &place), (&before, after), boot_id)?;
    if let Err(error) = system.write(&place, after) {
        let error = explained(&place, &error);
        journal.append(
            system,
            JournalLine::Failed { step: number, error: error.clone() },
            boot_id,
        )?;
        return Ok(told("failed", error));
    }
    let now = system.read(&place).unwrap_or_default();
    let is_kept = holds(&place, now.as_deref(), after);
    journal.append(system, JournalLine::Done { step: number, now: now.clone() }, boot_id)?;
    Ok(if is_kept {
        told("changed", String::new())
    } else {
        told("failed", format!("the kernel made it {:?}", now.unwrap_or_default().trim()))
    })
}

/// Writes the journal's line of a step. After a reboot the same change may be made again, and the
/// journal already has it.
fn announce(
    system: &mut dyn System,
    root: &Root,
    journal: &mut Journal,
    (setting, place): (&str, &SettingPlace),
    (before, after): (&Option<String>, Option<&str>),
    boot_id: &str,
) -> Result<usize, JournalError> {
    let identity = identity(root, place);
    let known = journal.standing().find(|entry| {
        entry.place == *place
            && entry.identity == identity
            && entry.before == *before
            && entry.after.as_deref() == after
    });
    if let Some(known) = known {
        return Ok(known.step);
    }
    let number = journal.next_step();
    let line = JournalLine::Step {
        step: number,
        setting: setting.to_owned(),
        place: place.to_string(),
        identity,
        before: before.clone(),
        after: after.map(str::to_owned),
    };
    journal.append(system, line, boot_id)?;
    Ok(number)
}

/// Whether a place that reads `now` holds `value`.
pub(crate) fn holds(place: &SettingPlace, now: Option<&str>, value: Option<&str>) -> bool {
    match (now, value) {
        (None, None) => true,
        (Some(now), Some(value)) if matches!(place, SettingPlace::Text(_)) => now == value,
        (Some(now), Some(value)) => same(place, value, now),
        _ => false,
    }
}

/// The system's reason, with an explanation if it says too little.
pub(crate) fn explained(place: &SettingPlace, error: &std::io::Error) -> String {
    use rustix::io::Errno;
    let is = |errno: Errno| error.raw_os_error() == Some(errno.raw_os_error());
    let rejects = [Errno::PERM, Errno::IO, Errno::INVAL].into_iter().any(is);
    let why = match place {
        // Without any write permission, opening the file gives EACCES.
        SettingPlace::Kernel(path) if path.starts_with("/proc/irq/") && rejects => {
            "; this interrupt can't be moved: the kernel manages it (isolcpus=managed_irq keeps it \
             away), or its driver has tied it to a core"
        }
        _ if is(Errno::PERM) || is(Errno::ACCESS) => "; run as root, outside of a container",
        _ if is(Errno::ROFS) => "; the file system is mounted read-only, as in most containers",
        _ => "",
    };
    format!("{error}{why}")
}
