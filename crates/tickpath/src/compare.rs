//! `tickpath compare`: two records, or two treatments that are made now, interleaved.

use crate::cli::CompareArguments;
use crate::print::show;
use crate::progress::with_screen;
use crate::treatment::treatment;
use crate::{DONE, GATE_FAILED, INCONCLUSIVE, INVALID, TOOL, command_line, signals};
use anyhow::{Context, bail};
use measure::calendar::utc;
use measure::clock::wall_ms;
use measure::compare::{Design, Outcome};
use measure::comparison::{self, Arm, Comparison, Question, Runs, compare as compare_runs};
use measure::directory;
use measure::gate::{Gate, GateOutcome};
use measure::machine::Machine;
use measure::record::RunRecord;
use measure::selector::Figure;
use scenario::experiment::{Experiment, Made, PAIRS_MAX, Pairs, Side};
use std::path::Path;

/// Pairs unless told otherwise: with twelve a shift of three times the noise floor is found nine times of
/// ten (crates/measure/tests/compare.rs).
pub(crate) const PAIRS_DEFAULT: u32 = 12;

/// The scenario of KEY=VALUE treatments.
const SCENARIO_DEFAULT: &str = "ping-pong";

pub(crate) fn compare(arguments: &CompareArguments) -> anyhow::Result<u8> {
    let gates = gates(&arguments.gate)?;
    let figures = figures(&arguments.figure, &gates)?;
    // Not by its name alone: a command may end in one.
    let is_record = |name: &str| {
        let path = Path::new(name);
        path.join("run.json").is_file() || (name.ends_with(".json") && path.is_file())
    };
    let records = [&arguments.a, &arguments.b].map(|name| is_record(name));
    let of_scenarios = match (&arguments.scenario, arguments.set.is_empty()) {
        (Some(_), _) => Some("--scenario"),
        (None, false) => Some("--set"),
        (None, true) => None,
    };
    match (records, arguments.pairs.map(|_| "--pairs").or(of_scenarios)) {
        ([true, true], None) => apart(arguments, &figures, &gates),
        ([true, true], Some(option)) => bail!(
            "{} and {} are records that were made already; {option} is for what is made now",
            arguments.a,
            arguments.b
        ),
        ([false, false], _) => {
            interleaved(arguments, arguments.pairs.unwrap_or(PAIRS_DEFAULT), &figures, &gates)
        }
        _ => bail!(
            "one of {} and {} is a record and the other is not: compare two records, or two things \
             that are made now",
            arguments.a,
            arguments.b
        ),
    }
}

fn gates(texts: &[String]) -> anyhow::Result<Vec<Gate>> {
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
    for figure in gates.iter().map(|gate| gate.figure.figure) {
        if !figures.contains(&figure) {
            figures.push(figure);
        }
    }
    Ok(figures)
}

/// Two records as they are.
fn apart(arguments: &CompareArguments, figures: &[Figure], gates: &[Gate]) -> anyhow::Result<u8> {
    let open = |name: &str| -> anyhow::Result<(RunRecord, Machine)> {
        let path = Path::new(name);
        let record = directory::load_record(path).context("cannot compare")?;
        // Without a fingerprint they can't be compared, and that is said then.
        Ok((record, directory::load_machine(path).unwrap_or_default()))
    };
    let ((a, of_a), (b, of_b)) = (open(&arguments.a)?, open(&arguments.b)?);
    let void = [&a, &b].into_iter().any(|record| !record.valid);
    let incomparable_because = comparison::incomparable_because(&a, &of_a, &b, &of_b);
    let question = Question {
        design: Design::Apart,
        figures: figures.to_vec(),
        floor_is_control: comparison::same_floor(&a, &b) && incomparable_because.is_empty(),
    };
    let (runs_a, runs_b) = (Runs::of_record(&a), Runs::of_record(&b));
    let arm = |name: &String, runs: &Runs| Arm {
        name: name.clone(),
        runs: runs.count(),
        records: vec![name.clone()],
    };
    let mut comparison = Comparison {
        differs: comparison::differs(&a, &b),
        incomparable_because,
        figures: compare_runs(&question, &runs_a, &runs_b),
        ..blank(arguments, Design::Apart, arm(&arguments.a, &runs_a), arm(&arguments.b, &runs_b))
    };
    comparison.decide(gates);
    print(&comparison, arguments.json)?;
    Ok(if void && !arguments.force { INVALID } else { status(&comparison) })
}

