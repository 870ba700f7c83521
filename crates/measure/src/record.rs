//! The run record: what `run.json` holds, and what a client process says when it is done.
//!
//! Values of latencies are integers in the series' `unit`. Readers ignore keys that they don't know
//! and fill absent ones with their default, so that old and new records open alike.

pub use crate::kind::Kind;
pub use crate::stats::Percentiles;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of the schema that this code writes.
pub const SCHEMA: u32 = 1;

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
}

/// Mean length of each message on the stream, frame headers included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct MessageBytes {
    /// Of an order.
    pub order: u64,
    /// Of its ack.
    pub order_reply: u64,
    /// Of a cancel.
    pub cancel: u64,
    /// Of its ack.
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
    #[serde(skip_serializing_if = "crate::stats::is_zero")]
    pub conflated: u64,
    /// Replies to what had been answered already, or never sent.
    pub duplicated: u64,
    /// Replies on one connection that came in another order than their messages were sent.
    pub out_of_order: u64,
    /// Cancels that were sent before the ack of their order was read.
    pub overtakes: u64,
    /// Orders or cancels that were refused.
    pub rejected: u64,
    /// Messages that nobody asked for: fills of orders that were meant to rest, errors.
    pub unexpected: u64,
    /// Messages that waited because too many were unanswered; their wait is in the response time.
    pub held_back: u64,
    /// How often an end of a queue waited for a block that was not ready; its wait is in the response time.
    pub blocks_late: u64,
    /// How long messages were.
    pub message_bytes: MessageBytes,
    /// Messages sent in the warm-up, which is thrown away.
    pub warm_up_sent: u64,
    /// The longest delay behind the schedule of 99 % of messages, ns; of the worst run.
    pub lateness_ns_p99: Option<u64>,
    /// Times the kernel took the measuring thread off its core, all runs.
    pub context_switches_involuntary: u64,
    /// Share of the measured part in which the measuring thread could have run and another thread of
    /// this machine had its core, by the kernel's account.
    pub core_waited_share: f64,
    /// Page faults of the measuring thread in the measured part, all runs.
    pub page_faults: u64,
    /// Where operations went through a matching engine, what it did, of each run in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub matching: Vec<crate::matching::Matching>,
    /// Where a feed was read, what came of it, of each run in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tick: Vec<crate::tick::Tick>,
}

/// One of those who were measured.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Subject {
    /// Its name in the scenario; `floor` and `hiccup` are tickpath's own.
    pub name: String,
    /// How it waits and reads: `spin`, `block`, …
    #[serde(default)]
    pub backend: String,
    /// The class of its measuring thread: `other`, `fifo:PRIORITY`, …
    #[serde(default)]
    pub scheduling: String,
    /// The cores that its exchange and its measuring thread ran on, in this order.
    #[serde(default)]
    pub cores: Vec<usize>,
    /// What it sent and received.
    #[serde(default)]
    pub load: Load,
    /// Its latencies.
    #[serde(default)]
    pub series: Vec<Series>,
    /// Of ticks that became orders, what the way was made of around its percentiles, over all runs.
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
    /// Who wrote it, with its version.
    pub tool: String,
    /// The scenario's name.
    pub scenario: String,
    /// When it started, UTC, RFC 3339.
    #[serde(default)]
    pub started: String,
    /// The command line that repeats it.
    #[serde(default)]
    pub command: Vec<String>,
    /// All runs were made and nobody interrupted them.
    pub complete: bool,
    /// Every validity rule that applies holds.
    pub valid: bool,
    /// The broken rules, in words.
    pub invalid_because: Vec<String>,
    /// Every rule with its verdict.
    #[serde(default)]
    pub rules: Vec<Rule>,
    /// Runs that count.
    pub runs: u32,
    /// Runs that were void and repeated.
    pub runs_void: u32,
    /// Faults that were injected on purpose, a line each: who, and what.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub injected: Vec<String>,
    /// What the reader should know, and what to do about it.
    pub warnings: Vec<String>,
    /// The clock.
    #[serde(default)]
    pub clock: Clock,
    /// By how much two of its stamps differ at least that are not equal, ns; the coarsest where several stamped. 0 in records
    /// of before it was kept.
    #[serde(default)]
    pub clock_step_ns: u64,
    /// The scenario as resolved: defaults filled in, overrides applied, cores chosen.
    #[serde(default)]
    pub resolved: serde_json::Value,
    /// The records that this one was merged from, in order of start, each with those of its runs that
    /// follow each other; empty where it was measured as one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub merged_from: Vec<MergedFrom>,
    /// What disturbed the measured cores, and who; where that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise: Option<crate::noise::Noise>,
    /// What the exchange said of itself at the end of the first run, where it was asked: its tool, its machine, the hash
    /// of its state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exchange: Option<serde_json::Value>,
    /// Who was measured, in the order of the scenario, then `floor`, then `hiccup`.
    pub subjects: Vec<Subject>,
}

impl RunRecord {
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

/// What an exchange that was started for a run prints on stdout, as one line of JSON, when it is told
/// to end.
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
#[path = "record_tests.rs"]
mod tests;
