//! `tickpath run`.

use crate::ci::{save_baseline, write_summaries};
use crate::cli::{Need, Output, RunArguments};
use crate::exit::{DONE, GATE_FAILED, INCONCLUSIVE, NO_RESULT, USAGE};
use crate::page::write_page;
use crate::print::{columns, print_json, print_record, show, show_report};
use crate::progress::with_screen;
use crate::project::Project;
use crate::signals;
use crate::sweep::make_pages;
use crate::treatment::conduct_of;
use crate::turn::Turn;
use anyhow::bail;
use plan::Scenario;
use record::Unit;
use record::comparison::gate::{Gate, GateOutcome, GateResult};
use record::{Preflight, RunRecord};
use scenario::Conduct;
use scenario::Interrupt;
use scenario::conduct::RunExtension;

/// Overrides of `--quick`, for the keys that the scenario has.
const QUICK: [&str; 7] = [
    "runs=1",
    "find_rate=false",
    "seconds=0.5",
    "warm_up_seconds=0.1",
    "floor_seconds=0.2",
    "bare_seconds=0",
    "hiccup_seconds=0.1",
];

pub(crate) fn run(arguments: &RunArguments) -> anyhow::Result<u8> {
    let gates = gates(&arguments.gate)?;
    let project = Project::find()?;
    let mut conduct = conduct(arguments, &project)?;
    check_gates(&gates, &conduct.scenario)?;
    let plan = conduct.preflight()?;
    if arguments.dry_run {
        let can_run = plan.refusals.is_empty();
        match arguments.output.json {
            true => print_json(&plan)?,
            false => show_report(&report::preflight(&plan, columns()))?,
        }
        return Ok(if can_run { DONE } else { USAGE });
    }
    warn_of(&plan);
    let interrupt = signals::interrupt()?;
    let Some(_turn) = wait_for_turn(&arguments.output, &conduct, &interrupt)? else {
        return Ok(NO_RESULT);
    };
    let output = &arguments.output;
    if conduct.scenario.find_rate && !find_rate(&mut conduct, &interrupt, output)? {
        return Ok(NO_RESULT);
    }
    let (record, path) = with_screen(output.quiet, |say| conduct.carry_out(&interrupt, say))?;
    // The record counts; a page that can't be written is no reason to fail.
    if let Err(error) = write_page(&path, &record, &path.join("report.html")) {
        eprintln!("warning: {}", crate::errors::one_line(&error));
    }
    print_record(&record, output.json)?;
    let judged: Vec<GateResult> = gates.iter().map(|gate| gate.judge_records(&[&record])).collect();
    if !output.json {
        show_report(&report::gates(&judged, columns()))?;
        show(&format!("\nrecord: {}\n", path.display()))?;
    }
    let error = if record.is_void() { record.void_because.join("; ") } else { String::new() };
    let markdown = || report::summary::markdown_of_record(&record, &judged);
    write_summaries(&arguments.summaries, "tickpath run", &error, (&[], &judged), markdown)?;
    if let Some(name) = &arguments.save_baseline {
        save_baseline(&conduct.runs_directory, name, &path, &record)?;
    }
    Ok(status(&record, &judged, arguments.need))
}

/// Lowers the scenario's rate to what the cores carry; returns whether it was not interrupted.
fn find_rate(
    conduct: &mut Conduct,
    interrupt: &Interrupt,
    output: &Output,
) -> anyhow::Result<bool> {
    let (sweep, path) =
        with_screen(output.quiet, |say| scenario::sweep::find_rate(conduct, interrupt, say))?;
    make_pages(&sweep, &path);
    if interrupt.is_set() {
        eprintln!("error: interrupted while it looked for the rate; nothing else was measured");
    }
    Ok(!interrupt.is_set())
}

