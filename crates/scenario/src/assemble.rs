//! From what the processes left to the record.

use crate::conduct::{Conduct, Entrant};
use crate::file::Scenario;
use crate::placement::Placed;
use crate::run::Run;
use crate::{advice, validity};
use hdrhistogram::Histogram;
use host::Cores;
use measure::clock::Clock;
use measure::machine::{self, Machine};
use measure::record::{self, Kind, Load, Rule, RunRecord, SCHEMA, Series, Subject, Verdict, utc};
use measure::stats::{PERCENTILES, median_interval, percentiles};
use noise::hiccup;
use std::collections::BTreeMap;

/// What a record is made of.
pub(crate) struct Parts<'a> {
    pub conduct: &'a Conduct,
    pub placed: &'a Placed,
    pub entrants: &'a [Entrant],
    pub runs: &'a [Run],
    pub runs_void: u32,
    pub warnings: Vec<String>,
    pub machine: &'a Machine,
    pub clock: Clock,
    pub started_wall_ms: u64,
}

/// Joins it all.
pub(crate) fn record(parts: Parts) -> RunRecord {
    let Parts { conduct, runs, clock, .. } = parts;
    let scenario = &conduct.scenario;
    let names: Vec<String> = parts.entrants.iter().map(|entrant| entrant.name.clone()).collect();
    let mut rules = validity::rules(&names, runs);
    rules.push(machine_rule(parts.machine));
    let complete = runs.len() == scenario.runs as usize
        && runs.iter().all(|run| !run.interrupted && !run.failed);
    let mut invalid_because: Vec<String> = rules
        .iter()
        .filter(|rule| rule.verdict == Verdict::Broken)
        .map(|rule| format!("{}: {}", rule.rule, rule.detail))
        .collect();
    invalid_because.extend(runs.iter().flat_map(|run| run.failures.iter().cloned()));
    if !complete && runs.iter().all(|run| !run.failed) {
        let text = format!("it was interrupted in run {} of {}", runs.len().max(1), scenario.runs);
        invalid_because.insert(0, text);
    }
    let mut subjects: Vec<Subject> =
        parts.entrants.iter().map(|entrant| subject(entrant, &parts)).collect();
    subjects.extend(hiccup_subject(&parts));
    let mut warnings = parts.warnings;
    warnings.extend(advice::advice(scenario, &subjects, runs.len()));
    let resolved = resolved(scenario, parts.placed);
    RunRecord {
        schema: SCHEMA,
        tool: conduct.tool.clone(),
        scenario: scenario.name.clone(),
        started: utc(parts.started_wall_ms),
        command: conduct.command.clone(),
        complete,
        valid: complete && invalid_because.is_empty(),
        invalid_because,
        rules,
        runs: runs.len() as u32,
        runs_void: parts.runs_void,
        warnings,
        clock: record::Clock { source: clock.source().name().to_owned(), cost_ns: clock.cost_ns() },
        resolved: serde_json::to_value(resolved).unwrap_or_default(),
        subjects,
    }
}

/// The scenario with the cores that were chosen.
fn resolved(scenario: &Scenario, placed: &Placed) -> Scenario {
    let chosen = |cores: &mut Cores, core: Option<usize>| {
        if let Some(core) = core {
            *cores = Cores::List(vec![core]);
        }
    };
    let mut scenario = scenario.clone();
    chosen(&mut scenario.exchange.cores, placed.exchange);
    for (subject, core) in scenario.subject.iter_mut().zip(&placed.subjects) {
        chosen(&mut subject.cores, *core);
    }
    scenario
}

fn machine_rule(machine: &Machine) -> Rule {
    let rule = "machine".to_owned();
    let Some(after) = &machine.after else {
        let detail = "it was not looked at again".to_owned();
        return Rule { rule, verdict: Verdict::NotApplicable, detail };
    };
    let differences = machine::differences(&machine.before, after, validity::PROBE_RATIO_MAX);
    if differences.is_empty() && machine.before.probes.cache_line_round_trip_ns_p50.is_none() {
        let detail = format!(
            "the fixed part is the same, but its regime was not probed: {}",
            machine.before.probes.missing_because.join("; ")
        );
        return Rule { rule, verdict: Verdict::NotApplicable, detail };
    }
    if differences.is_empty() {
        let detail = "the same machine before and after, in the same regime".to_owned();
        return Rule { rule, verdict: Verdict::Held, detail };
    }
    Rule { rule, verdict: Verdict::Broken, detail: differences.join("; ") }
}

