//! The run record: what `run.json` holds, and what a client process says when it is done.
//!
//! Values of latencies are integers in the series' `unit`. Readers ignore keys that they don't know
//! and fill absent ones with their default, so that old and new records open alike.

pub use crate::disturbed::{Disturbed, Disturber};
pub use clock::kind::Kind;
use serde::{Deserialize, Serialize};
pub use stats::Percentiles;
pub use stats::bracket::Moves;
use std::collections::BTreeMap;

/// Name of the subject that is the idle look.
pub const HICCUP: &str = "hiccup";

/// Version of the schema that this code writes.
pub const SCHEMA: u32 = 2;

/// One series of one subject, over all valid runs.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Series {
    /// `order`, `cancel`, `cycle`, …
    pub name: String,
    /// Response time, service time, …
    pub kind: Kind,
    /// Always `ns` so far.
    pub unit: String,
    /// All runs merged by histogram.
    pub pooled: Percentiles,
    /// Names of the pooled percentiles with fewer than 100 samples beyond them.
    #[serde(default)]
    pub uncertain: Vec<String>,
    /// Each run alone, in order; without samples where a run has none of it.
    #[serde(default)]
    pub per_run: Vec<Percentiles>,
    /// Per percentile, a confidence interval of at least 95 % for the median over runs; absent with
    /// fewer than six runs.
    #[serde(default)]
    pub interval: BTreeMap<String, [u64; 2]>,
    /// Per pooled percentile, the two values between which the undisturbed one lies.
    #[serde(default)]
    pub bracket: BTreeMap<String, [u64; 2]>,
    /// The highest printed percentile up to which all brackets are narrower than 10 %, as a rank
    /// from 0 to 1; 0 if p50 does not hold; `None` where it can't be judged.
    #[serde(default)]
    pub holds_to: Option<f64>,
    /// Where disturbance may have moved its values to.
    #[serde(default)]
    pub moves: Moves,
    /// Why it can't be judged; empty where it is.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub not_judged: String,
    /// How much of each run was disturbed, in order.
    #[serde(default)]
    pub disturbed: Vec<Disturbed>,
}

/// Mean length of each message on the stream, frame headers included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct MessageBytes {
    /// An order, bytes.
    pub order: u64,
    /// The order's ack, bytes.
    pub order_reply: u64,
    /// A cancel, bytes.
    pub cancel: u64,
    /// The cancel's ack, bytes.
    pub cancel_reply: u64,
}

/// What was sent and what came back, over the measured part of one or several runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Load {
    /// `open` or `ping-pong`; empty where nothing was sent.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub model: String,
    /// Messages a second that the schedule asked for; `None` in ping-pong.
    pub rate_per_second_offered: Option<f64>,
    /// Messages a second that were sent.
    pub rate_per_second_achieved: f64,
    /// Orders and cancels written.
    pub sent: u64,
    /// Replies to them.
    pub received: u64,
    /// Messages without a reply when the run had drained.
    pub lost: u64,
    /// Messages that a newer one of the same key replaced before they were read; the reader knew.
    #[serde(skip_serializing_if = "stats::is_zero")]
    pub conflated: u64,
    /// Replies to what had been answered already, or never sent.
    pub duplicated: u64,
    /// Replies on one connection that came in another order than their messages were sent.
    pub out_of_order: u64,
    /// Cancels that were sent before the ack of their order was read.
    pub overtakes: u64,
    /// Orders or cancels that were refused.
    pub rejected: u64,
    /// Messages that answer nothing: fills of orders that were meant to rest, errors.
    pub unexpected: u64,
    /// Messages that waited because too many were unanswered; their wait is in the response time.
    pub held_back: u64,
    /// How often an end of a queue waited for a block that was not ready; its wait is in the
    /// response time.
    pub blocks_late: u64,
    /// How long messages were.
    pub message_bytes: MessageBytes,
    /// Messages sent in the warm-up, which is thrown away.
    pub warm_up_sent: u64,
    /// The longest delay behind the schedule of 99 % of messages, ns; of the worst run.
    pub lateness_ns_p99: Option<u64>,
    /// Times the kernel took the measuring thread off its core, all runs.
    pub context_switches_involuntary: u64,
    /// Page faults of the measuring thread in the measured part, all runs.
    pub page_faults: u64,
    /// Where operations went through a matching engine, what it did, of each run in order.
    #[serde(alias = "matching", skip_serializing_if = "Vec::is_empty")]
    pub engine: Vec<crate::engine::EngineRun>,
    /// Where a feed was read, what came of it, of each run in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tick: Vec<crate::tick::Tick>,
    /// Where the client ran on a virtual machine, what that did, of each run in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub runtime: Vec<crate::runtime::Runtime>,
}

