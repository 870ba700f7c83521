//! Merges records of several hosts or several times: by histogram, never by percentile.
//!
//! A mean of percentiles is not a percentile. The merge joins the runs' histograms, so the merged
//! record is the same as one record of all those runs: its figures come from its logs, and merging
//! in steps gives the same as merging at once. `mergeable` decides which records may be merged.
//!
//! Equal keys stay as they are. For the others, the merged record holds: runs, and with them
//! `per_run`, in order of start; the sum of loads, with rates as **the mean of one client in one
//! run** (an exchange that several hosts loaded at the same time saw their sum); rules and reasons,
//! each with its source; every warning once; the sources, in `merged_from`.
//!
//! See docs/decisions/003-runs-and-records.md.

pub(crate) mod mergeable;
pub mod pooling;

use crate::hlog::Totals;
use crate::machine::{self, Machine};
use crate::merge::mergeable::Source;
pub use crate::merge::mergeable::{MergeError, MergePart, RUNS_MAX, VoidParts};

use crate::merge::pooling::FigureJudge;
use crate::pairing;
use crate::tick::TracedTick;
use crate::{
    Clock, DisturbedShare, Kind, Load, MergedFrom, Moves, Rule, RunRecord, Series, Subject, Verdict,
};
use serde_json::Value;
use std::cmp::Reverse;

/// Maximum number of records that a sentence lists by name.
const NAMES_MAX: usize = 3;

/// Warning of a merged record that it has no attribution.
const UNEXPLAINED: &str = "stages around the percentiles of tick paths are not given: they need the samples, which records don't keep; \
                           see each of the merged records";

/// Result of a merge.
pub struct MergeResult {
    /// The record of all runs.
    pub record: RunRecord,
    /// The machine of the first part; the record warns if others differ.
    pub machine: Machine,
    /// For each run of the record, its part and its index there, both from 0.
    pub runs: Vec<(usize, usize)>,
}

/// Merges `parts`; their order doesn't matter.
///
/// # Errors
/// If they can't be one record: see [`MergeError`].
pub fn merge(parts: &[MergePart], void_parts: VoidParts) -> Result<MergeResult, MergeError> {
    mergeable::check(parts, void_parts)?;
    let sources = sources(parts)?;
    mergeable::no_run_twice(parts, &sources)?;
    let first = &parts[sources[0].part];
    let order: Vec<(usize, usize)> = sources.iter().flat_map(Source::places).collect();
    let runs: Vec<&Totals> = order.iter().map(|(part, run)| &parts[*part].runs[*run]).collect();
    let subjects =
        first.record.subjects.iter().map(|one| joined_subject(one, parts, &order, &runs)).collect();
    // Warnings about the whole come first.
    let mut warnings: Vec<String> = forced(parts).into_iter().collect();
    warnings.extend(other_machines(first, parts));
    warnings.extend(other_cores(first, parts));
    warnings.extend(mergeable::at_the_same_time(parts));
    warnings.extend(pooling::too_few_runs(runs.len()));
    warnings.extend(unexplained(parts));
    warnings.extend(warnings_of(parts));
    let mut resolved = first.record.resolved.clone();
    if let Some(planned) = resolved.get_mut("runs") {
        *planned = Value::from(runs.len());
    }
    let record = RunRecord {
        complete: parts.iter().all(|part| part.record.complete),
        void_because: reasons(parts),
        disturber: None,
        left_out: Vec::new(),
        rules: rules(parts),
        runs: runs.len() as u32,
        warnings,
        clock: clock(parts),
        clock_step_ns: parts.iter().map(|part| part.record.clock_step_ns).max().unwrap_or(0),
        resolved,
        merged_from: sources.into_iter().map(|source| source.origin).collect(),
        // These belong to one time on one machine, and can't be merged.
        noise: None,
        size_fit: None,
        subjects,
        ..first.record.clone()
    };
    let machine = first.machine.clone().unwrap_or_default();
    Ok(MergeResult { record, machine, runs: order })
}

