//! Clocks of two machines: converting stamps from one to the other, and when a one-way figure may
//! be given.

use crate::utc::Utc;
use crate::wall::WallLine;
use crate::{Clock, Pair};
use serde::{Deserialize, Serialize};

/// The clock by which one end stamps, with enough to convert its stamps to another end's clock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimeBase {
    /// Identifies the machine and its boot; empty if it can't be read.
    pub boot_id: String,
    /// The clock of all its stamps.
    pub clock: Clock,
    /// That clock and the machine's wall clock at one moment.
    pub wall: Pair,
    /// Largest distance of the wall clock from UTC.
    pub utc: Utc,
}

impl TimeBase {
    /// Whether it was read in this boot of this machine. An empty id never matches.
    pub fn is_of(&self, boot_id: &str) -> bool {
        !boot_id.is_empty() && self.boot_id == boot_id
    }
}

/// An echo's clock, as it says it to clients that ask.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EchoClock {
    /// The clock of its stamps.
    #[serde(flatten)]
    pub time: TimeBase,
    /// The line by which it converted the kernel's stamps to that clock, up to the reading of
    /// `time.wall`; `None` if the kernel doesn't stamp there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<WallLine>,
}

/// Converts stamps of another clock to ours through the wall clocks, which both ends read before
/// and after a run.
///
/// Each end's counter is a line over its wall clock, through those two readings. If both readings
/// are within a bound of UTC, so is the line between them, even if the wall clock was slewed. The
/// assumption is that the counter itself runs at a constant rate. A crystal whose rate changes by
/// 0.01 ppm within a run is off by 0.6 us after a minute; no bound includes that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bridge {
    /// Before and after.
    ours: [TimeBase; 2],
    theirs: [TimeBase; 2],
}

impl Bridge {
    /// `None` if an end's clock changed between the readings, because the process or the machine
    /// restarted.
    pub fn new(ours: [TimeBase; 2], theirs: [TimeBase; 2]) -> Option<Bridge> {
        let stays = |[before, after]: &[TimeBase; 2]| {
            before.clock == after.clock
                && before.boot_id == after.boot_id
                && before.wall.clock_ns < after.wall.clock_ns
                && before.wall.wall_ns < after.wall.wall_ns
        };
        (stays(&ours) && stays(&theirs)).then_some(Bridge { ours, theirs })
    }

    /// Largest error of a converted stamp, and the source of that bound; `None` if unknown.
    pub fn bound(&self) -> (Option<u64>, String) {
        let (ours, theirs) = (&self.ours, &self.theirs);
        let readings_ns =
            |when: usize| ours[when].wall.bound_ns.saturating_add(theirs[when].wall.bound_ns);
        if ours[0].is_of(&theirs[0].boot_id) {
            // Both ends read the same wall clock, so its error doesn't matter.
            return (Some(readings_ns(0).max(readings_ns(1))), "same machine".to_owned());
        }
        let apart_ns = |when: usize| {
            let utc_ns = ours[when].utc.bound_ns?.saturating_add(theirs[when].utc.bound_ns?);
            Some(utc_ns.saturating_add(readings_ns(when)))
        };
        let bound_ns = apart_ns(0).zip(apart_ns(1)).map(|(before, after)| before.max(after));
        let from = bound_ns.map(|_| joined(&ours[0].utc.from, &theirs[0].utc.from));
        let from = from.unwrap_or_default();
        (bound_ns, from)
    }

    /// Their clock minus ours at an instant of ours, ns, if both wall clocks show UTC.
    pub fn offset_ns(&self, ours_ns: u64) -> i64 {
        let [theirs, their_wall] = scales(&self.theirs);
        let [ours, our_wall] = scales(&self.ours);
        let at = i128::from(ours_ns);
        let offset = on_line(their_wall, theirs, on_line(ours, our_wall, at)) - at;
        offset.clamp(i64::MIN.into(), i64::MAX.into()) as i64
    }