/// A subject: one client that was measured.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Subject {
    /// Its name in the scenario; `floor`, `bare` and `hiccup` are tickpath's own.
    pub name: String,
    /// How it waits and reads: `spin`, `block`, …
    #[serde(default)]
    pub backend: String,
    /// The class of its measuring thread: `other`, `fifo:PRIORITY`, …
    #[serde(default)]
    pub scheduling: String,
    /// It spoke TLS; of a floor: its messages were as long as TLS records.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tls: bool,
    /// The cores that its exchange and its measuring thread ran on, in this order.
    #[serde(default)]
    pub cores: Vec<usize>,
    /// What it sent and received.
    #[serde(default)]
    pub load: Load,
    /// Its latencies.
    #[serde(default)]
    pub series: Vec<Series>,
    /// For ticks that became orders, what the way was made of around its percentiles, over all
    /// runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attribution: Vec<crate::tick::Attribution>,
    /// The worst of them, the worst first; as many as were asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub traced: Vec<crate::tick::Traced>,
}

impl Subject {
    /// Whether it is a raw echo, one of tickpath's own floors.
    pub fn is_floor(&self) -> bool {
        self.name.starts_with("floor")
    }

    /// Whether it is the bare echo below a floor.
    pub fn is_bare(&self) -> bool {
        self.name.starts_with("bare")
    }

    /// Whether it is a floor or the bare echo below one: no subject of the scenario.
    pub fn is_reference(&self) -> bool {
        self.is_floor() || self.is_bare()
    }

    /// The series of that name and kind.
    pub fn series(&self, name: &str, kind: Kind) -> Option<&Series> {
        self.series.iter().find(|series| series.name == name && series.kind == kind)
    }
}

/// How a validity rule came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It was checked and holds.
    Held,
    /// It was checked and does not hold: the record is no result.
    Broken,
    /// It can't be checked here; `detail` says why.
    NotApplicable,
}

/// One validity rule, for one subject or for the whole.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Rule {
    /// Its name, as in docs/METHODOLOGY.md.
    pub rule: String,
    /// How it came out.
    pub verdict: Verdict,
    /// The figures it was decided on, in words.
    pub detail: String,
}

/// The clock that stamped everything.
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
    /// [`crate::machine::Fixed::identity`] of its machine; `None` where that was not kept.
    pub machine: Option<String>,
    /// Runs that it gave.
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
    /// All runs were made without an interruption.
    pub complete: bool,
    /// The broken rules, in words: the record is void and no result. Empty for a good record.
    #[serde(default, alias = "invalid_because")]
    pub void_because: Vec<String>,
    /// What disturbed the main series most, where anything did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disturber: Option<Disturber>,
    /// Runs that were left out because more of them was disturbed than of those that count; their
    /// logs are kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
    /// Every rule with its verdict.
    #[serde(default)]
    pub rules: Vec<Rule>,
    /// Runs that count.
    pub runs: u32,
    /// One short run that only shows that everything works (`--quick`): no figure of it counts.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub smoke_test: bool,
    /// Faults that were injected on purpose, a line each: the process and the fault.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub injected: Vec<String>,
    /// What the reader should know, and what to do about it.
    pub warnings: Vec<String>,
    /// The clock.
    #[serde(default)]
    pub clock: Clock,
    /// By how much two of its stamps differ at least that are not equal, ns; the coarsest where
    /// several stamped. 0 in records of before it was kept.
    #[serde(default)]
    pub clock_step_ns: u64,
    /// The scenario as resolved: defaults filled in, overrides applied, cores chosen.
    #[serde(default)]
    pub resolved: serde_json::Value,
    /// The records that this one was merged from, in order of start, each with those of its runs
    /// that follow each other; empty where it was measured as one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub merged_from: Vec<MergedFrom>,
    /// What disturbed the measured cores, with causes; where `--noise` asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise: Option<crate::noise::Noise>,
    /// What the exchange said of itself at the end of the first run, where it was asked: its tool,
    /// its machine, the hash of its state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exchange: Option<serde_json::Value>,
    /// The subjects in the order of the scenario, then `floor`, then `hiccup`.
    pub subjects: Vec<Subject>,
}

