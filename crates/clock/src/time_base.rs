//! Two clocks on two machines: how stamps of the one are laid on the other, and what may be said
//! of a way between them.

use crate::utc::Utc;
use crate::{Clock, Pair};
use serde::{Deserialize, Serialize};

/// By what one end of a way stamps: enough to say how its stamps lie beside another end's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimeBase {
    /// Which boot of which machine; empty if it can't be read.
    pub boot_id: String,
    /// The clock of all its stamps.
    pub clock: Clock,
    /// That clock beside the machine's wall clock.
    pub wall: Pair,
    /// How far the wall clock may be off UTC.
    pub utc: Utc,
}

impl TimeBase {
    /// Whether it is of this boot of this machine. Two that don't say who they are may be two.
    pub fn is_of(&self, boot_id: &str) -> bool {
        !boot_id.is_empty() && self.boot_id == boot_id
    }
}

/// From the stamps of another clock to ours, by way of the wall clocks, which both ends read
/// before and after a run.
///
/// Each end's counter is a line over its wall clock, through those two readings. Where both
/// readings are within a bound of UTC, so is the line between them, however the wall clock was
/// slewed meanwhile: what is assumed is that the counter itself runs straight. A crystal whose
/// rate changes by 0.01 parts in a million within a run is off by 0.6 us after a minute, which no
/// bound contains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bridge {
    /// Before and after.
    ours: [TimeBase; 2],
    theirs: [TimeBase; 2],
}

impl Bridge {
    /// `None` if an end's clock changed between the readings: it is another process, or another
    /// boot.
    pub fn new(ours: [TimeBase; 2], theirs: [TimeBase; 2]) -> Option<Bridge> {
        let stays = |[before, after]: &[TimeBase; 2]| {
            before.clock == after.clock
                && before.boot_id == after.boot_id
                && before.wall.clock_ns < after.wall.clock_ns
                && before.wall.wall_ns < after.wall.wall_ns
        };
        (stays(&ours) && stays(&theirs)).then_some(Bridge { ours, theirs })
    }

    /// By how much a stamp that was laid on our clock may be off, and who says so; `None`: nobody
    /// knows.
    pub fn bound(&self) -> (Option<u64>, String) {
        let (ours, theirs) = (&self.ours, &self.theirs);
        let readings_ns =
            |when: usize| ours[when].wall.bound_ns.saturating_add(theirs[when].wall.bound_ns);
        if ours[0].is_of(&theirs[0].boot_id) {
            // One wall clock, whatever it shows.
            return (Some(readings_ns(0).max(readings_ns(1))), "same machine".to_owned());
        }
        let apart_ns = |when: usize| {
            let utc_ns = ours[when].utc.bound_ns?.saturating_add(theirs[when].utc.bound_ns?);
            Some(utc_ns.saturating_add(readings_ns(when)))
        };
        let bound_ns = apart_ns(0).zip(apart_ns(1)).map(|(before, after)| before.max(after));
        let (ours, theirs) = (&ours[0].utc.from, &theirs[0].utc.from);
        let from = match (bound_ns, ours == theirs) {
            (None, _) => String::new(),
            (Some(_), true) => ours.clone(),
            (Some(_), false) => format!("{ours} and {theirs}"),
        };
        (bound_ns, from)
    }

    /// The moment on our clock, ns, of a stamp of theirs; 0 for what lies before our clock's
    /// beginning.
    pub fn ours_ns(&self, theirs_ns: u64) -> u64 {
        let [theirs, their_wall] = scales(&self.theirs);
        let [ours, our_wall] = scales(&self.ours);
        let at_ns = on_line(our_wall, ours, on_line(theirs, their_wall, theirs_ns.into()));
        u64::try_from(at_ns).unwrap_or(0)
    }
}

/// The two moments of an end, on its clock and on its wall clock.
fn scales([before, after]: &[TimeBase; 2]) -> [[u64; 2]; 2] {
    let (before, after) = (before.wall, after.wall);
    [[before.clock_ns, after.clock_ns], [before.wall_ns, after.wall_ns]]
}

/// Where `at` of the first scale lies on the second, of which two moments are known on both.
/// Rounded to the nearest.
fn on_line(from: [u64; 2], to: [u64; 2], at: i128) -> i128 {
    let [from, to] = [from, to].map(|ends| ends.map(i128::from));
    let (length, rise) = (from[1] - from[0], to[1] - to[0]);
    // Within some centuries of the readings nothing saturates.
    let product = at.saturating_sub(from[0]).saturating_mul(rise);
    (product.saturating_add(product.signum() * (length / 2)) / length).saturating_add(to[0])
}

/// A one-way figure between two clocks that does not stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OneWayRefused {
    /// Nobody knows how far the clocks are apart.
    #[error(
        "a one-way figure between two machines needs to know how far their clocks are apart, and nobody says so: \
         run chrony on both, or measure the round trip"
    )]
    Unknown,
    /// The clocks may be further apart than a tenth of the figure.
    #[error(
        "the clocks may be {bound_ns} ns apart, more than a tenth of the one-way figure of {figure_ns} ns: discipline them \
         better (PTP), or measure the round trip"
    )]
    TooWide {
        /// The figure.
        figure_ns: u64,
        /// How far they may be apart.
        bound_ns: u64,
    },
}

/// A figure stands if the clocks are apart by a tenth of it at most.
const BOUND_SHARE: u64 = 10;

/// Whether a one-way figure stands, of which one stamp is from each of two clocks that may be
/// `bound_ns` apart; `None`: nobody knows how far. On one clock the bound is 0, and every figure
/// stands.
///
/// # Errors
/// It does not, and why.
pub fn one_way(figure_ns: u64, bound_ns: Option<u64>) -> Result<(), OneWayRefused> {
    match bound_ns {
        None => Err(OneWayRefused::Unknown),
        Some(bound_ns) if bound_ns > figure_ns / BOUND_SHARE => {
            Err(OneWayRefused::TooWide { figure_ns, bound_ns })
        }
        Some(_) => Ok(()),
    }
}

#[cfg(test)]
#[path = "time_base_tests.rs"]
mod tests;
