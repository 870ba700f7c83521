//! The run record, `run.json`.
//!
//! Latencies are integers in the series' `unit`. Readers ignore keys they don't know and take
//! absent ones at their default, so that old and new records open.

use crate::disturbed::Disturber;
use crate::series::Series;
use crate::subject::Subject;
use clock::kind::Kind;
use serde::{Deserialize, Serialize};

/// Name of the subject that is the idle look.
pub const HICCUP: &str = "hiccup";

/// Version of the schema that this code writes.
pub const SCHEMA: u32 = 3;

/// Result of a validity rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It was checked and holds.
    Held,
    /// It was checked and does not hold: the record is not a result.
    Broken,
    /// It can't be checked; `detail` says why.
    NotApplicable,
}

/// One validity rule, for one subject or for the whole record.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Rule {
    /// Its name, as in docs/METHODOLOGY.md.
    pub rule: String,
    /// Its result.
    pub verdict: Verdict,
    /// The figures behind the verdict, in words.
    pub detail: String,
}

/// The clock of all stamps.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Clock {
    /// `tsc`, `cntvct` or `monotonic_raw`.
    pub source: String,
    /// Median cost of one reading, ns; no interval shorter than this is meaningful.
    pub cost_ns: u64,
}

impl Clock {
    /// The clock that stamped a record.
    pub fn of(clock: &clock::Clock) -> Clock {
        Clock { source: clock.source().name().to_owned(), cost_ns: clock.cost_ns() }
    }
}

/// One of the records that a record was merged from. See [`crate::merge`].
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MergedFrom {
    /// Name of its directory.
    pub name: String,
    /// When it started, UTC, RFC 3339.
    pub started: String,
    /// [`crate::machine::Fixed::identity`] of its machine; `None` without a machine.json.
    pub machine: Option<String>,
    /// Number of its runs.
    pub runs: u32,
}

/// `run.json`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RunRecord {
    /// Version of this schema.
    pub schema: u32,
    /// The program that wrote it, with its version.
    pub tool: String,
    /// The scenario's name.
    pub scenario: String,
    /// When it started, UTC, RFC 3339.
    #[serde(default)]
    pub started: String,
    /// The command line that repeats it.
    #[serde(default)]
    pub command: Vec<String>,
    /// Whether all runs were made without an interruption.
    pub complete: bool,
    /// The broken rules, in words: the record is void. Empty for a valid record.
    #[serde(default, alias = "invalid_because")]
    pub void_because: Vec<String>,
    /// The strongest disturbance of the main series, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disturber: Option<Disturber>,
    /// Runs that were left out because they were more disturbed than those that count. Their logs
    /// are kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOutRun>,
    /// Every rule with its verdict.
    #[serde(default)]
    pub rules: Vec<Rule>,
    /// Runs that count.
    pub runs: u32,
    /// Made with `--quick`: one short run that only shows that everything works. Its figures don't
    /// count.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub smoke_test: bool,
    /// How the rate was found, if the scenario asks for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_search: Option<RateSearch>,
    /// Faults that were injected on purpose: the process and the fault, a line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub injected: Vec<String>,
    /// Warnings, with advice.
    pub warnings: Vec<String>,
    /// The clock.
    #[serde(default)]
    pub clock: Clock,
    /// Smallest difference of two different stamps of the clock, ns; the coarsest of several
    /// clocks. 0 in older records.
    #[serde(default)]
    pub clock_step_ns: u64,
    /// The scenario as resolved: defaults filled in, overrides applied, cores chosen.
    #[serde(default)]
    pub resolved: serde_json::Value,
    /// The records that this one was merged from, in order of start, each with its consecutive
    /// runs; empty for a record that was measured as one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub merged_from: Vec<MergedFrom>,
    /// Disturbances of the measured cores with causes, if `--noise` was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise: Option<crate::noise::Noise>,
    /// The exchange's description of itself at the end of the first run, if requested: its tool,
    /// its machine, the hash of its state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exchange: Option<serde_json::Value>,
    /// Round trips against the length of messages, where subjects differ in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_fit: Option<crate::size_fit::SizeFit>,
    /// The subjects in the order of the scenario, then `floor`, then `hiccup`.
    pub subjects: Vec<Subject>,
    /// Subjects of the scenario that can't run on this machine; nothing was measured of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unavailable: Vec<Unavailable>,
}

/// A subject that can't run on this machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Unavailable {
    /// Its name.
    pub subject: String,
    /// The reason, and what to try.
    pub why: String,
}

/// A search, before the runs, for the highest rate that the cores carry.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RateSearch {
    /// The scenario's rate, messages per second; the search goes no higher.
    pub asked_per_second: f64,
    /// The highest rate at which the client sent three quarters of its messages on time; `None`: at
    /// none.
    #[serde(default)]
    pub carried_per_second: Option<f64>,
    /// The lowest rate above it at which it didn't; `None`: the asked rate is carried.
    #[serde(default)]
    pub missed_per_second: Option<f64>,
    /// The directory of the search, a sweep, beside that of the record.
    pub sweep: String,
}

/// A run that was measured but does not count.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct LeftOutRun {
    /// Its number, in the order of the runs, from 1.
    pub run: u32,
    /// The disturbed share of its main series, from 0 to 1.
    pub disturbed_share: f64,
    /// Its log, next to run.json.
    pub log: String,
}

impl RunRecord {
    /// Whether it broke a rule of integrity and so is not a result.
    pub fn is_void(&self) -> bool {
        !self.void_because.is_empty()
    }

    /// The series behind the headline: the response time of the first subject's first answer, or
    /// its service time if there is no response time.
    pub fn main_series(&self) -> Option<&Series> {
        let subject = self.subjects.first()?;
        let of = |kind| subject.series.iter().find(|series| series.kind == kind);
        of(Kind::Response).or_else(|| of(Kind::Service)).or_else(|| of(Kind::Noise))
    }

    /// Whether it is a result whose main series holds up to rank `quantile`.
    pub fn holds(&self, quantile: f64) -> bool {
        !self.is_void() && self.main_series().is_some_and(|series| series.holds(quantile))
    }

    /// Whether it is a result whose main series has a ratio to its floor that holds up to rank
    /// `quantile`.
    pub fn ratio_holds(&self, quantile: f64) -> bool {
        let over = self.main_series().and_then(|series| series.over_floor.as_ref());
        !self.is_void() && over.is_some_and(|over| over.holds(quantile))
    }

    /// The subject of that name.
    pub fn subject(&self, name: &str) -> Option<&Subject> {
        self.subjects.iter().find(|subject| subject.name == name)
    }
}
