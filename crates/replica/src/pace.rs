//! How fast a follower that was away catches up. Pure.
//!
//! As fast as it goes, its catching up takes cores and disk from the orders that flow meanwhile.

use crate::frame::RECORDS_MAX;
use std::time::Duration;

/// A follower that lacks no more than this has caught up: what it lacks fits into one frame.
const LACKS_MIN: u64 = RECORDS_MAX;
/// Records per second, unless more are written meanwhile. Orders at a tenth of this rate still have
/// most of a core and of a disk to themselves.
const RATE: u64 = 100_000;
/// Records that are shipped for each one that is written meanwhile: a follower catches up at any
/// rate of orders, in a third of the time that it was away.
const PER_WRITTEN: u64 = 4;
/// Records that are worth a frame: a follower makes each frame durable.
const STEP: u64 = 1024;

/// Pauses of the shipping thread.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pace {
    /// When the last allowance was made, ns, and how far the log was written then. `None`: the
    /// follower is not catching up.
    since: Option<(u64, u64)>,
    /// Records that are left of that allowance.
    left: u64,
}

impl Pace {
    /// Time until a step may be shipped.
    pub(crate) const PAUSE: Duration = Duration::from_nanos(STEP * 1_000_000_000 / RATE);

    /// How many records may be shipped now to a follower that needs `next`; 0: none, wait for
    /// [`Pace::PAUSE`]. There are no pauses for one that lacks `lacks_max` records.
    pub(crate) fn allowance(
        &mut self,
        now_ns: u64,
        written: u64,
        next: u64,
        lacks_max: u64,
    ) -> u64 {
        let lacks = written - next;
        if lacks <= LACKS_MIN || lacks >= lacks_max {
            (self.since, self.left) = (None, 0);
            return RECORDS_MAX;
        }
        if self.left == 0 {
            let (since_ns, since_written) = *self.since.get_or_insert((now_ns, written));
            let of_time = u128::from(now_ns - since_ns) * u128::from(RATE) / 1_000_000_000;
            let earned = (of_time as u64).max(PER_WRITTEN * (written - since_written));
            if earned < STEP {
                return 0;
            }
            (self.since, self.left) = (Some((now_ns, written)), earned);
        }
        self.left.min(RECORDS_MAX)
    }

    /// Counts records that were shipped.
    pub(crate) fn shipped(&mut self, records: u64) {
        self.left = self.left.saturating_sub(records);
    }
}

#[cfg(test)]
#[path = "pace_tests.rs"]
mod tests;
