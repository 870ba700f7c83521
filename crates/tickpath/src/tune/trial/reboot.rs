//! Settings that need a reboot: runs before it, the change of the boot loader's files, and runs
//! after it. The runs of before are kept in a file beside the journal.

use crate::cli::{ChoiceArguments, GoalArguments, TrialArguments};
use crate::exit::{DONE, INCONCLUSIVE, NO_RESULT};
use crate::print::show;
use crate::progress::with_screen;
use crate::signals;
use crate::tune::seen::planned;
use crate::tune::trial::budget::Budget;
use crate::tune::trial::setup::{Setup, blank, finish, journal};
use crate::turn::Turn;
use ::tune::apply::{OnFailure, apply, boot_id};
use ::tune::survey::WAITS;
use anyhow::{Context, bail};
use host::Cores;
use record::tune::{SettingState, State, Survey, Trial, TriedSetting, corrected, figures};
use record::{RunRecord, directory};
use scenario::Interrupt;
use serde::{Deserialize, Serialize};
use stats::compare::{Design, RUNS_MIN};
use stats::verdict::Outcome;
use std::fs;
use std::path::{Path, PathBuf};

/// In the state directory.
const WAITING: &str = "trial-before-reboot.json";
/// More runs before and after find smaller effects; runs apart are seldom that alike.
const RUNS_WANTED: usize = 16;

/// A trial that waits for a reboot.
#[derive(Serialize, Deserialize)]
struct WaitingTrial {
    /// The start of the machine during which the first half was measured.
    boot_id: String,
    /// The result so far.
    trial: Trial,
    /// Overrides of the scenario.
    sets: Vec<String>,
    /// The settings.
    ids: Vec<String>,
    /// Where the records are.
    directory: PathBuf,
    /// The records before.
    before: Vec<PathBuf>,
}

/// Measures, and writes what takes effect with the next start.
pub(super) fn begin(arguments: &TrialArguments) -> anyhow::Result<u8> {
    let file = arguments.state.join(WAITING);
    if file.exists() {
        bail!("{} waits already: continue it with --resume, or remove the file", file.display());
    }
    let sets = &arguments.settings.set;
    let setup = Setup::new(arguments, &arguments.goal, &arguments.scenario, sets)?;
    let needs_reboot = |one: &&SettingState| {
        one.state == State::Better && (!one.boot_words.is_empty() || one.needs_reboot())
    };
    let all = of_next_start(&setup, arguments.setting.clone())?;
    let ids: Vec<String> =
        all.settings.iter().filter(needs_reboot).map(|one| one.id.clone()).collect();
    if ids.is_empty() {
        bail!("no setting here needs a reboot and would be better; see `tickpath tune plan`");
    }
    let plan = of_next_start(&setup, ids.clone())?;
    if plan.persistence.is_empty() {
        bail!(
            "no file here holds the kernel's command line; `tickpath tune plan` prints the words"
        );
    }
    let mut journal = journal(&arguments.state)?;
    let interrupt = signals::interrupt()?;
    let quiet = arguments.output.quiet;
    let Some(_turn) = Turn::take(&setup.cores, arguments.output.no_wait, || interrupt.is_set())?
    else {
        return Ok(NO_RESULT);
    };
    let path = std::path::absolute(crate::errors::make_directory(&setup.out, "trial")?)?;
    let mut budget = Budget::begin(arguments.budget.as_secs_f64() / 2.0);
    let runs = runs(&setup, &path.join("before"), &mut budget, RUNS_WANTED, (quiet, &interrupt))?;
    if runs.len() < RUNS_MIN {
        bail!("{} runs were made before, {RUNS_MIN} needed: raise --budget", runs.len());
    }
    let mut trial = blank(&setup.seen, arguments);
    trial.run_seconds = budget.run_s;
    trial.took_seconds = budget.took_s();
    let waiting = WaitingTrial {
        boot_id: boot_id(&setup.seen.root),
        trial,
        sets: sets.clone(),
        ids: ids.clone(),
        directory: path,
        before: runs.into_iter().map(|(path, _)| path).collect(),
    };
    // First the note, then the change: if we end in between, --resume says that nothing was set.
    directory::write_whole(&file, &serde_json::to_string_pretty(&waiting)?)
        .map_err(|error| crate::errors::not_written(&file, &error))?;
    let mut machine = setup.seen.machine.clone();
    let done = apply(&mut machine, &setup.seen.root, &mut journal, &plan, OnFailure::RollBack)?;
    if let Some(failed) = done.iter().find(|one| one.outcome == "failed") {
        let _ = fs::remove_file(&file);
        bail!("{} can't be written, nothing is changed: {}", failed.place, failed.detail);
    }
    let (ids, command) = (ids.join(", "), "tickpath tune trial --resume");
    show(&format!(
        "measured without {ids}, and set for the next start of the machine\n\
         restart it, then: {command} --state {}\n",
        arguments.state.display()
    ))?;
    Ok(DONE)
}