/// The sources of all runs, in order of start; a part that was itself merged is split into its
/// sources.
fn sources(parts: &[MergePart]) -> Result<Vec<Source>, MergeError> {
    let mut sources = Vec::new();
    for (index, part) in parts.iter().enumerate() {
        let mut origins = part.record.merged_from.clone();
        if origins.is_empty() {
            origins.push(MergedFrom {
                name: part.name.clone(),
                started: part.record.started.clone(),
                machine: part.machine.as_ref().map(|machine| machine.before.fixed.identity()),
                runs: part.record.runs,
            });
        }
        let mut from = 0;
        for origin in origins {
            let runs = origin.runs as usize;
            sources.push(Source { origin, part: index, from });
            from += runs;
        }
        if from != part.runs.len() {
            return Err(MergeError::Incompatible(format!(
                "{} says that it was merged from {from} runs and has {}: its run.json is damaged",
                part.name,
                part.runs.len()
            )));
        }
    }
    sources.sort_by(|a, b| a.origin.started.cmp(&b.origin.started));
    Ok(sources)
}

fn joined_subject(
    subject: &Subject,
    parts: &[MergePart],
    order: &[(usize, usize)],
    runs: &[&Totals],
) -> Subject {
    let loads: Vec<(Load, f64)> = parts
        .iter()
        .filter_map(|part| {
            let load = part.record.subject(&subject.name)?.load.clone();
            Some((load, f64::from(part.record.runs)))
        })
        .collect();
    let load = |&(part, run): &(usize, usize)| {
        parts[part].record.subject(&subject.name).map(|subject| (&subject.load, run))
    };
    let of_runs = || order.iter().filter_map(load);
    Subject {
        load: Load {
            between: of_runs().filter_map(|(load, run)| load.between.get(run).cloned()).collect(),
            bulk: of_runs().filter_map(|(load, run)| load.bulk.get(run).cloned()).collect(),
            engine: of_runs().filter_map(|(load, run)| load.engine.get(run).cloned()).collect(),
            fan_out: of_runs().filter_map(|(load, run)| load.fan_out.get(run).cloned()).collect(),
            tick: of_runs().filter_map(|(load, run)| load.tick.get(run).cloned()).collect(),
            runtime: of_runs().filter_map(|(load, run)| load.runtime.get(run).cloned()).collect(),
            ..joined_load(&loads)
        },
        series: joined_series(subject, parts, order, runs),
        // See UNEXPLAINED.
        attribution: Vec::new(),
        traced: traced(&subject.name, parts, order),
        ..subject.clone()
    }
}

/// The series of the records. Their logs may hold more, which were left out because a run lacked
/// them. Rows of the machine's noise are named after its cores.
fn joined_series(
    subject: &Subject,
    parts: &[MergePart],
    order: &[(usize, usize)],
    runs: &[&Totals],
) -> Vec<Series> {
    let of = |part: usize, name: &str, kind| {
        parts[part].record.subject(&subject.name)?.series(name, kind)
    };
    let disturbed = |name: &str, kind: Kind, run: usize| {
        let (part, run) = order[run];
        let unknown = |why: &str| DisturbedShare::not_known(why);
        match of(part, name, kind) {
            Some(series) if !series.not_judged.is_empty() => unknown(&series.not_judged),
            Some(series) => series.disturbed.get(run).cloned().unwrap_or_else(|| {
                unknown("a record of before schema 2 does not say how much of it was disturbed")
            }),
            None => unknown("one of the records does not have it"),
        }
    };
    let moves = |name: &str, kind: Kind| {
        let of_parts = (0..parts.len()).filter_map(|part| of(part, name, kind));
        let both = of_parts.map(|series| series.moves).any(|moves| moves == Moves::UpOrDown);
        if both { Moves::UpOrDown } else { Moves::Up }
    };
    // No p50 of two regimes is one figure, so its bracket spans the runs.
    let spread = subject.series.iter().any(|one| {
        let regimes =
            |part| of(part, &one.name, one.kind).is_some_and(|one| !one.regimes.is_empty());
        (0..parts.len()).any(regimes)
    });
    let judging = FigureJudge { disturbed: &disturbed, moves: &moves, spread };
    let mut series = pooling::series(&subject.name, runs, runs.len() as u32, &judging);
    series.retain(|one| one.kind == Kind::Noise || subject.series(&one.name, one.kind).is_some());
    for one in &mut series {
        let of_parts = (0..parts.len()).map(|part| of(part, &one.name, one.kind));
        one.over_floor = pairing::joined(of_parts, order);
    }
    series
}

