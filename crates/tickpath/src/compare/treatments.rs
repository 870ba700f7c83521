//! Treatments that are measured now, interleaved.

use super::trials::{RunnableTreatments, able};
use super::{CompareRequest, PAIRS_DEFAULT, blank, finish, status};
use crate::cli::SCENARIO_DEFAULT;
use crate::exit::NO_RESULT;
use crate::progress::with_screen;
use crate::project::Project;
use crate::run::{check_gates, warn_of};
use crate::signals;
use crate::treatment::treatment;
use crate::turn::Turn;
use anyhow::{Context, bail};
use plan::ScenarioError;
use record::RunRecord;
use record::comparison::{self, Arm, Comparison, Question, Runs, compare_all};
use record::text::counted;
use scenario::Interrupt;
use scenario::experiment::{
    Experiment, FinishedRun, ROUNDS_MAX, Rounds, Side, TREATMENTS_MAX, Treatment,
};
use stats::compare::Design;
use stats::verdict::pairs_needed;
use std::path::Path;

/// Measures them now.
pub(super) fn interleaved(asked: &CompareRequest<'_>) -> anyhow::Result<u8> {
    let CompareRequest { arguments, names, out, .. } = asked;
    let rounds = arguments.pairs.unwrap_or(PAIRS_DEFAULT);
    if !(1..=ROUNDS_MAX).contains(&rounds) {
        bail!("--pairs {rounds}: there must be 1 to {ROUNDS_MAX}");
    }
    if names.len() > TREATMENTS_MAX {
        bail!("{} treatments are too many, the limit is {TREATMENTS_MAX}", names.len());
    }
    let readable = treatments(asked)?;
    warn_of_too_few(rounds, names.len() - 1);
    let path = crate::errors::make_directory(out, "compare")?;
    let interrupt = signals::interrupt()?;
    let Some(_turn) = prepare(asked, &readable.treatments, &path, &interrupt)? else {
        return Ok(NO_RESULT);
    };
    let able = match &asked.margin {
        Some(_) => able(readable, &path, &interrupt)?,
        None => readable,
    };
    let RunnableTreatments { names, treatments, not_run } = able;
    let experiment = Experiment {
        treatments: &treatments.iter().collect::<Vec<_>>(),
        rounds,
        directory: &path,
        takes_void: arguments.force,
        deadline: None,
        switch: None,
    };
    let round = if names.len() == 2 { "pair" } else { "round" };
    let made = with_screen(arguments.output.quiet, |say| experiment.carry_out(&interrupt, say));
    let made = match made {
        Ok(made) => made,
        Err(error) if holds_a_record(&path, names.len()) => {
            let kept = path.display();
            return Err(error)
                .with_context(|| format!("no {round} was made; single runs are in {kept}"));
        }
        Err(error) => {
            // Nothing was made; what broke stands in the error.
            let _ = std::fs::remove_dir_all(&path);
            return Err(error.into());
        }
    };
    let comparison = Comparison { not_run, ..comparison_of(asked, &names, &made) };
    let complete = made.count() == rounds as usize;
    let why = match (&made.failure, interrupt.is_set()) {
        (_, true) => "it was interrupted".to_owned(),
        (Some(failure), _) => failure.clone(),
        (None, _) => format!("{} were void", made.void_because.len()),
    };
    let error = match complete {
        true => String::new(),
        false => format!("{} of {rounds} {round}s were made: {why}", made.count()),
    };
    finish(arguments, &comparison, &path, &error)?;
    if !complete {
        eprintln!("error: {error}");
    }
    Ok(if complete { status(&comparison) } else { NO_RESULT })
}

/// Says before the first run that no verdict can come out.
fn warn_of_too_few(rounds: u32, candidates: usize) {
    let needed = pairs_needed(candidates);
    if (rounds as usize) < needed {
        eprintln!(
            "warning: the result will be inconclusive, whatever is measured: a verdict about {} \
             needs --pairs {needed} or more",
            counted(candidates, "candidate")
        );
    }
}

/// Reads all treatments. With a margin, a candidate whose value its scenario does not allow, such
/// as ticks over a backend that carries none, is one that can't run.
fn treatments(asked: &CompareRequest<'_>) -> anyhow::Result<RunnableTreatments> {
    let CompareRequest { arguments, names, .. } = asked;
    let scenario = arguments.scenario.as_deref().unwrap_or(SCENARIO_DEFAULT);
    let project = Project::find()?;
    let sets = &arguments.settings.set;
    let read = |text: &String| {
        if arguments.command {
            return Ok(Treatment::Command { line: text.clone(), sets: sets.clone() });
        }
        let mut treatment = treatment(text, scenario, sets, &project)?;
        if let Treatment::Scenario(conduct) = &mut treatment {
            conduct.connect.clone_from(&arguments.connect);
        }
        Ok(treatment)
    };
    let mut able = RunnableTreatments::default();
    for (at, name) in names.iter().enumerate() {
        match read(name) {
            Ok(treatment) => able.add(name, treatment),
            Err(why) if at > 0 && asked.margin.is_some() && is_not_allowed(&why) => {
                able.leave_out(name, format!("{why:#}"));
            }
            Err(why) => return Err(why),
        }
    }
    Ok(able)
}

