//! How far a wall clock may be off UTC, and what may be said of a way from one machine to another.

use crate::clock::{Clock, Pair};
use serde::{Deserialize, Serialize};

/// How far this machine's wall clock may be off UTC, and who says so.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Utc {
    /// At most so far, ns; `None`: nobody knows.
    pub bound_ns: Option<u64>,
    /// Who says so: `chrony`, or empty.
    pub from: String,
    /// Why nobody knows; empty where somebody does.
    pub why: String,
    /// The PTP hardware clocks of this machine, by name. How far the wall clock is off them only who disciplines it knows.
    pub ptp_clocks: Vec<String>,
}

/// Why chrony's word gives no bound.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChronyError {
    /// It is not what `chronyc -n -c tracking` prints.
    #[error("`chronyc -c tracking` printed {0:?}, which is not its 14 fields")]
    Unreadable(String),
    /// It follows nobody.
    #[error("chrony is not synchronised")]
    NotSynchronised,
    /// It follows itself.
    #[error("chrony follows this machine's own clock (`local`)")]
    Local,
}

/// Fields of a line of `chronyc -c tracking` (client.c of chrony 4.3): reference id, its name, stratum, reference time, system time's offset, last
/// offset, RMS offset, frequency, residual frequency, skew, root delay, root dispersion, update interval, leap status.
const CHRONY_FIELDS: usize = 14;
/// The reference id of the `local` directive, 127.127.1.1.
const CHRONY_LOCAL: &str = "7F7F0101";
/// A bound beyond this, an hour, is none.
const BOUND_SECONDS_MAX: f64 = 3600.0;

/// The bound, ns, by what `chronyc -n -c tracking` printed: the offset that is being corrected, and root dispersion, and half of the root delay
/// (chronyc(1), "tracking"), assuming that the stratum-1 server is right.
///
/// # Errors
/// If the text is something else, or chrony follows nobody but itself.
pub fn chrony_bound_ns(tracking: &str) -> Result<u64, ChronyError> {
    let unreadable = || ChronyError::Unreadable(tracking.trim().chars().take(200).collect());
    let fields: Vec<&str> = tracking.trim().split(',').collect();
    if fields.len() != CHRONY_FIELDS {
        return Err(unreadable());
    }
    if fields[13] == "Not synchronised" || fields[2] == "0" {
        return Err(ChronyError::NotSynchronised);
    }
    if fields[0] == CHRONY_LOCAL {
        return Err(ChronyError::Local);
    }
    let seconds = |field: usize| fields[field].parse::<f64>().map_err(|_| unreadable());
    let (offset, delay, dispersion) = (seconds(4)?, seconds(10)?, seconds(11)?);
    let bound = offset.abs() + dispersion + delay / 2.0;
    if !(delay >= 0.0 && dispersion >= 0.0 && bound <= BOUND_SECONDS_MAX) {
        return Err(unreadable());
    }
    // What is written in whole nanoseconds is not quite whole in binary.
    Ok((bound * 1e9 - 1e-3).ceil() as u64)
}

/// How good the time is by which both ends stamp.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Time {
    /// Both ends are on one machine and read one counter: differences between their stamps are exact.
    pub same_clock: bool,
    /// By how much a stamp of the kernel's may be off the trader's clock, ns.
    pub kernel_bound_ns: u64,
    /// By how much the exchange's clock may be off the trader's, ns: 0 on one machine; `None` if nobody knows.
    pub exchange_bound_ns: Option<u64>,
    /// Where the bound comes from: `same machine`, `chrony`, or empty.
    pub bound_from: String,
    /// Which boot of which machine the trader ran in; empty if it could not be read.
    pub boot_id: String,
    /// By how much the trader's clock ran faster than CLOCK_MONOTONIC_RAW over the run, in parts in a million: the error of its calibration.
    pub rate_off_ppm: Option<f64>,
    /// How often somebody set the wall clock meanwhile: stamps of the kernel's around it are wrong by as much.
    pub wall_steps: u64,
    /// How far the trader's wall clock may be off UTC.
    pub utc: Utc,
}

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
    /// Whether differences between stamps of both are exact: one machine, one boot, one calibration.
    pub fn is_same_as(&self, other: &TimeBase) -> bool {
        self.is_same_machine(other) && self.clock == other.clock
    }

    fn is_same_machine(&self, other: &TimeBase) -> bool {
        !self.boot_id.is_empty() && self.boot_id == other.boot_id
    }

    /// By how much a stamp of `theirs`, laid on our clock by way of the wall clocks, may be off at the time of their readings, and who says so.
    /// Where both are the same nothing has to be laid anywhere.
    pub fn beside(&self, theirs: &TimeBase) -> Time {
        let pairs_ns = self.wall.bound_ns + theirs.wall.bound_ns;
        let (exchange_bound_ns, bound_from) = if self.is_same_as(theirs) {
            (Some(0), "same machine".to_owned())
        } else if self.is_same_machine(theirs) {
            // One wall clock, whatever it shows.
            (Some(pairs_ns), "same machine".to_owned())
        } else {
            match (self.utc.bound_ns, theirs.utc.bound_ns) {
                (Some(ours), Some(other)) => {
                    let from = match self.utc.from == theirs.utc.from {
                        true => self.utc.from.clone(),
                        false => format!("{} and {}", self.utc.from, theirs.utc.from),
                    };
                    (Some(ours.saturating_add(other).saturating_add(pairs_ns)), from)
                }
                _ => (None, String::new()),
            }
        };
        let same_clock = self.is_same_as(theirs);
        Time { same_clock, exchange_bound_ns, bound_from, ..Time::default() }
    }
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

/// Whether a one-way figure stands, of which one stamp is from each of two clocks that may be `bound_ns` apart; `None`: nobody knows how far.
/// On one clock the bound is 0, and every figure stands.
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
#[path = "utc_tests.rs"]
mod tests;
