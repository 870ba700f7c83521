//! The records of a directory: a summary of each, from its run.json and machine.json, without
//! reading logs.

use crate::directory::{hlogs, load_machine, load_record};
use crate::identity::{letters, switched_on};
use crate::machine::{self, FixedFacts};
use crate::merge::mergeable::what_counts;
use crate::{Kind, Percentiles, RunRecord, Series};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

/// Largest number of entries to read: the last ones by name, which are the newest.
pub const ENTRIES_MAX: usize = 10_000;
/// Files that mark a directory as something other than a record.
const OTHERS: [(&str, &str); 3] =
    [("sweep.json", "a sweep"), ("compare.json", "a comparison"), ("selftest.json", "a self-test")];

/// The records of a directory.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct History {
    /// As the user named it.
    pub directory: String,
    /// Newest first.
    pub entries: Vec<HistoryEntry>,
    /// Entries beyond [`ENTRIES_MAX`], which were not read.
    pub left_out: usize,
}

/// One directory in it.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "Entry"))]
pub struct HistoryEntry {
    /// Its name.
    pub name: String,
    /// Its content.
    #[serde(flatten)]
    pub what: EntryContent,
}

/// The content of a directory.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum EntryContent {
    /// A record.
    Record(Box<Summary>),
    /// Something else, or a record that can't be read.
    Other {
        /// A description.
        is: String,
        /// Whether it has a page, `report.html`.
        has_page: bool,
    },
}

/// A summary of a record.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Summary {
    /// UTC, RFC 3339.
    pub started: String,
    /// The scenario's name.
    pub scenario: String,
    /// Four letters, the same for records of the same resolved scenario, except for the keys that
    /// may differ in a merge ([`crate::merge`]).
    pub settings: String,
    /// [`FixedFacts::identity`]; `mixed` if it was merged from different machines; `None` without a
    /// machine.json.
    pub machine: Option<String>,
    /// All runs were made.
    pub complete: bool,
    /// The broken rules, in words; empty for a good record.
    pub void_because: Vec<String>,
    /// Made with `--quick`: its figures don't count.
    pub smoke_test: bool,
    /// Faults that were injected on purpose.
    pub injected: Vec<String>,
    /// Runs that count.
    pub runs: u32,
    /// Its first figures, if any.
    pub headline: Option<Headline>,
    /// The settings behind [`Summary::settings`].
    #[serde(skip)]
    pub resolved: Value,
    /// The facts behind [`Summary::machine`].
    #[serde(skip)]
    pub fixed: Option<FixedFacts>,
}

impl Summary {
    /// Whether it is a result: complete, not void, not a smoke test, and its p50 holds.
    pub fn is_result(&self) -> bool {
        let holds = self.headline.as_ref().is_some_and(|headline| headline.series.holds(0.5));
        self.complete && self.void_because.is_empty() && !self.smoke_test && holds
    }
}

/// The figures that represent a record: the first subject's orders, in response time, or in service
/// time if there is none (ping-pong).
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Headline {
    /// Its subject's name.
    pub subject: String,
    /// Its figures, without those of each run.
    #[serde(flatten)]
    pub series: Series,
    /// For `p50` and `p99` the lowest and the highest of all runs, ns; absent with one run, or if a
    /// run has no value.
    pub over_runs: BTreeMap<String, [u64; 2]>,
}

/// Reads the entries of `directory`. An unreadable entry is not an error but
/// [`EntryContent::Other`].
///
/// # Errors
/// If the directory itself can't be read.
pub fn read(directory: &Path) -> io::Result<History> {
    let mut names: Vec<String> = fs::read_dir(directory)?
        .filter_map(Result::ok)
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort_unstable_by(|a, b| b.cmp(a));
    let left_out = names.len().saturating_sub(ENTRIES_MAX);
    names.truncate(ENTRIES_MAX);
    let read = |name: String| HistoryEntry { what: what(&directory.join(&name)), name };
    let mut entries: Vec<HistoryEntry> = names.into_iter().map(read).collect();
    entries.sort_by_key(|entry| std::cmp::Reverse(moment(entry)));
    Ok(History { directory: directory.display().to_string(), entries, left_out })
}

/// The sort key: the start time, written as in the names of directories.
fn moment(entry: &HistoryEntry) -> String {
    match &entry.what {
        EntryContent::Record(summary) => summary.started.replace(':', "-"),
        EntryContent::Other { .. } => entry.name.clone(),
    }
}

impl History {
    /// Keeps only the records of one scenario.
    #[must_use]
    pub fn of_scenario(mut self, scenario: &str) -> History {
        self.entries.retain(
            |entry| matches!(&entry.what, EntryContent::Record(summary) if summary.scenario == scenario),
        );
        self
    }