/// The worst ticks of all parts, as many as each kept. None if the parts traced different
/// intervals, or if a part with ticks kept none, because the worst of all are then unknown.
fn traced(subject: &str, parts: &[MergePart], order: &[(usize, usize)]) -> Vec<TracedTick> {
    let of = parts.iter().filter_map(|part| {
        let subject = part.record.subject(subject)?;
        let of = subject.traced.first().map(|traced| &traced.of);
        (of.is_some() || subject.load.tick.iter().any(|tick| tick.samples > 0)).then_some(of)
    });
    let mut of: Vec<Option<&String>> = of.collect();
    of.dedup();
    if of.len() != 1 {
        return Vec::new();
    }
    let mut all = Vec::new();
    let mut kept = 0;
    for (index, part) in parts.iter().enumerate() {
        let Some(subject) = part.record.subject(subject) else { continue };
        kept = kept.max(subject.traced.len());
        for traced in &subject.traced {
            let place = (index, (traced.run as usize).wrapping_sub(1));
            let Some(run) = order.iter().position(|known| *known == place) else { continue };
            all.push(TracedTick { run: run as u32 + 1, ..traced.clone() });
        }
    }
    all.sort_by_key(|one| (Reverse(one.total_ns), one.run, one.number));
    all.truncate(kept);
    all
}

/// As [`pooling::load`], for loads of several runs each: means are weighted by runs.
fn joined_load(loads: &[(Load, f64)]) -> Load {
    let runs: f64 = loads.iter().map(|(_, runs)| runs).sum();
    let mean = |part: fn(&Load) -> f64| {
        let sum: f64 = loads.iter().map(|(load, runs)| part(load) * runs).sum();
        if runs > 0.0 { sum / runs } else { 0.0 }
    };
    let alone: Vec<Load> = loads.iter().map(|(load, _)| load.clone()).collect();
    Load {
        rate_per_second_achieved: mean(|load| load.rate_per_second_achieved),
        ..pooling::load(&alone)
    }
}

/// A rule that is broken in any part is broken; one that could not be checked in any part was not
/// checked.
fn rules(parts: &[MergePart]) -> Vec<Rule> {
    let all = || parts.iter().flat_map(|part| &part.record.rules);
    let mut names: Vec<&str> = Vec::new();
    for rule in all() {
        if !names.contains(&rule.rule.as_str()) {
            names.push(&rule.rule);
        }
    }
    let joined = |name: &str| {
        let has = |verdict| all().any(|rule| rule.rule == name && rule.verdict == verdict);
        let verdict = [Verdict::Broken, Verdict::NotApplicable]
            .into_iter()
            .find(|verdict| has(*verdict))
            .unwrap_or(Verdict::Held);
        let details = parts.iter().flat_map(|part| {
            let same = |rule: &&Rule| rule.rule == name && rule.verdict == verdict;
            part.record.rules.iter().filter(same).map(|rule| (rule.detail.as_str(), &*part.name))
        });
        let detail = once_each(details, parts.len()).join("; ");
        Rule { rule: name.to_owned(), verdict, detail }
    };
    names.into_iter().map(joined).collect()
}

fn reasons(parts: &[MergePart]) -> Vec<String> {
    let reasons = parts.iter().flat_map(|part| {
        part.record.void_because.iter().map(|reason| (reason.as_str(), &*part.name))
    });
    once_each(reasons, parts.len())
}

/// Also for a part that was itself merged.
fn unexplained(parts: &[MergePart]) -> Option<String> {
    let is_explained = |subject: &Subject| !subject.attribution.is_empty();
    let loses = |part: &MergePart| {
        part.record.subjects.iter().any(is_explained)
            || part.record.warnings.iter().any(|text| text == UNEXPLAINED)
    };
    parts.iter().any(loses).then(|| UNEXPLAINED.to_owned())
}

