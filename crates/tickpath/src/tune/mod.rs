//! `tickpath tune`: settings of the operating system, there and back.

mod seen;
mod trial;

use crate::cli::{
    ApplyArguments, ChoiceArguments, FailureAction, InspectArguments, PlanArguments,
    RevertArguments, StateArguments, TuneCommand,
};
use crate::exit::{DONE, GATE_FAILED};
use crate::print::{columns, show, show_report};
use crate::tool::TOOL;
use ::tune::apply::OnFailure;
use ::tune::journal::Journal;
use ::tune::revert::StepSelection;
use ::tune::snapshot::{Snapshot, taken};
use ::tune::system::Machine;
use ::tune::verify;
use anyhow::{Context, bail};
use host::Root;
use record::tune::{SCHEMA, StepResult, Survey, TRIAL_SCHEMA, Trial, TuneReport};
use seen::{MachineReading, planned};
use stats::verdict::Outcome;
use std::io::{BufRead, IsTerminal};
use std::path::Path;

pub(crate) fn tune(command: &TuneCommand) -> anyhow::Result<u8> {
    match command {
        TuneCommand::Inspect(arguments) => inspect(arguments),
        TuneCommand::Plan(arguments) => plan(arguments),
        TuneCommand::Apply(arguments) => apply(arguments),
        TuneCommand::Verify(arguments) => verify(arguments),
        TuneCommand::Revert(arguments) => revert(arguments),
        TuneCommand::Status(arguments) => status(arguments),
        TuneCommand::Trial(arguments) => trial::trial(arguments),
        TuneCommand::Hold(arguments) => {
            ::tune::hold::run(arguments.latency_us).context("cannot hold /dev/cpu_dma_latency")?;
            Ok(DONE)
        }
    }
}

fn print_survey(survey: &Survey, is_plan: bool, json: bool) -> anyhow::Result<()> {
    match json {
        true => show(&format!("{}\n", serde_json::to_string_pretty(survey)?)),
        false => show_report(&report::tune::survey(survey, is_plan, columns())),
    }
}

fn inspect(arguments: &InspectArguments) -> anyhow::Result<u8> {
    // With JSON, everything that was read goes along: a plan can then be made elsewhere.
    let root = Root::system();
    let root = if arguments.json { root.noting() } else { root };
    let seen = MachineReading::read(root, &arguments.goal)?;
    let mut survey = seen.surveyor().inspect();
    survey.files = taken(&seen.root);
    print_survey(&survey, false, arguments.json)?;
    Ok(DONE)
}

fn plan(arguments: &PlanArguments) -> anyhow::Result<u8> {
    let snapshot = arguments.from.as_deref().map(snapshot).transpose()?;
    let root = snapshot.as_ref().map_or_else(Root::system, Snapshot::root);
    let seen = MachineReading::read(root, &arguments.goal)?;
    let survey = planned(&seen, &arguments.choice)?;
    print_survey(&survey, true, arguments.json)?;
    Ok(DONE)
}

fn snapshot(file: &Path) -> anyhow::Result<Snapshot> {
    let name = file.display();
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {name}"))?;
    let survey: Survey = serde_json::from_str(&text)
        .with_context(|| format!("{name} is no output of `tickpath tune inspect --json`"))?;
    if survey.files.is_empty() {
        bail!("{name} has no `files`: pass the whole output of `tickpath tune inspect --json`");
    }
    Snapshot::restore(&survey.files).context("cannot unpack the inspection")
}

fn apply(arguments: &ApplyArguments) -> anyhow::Result<u8> {
    let seen = MachineReading::read(Root::system(), &arguments.goal)?;
    let choice = match &arguments.from_trial {
        None => arguments.choice.clone(),
        Some(file) => ChoiceArguments { setting: confirmed(file)?, ..arguments.choice.clone() },
    };
    let plan = planned(&seen, &choice)?;
    if !arguments.yes && !is_agreed(&plan)? {
        return Ok(GATE_FAILED);
    }
    let mut journal = Journal::open(&arguments.state)?;
    let on_failure = match arguments.on_failure {
        FailureAction::GoOn => OnFailure::GoOn,
        FailureAction::RollBack => OnFailure::RollBack,
    };
    let mut machine = seen.machine.clone();
    let outcomes = ::tune::apply::apply(&mut machine, &seen.root, &mut journal, &plan, on_failure)?;
    let waits = plan.settings.iter().any(|setting| !setting.boot_words.is_empty());
    account("apply", outcomes, waits, arguments.json)
}