    /// The records, newest first.
    pub fn records(&self) -> impl DoubleEndedIterator<Item = &Summary> {
        self.entries.iter().filter_map(|entry| match &entry.what {
            EntryContent::Record(summary) => Some(&**summary),
            EntryContent::Other { .. } => None,
        })
    }
}

fn what(path: &Path) -> EntryContent {
    let has = |name: &str| path.join(name).exists();
    let other = |is: String| EntryContent::Other { is, has_page: has("report.html") };
    if has("run.json") {
        return match load_record(path) {
            Ok(record) => EntryContent::Record(Box::new(summary(&record, path))),
            Err(error) => {
                let here = format!("{}/", path.display());
                other(format!("no record: {}", error.to_string().replace(&here, "")))
            }
        };
    }
    if let Some((_, is)) = OTHERS.iter().find(|(file, _)| has(file)) {
        return other((*is).to_owned());
    }
    if hlogs(path).is_ok_and(|logs| !logs.is_empty()) {
        return other(
            "no record: logs without a run.json, of a run that lasts or was killed".into(),
        );
    }
    let is_record = |entry: io::Result<fs::DirEntry>| {
        entry.is_ok_and(|entry| entry.path().join("run.json").exists())
    };
    match fs::read_dir(path).map(|mut entries| entries.any(is_record)) {
        Ok(true) => other("a directory of records".to_owned()),
        Ok(false) => other("no record".to_owned()),
        Err(error) => other(format!("can't be read: {error}")),
    }
}

fn summary(record: &RunRecord, path: &Path) -> Summary {
    summarise(record, load_machine(path).ok().map(|machine| machine.before.fixed))
}

/// Summarises a record, with the fixed part of its machine.
pub(crate) fn summarise(record: &RunRecord, fixed: Option<FixedFacts>) -> Summary {
    let mut machines: Vec<_> = record.merged_from.iter().map(|from| from.machine.clone()).collect();
    machines.dedup();
    let machine = match machines.len() {
        0 | 1 => fixed.as_ref().map(FixedFacts::identity),
        _ => Some("mixed".to_owned()),
    };
    let mut resolved = what_counts(&record.resolved);
    // Runs of another length belong to the same series over time.
    if let Some(keys) = resolved.as_object_mut() {
        keys.retain(|key, _| key != "runs" && !key.ends_with("seconds"));
    }
    let resolved = switched_on(resolved).unwrap_or_default();
    Summary {
        started: record.started.clone(),
        scenario: record.scenario.clone(),
        settings: letters(&resolved),
        machine,
        complete: record.complete,
        void_because: record.void_because.clone(),
        smoke_test: record.smoke_test,
        injected: record.injected.clone(),
        runs: record.runs,
        headline: headline(record),
        resolved,
        fixed,
    }
}

fn headline(record: &RunRecord) -> Option<Headline> {
    let subject = record.subjects.first()?;
    let timed =
        |series: &&Series| matches!(series.kind, Kind::Response | Kind::Service | Kind::Stage);
    let series = subject
        .series("order", Kind::Response)
        .or_else(|| subject.series("order", Kind::Service))
        .or_else(|| subject.series.iter().find(timed))?;
    let range = |values: fn(&Percentiles) -> Option<u64>| -> Option<[u64; 2]> {
        let values: Vec<u64> = series.per_run.iter().map(values).collect::<Option<_>>()?;
        (values.len() > 1).then_some([*values.iter().min()?, *values.iter().max()?])
    };
    let ranges = [("p50", range(|run| run.p50)), ("p99", range(|run| run.p99))];
    Some(Headline {
        subject: subject.name.clone(),
        series: Series { per_run: Vec::new(), over_floor: None, ..series.clone() },
        over_runs: ranges
            .into_iter()
            .filter_map(|(name, range)| Some((name.to_owned(), range?)))
            .collect(),
    })
}

/// Path of the key, our value, their value.
pub type Change = (String, String, String);

/// Settings in which two records of one scenario differ.
pub fn settings_changes(ours: &Summary, theirs: &Summary) -> Vec<Change> {
    let mut changes = Vec::new();
    machine::collect_changes(String::new(), &ours.resolved, &theirs.resolved, &mut changes);
    // An absent key means "off".
    for (_, ours, theirs) in &mut changes {
        for value in [ours, theirs] {
            if *value == machine::shown(&Value::Null) {
                *value = "off".to_owned();
            }
        }
    }
    changes
}

/// Fixed facts in which the machines of two records differ; empty if either has no machine.json.
pub fn machine_changes(ours: &Summary, theirs: &Summary) -> Vec<Change> {
    match (&ours.fixed, &theirs.fixed) {
        (Some(ours), Some(theirs)) => machine::fixed_changes(ours, theirs),
        _ => Vec::new(),
    }
}

#[cfg(test)]
#[path = "history_tests.rs"]
mod tests;
