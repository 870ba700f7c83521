//! `compare.json`.

use crate::RunRecord;
use crate::comparison::compared::ComparedFigure;
use crate::comparison::gate::GateResult;
use crate::comparison::runs::{ArmSeries, Runs};
use crate::comparison::worth::{NotRun, Worth};
use crate::cost::Cost;
use serde::{Deserialize, Serialize};
use stats::compare::Design;
use stats::verdict::Outcome;
use std::collections::BTreeSet;

/// Version of the schema that this code writes. Since 2: every run's figure counts, with its
/// bracket; `no_difference` and `not_known`. Since 3: `unit`, and figures over the floor.
pub const SCHEMA: u32 = 3;
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

impl Comparison {
    /// Every candidate, with its letter from B on.
    pub fn candidates(&self) -> impl Iterator<Item = (char, &Comparison)> {
        ('B'..).zip(std::iter::once(self).chain(&self.others))
    }
}