fn subject(entrant: &Entrant, parts: &Parts) -> Subject {
    let (placed, runs) = (parts.placed, parts.runs);
    Subject {
        name: entrant.name.clone(),
        backend: entrant.backend.clone(),
        scheduling: entrant.scheduling.to_string(),
        cores: placed.exchange.into_iter().chain(entrant.core).collect(),
        load: load(entrant, runs),
        series: series(&entrant.name, parts),
    }
}

/// Every series of a subject, over all runs.
fn series(subject: &str, parts: &Parts) -> Vec<Series> {
    let mut by_series: BTreeMap<(String, Kind), Vec<&Histogram<u64>>> = BTreeMap::new();
    for run in parts.runs {
        for (tag, histogram) in &run.totals {
            if let Some((name, kind)) = series_of(tag, subject) {
                by_series.entry((name, kind)).or_default().push(histogram);
            }
        }
    }
    let mut series: Vec<Series> = by_series
        .into_iter()
        .map(|((name, kind), runs)| pooled(name, kind, &runs, parts.conduct.scenario.runs))
        .collect();
    series.sort_by_key(|series| rank(&series.name));
    series
}

/// Orders, then cancels, then the cycle, then the rest.
fn rank(name: &str) -> usize {
    let order = ["order", "cancel", "cycle"];
    order.iter().position(|known| *known == name).unwrap_or(order.len())
}

fn series_of(tag: &str, subject: &str) -> Option<(String, Kind)> {
    let rest = tag.strip_prefix(subject)?.strip_prefix('.')?;
    let (name, kind) = rest.rsplit_once('.')?;
    Some((name.to_owned(), Kind::from_name(kind)?))
}

fn pooled(name: String, kind: Kind, runs: &[&Histogram<u64>], runs_planned: u32) -> Series {
    let mut all = measure::recorder::histogram();
    for run in runs {
        all.add(*run).expect("read with the same bounds");
    }
    let (pooled, uncertain) = percentiles(&all);
    let per_run: Vec<record::Percentiles> = runs.iter().map(|run| percentiles(run).0).collect();
    let mut interval = BTreeMap::new();
    for (index, (percentile, _)) in PERCENTILES.iter().enumerate() {
        let values: Vec<u64> = per_run.iter().filter_map(|run| run.values()[index]).collect();
        // Runs without a value would bias the rest.
        if values.len() == runs.len()
            && runs.len() == runs_planned as usize
            && let Some(bounds) = median_interval(&values)
        {
            interval.insert((*percentile).to_owned(), bounds);
        }
    }
    Series { name, kind, unit: "ns".to_owned(), pooled, uncertain, per_run, interval }
}

fn load(entrant: &Entrant, runs: &[Run]) -> Load {
    let loads: Vec<(&Run, &Load)> = runs
        .iter()
        .flat_map(|run| run.measured.iter().map(move |measured| (run, measured)))
        .filter(|(_, measured)| measured.subject == entrant.name)
        .map(|(run, measured)| (run, &measured.result.load))
        .collect();
    let Some((_, first)) = loads.first() else { return Load::default() };
    let sum = |part: fn(&Load) -> u64| loads.iter().map(|(_, load)| part(load)).sum();
    let lateness = loads.iter().filter_map(|(run, _)| {
        percentiles(run.histogram(&entrant.name, "send", Kind::Lateness)?).0.p99
    });
    let achieved: f64 = loads.iter().map(|(_, load)| load.rate_per_second_achieved).sum();
    Load {
        model: first.model.clone(),
        rate_per_second_offered: first.rate_per_second_offered,
        rate_per_second_achieved: achieved / loads.len() as f64,
        sent: sum(|load| load.sent),
        received: sum(|load| load.received),
        lost: sum(|load| load.lost),
        duplicated: sum(|load| load.duplicated),
        out_of_order: sum(|load| load.out_of_order),
        overtakes: sum(|load| load.overtakes),
        rejected: sum(|load| load.rejected),
        unexpected: sum(|load| load.unexpected),
        held_back: sum(|load| load.held_back),
        message_bytes: first.message_bytes,
        warm_up_sent: sum(|load| load.warm_up_sent),
        lateness_ns_p99: lateness.max().filter(|_| first.rate_per_second_offered.is_some()),
        context_switches_involuntary: sum(|load| load.context_switches_involuntary),
        core_waited_share: loads.iter().map(|(_, load)| load.core_waited_share).sum::<f64>()
            / loads.len() as f64,
        page_faults: sum(|load| load.page_faults),
    }
}

fn hiccup_subject(parts: &Parts) -> Option<Subject> {
    let series = series(hiccup::SUBJECT, parts);
    (!series.is_empty()).then(|| Subject {
        name: hiccup::SUBJECT.to_owned(),
        cores: parts.placed.cores(),
        series,
        ..Subject::default()
    })
}