    /// Bounds of [`Bridge::offset_ns`] by each program that states one about a wall clock, ns, with
    /// one of either end: `chrony`, or `chrony and ClockBound`.
    pub fn claims(&self) -> Vec<(String, u64)> {
        let mut claims = Vec::new();
        for our in &self.ours[0].utc.claims {
            for their in &self.theirs[0].utc.claims {
                let at = |when: usize| {
                    let of = |end: &TimeBase, from: &str| {
                        let same = end.utc.claims.iter().find(|claim| claim.from == from);
                        same.filter(|claim| claim.is_about_wall()).and_then(|one| one.bound_ns)
                    };
                    let (ours, theirs) = (&self.ours[when], &self.theirs[when]);
                    let bounds = of(ours, &our.from)?.saturating_add(of(theirs, &their.from)?);
                    let readings = ours.wall.bound_ns.saturating_add(theirs.wall.bound_ns);
                    Some(bounds.saturating_add(readings))
                };
                if let (Some(before), Some(after)) = (at(0), at(1)) {
                    claims.push((joined(&our.from, &their.from), before.max(after)));
                }
            }
        }
        claims
    }

    /// A stamp of theirs on our clock, ns; 0 if it is before our clock's beginning.
    pub fn ours_ns(&self, theirs_ns: u64) -> u64 {
        let [theirs, their_wall] = scales(&self.theirs);
        let [ours, our_wall] = scales(&self.ours);
        let at_ns = on_line(our_wall, ours, on_line(theirs, their_wall, theirs_ns.into()));
        u64::try_from(at_ns).unwrap_or(0)
    }
}

fn joined(ours: &str, theirs: &str) -> String {
    if ours == theirs { ours.to_owned() } else { format!("{ours} and {theirs}") }
}

/// The two readings of an end, on its clock and on its wall clock.
fn scales([before, after]: &[TimeBase; 2]) -> [[u64; 2]; 2] {
    let (before, after) = (before.wall, after.wall);
    [[before.clock_ns, after.clock_ns], [before.wall_ns, after.wall_ns]]
}

/// Converts `at` from the first scale to the second, through two moments known on both. Rounds to
/// the nearest.
pub(crate) fn on_line(from: [u64; 2], to: [u64; 2], at: i128) -> i128 {
    let [from, to] = [from, to].map(|ends| ends.map(i128::from));
    let (length, rise) = (from[1] - from[0], to[1] - to[0]);
    // Within some centuries of the readings nothing saturates.
    let product = at.saturating_sub(from[0]).saturating_mul(rise);
    (product.saturating_add(product.signum() * (length / 2)) / length).saturating_add(to[0])
}

/// Why a one-way figure between two clocks can't be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OneWayError {
    /// The distance of the clocks is unknown.
    #[error(
        "the distance of the two machines' clocks is unknown, and a one-way figure between them needs it: \
         run chrony on both, show it as an interval (--one-way bracket), or measure the round trip"
    )]
    Unknown,
    /// The distance of the clocks may exceed a tenth of the figure.
    #[error(
        "the clocks may be {bound_ns} ns apart, more than a tenth of the one-way figure of {figure_ns} ns: discipline them \
         better (PTP), show it as an interval (--one-way bracket), or measure the round trip"
    )]
    TooWide {
        /// The figure.
        figure_ns: u64,
        /// Largest distance of the clocks.
        bound_ns: u64,
    },
}

/// The clocks may be apart by a tenth of the figure at most.
const BOUND_SHARE: u64 = 10;

/// Checks a one-way figure with one stamp from each of two clocks that are at most `bound_ns` apart
/// (`None` if unknown). With one clock the bound is 0 and every figure passes.
///
/// # Errors
/// The reason why the figure can't be given.
pub fn one_way(figure_ns: u64, bound_ns: Option<u64>) -> Result<(), OneWayError> {
    match bound_ns {
        None => Err(OneWayError::Unknown),
        Some(bound_ns) if bound_ns > figure_ns / BOUND_SHARE => {
            Err(OneWayError::TooWide { figure_ns, bound_ns })
        }
        Some(_) => Ok(()),
    }
}

#[cfg(test)]
#[path = "time_base_tests.rs"]
mod tests;
