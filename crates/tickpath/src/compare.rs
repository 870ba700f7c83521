//! `tickpath compare`: two records, or two treatments that are measured now, interleaved.

use crate::ci::{baseline, write_summaries};
use crate::cli::CompareArguments;
use crate::page::write;
use crate::print::{columns, print_json, show};
use crate::progress::with_screen;
use crate::project::Project;
use crate::run::{check_gates, warn_of};
use crate::treatment::{similar, treatment};
use crate::turn::Turn;
use crate::{DONE, GATE_FAILED, INCONCLUSIVE, NO_RESULT, TOOL, command_line, signals};
use anyhow::{Context, bail};
use clock::calendar::utc;
use clock::wall_ms;
use record::RunRecord;
use record::comparison::gate::{Gate, GateOutcome};
use record::comparison::selector::Figure;
use record::comparison::{self, Arm, Comparison, Question, Runs, compare as compare_runs};
use record::directory;
use record::machine::Machine;
use scenario::conduct::Interrupt;
use scenario::experiment::{Experiment, Made, PAIRS_MAX, Pairs, Side, Treatment};
use stats::compare::{Design, Outcome};
use std::path::{Path, PathBuf};

/// Pairs by default: twelve find a shift of three times the noise floor nine times of
/// ten (crates/record/tests/compare.rs).
pub(crate) const PAIRS_DEFAULT: u32 = 12;

/// The scenario of KEY=VALUE treatments.
const SCENARIO_DEFAULT: &str = "ping-pong";

pub(crate) fn compare(arguments: &CompareArguments) -> anyhow::Result<u8> {
    let gates = gates(&arguments.gate)?;
    let asked = Asked {
        figures: figures(&arguments.figure, &gates)?,
        gates,
        names: names(arguments)?,
        out: Project::find()?.directory(arguments.output.out.as_deref()),
        arguments,
    };
    let is_record = |name: &str| {
        let path = Path::new(name);
        path.join("run.json").is_file() || (name.ends_with(".json") && path.is_file())
    };
    // A command may end in the name of a record.
    let records = asked.names.each_ref().map(|name| !arguments.command && is_record(name));
    let of_measuring = [
        ("--pairs", arguments.pairs.is_some()),
        ("--scenario", arguments.scenario.is_some()),
        ("--set", !arguments.settings.set.is_empty()),
    ];
    let of_measuring = of_measuring.into_iter().find(|(_, given)| *given);
    let [a, b] = &asked.names;
    match (records, of_measuring) {
        ([true, true], None) => apart(&asked),
        ([true, true], Some((option, _))) => {
            bail!(
                "{a} and {b} are records that were made already; {option} is for what is made now"
            )
        }
        ([false, _], _) if arguments.baseline.is_some() => {
            bail!("there is no baseline {a}: `tickpath run --save-baseline NAME` makes one")
        }
        ([false, false], _) => interleaved(&asked, arguments.pairs.unwrap_or(PAIRS_DEFAULT)),
        ([true, false], _) => bail!(one_record(a, b)),
        ([false, true], _) => bail!(one_record(b, a)),
    }
}

/// What was asked for, read and checked.
struct Asked<'a> {
    arguments: &'a CompareArguments,
    /// A, then B.
    names: [String; 2],
    figures: Vec<Figure>,
    gates: Vec<Gate>,
    /// Where records go.
    out: PathBuf,
}

/// A and B; of a baseline its directory.
fn names(arguments: &CompareArguments) -> anyhow::Result<[String; 2]> {
    let Some(name) = &arguments.baseline else {
        return Ok([arguments.a.clone(), arguments.b.clone().unwrap_or_default()]);
    };
    let out = Project::find()?.directory(arguments.output.out.as_deref());
    Ok([baseline(&out, name)?.display().to_string(), arguments.a.clone()])
}

fn one_record(record: &str, other: &str) -> String {
    let why = match Path::new(other).exists() {
        true => "holds none.".to_owned(),
        false if other.contains('/') => format!("is none.{}", similar(other)),
        false => "is none.".to_owned(),
    };
    format!(
        "{record} is a record and the other is not: {other} {why} Compare two records, or two treatments that are \
         measured now"
    )
}

/// Gates as they were asked for.
pub(crate) fn gates(texts: &[String]) -> anyhow::Result<Vec<Gate>> {
    texts
        .iter()
        .map(|text| text.parse().map_err(|why| anyhow::anyhow!("--gate {text:?}: {why}")))
        .collect()
}

/// Those asked for and those that gates need.
fn figures(names: &[String], gates: &[Gate]) -> anyhow::Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for name in names {
        let Ok(figure) = name.parse::<Figure>() else {
            bail!(
                "--figure {name:?} is none; there are p50, p90, p95, p99, p99.9, p99.99, p99.999, max"
            );
        };
        figures.push(figure);
    }
    for gate in gates {
        let Gate::Change { figure, .. } = gate else { continue };
        let figure = figure.figure;
        if !figures.contains(&figure) {
            figures.push(figure);
        }
    }
    Ok(figures)
}

