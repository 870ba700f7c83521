//! The load that was sent on a schedule.

use plan::process::engine::Timing;
use record::Load;
use record::engine::{Counts, EngineRun};

/// Time from the last preparation to the first operation.
pub(crate) const LEAD_NS: u64 = 20_000_000;
/// Time that a run may take beyond its schedule; a slower one would never end.
pub(crate) const GRACE_NS: u64 = 30_000_000_000;

/// The load of `sent` operations in `length_ns`, without the kernel's counts.
pub(crate) fn load_of(timing: &Timing, sent: u64, length_ns: u64, engine_run: EngineRun) -> Load {
    let Counts { unanswered, refused, .. } = engine_run.counts;
    // The last operation is due one gap before the end of the schedule.
    let planned = timing.operations as f64 / timing.rate_per_second;
    Load {
        model: "open".to_owned(),
        rate_per_second_offered: Some(timing.rate_per_second),
        rate_per_second_achieved: sent as f64 / (length_ns as f64 / 1e9).max(planned),
        sent,
        received: sent - unanswered,
        lost: unanswered,
        rejected: refused,
        warm_up_sent: timing.warm_up_operations,
        engine: vec![engine_run],
        ..Load::default()
    }
}
