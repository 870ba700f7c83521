//! Decides which records may be merged.
//!
//! Records must agree in everything that determines their latencies: tickpath's version, the
//! scenario and its load, the exchange, the subjects with their backends, classes and programs.
//! Runs must have equal durations: other durations see other tails, and the interval over runs
//! assumes one distribution. [`MAY_DIFFER`] lists the exceptions: each machine has its own cores,
//! and each run its own random arrivals. The machines may differ too, with a warning in the merged
//! record.

use crate::hlog::Totals;
use crate::machine::Machine;
use crate::{Kind, MergedFrom, RunRecord, Subject};
use clock::calendar;
use serde_json::Value;
use std::fmt;

/// Maximum number of runs of a merged record: each is held in memory, some hundred KiB per series.
pub const RUNS_MAX: usize = 1_000;

/// Keys of a resolved scenario that may differ between merged records.
const MAY_DIFFER: &[&str] = &[
    "about",
    "runs",
    "load.seed",
    "load.first_token",
    "exchange.cores",
    "subject.cores",
    "audit.core",
];

/// One record to merge.
#[derive(Clone)]
pub struct MergePart {
    /// Name of its directory, for messages.
    pub name: String,
    /// Its run.json.
    pub record: RunRecord,
    /// Its machine.json, if any.
    pub machine: Option<Machine>,
    /// The latencies of each of its runs, in order: see [`crate::hlog::totals`].
    pub runs: Vec<Totals>,
}

/// Whether to merge a void record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VoidParts {
    /// Reject it.
    Reject,
    /// Merge it; the merged record is then void, and says so.
    Merge,
}

/// Why records were not merged.
#[derive(Debug, PartialEq, Eq)]
pub enum MergeError {
    /// One of them is void, and the caller chose [`VoidParts::Reject`].
    Void(String),
    /// They don't belong together, or one of them is damaged.
    Incompatible(String),
}

impl fmt::Display for MergeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (MergeError::Void(why) | MergeError::Incompatible(why)) = self;
        f.write_str(why)
    }
}

impl std::error::Error for MergeError {}

/// Some runs of a part that were measured as one record.
pub(crate) struct Source {
    pub origin: MergedFrom,
    pub part: usize,
    /// Index of its first run in the part.
    pub from: usize,
}

impl Source {
    pub(crate) fn places(&self) -> impl Iterator<Item = (usize, usize)> {
        let (part, from) = (self.part, self.from);
        (from..from + self.origin.runs as usize).map(move |run| (part, run))
    }
}

fn incompatible<T>(why: String) -> Result<T, MergeError> {
    Err(MergeError::Incompatible(why))
}

/// All checks except [`no_run_twice`].
pub(crate) fn check(parts: &[MergePart], void_parts: VoidParts) -> Result<(), MergeError> {
    let Some(first) = parts.first() else {
        return incompatible("there is no record to merge".to_owned());
    };
    for part in parts {
        if void_parts == VoidParts::Reject {
            valid(part)?;
        }
        same_kind(first, part)?;
        same_scenario(first, part)?;
        same_subjects(first, part)?;
    }
    parts.iter().try_for_each(has_its_logs)?;
    let runs: usize = parts.iter().map(|part| part.runs.len()).sum();
    if !(1..=RUNS_MAX).contains(&runs) {
        return incompatible(format!(
            "there are {runs} runs in all these records, and a merged one has 1 to {RUNS_MAX}: \
             merge fewer of them"
        ));
    }
    Ok(())
}

fn valid(part: &MergePart) -> Result<(), MergeError> {
    let record = &part.record;
    if !record.is_void() && record.complete {
        return Ok(());
    }
    let why = match &record.void_because[..] {
        [] => "it does not say why".to_owned(),
        [one] => one.clone(),
        [first, more @ ..] => format!("{first} (and {} more)", more.len()),
    };
    Err(MergeError::Void(format!(
        "{} is void: {why}. Leave it out, or take it with --force: the merged record is void then, too",
        part.name
    )))
}

fn same_kind(first: &MergePart, part: &MergePart) -> Result<(), MergeError> {
    let (ours, theirs) = (&first.record, &part.record);
    if ours.scenario != theirs.scenario {
        return incompatible(format!(
            "{} is of scenario {}, {} of {}: only records of one scenario can be merged",
            first.name, ours.scenario, part.name, theirs.scenario
        ));
    }
    if ours.schema != theirs.schema {
        return incompatible(format!(
            "{} has schema {}, {} has {}: their contents differ",
            first.name, ours.schema, part.name, theirs.schema
        ));
    }
    if ours.tool != theirs.tool {
        return incompatible(format!(
            "{} was measured with {}, {} with {}: another version has another client and \
             exchange. Measure both with one",
            first.name, ours.tool, part.name, theirs.tool
        ));
    }
    if ours.injected != theirs.injected {
        return incompatible(format!(
            "in {} these faults were injected on purpose: {:?}; in {} these: {:?}",
            first.name, ours.injected, part.name, theirs.injected
        ));
    }
    Ok(())
}

fn same_scenario(first: &MergePart, part: &MergePart) -> Result<(), MergeError> {
    let mut changes = Vec::new();
    let (ours, theirs) = (what_counts(&first.record.resolved), what_counts(&part.record.resolved));
    crate::machine::collect_changes(String::new(), &ours, &theirs, &mut changes);
    match changes.first() {
        None => Ok(()),
        Some((path, ours, theirs)) => incompatible(format!(
            "they measured different things: {} is {ours} in {} and {theirs} in {}. Only {} may differ",
            if path.is_empty() { "the scenario as resolved" } else { path },
            first.name,
            part.name,
            MAY_DIFFER.join(", ")
        )),
    }
}