/// Two records as they are.
fn apart(asked: &Asked<'_>) -> anyhow::Result<u8> {
    let Asked { arguments, names: [name_a, name_b], figures, gates, out } = asked;
    let open = |name: &str| -> anyhow::Result<(RunRecord, Machine)> {
        let path = Path::new(name);
        let record = directory::load_record(path).context("cannot compare")?;
        // Without a fingerprint they can't be compared, and that is said then.
        Ok((record, directory::load_machine(path).unwrap_or_default()))
    };
    let ((a, of_a), (b, of_b)) = (open(name_a)?, open(name_b)?);
    for gate in gates {
        if let Some(why) = [&a, &b].into_iter().find_map(|one| gate.selector().lacking(one)) {
            bail!("--gate {gate}: {why}");
        }
    }
    let void = [&a, &b].into_iter().any(RunRecord::is_void);
    let mut incomparable_because = comparison::incomparable_because(&a, &of_a, &b, &of_b);
    let differs = comparison::differs(&a, &b);
    if arguments.baseline.is_some() {
        // Another build is what a baseline is for.
        let settings = differs.iter().filter(|one| !one.starts_with("tool: "));
        incomparable_because.extend(settings.map(|one| format!("settings differ: {one}")));
    }
    let question = Question {
        design: Design::Apart,
        figures: figures.clone(),
        floor_is_control: comparison::same_floor(&a, &b) && incomparable_because.is_empty(),
        forced: arguments.force,
    };
    let (runs_a, runs_b) = (Runs::of_record(&a), Runs::of_record(&b));
    let arm = |name: &String, runs: &Runs| Arm::new(name, vec![name.clone()], runs);
    let mut comparison = Comparison {
        differs,
        incomparable_because,
        figures: compare_runs(&question, &runs_a, &runs_b),
        ..blank(arguments.force, Design::Apart, arm(name_a, &runs_a), arm(name_b, &runs_b))
    };
    comparison.decide(gates, &[&b]);
    let path = crate::make_directory(out, "compare")?;
    let error = if void && !arguments.force { "a record is void" } else { "" };
    finish(arguments, &comparison, &path, error)?;
    Ok(if error.is_empty() { status(&comparison) } else { NO_RESULT })
}

/// Measures both now.
fn interleaved(asked: &Asked<'_>, pairs: u32) -> anyhow::Result<u8> {
    let Asked { arguments, names: [name_a, name_b], gates, out, .. } = asked;
    if !(1..=PAIRS_MAX).contains(&pairs) {
        bail!("--pairs {pairs}: there must be 1 to {PAIRS_MAX}");
    }
    let scenario = arguments.scenario.as_deref().unwrap_or(SCENARIO_DEFAULT);
    let project = Project::find()?;
    let sets = &arguments.settings.set;
    let read = |text: &String| match arguments.command {
        true => Ok(Treatment::Command { line: text.clone(), sets: sets.clone() }),
        false => treatment(text, scenario, sets, &project),
    };
    let treatments = [read(name_a)?, read(name_b)?];
    let path = crate::make_directory(out, "compare")?;
    let interrupt = signals::interrupt()?;
    let Some(_turn) = prepare(arguments, &treatments, gates, &path, &interrupt)? else {
        return Ok(NO_RESULT);
    };
    let experiment = Experiment {
        treatments: [&treatments[0], &treatments[1]],
        pairs,
        directory: &path,
        takes_void: arguments.force,
        deadline: None,
        switch: None,
    };
    let made = with_screen(arguments.output.quiet, |say| experiment.carry_out(&interrupt, say));
    let made = match made {
        Ok(made) => made,
        Err(error) if holds_a_record(&path) => {
            let kept = path.display();
            return Err(error)
                .with_context(|| format!("no pair was made; single runs are in {kept}"));
        }
        Err(error) => {
            // Nothing was made; what broke stands in the error.
            let _ = std::fs::remove_dir_all(&path);
            return Err(error.into());
        }
    };
    let mut comparison = of_pairs(asked, &made);
    let of_b: Vec<&RunRecord> = made.b.iter().map(|one| &one.record).collect();
    comparison.decide(gates, &of_b);
    let complete = made.a.len() == pairs as usize;
    let error = match (&made.failure, interrupt.is_set()) {
        _ if complete => String::new(),
        (_, true) => format!("{} of {pairs} pairs were made: it was interrupted", made.a.len()),
        (Some(failure), _) => format!("{} of {pairs} pairs were made: {failure}", made.a.len()),
        (None, _) => {
            let void = made.void_because.len();
            format!("{} of {pairs} pairs were made: {void} were void", made.a.len())
        }
    };
    finish(arguments, &comparison, &path, &error)?;
    if !complete {
        eprintln!("error: {error}");
    }
    Ok(if complete { status(&comparison) } else { NO_RESULT })
}