/// The warnings of the parts, except those about few runs and missing attribution, which depend on
/// the whole.
fn warnings_of(parts: &[MergePart]) -> Vec<String> {
    let warnings = parts.iter().flat_map(|part| {
        let few = pooling::too_few_runs(part.record.runs as usize);
        let others = part
            .record
            .warnings
            .iter()
            .filter(move |text| Some(*text) != few.as_ref() && *text != UNEXPLAINED);
        others.map(|text| (text.as_str(), &*part.name))
    });
    once_each(warnings, parts.len())
}

/// Each sentence once, after the names of the parts that have it, or without names if all do.
fn once_each<'a>(said: impl Iterator<Item = (&'a str, &'a str)>, parts: usize) -> Vec<String> {
    let mut sentences: Vec<(&str, Vec<&str>)> = Vec::new();
    for (sentence, name) in said {
        match sentences.iter_mut().find(|(known, _)| *known == sentence) {
            Some((_, names)) if names.last() != Some(&name) => names.push(name),
            Some(_) => {}
            None => sentences.push((sentence, vec![name])),
        }
    }
    let with_names = |(sentence, by): (&str, Vec<&str>)| match by.len() == parts {
        true => sentence.to_owned(),
        false => format!("{}: {sentence}", names(&by)),
    };
    sentences.into_iter().map(with_names).collect()
}

/// `A, B, C and 4 more`.
fn names(names: &[&str]) -> String {
    let shown = names[..names.len().min(NAMES_MAX)].join(", ");
    match names.len().saturating_sub(NAMES_MAX) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

fn forced(parts: &[MergePart]) -> Option<String> {
    let void = parts.iter().filter(|part| part.record.is_void());
    let void: Vec<&str> = void.map(|part| &*part.name).collect();
    (!void.is_empty()).then(|| format!("{}: void, but merged because of --force", names(&void)))
}

fn other_machines(first: &MergePart, parts: &[MergePart]) -> Option<String> {
    let fixed =
        |part: &MergePart| part.machine.as_ref().map(|machine| machine.before.fixed.clone());
    let ours = fixed(first);
    let others: Vec<&MergePart> = parts.iter().filter(|part| fixed(part) != ours).collect();
    let other = others.first()?;
    let difference = match (&ours, &fixed(other)) {
        (Some(ours), Some(theirs)) => {
            let changes = machine::fixed_changes(ours, theirs);
            let (shown, more) = changes.split_at(changes.len().min(NAMES_MAX));
            let said =
                shown.iter().map(|(field, ours, theirs)| format!("{field}: {theirs}, not {ours}"));
            let more = (!more.is_empty()).then(|| format!("and {} more", more.len()));
            said.chain(more).collect::<Vec<_>>().join("; ")
        }
        _ => "one of them has no machine.json".to_owned(),
    };
    let names = names(&others.iter().map(|part| &*part.name).collect::<Vec<_>>());
    Some(format!(
        "{names} came from another machine than {}, or from other settings ({difference}): the pooled \
         figures are of the mixture, the intervals over its runs are no machine's, and machine.json is \
         that of {}",
        first.name, first.name
    ))
}

fn other_cores(first: &MergePart, parts: &[MergePart]) -> Option<String> {
    let cores = |part: &MergePart| -> Vec<(String, Vec<usize>)> {
        let subjects = part.record.subjects.iter();
        subjects.map(|subject| (subject.name.clone(), subject.cores.clone())).collect()
    };
    let others: Vec<&str> = parts
        .iter()
        .filter(|part| cores(part).iter().any(|placed| !cores(first).contains(placed)))
        .map(|part| &*part.name)
        .collect();
    (!others.is_empty()).then(|| {
        format!("the cores shown are those of {}; {} ran on others", first.name, names(&others))
    })
}

/// The sources of all clocks, with the largest cost of a reading.
fn clock(parts: &[MergePart]) -> Clock {
    let mut sources: Vec<&str> = parts.iter().map(|part| &*part.record.clock.source).collect();
    sources.sort_unstable();
    sources.dedup();
    let cost_ns = parts.iter().map(|part| part.record.clock.cost_ns).max().unwrap_or(0);
    Clock { source: sources.join(", "), cost_ns }
}

#[cfg(test)]
mod tests;
