//! When operations are due, and what was sent of them.

use measure::matching::{Counts, Matching};
use measure::record::Load;
use measure::schedule::{Arrival, RATE_PER_SECOND_MAX, Schedule};
use serde::{Deserialize, Serialize};

/// From the last preparation until the first operation is due.
pub(crate) const LEAD_NS: u64 = 20_000_000;
/// What a run may take beyond its schedule: who is slower than that will not end.
pub(crate) const GRACE_NS: u64 = 30_000_000_000;

/// A schedule, and how much of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Timing {
    /// Operations a second.
    pub rate_per_second: f64,
    /// How they are spread over time.
    pub arrival: Arrival,
    /// Operations of a burst, where arrival is `burst`.
    pub burst: u64,
    /// Done first, and thrown away.
    pub warm_up_operations: u64,
    /// Measured.
    pub operations: u64,
}

impl Timing {
    /// The first key that is out of range, its value, and what it may be.
    pub(crate) fn fault(&self) -> Option<(&'static str, String, &'static str)> {
        let rate = self.rate_per_second;
        if !(rate > 0.0 && rate <= RATE_PER_SECOND_MAX) {
            let why = "operations a second are above 0 and at most 1e9";
            return Some(("rate_per_second", rate.to_string(), why));
        }
        (self.burst == 0).then(|| ("burst", "0".to_owned(), "a burst is at least one"))
    }

    pub(crate) fn schedule(&self, seed: u64) -> Schedule {
        Schedule::new(self.rate_per_second, self.arrival, self.burst, seed)
    }

    /// Seconds of warm-up and measured part.
    pub(crate) fn seconds(&self) -> f64 {
        (self.warm_up_operations + self.operations) as f64 / self.rate_per_second
    }

    /// What was sent and came in `length_ns`, without what the kernel did meanwhile.
    pub(crate) fn load(&self, sent: u64, length_ns: u64, matching: Matching) -> Load {
        let Counts { unanswered, refused, .. } = matching.counts;
        // The last operation is due a gap before the schedule's length is over.
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
            matching: vec![matching],
            ..Load::default()
        }
    }
}
