//! What a matching engine did in a run, beside its latencies.

use serde::{Deserialize, Serialize};
use stats::{median, median_interval};

/// The row of no engine at all: one report an operation through the same loop.
pub const EMPTY_DISPATCH: &str = "empty-dispatch";
/// The row of a server that takes as long for each operation as the engine does, and is never
/// disturbed by its own doing.
pub const IDEAL: &str = "ideal";

/// One run of one subject.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct EngineRun {
    /// Operations of a pass; of a soak all of the run.
    pub operations: u64,
    /// What became of them.
    pub counts: Counts,
    /// How long each pass took that was timed as a whole, ns.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub passes_ns: Vec<u64>,
    /// The engine's state in the end, 16 hex digits; empty where there is no engine.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub state_hash: String,
    /// Passes over the same operations that were compared by state and number of reports.
    pub replays: u32,
    /// How many of these came out otherwise than the first.
    pub replays_unequal: u32,
    /// How much of the process lay in huge pages with its engine filled, bytes; `None` where the
    /// system doesn't say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub huge_page_bytes: Option<u64>,
    /// How long the ideal server takes for each operation, ns: the p50 of service time of the
    /// engine that it follows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burn_ns: Option<u64>,
    /// Operations before this run, of a soak that was resumed.
    #[serde(skip_serializing_if = "stats::is_zero")]
    pub operations_before: u64,
    /// In a soak, the time in its blocks of operations, ns: without making them, and without the
    /// reference.
    #[serde(skip_serializing_if = "stats::is_zero")]
    pub busy_ns: u64,
    /// What a journal was written to; `None` without a journal, or where the system doesn't say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage: Option<Storage>,
    /// In a soak, its stretches of it in their order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stretches: Vec<Stretch>,
}

/// What a directory lies on.
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
    /// Its block device, or whatever it says that it is mounted from.
    pub device: String,
    /// Options of the mount, and behind `;` those of the file system.
    pub mount_options: String,
    /// Whether the block device turns; `None` where there is none, or it doesn't say.
    pub is_rotational: Option<bool>,
}

/// What became of the operations of workload W1, by their reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Counts {
    /// New orders that were accepted.
    pub acks: u64,
    /// Trades, each of two orders.
    pub trades: u64,
    /// Orders that were cancelled on request.
    pub cancel_acks: u64,
    /// Orders of which a part neither traded nor was to rest. Published counts of cancel acks hold
    /// these.
    pub expired: u64,
    /// Orders that were amended.
    pub modify_acks: u64,
    /// Cancels of orders that were done already.
    pub cancel_rejects: u64,
    /// Amendments of orders that were done already.
    pub modify_rejects: u64,
    /// Operations that were refused for another reason: of risk, of a limit. There should be none.
    pub refused: u64,
    /// Operations without any report. There should be none.
    pub unanswered: u64,
}

/// A part of a soak, and the reference between its blocks: a fresh small engine that does the same
/// every time, and tells a drift of the machine from one of the engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Stretch {
    /// When it ended, seconds after the first operation.
    pub end_seconds: f64,
    /// Operations in it.
    pub operations: u64,
    /// Percentile of their service time, ns; `None` where there are too few.
    pub p50_ns: Option<u64>,
    /// The same.
    pub p99_ns: Option<u64>,
    /// Operations of the reference in it.
    pub reference_operations: u64,
    /// Percentile of their service time, ns; `None` where there are too few.
    pub reference_p50_ns: Option<u64>,
    /// The same.
    pub reference_p99_ns: Option<u64>,
    /// Memory of the process in use at its end, bytes; `None` where the system doesn't say.
    pub resident_bytes: Option<u64>,
}

/// Operations a second of the passes that were timed as a whole: of each run the median pass, and
/// of these the median, with its interval where there are runs enough. `None` without such passes.
pub fn operations_per_second(runs: &[EngineRun]) -> Option<(f64, Option<[f64; 2]>)> {
    let of_run = |run: &EngineRun| {
        // In picoseconds an operation: a median of whole numbers then loses nothing that counts.
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
        // A record from elsewhere may hold anything.
        assert_eq!(operations_per_second(&[run(&[0])]), None);
    }
}