/// The settings that a trial chose and confirmed.
fn confirmed(file: &Path) -> anyhow::Result<Vec<String>> {
    let name = file.display();
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {name}"))?;
    let trial: Trial = serde_json::from_str(&text)
        .with_context(|| format!("{name} is no trial.json of `tickpath tune trial`"))?;
    if trial.schema != TRIAL_SCHEMA {
        bail!("{name} has schema {}, and this program reads {TRIAL_SCHEMA}", trial.schema);
    }
    match &trial.confirmation {
        Some(one) if one.outcome == Outcome::Better => Ok(trial.chosen),
        None if trial.restarted && !trial.chosen.is_empty() => Ok(trial.chosen),
        _ => bail!("{name} confirms no setting; name settings yourself: --setting ID"),
    }
}

/// Shows the plan and asks for confirmation on the terminal.
fn is_agreed(plan: &Survey) -> anyhow::Result<bool> {
    if !std::io::stdin().is_terminal() {
        bail!(
            "stdin is no terminal, so the plan can't be confirmed: check `tickpath tune plan`, then apply with --yes"
        );
    }
    print_survey(plan, true, false)?;
    eprint!("apply this? [y/N] ");
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer).context("cannot read the answer")?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

fn revert(arguments: &RevertArguments) -> anyhow::Result<u8> {
    let root = Root::system();
    let mut journal = Journal::open(&arguments.state)?;
    let which = match arguments.setting.is_empty() {
        true => StepSelection::All,
        false => StepSelection::Settings(arguments.setting.clone()),
    };
    let mut machine = Machine::new(root.clone());
    let outcomes =
        ::tune::revert::revert(&mut machine, &root, &mut journal, &which, arguments.force)?;
    let is_boot = |one: &StepResult| one.setting == "boot" && one.outcome == "reverted";
    let waits = outcomes.iter().any(is_boot);
    account("revert", outcomes, waits, arguments.json)
}

fn standing(state: &Path, root: &Root) -> anyhow::Result<Vec<StepResult>> {
    let journal = Journal::read(state)?;
    Ok(::tune::status::status(&Machine::new(root.clone()), root, &journal))
}

fn status(arguments: &StateArguments) -> anyhow::Result<u8> {
    let outcomes = standing(&arguments.state, &Root::system())?;
    account("status", outcomes, false, arguments.json)
}

fn verify(arguments: &StateArguments) -> anyhow::Result<u8> {
    let seen = MachineReading::read(Root::system(), &arguments.goal)?;
    let mut outcomes = standing(&arguments.state, &seen.root)?;
    let effects = verify::effects(&seen.root, &seen.goal, &outcomes);
    outcomes.extend(effects);
    account("verify", outcomes, false, arguments.json)
}

fn account(verb: &str, results: Vec<StepResult>, waits: bool, json: bool) -> anyhow::Result<u8> {
    let any = |words: &[&str]| results.iter().any(|one| words.contains(&one.outcome.as_str()));
    let ok = !any(&["failed", "kept", "drifted", "not_effective"]);
    let account = TuneReport {
        schema: SCHEMA,
        tool: TOOL.to_owned(),
        verb: verb.to_owned(),
        changed: any(&["changed", "reverted"]),
        ok,
        reboot: waits || any(&["after_reboot"]),
        results,
    };
    match json {
        true => show(&format!("{}\n", serde_json::to_string_pretty(&account)?))?,
        false => show_report(&report::tune::account(&account, columns()))?,
    }
    Ok(if ok { DONE } else { GATE_FAILED })
}
