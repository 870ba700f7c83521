//! How far a wall clock may be off UTC, and how good the time was by which a run was stamped.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How far this machine's wall clock may be off UTC, and who says so.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Utc {
    /// At most so far, ns; `None`: nobody knows.
    pub bound_ns: Option<u64>,
    /// The source: `chrony`, or empty.
    pub from: String,
    /// Why nobody knows; empty where somebody does.
    pub why: String,
    /// The PTP hardware clocks of this machine, by name. How far the wall clock is off them only
    /// who disciplines it knows.
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

/// Fields of a line of `chronyc -c tracking` (client.c of chrony 4.3): reference id, its name,
/// stratum, reference time, system time's offset, last offset, RMS offset, frequency, residual
/// frequency, skew, root delay, root dispersion, update interval, leap status.
const CHRONY_FIELDS: usize = 14;
/// The reference id of the `local` directive, 127.127.1.1.
const CHRONY_LOCAL: &str = "7F7F0101";
/// A bound beyond this, an hour, is none.
const BOUND_SECONDS_MAX: f64 = 3600.0;

/// The bound, ns, by what `chronyc -n -c tracking` printed: the offset that is being corrected,
/// and root dispersion, and half of the root delay (chronyc(1), "tracking"), assuming that the
/// stratum-1 server is right.
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
    // A whole number of nanoseconds as a decimal is not quite whole in binary.
    Ok((bound * 1e9 - 1e-3).ceil() as u64)
}

/// How good the time is by which both ends stamp.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Time {
    /// Both ends are on one machine and read one counter: differences between their stamps are
    /// exact.
    pub same_clock: bool,
    /// By how much a stamp of the kernel's may be off the trader's clock, ns.
    pub kernel_bound_ns: u64,
    /// By how much the exchange's clock may be off the trader's, ns: 0 on one machine; `None` if
    /// nobody knows.
    pub exchange_bound_ns: Option<u64>,
    /// Where the bound comes from: `same machine`, `chrony`, or empty.
    pub bound_from: String,
    /// Series from one clock to the other that are not given, and why: the clocks may be further
    /// apart than a tenth of their p50, or nobody knows how far.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub refused: BTreeMap<String, String>,
    /// Which boot of which machine the trader ran in; empty if it could not be read.
    pub boot_id: String,
    /// By how much the trader's clock ran faster than CLOCK_MONOTONIC_RAW over the run, in parts
    /// in a million: the error of its calibration.
    pub rate_off_ppm: Option<f64>,
    /// How often somebody set the wall clock meanwhile: stamps of the kernel's around it are wrong
    /// by as much.
    pub wall_steps: u64,
    /// How far the trader's wall clock may be off UTC.
    pub utc: Utc,
}

#[cfg(test)]
#[path = "utc_tests.rs"]
mod tests;
