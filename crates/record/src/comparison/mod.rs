//! `compare.json`: A and B, figure by figure, with a verdict.

mod clocks;
pub mod compared;
mod decide;
pub(crate) mod disturbance;
pub mod gate;
mod judge;
mod runs;
pub mod selector;
pub mod worth;

pub use clocks::RunOffset;
pub use judge::{Question, compare, compare_all};
pub(crate) use runs::bracket;
pub use runs::{ArmSeries, RunRatio, Runs};

use crate::RunRecord;
use crate::comparison::compared::ComparedFigure;
use crate::comparison::gate::GateResult;
use crate::comparison::worth::{NotRun, Worth};
use crate::cost::Cost;
use crate::machine::{self, Fingerprint, Machine};
use serde::{Deserialize, Serialize};
use stats::compare::Design;
use stats::verdict::Outcome;
use std::collections::BTreeSet;

/// Version of the schema that this code writes. Since 2: every run's figure counts, with its
/// bracket; `no_difference` and `not_known`. Since 3: `unit`, and figures over the floor.
pub const SCHEMA: u32 = 3;
/// Figures that are compared by default.
pub const FIGURES: [&str; 3] = ["p50", "p90", "p99"];

/// `compare.json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Comparison {
    /// Version of this schema.
    pub schema: u32,
    /// The program that wrote it, with its version.
    pub tool: String,
    /// When it started, UTC, RFC 3339.
    pub started: String,
    /// The command line that repeats it.
    pub command: Vec<String>,
    /// The baseline.
    pub a: Arm,
    /// The candidate.
    pub b: Arm,
    /// How their runs were made.
    pub design: Design,
    /// Pairs with a void run, which were repeated.
    pub pairs_void: u32,
    /// Why those were void.
    pub void_because: Vec<String>,
    /// Differences of the resolved scenarios: `load.connections: 16 -> 4`.
    pub differs: Vec<String>,
    /// Why A and B can't be compared; then everything is inconclusive unless `forced`.
    pub incomparable_because: Vec<String>,
    /// `--force`: they were compared although they differ.
    pub forced: bool,
    /// Every compared figure.
    pub figures: Vec<ComparedFigure>,
    /// Verdict over all figures: better or worse if at least one is and none is the opposite; not
    /// known if none is and one is not known.
    pub outcome: Outcome,
    /// Reason for the outcome.
    pub why: String,
    /// Results of the requested gates.
    #[serde(default)]
    pub gates: Vec<GateResult>,
    /// Whether B is worth it, if a margin was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worth: Option<Worth>,
    /// Candidates that were to be measured and could not run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_run: Vec<NotRun>,
    /// Further candidates measured in the same rounds, each compared with the same A. A's series
    /// stand only in the first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<Comparison>,
}

/// A or B.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Arm {
    /// As the user named it: a record's directory, a scenario with its overrides, a command.
    pub name: String,
    /// Runs that count.
    pub runs: usize,
    /// The records with these runs.
    pub records: Vec<String>,
    /// Every series that all runs have, run by run; empty in files older than 0.3.
    #[serde(default)]
    pub series: Vec<ArmSeries>,
    /// Processor time and losses of all its runs, also of those in void rounds; absent in older
    /// files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
}

impl Arm {
    /// An arm with all `runs`, whose records are kept at these paths. `made` has the records of
    /// void rounds, too.
    pub fn new(name: &str, paths: Vec<String>, made: &[&RunRecord], runs: &Runs) -> Arm {
        let (series, cost) = (runs.rows.clone(), Some(Cost::of(made)));
        Arm { name: name.to_owned(), runs: runs.count(), records: paths, series, cost }
    }

    /// How many subjects it has.
    pub fn subjects(&self) -> usize {
        let names: BTreeSet<&str> = self.series.iter().map(|one| one.subject.as_str()).collect();
        names.len()
    }
}

/// Why two records made apart can't be compared; empty if they can.
pub fn incomparable_because(
    a: &RunRecord,
    of_a: &Machine,
    b: &RunRecord,
    of_b: &Machine,
) -> Vec<String> {
    let mut because: Vec<String> = [("A", a), ("B", b)]
        .into_iter()
        .filter(|(_, record)| record.is_void())
        .map(|(name, record)| format!("{name} is void: {}", record.void_because.join("; ")))
        .collect();
    let quick = [("A", a), ("B", b)].into_iter().filter(|(_, record)| record.smoke_test);
    because.extend(quick.map(|(name, _)| format!("{name} is a smoke test (--quick)")));
    if of_a.before == Fingerprint::default() || of_b.before == Fingerprint::default() {
        because.push("a fingerprint is missing, so the machines may differ".to_owned());
        return because;
    }
    let differences = machine::differences(&of_a.before, &of_b.before, machine::PROBE_RATIO_MAX);
    because.extend(
        differences
            .into_iter()
            .map(|what| format!("the machines or their settings differ (A -> B): {what}")),
    );
    because
}

/// Differences of two resolved scenarios: `load.connections: 16 -> 4`.
pub fn differs(a: &RunRecord, b: &RunRecord) -> Vec<String> {
    let mut differs = Vec::new();
    for (name, a, b) in [("tool", &a.tool, &b.tool), ("scenario", &a.scenario, &b.scenario)] {
        if a != b {
            differs.push(format!("{name}: {a} -> {b}"));
        }
    }
    let mut changes = Vec::new();
    machine::collect_changes(String::new(), &a.resolved, &b.resolved, &mut changes);
    // Ignore the names and descriptions of the scenarios.
    changes.retain(|(path, _, _)| path != "name" && path != "about");
    differs.extend(changes.iter().map(|(path, a, b)| format!("{path}: {a} -> {b}")));
    differs
}

/// Whether the raw echo had the same load, cores and network in both records, so that it can't have
/// changed.
pub fn same_floor(a: &RunRecord, b: &RunRecord) -> bool {
    floor_key(a).is_some_and(|of_a| floor_key(b) == Some(of_a))
}

/// All that the raw echo of `record` depends on, as text; `None` if it has none.
pub(crate) fn floor_key(record: &RunRecord) -> Option<String> {
    let floor = record.subjects.iter().find(|subject| subject.is_floor())?;
    // Each kind of scenario has some of these.
    let of_all = ["/load", "/flow", "/feed", "/network", "/exchange/backend", "/exchange/gateways"];
    let settings = of_all.map(|pointer| record.resolved.pointer(pointer));
    let (backend, scheduling) = (&floor.backend, &floor.scheduling);
    Some(format!(
        "{backend} {scheduling} {:?} {:?} {settings:?}",
        floor.cores, floor.load.message_bytes
    ))
}

impl Comparison {
    /// Every candidate, with its letter from B on.
    pub fn candidates(&self) -> impl Iterator<Item = (char, &Comparison)> {
        ('B'..).zip(std::iter::once(self).chain(&self.others))
    }
}

#[cfg(test)]
mod tests;
