//! A schedule of operations, and the load that was sent on it.

use crate::plan::in_memory;
use clock::range::{OutOfRange, require};
use clock::schedule::{Arrival, RATE_PER_SECOND_MAX, Schedule};
use record::Load;
use record::engine::{Counts, EngineRun};
use serde::{Deserialize, Serialize};

/// Time from the last preparation to the first operation.
pub(crate) const LEAD_NS: u64 = 20_000_000;
/// Time that a run may take beyond its schedule; a slower one would never end.
pub(crate) const GRACE_NS: u64 = 30_000_000_000;

/// A schedule and its length.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Timing {
    /// Operations per second.
    pub rate_per_second: f64,
    /// How they are spread over time.
    pub arrival: Arrival,
    /// Operations of a burst, if `arrival` is `burst`.
    pub burst: u64,
    /// Operations before the measured part.
    pub warm_up_operations: u64,
    /// Operations of the measured part.
    pub operations: u64,
}

impl Timing {
    /// Checks every key against its range.
    pub(crate) fn check(&self) -> Result<(), OutOfRange> {
        let rate = self.rate_per_second;
        let why = "operations a second are above 0 and at most 1e9";
        require(rate > 0.0 && rate <= RATE_PER_SECOND_MAX, "rate_per_second", rate, why)?;
        require(self.burst > 0, "burst", self.burst, "a burst is at least one")?;
        in_memory(self.operations.saturating_add(self.warm_up_operations))
    }

    pub(crate) fn schedule(&self, seed: u64) -> Schedule {
        Schedule::new(self.rate_per_second, self.arrival, self.burst, seed)
    }

    /// Length of warm-up and measured part, s.
    pub(crate) fn seconds(&self) -> f64 {
        (self.warm_up_operations + self.operations) as f64 / self.rate_per_second
    }

    /// The load of `sent` operations in `length_ns`, without the kernel's counts.
    pub(crate) fn load(&self, sent: u64, length_ns: u64, engine_run: EngineRun) -> Load {
        let Counts { unanswered, refused, .. } = engine_run.counts;
        // The last operation is due one gap before the end of the schedule.
        let planned = self.operations as f64 / self.rate_per_second;
        Load {
            model: "open".to_owned(),
            rate_per_second_offered: Some(self.rate_per_second),
            rate_per_second_achieved: sent as f64 / (length_ns as f64 / 1e9).max(planned),
            sent,
            received: sent - unanswered,
            lost: unanswered,
            rejected: refused,
            warm_up_sent: self.warm_up_operations,
            engine: vec![engine_run],
            ..Load::default()
        }
    }
}