fn of_next_start(setup: &Setup, setting: Vec<String>) -> anyhow::Result<Survey> {
    planned(&setup.seen, &ChoiceArguments { setting, live_only: false, persist_only: true })
}

/// Measures again, and compares.
pub(super) fn resume(arguments: &TrialArguments) -> anyhow::Result<u8> {
    let file = arguments.state.join(WAITING);
    let name = file.display();
    let text = fs::read_to_string(&file)
        .with_context(|| format!("no trial waits for a reboot: cannot read {name}"))?;
    let waiting: WaitingTrial =
        serde_json::from_str(&text).with_context(|| format!("{name} is no waiting trial"))?;
    // The settings are for the same cores as before, also if they aren't named again.
    let cores = Cores::List(waiting.trial.cores.clone());
    let goal = GoalArguments { cores, ..arguments.goal.clone() };
    let setup = Setup::new(arguments, &goal, &waiting.trial.scenario, &waiting.sets)?;
    if boot_id(&setup.seen.root) == waiting.boot_id {
        bail!("the machine has not been restarted since the trial began; restart it first");
    }
    let plan = of_next_start(&setup, waiting.ids.clone())?;
    let is_missing = |one: &&SettingState| one.state == State::Better || one.found.ends_with(WAITS);
    if let Some(missing) = plan.settings.iter().find(is_missing) {
        bail!(
            "{} is not in effect after the restart ({}): was another entry of the boot loader \
             started? Restart with the right one, or `tickpath tune revert` and remove {name}",
            missing.id,
            missing.found
        );
    }
    let before = waiting.before.iter().map(|path| directory::load_record(path));
    let before: Vec<RunRecord> = before.collect::<Result<_, _>>().context("a record is gone")?;
    let interrupt = signals::interrupt()?;
    let Some(_turn) = Turn::take(&setup.cores, arguments.output.no_wait, || interrupt.is_set())?
    else {
        return Ok(NO_RESULT);
    };
    let mut trial = waiting.trial;
    let mut budget = Budget::begin(trial.budget_seconds / 2.0);
    let after = waiting.directory.join("after");
    let runs =
        runs(&setup, &after, &mut budget, before.len(), (arguments.output.quiet, &interrupt))?;
    let after: Vec<RunRecord> = runs.into_iter().map(|(_, record)| record).collect();
    trial.took_seconds += budget.took_s();
    if interrupt.is_set() {
        bail!("interrupted; the trial still waits, --resume measures again");
    }
    let mut tried = [TriedSetting {
        id: waiting.ids.join(", "),
        pairs: before.len().min(after.len()),
        pairs_void: 0,
        seconds: trial.took_seconds,
        figures: figures(Design::Apart, &before, &after),
        outcome: Outcome::Inconclusive,
        why: String::new(),
    }];
    corrected(&mut tried);
    let [one] = tried;
    let outcome = one.outcome;
    trial.pairs = one.pairs as u32;
    trial.tried.push(one);
    trial.restarted = true;
    if outcome == Outcome::Better {
        trial.chosen = waiting.ids;
    }
    let status = finish(&trial, &waiting.directory, arguments.output.json)?;
    fs::remove_file(&file).with_context(|| format!("cannot remove {name}"))?;
    if !arguments.output.json {
        show(match outcome {
            Outcome::Better => "the settings stay; `tickpath tune revert` takes them back\n",
            _ => "to take the settings back: `tickpath tune revert`, and restart the machine\n",
        })?;
    }
    Ok(if outcome == Outcome::Better { status } else { INCONCLUSIVE })
}

/// Runs until there are `wanted`, the time is up, or as many were void.
fn runs(
    setup: &Setup,
    directory: &Path,
    budget: &mut Budget,
    wanted: usize,
    (quiet, interrupt): (bool, &Interrupt),
) -> anyhow::Result<Vec<(PathBuf, RunRecord)>> {
    let mut conduct = setup.conduct.clone();
    conduct.runs_directory = directory.to_owned();
    let (mut runs, mut void) = (Vec::new(), 0);
    while runs.len() < wanted && void < wanted && !interrupt.is_set() && budget.has_time_for_a_run()
    {
        let (record, path) = with_screen(quiet, |say| conduct.carry_out(interrupt, say))?;
        match record.is_void() {
            true => void += 1,
            false => runs.push((path, record)),
        }
        budget.ran(runs.len() + void, budget.took_s());
    }
    Ok(runs)
}