/// A resolved scenario without the keys that may differ between merged records.
pub(crate) fn what_counts(resolved: &Value) -> Value {
    let mut resolved = resolved.clone();
    for key in MAY_DIFFER {
        remove(&mut resolved, key);
    }
    resolved
}

/// Removes the key at `path`, in every element of an array on the way.
fn remove(value: &mut Value, path: &str) {
    match (value, path.split_once('.')) {
        (Value::Array(elements), _) => {
            elements.iter_mut().for_each(|element| remove(element, path));
        }
        (Value::Object(object), None) => {
            object.remove(path);
        }
        (Value::Object(object), Some((key, rest))) => {
            if let Some(value) = object.get_mut(key) {
                remove(value, rest);
            }
        }
        _ => {}
    }
}

/// Subjects, floors and their series must be in both. Rows of the machine's noise are exempt,
/// because they are named after cores.
fn same_subjects(first: &MergePart, part: &MergePart) -> Result<(), MergeError> {
    for (ours, theirs) in [(first, part), (part, first)] {
        for subject in &ours.record.subjects {
            let Some(other) = theirs.record.subject(&subject.name) else {
                return incompatible(format!(
                    "{} measured {}, {} did not: their figures would be of different runs",
                    ours.name, subject.name, theirs.name
                ));
            };
            same_subject(subject, other, ours, theirs)?;
        }
    }
    Ok(())
}

fn same_subject(
    subject: &Subject,
    other: &Subject,
    ours: &MergePart,
    theirs: &MergePart,
) -> Result<(), MergeError> {
    let offered = |load: &crate::Load| {
        load.rate_per_second_offered.map_or("no rate".to_owned(), |rate| rate.to_string())
    };
    for (what, one, another) in [
        ("backend", &subject.backend, &other.backend),
        ("class", &subject.scheduling, &other.scheduling),
        ("load model", &subject.load.model, &other.load.model),
        ("offered rate", &offered(&subject.load), &offered(&other.load)),
    ] {
        if one != another {
            return incompatible(format!(
                "{}'s {what} is {one} in {} and {another} in {}: they measured different things",
                subject.name, ours.name, theirs.name
            ));
        }
    }
    for series in subject.series.iter().filter(|series| series.kind != Kind::Noise) {
        let (name, kind) = (format!("{}.{}", subject.name, series.name), series.kind);
        if other.series(&series.name, kind).is_none() {
            return incompatible(format!(
                "{} has {name}.{}, {} has not: their figures would be of different runs",
                ours.name,
                kind.name(),
                theirs.name
            ));
        }
        if series.unit != "ns" {
            return incompatible(format!(
                "{name}.{} of {} is in {:?}: only latencies in ns can be merged",
                kind.name(),
                ours.name,
                series.unit
            ));
        }
    }
    Ok(())
}

/// The record must have all of its logs, complete.
fn has_its_logs(part: &MergePart) -> Result<(), MergeError> {
    let again = "a record is merged from its logs, and can't be without them all";
    if part.runs.len() != part.record.runs as usize {
        return incompatible(format!(
            "{} has {} runs and logs of {}: {again}",
            part.name,
            part.record.runs,
            part.runs.len()
        ));
    }
    for subject in &part.record.subjects {
        for series in &subject.series {
            let tag = format!("{}.{}.{}", subject.name, series.name, series.kind.name());
            let logged: u64 =
                part.runs.iter().filter_map(|run| run.get(&tag)).map(|values| values.len()).sum();
            if logged != series.pooled.count {
                return incompatible(format!(
                    "{} has {} latencies of {tag} in its run.json and {logged} in its logs, which are \
                     cut off or another record's: {again}",
                    part.name, series.pooled.count
                ));
            }
        }
    }
    Ok(())
}

/// A run counts once, however often it was merged. Two sources are the same if they started at the
/// same moment on the same machine and have a run in common, bucket by bucket.
pub(crate) fn no_run_twice(parts: &[MergePart], sources: &[Source]) -> Result<(), MergeError> {
    for (at, one) in sources.iter().enumerate() {
        let same_moment = |other: &&Source| {
            let (one, other) = (&one.origin, &other.origin);
            (&one.started, &one.machine) == (&other.started, &other.machine)
        };
        for other in sources[..at].iter().filter(same_moment) {
            let run = |(part, run): (usize, usize)| &parts[part].runs[run];
            let in_both = one.part != other.part
                && one.places().any(|ours| other.places().any(|its| run(ours) == run(its)));
            if in_both {
                return incompatible(format!(
                    "{} and {} both hold the runs that started at {}: a run counts once, so leave \
                     one of them out",
                    parts[other.part].name, parts[one.part].name, one.origin.started
                ));
            }
        }
    }
    Ok(())
}

/// A warning about records that overlap in time: an exchange saw the sum of their rates.
pub(super) fn at_the_same_time(parts: &[MergePart]) -> Option<String> {
    let mut spans: Vec<(u64, u64, &str)> = parts.iter().filter_map(span).collect();
    spans.sort_unstable();
    let pair = spans.windows(2).find(|pair| pair[1].0 < pair[0].1)?;
    Some(format!(
        "{} and {} were measured at the same time: the rates shown are those of one client in one \
         run, and an exchange that several clients shared saw their sum",
        pair[0].2, pair[1].2
    ))
}

/// Start of a part that was measured as one, and its earliest possible end.
fn span(part: &MergePart) -> Option<(u64, u64, &str)> {
    let record = &part.record;
    let started = calendar::seconds(&record.started).filter(|_| record.merged_from.is_empty())?;
    let seconds = |key: &str| record.resolved.get(key).and_then(Value::as_f64);
    let run = seconds("warm_up_seconds")? + seconds("seconds")?;
    Some((started, started.saturating_add((f64::from(record.runs) * run) as u64), &part.name))
}
