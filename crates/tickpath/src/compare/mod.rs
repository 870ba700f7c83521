//! `tickpath compare`: two records, or treatments that are measured now, interleaved.

mod records;
mod treatments;
mod trials;

pub(crate) use records::{ComparedRecord, of_records};

use crate::ci::{baseline, write_summaries};
use crate::cli::CompareArguments;
use crate::exit::{DONE, GATE_FAILED, INCONCLUSIVE};
use crate::page::write;
use crate::print::{columns, print_json, show, show_report};
use crate::project::Project;
use crate::tool::{TOOL, command_line};
use crate::treatment::similar;
use anyhow::bail;
use clock::calendar::utc;
use clock::wall_ms;
use record::comparison::gate::{Gate, GateOutcome, GateResult};
use record::comparison::selector::Figure;
use record::comparison::worth::Margin;
use record::comparison::{self, Arm, Comparison};
use record::directory;
use stats::compare::Design;
use stats::verdict::Outcome;
use std::path::{Path, PathBuf};

/// Runs of each treatment by default: twelve pairs find a shift of three times the noise floor nine
/// times of ten (crates/record/tests/compare.rs).
pub(crate) const PAIRS_DEFAULT: u32 = 12;

pub(crate) fn compare(arguments: &CompareArguments) -> anyhow::Result<u8> {
    let gates = gates(&arguments.gate)?;
    let figures = figures(&arguments.figure, &gates)?;
    let asked = CompareRequest {
        margin: margin(arguments.worth.as_deref(), &figures)?,
        figures,
        gates,
        names: names(arguments)?,
        out: Project::find()?.directory(arguments.output.out.as_deref()),
        arguments,
    };
    let is_record = |name: &&String| {
        let path = Path::new(name);
        // A command may end in the name of a record.
        !arguments.command
            && (path.join("run.json").is_file() || (name.ends_with(".json") && path.is_file()))
    };
    let (records, others): (Vec<&String>, Vec<&String>) = asked.names.iter().partition(is_record);
    if arguments.baseline.is_some() && !is_record(&&asked.names[0]) {
        let name = &asked.names[0];
        bail!("there is no baseline {name}: `tickpath run --save-baseline NAME` makes one");
    }
    match (records.as_slice(), others.as_slice()) {
        ([a, b], []) => {
            if let Some(option) = option_of_measuring(arguments) {
                bail!(
                    "{a} and {b} are records that were made already; {option} is for what is made now"
                );
            }
            records::compare_records(&asked, [a, b])
        }
        (all, []) => bail!(
            "{} records: compare judges two; `tickpath report` sets more side by side",
            all.len()
        ),
        ([], _) => treatments::interleaved(&asked),
        ([record, ..], [other, ..]) => bail!(one_record(record, other)),
    }
}

/// An option that is for treatments only.
fn option_of_measuring(arguments: &CompareArguments) -> Option<&'static str> {
    let options = [
        ("--pairs", arguments.pairs.is_some()),
        ("--scenario", arguments.scenario.is_some()),
        ("--connect", arguments.connect.is_some()),
        ("--set", !arguments.settings.set.is_empty()),
    ];
    options.into_iter().find(|(_, given)| *given).map(|(option, _)| option)
}

/// The arguments, read and checked.
struct CompareRequest<'a> {
    arguments: &'a CompareArguments,
    /// A, then the candidates.
    names: Vec<String>,
    figures: Vec<Figure>,
    gates: Vec<Gate>,
    /// The least that a candidate must save.
    margin: Option<Margin>,
    /// Where records go.
    out: PathBuf,
}

/// A and the candidates; of a baseline its directory.
fn names(arguments: &CompareArguments) -> anyhow::Result<Vec<String>> {
    let first = arguments.a.clone();
    let Some(name) = &arguments.baseline else {
        return Ok(std::iter::once(first).chain(arguments.candidates.iter().cloned()).collect());
    };
    let out = Project::find()?.directory(arguments.output.out.as_deref());
    Ok(vec![baseline(&out, name)?.display().to_string(), first])
}

fn one_record(record: &str, other: &str) -> String {
    let why = match Path::new(other).exists() {
        true => "holds none.".to_owned(),
        false if other.contains('/') => format!("is none.{}", similar(other)),
        false => "is none.".to_owned(),
    };
    format!(
        "{record} is a record and the other is not: {other} {why} Compare two records, or treatments that are \
         measured now"
    )
}

/// The margin of `--worth`.
fn margin(text: Option<&str>, figures: &[Figure]) -> anyhow::Result<Option<Margin>> {
    let Some(text) = text else { return Ok(None) };
    if figures.iter().all(|figure| figure.name() != "p50") {
        bail!("--worth {text}: the p50 decides, and --figure leaves it out; add p50 to --figure");
    }
    Ok(Some(text.parse::<Margin>().map_err(|why| anyhow::anyhow!("--worth {why}"))?))
}

/// Gates as they were asked for.
pub(crate) fn gates(texts: &[String]) -> anyhow::Result<Vec<Gate>> {
    texts
        .iter()
        .map(|text| text.parse().map_err(|why| anyhow::anyhow!("--gate {text:?}: {why}")))
        .collect()
}

/// The figures asked for and the ones that gates need.
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

/// A comparison without a figure.
fn blank(forced: bool, design: Design, a: Arm, b: Arm) -> Comparison {
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
        worth: None,
        not_run: Vec::new(),
        others: Vec::new(),
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
    directory::write_whole(&file, &text)
        .map_err(|error| crate::errors::not_written(&file, &error))?;
    if let Err(error) = write(&path.join("report.html"), &comparison_page(comparison)?) {
        eprintln!("warning: {}", crate::errors::one_line(&error));
    }
    let markdown = || report::summary::markdown_of_comparison(comparison);
    let gates = gates_of(comparison);
    let said = (&report::headlines(comparison)[..], &gates[..]);
    write_summaries(&arguments.summaries, "tickpath compare", error, said, markdown)?;
    if arguments.output.json {
        return print_json(comparison);
    }
    show_report(&report::comparison(comparison, columns()))?;
    show(&format!("\nrecord: {}\n", path.display()))
}

/// The page of a comparison.
pub(crate) fn comparison_page(comparison: &Comparison) -> anyhow::Result<String> {
    Ok(report::comparison_page(comparison, &serde_json::to_string(comparison)?))
}

/// The gates of all candidates; of several, each says whose it is.
fn gates_of(comparison: &Comparison) -> Vec<GateResult> {
    let named = |(letter, one): (char, &Comparison)| -> Vec<GateResult> {
        let mut gates = one.gates.clone();
        if !comparison.others.is_empty() {
            gates.iter_mut().for_each(|gate| gate.gate = format!("{letter}: {}", gate.gate));
        }
        gates
    };
    comparison.candidates().flat_map(named).collect()
}

/// Without a gate the answer is the result, whatever it is.
fn status(comparison: &Comparison) -> u8 {
    let gates = gates_of(comparison);
    let any = |outcome| gates.iter().any(|gate| gate.outcome == outcome);
    match (any(GateOutcome::Failed), any(GateOutcome::Inconclusive)) {
        (true, _) => GATE_FAILED,
        (false, true) => INCONCLUSIVE,
        (false, false) => DONE,
    }
}
