//! Results of a matching engine in a run, apart from its latencies.

use serde::{Deserialize, Serialize};
use stats::{median, median_interval};

/// The row without an engine: one report per operation through the same loop.
pub const EMPTY_DISPATCH: &str = "empty-dispatch";
/// The row of an ideal server: it takes as long for each operation as the engine and never disturbs
/// itself.
pub const IDEAL: &str = "ideal";

/// One run of one subject.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct EngineRun {
    /// Operations of a pass; of the whole run in a soak.
    pub operations: u64,
    /// Their results.
    pub counts: Counts,
    /// Duration of each pass that was timed as a whole, ns.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub passes_ns: Vec<u64>,
    /// Hash of the engine's state at the end, 16 hex digits; empty without an engine.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub state_hash: String,
    /// Passes over the same operations whose state and number of reports were compared.
    pub replays: u32,
    /// Number of these that differ from the first.
    pub replays_unequal: u32,
    /// Memory of the process in huge pages after the engine was filled, bytes; `None` if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub huge_page_bytes: Option<u64>,
    /// Time that the ideal server takes for each operation, ns: the p50 of the service time of the
    /// engine that it follows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burn_ns: Option<u64>,
    /// Operations before this run, in a resumed soak.
    #[serde(skip_serializing_if = "stats::is_zero")]
    pub operations_before: u64,
    /// In a soak, the time in its blocks of operations, ns, without the time to generate them and
    /// without the reference.
    #[serde(skip_serializing_if = "stats::is_zero")]
    pub busy_ns: u64,
    /// Storage of the journal; `None` without a journal, or if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage: Option<Storage>,
    /// The stretches of a soak, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stretches: Vec<Stretch>,
}

/// Storage under a directory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Storage {
    /// The directory.
    pub directory: String,
    /// Where its file system is mounted.
    pub mount_point: String,
    /// `ext4`, `tmpfs`, …
    pub file_system: String,
    /// Its block device, or whatever it is mounted from.
    pub device: String,
    /// Options of the mount; after `;`, options of the file system.
    pub mount_options: String,
    /// Whether the block device rotates; `None` without a device or if unknown.
    pub is_rotational: Option<bool>,
}

/// Results of the operations of workload W1, from their reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Counts {
    /// New orders that were accepted.
    pub acks: u64,
    /// Trades, each between two orders.
    pub trades: u64,
    /// Orders that were cancelled on request.
    pub cancel_acks: u64,
    /// Orders with a remainder that neither traded nor rested. Published counts of cancel acks
    /// include them.
    pub expired: u64,
    /// Orders that were amended.
    pub modify_acks: u64,
    /// Cancels of orders that were already done.
    pub cancel_rejects: u64,
    /// Amendments of orders that were already done.
    pub modify_rejects: u64,
    /// Operations that were rejected for another reason, such as risk or a limit. 0 is expected.
    pub refused: u64,
    /// Operations without a report. 0 is expected.
    pub unanswered: u64,
}

/// A part of a soak, and the reference between its blocks: a fresh small engine with constant work,
/// which tells a drift of the machine from a drift of the engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Stretch {
    /// When it ended, seconds after the first operation.
    pub end_seconds: f64,
    /// Operations in it.
    pub operations: u64,
    /// Percentile of their service time, ns; `None` if there are too few.
    pub p50_ns: Option<u64>,
    /// 99th percentile of their service time.
    pub p99_ns: Option<u64>,
    /// Operations of the reference in the same period.
    pub reference_operations: u64,
    /// Percentile of their service time, ns; `None` if there are too few.
    pub reference_p50_ns: Option<u64>,
    /// 99th percentile of their service time.
    pub reference_p99_ns: Option<u64>,
    /// Memory of the process at its end, bytes; `None` if unknown.
    pub resident_bytes: Option<u64>,
}

/// Operations a second of the passes that were timed as a whole: the median over runs of each run's
/// median pass, with its interval if there are enough runs. `None` without such passes.
pub fn operations_per_second(runs: &[EngineRun]) -> Option<(f64, Option<[f64; 2]>)> {
    let of_run = |run: &EngineRun| {
        // In picoseconds per operation, so that a median of whole numbers stays precise.
        let pass_ns = median(&run.passes_ns)?;
        (run.operations > 0).then(|| (pass_ns as f64 / run.operations as f64 * 1e3) as u64)
    };
    let picoseconds: Vec<u64> = runs.iter().filter_map(of_run).filter(|time| *time > 0).collect();
    let per_second = |picoseconds: u64| 1e12 / picoseconds as f64;
    let interval = median_interval(&picoseconds).map(|[low, high]| [high, low].map(per_second));
    Some((per_second(median(&picoseconds)?), interval))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(passes_ns: &[u64]) -> EngineRun {
        EngineRun { operations: 1_000, passes_ns: passes_ns.to_vec(), ..EngineRun::default() }
    }

    #[test]
    fn a_rate_is_of_the_median_pass_of_the_median_run() {
        let runs = [run(&[100_000, 50_000, 900_000]), run(&[200_000]), run(&[50_000])];
        let (per_second, interval) = operations_per_second(&runs).unwrap();
        assert_eq!((per_second, interval), (1e7, None));
        let six: Vec<EngineRun> = (1..=6).map(|n| run(&[n * 100_000])).collect();
        let (_, interval) = operations_per_second(&six).unwrap();
        assert_eq!(interval, Some([1e12 / 600_000.0, 1e7]));
    }

    #[test]
    fn what_was_not_timed_has_no_rate() {
        assert_eq!(operations_per_second(&[]), None);
        assert_eq!(operations_per_second(&[run(&[])]), None);
        assert_eq!(operations_per_second(&[EngineRun::default()]), None);
        // A record from elsewhere may contain any numbers.
        assert_eq!(operations_per_second(&[run(&[0])]), None);
    }
}