/// Makes the runs of both now.
fn interleaved(
    arguments: &CompareArguments,
    pairs: u32,
    figures: &[Figure],
    gates: &[Gate],
) -> anyhow::Result<u8> {
    if !(1..=PAIRS_MAX).contains(&pairs) {
        bail!("--pairs {pairs}: there must be 1 to {PAIRS_MAX}");
    }
    let scenario = arguments.scenario.as_deref().unwrap_or(SCENARIO_DEFAULT);
    let treatments = [
        treatment(&arguments.a, scenario, &arguments.set)?,
        treatment(&arguments.b, scenario, &arguments.set)?,
    ];
    let path = directory::create(&arguments.out, "compare").with_context(|| {
        format!("cannot make a directory in {}; choose another --out", arguments.out.display())
    })?;
    let interrupt = signals::interrupt()?;
    let experiment = Experiment {
        treatments: [&treatments[0], &treatments[1]],
        pairs,
        directory: &path,
        takes_void: arguments.force,
    };
    let made = with_screen(arguments.quiet, |say| experiment.carry_out(&interrupt, say));
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
    let mut comparison = of_pairs(arguments, &made, figures);
    comparison.decide(gates);
    directory::write_whole(&path.join("compare.json"), &serde_json::to_string_pretty(&comparison)?)
        .with_context(|| format!("cannot write compare.json in {}", path.display()))?;
    print(&comparison, arguments.json)?;
    if !arguments.json {
        show(&format!("\nrecord: {}\n", path.display()))?;
    }
    let complete = made.a.len() == pairs as usize;
    if !complete {
        let why = match (&made.failure, interrupt.is_set()) {
            (_, true) => "it was interrupted".to_owned(),
            (Some(failure), _) => failure.clone(),
            (None, _) => format!("{} were void", made.void_because.len()),
        };
        eprintln!("error: {} of {pairs} pairs were made: {why}", made.a.len());
    }
    Ok(if complete { status(&comparison) } else { INVALID })
}

/// Whether a run of either side left its record in `directory`.
fn holds_a_record(directory: &Path) -> bool {
    let sides = [Side::A, Side::B].map(|side| directory.join(side.name()));
    let mut runs = sides.iter().filter_map(|side| side.read_dir().ok()).flatten().flatten();
    runs.any(|run| run.path().join("run.json").is_file())
}

fn of_pairs(arguments: &CompareArguments, made: &Pairs, figures: &[Figure]) -> Comparison {
    let records =
        |made: &[Made]| -> Vec<RunRecord> { made.iter().map(|one| one.record.clone()).collect() };
    let (a, b) = (records(&made.a), records(&made.b));
    let question = Question {
        design: Design::Interleaved,
        figures: figures.to_vec(),
        floor_is_control: false,
    };
    let arm = |name: &String, made: &[Made]| Arm {
        name: name.clone(),
        runs: made.len(),
        records: made
            .iter()
            .flat_map(|one| &one.path)
            .map(|path| path.display().to_string())
            .collect(),
    };
    let differs = match (a.first(), b.first()) {
        (Some(a), Some(b)) => comparison::differs(a, b),
        _ => Vec::new(),
    };
    Comparison {
        pairs_void: made.void_because.len() as u32,
        void_because: made.void_because.clone(),
        differs,
        figures: compare_runs(&question, &Runs::of_records(&a), &Runs::of_records(&b)),
        ..blank(
            arguments,
            Design::Interleaved,
            arm(&arguments.a, &made.a),
            arm(&arguments.b, &made.b),
        )
    }
}

fn blank(arguments: &CompareArguments, design: Design, a: Arm, b: Arm) -> Comparison {
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
        forced: arguments.force,
        figures: Vec::new(),
        outcome: Outcome::Inconclusive,
        why: String::new(),
        gates: Vec::new(),
    }
}

fn print(comparison: &Comparison, json: bool) -> anyhow::Result<()> {
    match json {
        true => show(&format!("{}\n", serde_json::to_string_pretty(comparison)?)),
        false => show(&report::comparison(comparison)),
    }
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