/// Whether a scenario was read, and does not allow a value.
fn is_not_allowed(why: &anyhow::Error) -> bool {
    let why = why.downcast_ref::<ScenarioError>();
    why.is_some_and(|why| matches!(why, ScenarioError::Range(_)))
}

/// Checks what can be checked before the first run, and waits for the cores. A command does both
/// for itself.
fn prepare(
    asked: &CompareRequest<'_>,
    treatments: &[Treatment],
    path: &Path,
    interrupt: &Interrupt,
) -> anyhow::Result<Option<Turn>> {
    let CompareRequest { arguments, gates, margin, .. } = asked;
    // Nothing was measured: only the empty directory goes.
    let without_directory = |error: anyhow::Error| {
        let _ = std::fs::remove_dir(path);
        error
    };
    let mut cores = Vec::new();
    for (at, treatment) in treatments.iter().enumerate() {
        let Treatment::Scenario(conduct) = treatment else { continue };
        check_gates(gates, &conduct.scenario).map_err(without_directory)?;
        let plan = match conduct.preflight() {
            Ok(plan) => plan,
            // Its trial says why it can't run.
            Err(_) if at > 0 && margin.is_some() => continue,
            Err(error) => return Err(without_directory(error.into())),
        };
        warn_of(&plan);
        cores.extend(plan.subjects.into_iter().flat_map(|(_, cores)| cores));
    }
    Turn::take(&cores, arguments.output.no_wait, || interrupt.is_set())
}

/// Whether a run of any treatment left its record in `directory`.
fn holds_a_record(directory: &Path, treatments: usize) -> bool {
    let sides = Side::all(treatments).map(|side| directory.join(side.name()));
    let mut runs = sides.filter_map(|side| side.read_dir().ok()).flatten().flatten();
    runs.any(|run| run.path().join("run.json").is_file())
}

/// Every candidate against A.
fn comparison_of(asked: &CompareRequest<'_>, names: &[String], made: &Rounds) -> Comparison {
    let CompareRequest { arguments, figures, gates, margin, .. } = asked;
    let question = Question {
        design: Design::Interleaved,
        figures: figures.clone(),
        floor_is_control: false,
        forced: arguments.force,
    };
    let measured: Vec<TreatmentRuns> = names
        .iter()
        .zip(Side::all(names.len()))
        .map(|(name, side)| measured(name, made.of(side), made.void_of(side)))
        .collect();
    let (a, candidates) = measured.split_first().expect("A is required");
    let runs: Vec<&Runs> = candidates.iter().map(|one| &one.runs).collect();
    let compared = compare_all(&question, &a.runs, &runs);
    let mut comparisons = candidates.iter().zip(compared).map(|(b, figures)| {
        let differs = match (a.records.first(), b.records.first()) {
            (Some(a), Some(b)) => comparison::differs(a, b),
            _ => Vec::new(),
        };
        let blank = blank(arguments.force, Design::Interleaved, a.arm.clone(), b.arm.clone());
        let mut one = Comparison { differs, figures, ..blank };
        one.decide(gates, &b.records.iter().collect::<Vec<_>>());
        if let Some(margin) = margin {
            one.decide_worth(margin);
        }
        one
    });
    let first = comparisons.next().expect("a candidate is required");
    let without_series =
        |one: Comparison| Comparison { a: Arm { series: Vec::new(), ..one.a }, ..one };
    Comparison {
        pairs_void: made.void_because.len() as u32,
        void_because: made.void_because.clone(),
        others: comparisons.map(without_series).collect(),
        ..first
    }
}

/// The runs of a treatment.
struct TreatmentRuns {
    arm: Arm,
    records: Vec<RunRecord>,
    runs: Runs,
}

/// The runs that count; those of void rounds count for the costs alone.
fn measured(name: &str, made: &[FinishedRun], void: &[RunRecord]) -> TreatmentRuns {
    let records: Vec<RunRecord> = made.iter().map(|one| one.record.clone()).collect();
    let runs = Runs::of_records(&records);
    let paths = made.iter().map(|one| one.path.display().to_string()).collect();
    TreatmentRuns {
        arm: Arm::new(name, paths, &records.iter().chain(void).collect::<Vec<_>>(), &runs),
        records,
        runs,
    }
}