fn conduct(arguments: &RunArguments, project: &Project) -> anyhow::Result<Conduct> {
    let mut sets = arguments.settings.set.clone();
    if let Some(fair) = arguments.fair {
        sets.extend([format!("fan_out.fair={fair}"), "fan_out.search=true".to_owned()]);
    }
    sets.extend(arguments.trace.map(|worst| format!("trace={worst}")));
    sets.extend(arguments.one_way.as_ref().map(|when| format!("one_way={when}")));
    let scenario = match &arguments.resume {
        Some(run) => plan::file::resumed(run, &sets)?,
        None => {
            let name = &arguments.scenario;
            if arguments.quick {
                let plain = project.scenario(name, &[])?;
                let quick = QUICK.iter().filter(|set| plain.has_key(set));
                let apart = plain.seconds_between_bursts();
                let longer = (apart > 0.0).then(|| format!("seconds={}", 2.0 * apart));
                sets.splice(0..0, quick.map(|set| (*set).to_owned()).chain(longer));
            }
            project.scenario(name, &sets)?
        }
    };
    let until = arguments.until.zip(arguments.budget);
    Ok(Conduct {
        connect: arguments.target.connect.clone(),
        connect_floor: arguments.target.connect_floor.clone(),
        noise: arguments.noise,
        until: until.map(|(quantile, budget)| RunExtension { quantile, budget }),
        smoke_test: arguments.quick,
        ..conduct_of(scenario, &project.directory(arguments.output.out.as_deref()))?
    })
}

/// Says before the first run what will make the figures poor.
pub(crate) fn warn_of(plan: &Preflight) {
    plan.warnings.iter().for_each(|warning| eprintln!("warning: {warning}"));
}

/// Takes the cores of `conduct`; `None` if it was interrupted before they were free.
pub(crate) fn wait_for_turn(
    output: &Output,
    conduct: &Conduct,
    interrupt: &Interrupt,
) -> anyhow::Result<Option<Turn>> {
    Turn::take(&conduct.measured_cores()?, output.no_wait, || interrupt.is_set())
}

/// Fails for gates whose figure no record of the scenario will have.
pub(crate) fn check_gates(gates: &[Gate], scenario: &Scenario) -> anyhow::Result<()> {
    let of_floor = |gate: &&Gate| matches!(gate, Gate::Limit(limit) if limit.unit == Unit::Ppm);
    if scenario.goes_without_floor()
        && let Some(gate) = gates.iter().find(of_floor)
    {
        bail!("--gate {gate}: the scenario measures no floor; add --set floor_seconds=2");
    }
    match gates.iter().find_map(|gate| Some((gate, scenario.lacks_figure(gate.selector())?))) {
        Some((gate, why)) => bail!("--gate {gate}: {why}"),
        None => Ok(()),
    }
}

/// A void record passes nothing. A gate decides by itself; without one the record must hold as far
/// as asked. A smoke test has only to work.
fn status(record: &RunRecord, gates: &[GateResult], need: Option<Need>) -> u8 {
    let any = |outcome| gates.iter().any(|gate| gate.outcome == outcome);
    match (any(GateOutcome::Failed), any(GateOutcome::Inconclusive)) {
        _ if record.is_void() => NO_RESULT,
        (true, _) => GATE_FAILED,
        (false, true) => INCONCLUSIVE,
        (false, false) if !gates.is_empty() || record.smoke_test || is_met(need, record) => DONE,
        (false, false) => NO_RESULT,
    }
}

/// Whether the record holds as far as asked: unless asked otherwise, p50 of its main series or the
/// ratio of that to the floor.
fn is_met(need: Option<Need>, record: &RunRecord) -> bool {
    match need {
        None => record.holds(0.5) || record.ratio_holds(0.5),
        Some(Need::Figure(quantile)) => record.holds(quantile),
        Some(Need::Ratio(quantile)) => record.ratio_holds(quantile),
    }
}

/// Limits for a single record.
fn gates(texts: &[String]) -> anyhow::Result<Vec<Gate>> {
    let mut gates = Vec::new();
    for text in texts {
        match text.parse() {
            Ok(gate @ Gate::Limit(_)) => gates.push(gate),
            Ok(Gate::Change { .. }) => bail!(
                "--gate {text:?} is a change in percent, and a run has nothing to be compared with: write a limit, \
                 such as \"order.response.p95 <= 112us\", or use `tickpath compare`"
            ),
            Err(why) => bail!("--gate {text:?}: {why}"),
        }
    }
    Ok(gates)
}