/// A run that was measured and does not count.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct LeftOut {
    /// Its number, in the order in which runs were made, from 1.
    pub run: u32,
    /// The share of its main series that was disturbed, from 0 to 1.
    pub disturbed_share: f64,
    /// Its log, beside run.json.
    pub log: String,
}

impl RunRecord {
    /// Reads a record of this schema or of an earlier one.
    ///
    /// # Errors
    /// If it is none.
    pub fn from_json(text: &str) -> Result<RunRecord, serde_json::Error> {
        let mut record: RunRecord = serde_json::from_str(text)?;
        if record.schema < 2 {
            // It was judged as a whole: all of its figures hold, or none counts.
            let series = record.subjects.iter_mut().flat_map(|subject| &mut subject.series);
            series.for_each(Series::hold_all);
            record.schema = SCHEMA;
        }
        Ok(record)
    }

    /// Whether it broke a rule of integrity: then it is no result.
    pub fn is_void(&self) -> bool {
        !self.void_because.is_empty()
    }

    /// The series for which the first line speaks: the response time of the first subject's first
    /// answer, or its service time where there is no response.
    pub fn main_series(&self) -> Option<&Series> {
        let subject = self.subjects.first()?;
        let of = |kind| subject.series.iter().find(|series| series.kind == kind);
        of(Kind::Response).or_else(|| of(Kind::Service)).or_else(|| of(Kind::Noise))
    }

    /// Whether it is a result whose main series holds to the percentile of rank `quantile`.
    pub fn holds(&self, quantile: f64) -> bool {
        !self.is_void() && self.main_series().is_some_and(|series| series.holds(quantile))
    }

    /// The subject of that name.
    pub fn subject(&self, name: &str) -> Option<&Subject> {
        self.subjects.iter().find(|subject| subject.name == name)
    }
}

/// What a client process prints on stdout, as one line of JSON, when its run is over; the latencies
/// themselves stand in the .hlog that it wrote. See clients/CONTRACT.md.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClientResult {
    /// The run lasted as long as it was meant to and everything was drained.
    pub complete: bool,
    /// Why not, or what else went wrong, one sentence each.
    pub failures: Vec<String>,
    /// What was sent and received.
    pub load: Load,
    /// The clock that stamped it.
    pub clock: Clock,
    /// What the exchange said of itself in the end (DESCRIPTION on the wire), where it was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exchange: Option<serde_json::Value>,
}

impl ClientResult {
    /// It is not complete, above all for this reason.
    pub fn fail(&mut self, why: String) {
        self.complete = false;
        self.failures.insert(0, why);
    }
}

/// What an exchange that was started for a run prints on stdout, as one line of JSON, when it is
/// told to end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ExchangeResult {
    /// Orders that reached the gateway, whatever became of them.
    pub orders: u64,
    /// Cancels that reached the gateway, whatever became of them.
    pub cancels: u64,
    /// The state of all books, as 16 hex digits.
    pub state_hash: String,
    /// Whether a replay of all inputs gives the same state; `None` where it can't be told.
    pub replay_equal: Option<bool>,
    /// How, or why it can't be told.
    pub replay_detail: String,
    /// Everything it counted.
    pub counts: serde_json::Value,
}

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;
