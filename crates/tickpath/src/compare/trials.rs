//! A short run of each candidate before a comparison with `--worth`. A stack for which this machine
//! lacks the driver, the kernel or the rights becomes a row with its reason instead of an error.

use anyhow::bail;
use record::comparison::worth::NotRun;
use scenario::Interrupt;
use scenario::experiment::Treatment;
use std::path::Path;

/// Lengths of a trial's parts, s: long enough to connect and to send something.
const WARM_UP_SECONDS: f64 = 0.05;
const SECONDS: f64 = 0.1;

/// The treatments that can run, A first, and the others with their reasons.
#[derive(Default)]
pub(super) struct RunnableTreatments {
    pub names: Vec<String>,
    pub treatments: Vec<Treatment>,
    pub not_run: Vec<NotRun>,
}

impl RunnableTreatments {
    pub(super) fn add(&mut self, name: &str, treatment: Treatment) {
        self.names.push(name.to_owned());
        self.treatments.push(treatment);
    }

    /// Warns, and keeps the reason for the table.
    pub(super) fn leave_out(&mut self, name: &str, why: String) {
        eprintln!("warning: {name} can't run here and is left out: {why}");
        self.not_run.push(NotRun { name: name.to_owned(), why });
    }
}

/// Tries every candidate of those that could be read. `directory` takes the records of the trials
/// for the time being.
///
/// # Errors
/// If no candidate can run; then `directory`, which is empty, is removed.
pub(super) fn able(
    readable: RunnableTreatments,
    directory: &Path,
    interrupt: &Interrupt,
) -> anyhow::Result<RunnableTreatments> {
    let mut able =
        RunnableTreatments { not_run: readable.not_run, ..RunnableTreatments::default() };
    let trials = directory.join("trials");
    for (name, treatment) in readable.names.iter().zip(readable.treatments) {
        // Without A there is no comparison: its first run says why.
        let is_baseline = able.names.is_empty();
        let tried = if is_baseline { Ok(()) } else { trial(&treatment, &trials, interrupt) };
        match tried {
            // An interrupted trial says nothing; the comparison ends before its first run.
            Err(why) if !interrupt.is_set() => able.leave_out(name, why),
            _ => able.add(name, treatment),
        }
    }
    // Nothing of the trials counts.
    let _ = std::fs::remove_dir_all(&trials);
    if able.treatments.len() < 2 {
        let _ = std::fs::remove_dir(directory);
        bail!("no candidate can run here, so there is nothing to compare with {}", able.names[0]);
    }
    Ok(able)
}

/// A command is not tried: it says for itself what it can't.
fn trial(treatment: &Treatment, directory: &Path, interrupt: &Interrupt) -> Result<(), String> {
    let Treatment::Scenario(conduct) = treatment else { return Ok(()) };
    let mut conduct = conduct.as_ref().clone();
    conduct.runs_directory = directory.to_owned();
    let scenario = &mut conduct.scenario;
    scenario.runs = 1;
    (scenario.warm_up_seconds, scenario.seconds) = (WARM_UP_SECONDS, SECONDS);
    (scenario.floor_seconds, scenario.bare_seconds, scenario.hiccup_seconds) = (0.0, 0.0, 0.0);
    let tried = conduct.carry_out(interrupt, None);
    match tried {
        Ok((record, _)) if record.complete => Ok(()),
        Ok((record, _)) => Err(record.void_because.join("; ")),
        Err(error) => Err(error.to_string()),
    }
}