/// Checks what can be checked before the first run, and waits for the cores. A command does both
/// for itself.
fn prepare(
    arguments: &CompareArguments,
    treatments: &[Treatment; 2],
    gates: &[Gate],
    path: &Path,
    interrupt: &Interrupt,
) -> anyhow::Result<Option<Turn>> {
    let mut cores = Vec::new();
    for treatment in treatments {
        let Treatment::Scenario(conduct) = treatment else { continue };
        let checked = check_gates(gates, &conduct.scenario).and_then(|()| Ok(conduct.preflight()?));
        let plan = match checked {
            Ok(plan) => plan,
            Err(error) => {
                // Nothing was measured: only the empty directory goes.
                let _ = std::fs::remove_dir(path);
                return Err(error);
            }
        };
        warn_of(&plan);
        cores.extend(plan.subjects.into_iter().flat_map(|(_, cores)| cores));
    }
    Turn::take(&cores, arguments.output.no_wait, || interrupt.is_set())
}

/// Whether a run of either side left its record in `directory`.
fn holds_a_record(directory: &Path) -> bool {
    let sides = [Side::A, Side::B].map(|side| directory.join(side.name()));
    let mut runs = sides.iter().filter_map(|side| side.read_dir().ok()).flatten().flatten();
    runs.any(|run| run.path().join("run.json").is_file())
}

fn of_pairs(asked: &Asked<'_>, made: &Pairs) -> Comparison {
    let Asked { arguments, names: [name_a, name_b], figures, .. } = asked;
    let records =
        |made: &[Made]| -> Vec<RunRecord> { made.iter().map(|one| one.record.clone()).collect() };
    let (a, b) = (records(&made.a), records(&made.b));
    let question = Question {
        design: Design::Interleaved,
        figures: figures.to_vec(),
        floor_is_control: false,
        forced: arguments.force,
    };
    let (runs_a, runs_b) = (Runs::of_records(&a), Runs::of_records(&b));
    let paths = |made: &[Made]| made.iter().map(|one| one.path.display().to_string()).collect();
    let differs = match (a.first(), b.first()) {
        (Some(a), Some(b)) => comparison::differs(a, b),
        _ => Vec::new(),
    };
    Comparison {
        pairs_void: made.void_because.len() as u32,
        void_because: made.void_because.clone(),
        differs,
        figures: compare_runs(&question, &runs_a, &runs_b),
        ..blank(
            arguments.force,
            Design::Interleaved,
            Arm::new(name_a, paths(&made.a), &runs_a),
            Arm::new(name_b, paths(&made.b), &runs_b),
        )
    }
}

/// A comparison without a figure.
pub(crate) fn blank(forced: bool, design: Design, a: Arm, b: Arm) -> Comparison {
    Comparison {
        schema: comparison::SCHEMA,
        tool: TOOL.to_owned(),
        started: utc(wall_ms()),
        command: command_line(),
        a,
        b,
        design,
        pairs_void: 0,
        void_because: Vec::new(),
        differs: Vec::new(),
        incomparable_because: Vec::new(),
        forced,
        figures: Vec::new(),
        outcome: Outcome::Inconclusive,
        why: String::new(),
        gates: Vec::new(),
    }
}

/// Writes compare.json and its page, and prints.
///
/// `error` says why it is no result; empty if it is one.
fn finish(
    arguments: &CompareArguments,
    comparison: &Comparison,
    path: &Path,
    error: &str,
) -> anyhow::Result<()> {
    let text = serde_json::to_string_pretty(comparison)?;
    let file = path.join("compare.json");
    directory::write_whole(&file, &text).map_err(|error| crate::not_written(&file, &error))?;
    if let Err(error) = write(&path.join("report.html"), &comparison_page(comparison)?) {
        eprintln!("warning: {}", crate::told(&error));
    }
    let markdown = || report::summary::markdown_of_comparison(comparison);
    let gates = &comparison.gates;
    write_summaries(&arguments.summaries, "tickpath compare", error, gates, markdown)?;
    if arguments.output.json {
        return print_json(comparison);
    }
    show(&report::comparison(comparison, columns()))?;
    show(&format!("\nrecord: {}\n", path.display()))
}

/// The page of a comparison.
pub(crate) fn comparison_page(comparison: &Comparison) -> anyhow::Result<String> {
    Ok(report::comparison_page(comparison, &serde_json::to_string(comparison)?))
}

/// Without a gate the answer is the result, whatever it is.
fn status(comparison: &Comparison) -> u8 {
    let any = |outcome| comparison.gates.iter().any(|gate| gate.outcome == outcome);
    match (any(GateOutcome::Failed), any(GateOutcome::Inconclusive)) {
        (true, _) => GATE_FAILED,
        (false, true) => INCONCLUSIVE,
        (false, false) => DONE,
    }
}
