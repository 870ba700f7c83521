//! The parts that trials with and without a reboot share: the setup before and the record after.

use crate::cli::{GoalArguments, TrialArguments};
use crate::exit::{DONE, INCONCLUSIVE, NO_RESULT};
use crate::print::{columns, print_json, show, show_report};
use crate::project::Project;
use crate::tool::{TOOL, command_line};
use crate::treatment::conduct_of;
use crate::tune::seen::MachineReading;
use ::tune::journal::Journal;
use anyhow::bail;
use clock::calendar::utc;
use clock::wall_ms;
use host::{Cores, Root};
use record::directory;
use record::tune::{TRIAL_SCHEMA, Trial};
use scenario::Conduct;
use stats::verdict::Outcome;
use std::path::{Path, PathBuf};

/// The scenario, cores, machine and directory of a trial.
pub(super) struct Setup {
    pub conduct: Conduct,
    pub cores: Vec<usize>,
    pub seen: MachineReading,
    pub out: PathBuf,
}

impl Setup {
    pub(super) fn new(
        arguments: &TrialArguments,
        goal: &GoalArguments,
        scenario: &str,
        sets: &[String],
    ) -> anyhow::Result<Setup> {
        let project = Project::find()?;
        let mut scenario = project.scenario(scenario, sets)?;
        // The floor says nothing about a setting, and takes the time of other runs.
        scenario.floor_seconds = 0.0;
        scenario.bare_seconds = 0.0;
        scenario.runs = 1;
        let conduct = conduct_of(scenario, Path::new(""))?;
        crate::run::warn_of(&conduct.preflight()?);
        let cores = conduct.measured_cores()?;
        let root = arguments.root.as_ref().map_or_else(Root::system, Root::at);
        let seen = seen(&root, goal, &cores)?;
        let out = project.directory(arguments.output.out.as_deref());
        Ok(Setup { conduct, cores, seen, out })
    }
}

/// The journal of a machine on which nothing is applied.
pub(super) fn journal(state: &Path) -> anyhow::Result<Journal> {
    let journal = Journal::open(state)?;
    if journal.standing().next().is_some() {
        bail!("settings are applied already: a trial begins with none; `tickpath tune revert`");
    }
    Ok(journal)
}

/// This machine. Unless cores were named, those that the scenario measures on are left alone, if
/// others remain.
fn seen(root: &Root, goal: &GoalArguments, measured: &[usize]) -> anyhow::Result<MachineReading> {
    if goal.cores == Cores::Auto {
        let goal = GoalArguments { cores: Cores::List(measured.to_vec()), ..goal.clone() };
        if let Ok(seen) = MachineReading::read(root.clone(), &goal) {
            return Ok(seen);
        }
    }
    MachineReading::read(root.clone(), goal)
}

/// Writes trial.json and prints.
pub(super) fn finish(trial: &Trial, path: &Path, json: bool) -> anyhow::Result<u8> {
    let file = path.join("trial.json");
    directory::write_whole(&file, &serde_json::to_string_pretty(trial)?)
        .map_err(|error| crate::errors::not_written(&file, &error))?;
    match json {
        true => print_json(trial)?,
        false => {
            show_report(&report::tune::trial(trial, columns()))?;
            show(&format!("\nrecord: {}\n", file.display()))?;
        }
    }
    Ok(match (&trial.ended_because, &trial.confirmation) {
        (Some(_), _) => NO_RESULT,
        (None, Some(one)) if one.outcome != Outcome::Better => INCONCLUSIVE,
        _ => DONE,
    })
}

pub(super) fn blank(seen: &MachineReading, arguments: &TrialArguments) -> Trial {
    Trial {
        schema: TRIAL_SCHEMA,
        tool: TOOL.to_owned(),
        started: utc(wall_ms()),
        command: command_line(),
        scenario: arguments.scenario.clone(),
        machine: seen.inspection.machine.fixed.identity(),
        profile: seen.goal.profile.name().to_owned(),
        cores: seen.goal.cores.clone(),
        budget_seconds: arguments.budget.as_secs_f64(),
        ..Trial::default()
    }
}
