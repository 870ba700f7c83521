//! Distance of a wall clock from UTC, and the quality of the clocks that stamped a run.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Largest distance of this machine's wall clock from UTC, and its source.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Utc {
    /// Upper bound, ns; `None` if unknown.
    pub bound_ns: Option<u64>,
    /// The source: `chrony`, `ClockBound`, or empty.
    pub from: String,
    /// Why the bound is unknown; empty if it is known.
    pub why: String,
    /// PTP hardware clocks of this machine, by name. Only the program that disciplines the wall
    /// clock knows how far it is from them.
    pub ptp_clocks: Vec<String>,
    /// The bounds of all programs and drivers that state one; `bound_ns` is the tightest of those
    /// about the wall clock.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<Claim>,
}

/// A bound that a program or a driver states.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Claim {
    /// `chrony`, `ClockBound`, or `phc_error_bound` of an interface, which is about its card's
    /// clock and not about the wall clock.
    pub from: String,
    /// Upper bound, ns; `None` if it states none.
    pub bound_ns: Option<u64>,
    /// Why it states none; empty if it does.
    pub why: String,
}

impl Claim {
    /// Whether it is about the wall clock, not about that of a card.
    pub fn is_about_wall(&self) -> bool {
        !self.from.starts_with("phc_error_bound")
    }

    /// A claim, or why there is none.
    pub fn of(from: &str, bound_ns: Result<u64, String>) -> Claim {
        let from = from.to_owned();
        match bound_ns {
            Ok(bound_ns) => Claim { from, bound_ns: Some(bound_ns), why: String::new() },
            Err(why) => Claim { from, bound_ns: None, why },
        }
    }
}

/// Why chrony's output gives no bound.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChronyError {
    /// The text is not what `chronyc -n -c tracking` prints.
    #[error("`chronyc -c tracking` printed {0:?}, which is not its 14 fields")]
    Unreadable(String),
    /// chrony has no source.
    #[error("chrony is not synchronised")]
    NotSynchronised,
    /// chrony follows a card's clock, whose own error is not in its bound.
    #[error(
        "chrony follows a PTP hardware clock and doesn't know how far that is from UTC, and no driver states it \
         (phc_error_bound)"
    )]
    Phc,
    /// chrony's only source is its own clock.
    #[error("chrony follows this machine's own clock (`local`)")]
    Local,
}

/// Fields of a line of `chronyc -c tracking` (client.c of chrony 4.3): reference id, its name,
/// stratum, reference time, system time's offset, last offset, RMS offset, frequency, residual
/// frequency, skew, root delay, root dispersion, update interval, leap status.
const CHRONY_FIELDS: usize = 14;
/// The reference id of the `local` directive, 127.127.1.1.
const CHRONY_LOCAL: &str = "7F7F0101";
/// The reference id of a PTP hardware clock, `PHC0` to `PHC9` in hexadecimal digits, without the
/// last two.
const CHRONY_PHC: &str = "504843";
/// A larger bound, above one hour, counts as unknown.
const BOUND_SECONDS_MAX: f64 = 3600.0;

/// The bound, ns, from the output of `chronyc -n -c tracking`: the remaining offset, the root
/// dispersion, and half of the root delay (chronyc(1), "tracking"). Assumes that the stratum-1
/// server is right. A PTP hardware clock is no such server: its own bound, `phc_error_bound_ns`, is
/// added (Amazon EC2 User Guide: PTP hardware clock error bound).
///
/// # Errors
/// If the text is something else, or chrony has no source but its own clock.
pub fn chrony_bound_ns(
    tracking: &str,
    phc_error_bound_ns: Option<u64>,
) -> Result<u64, ChronyError> {
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
    // A decimal with whole nanoseconds is not quite whole in binary.
    let bound_ns = (bound * 1e9 - 1e-3).ceil() as u64;
    match fields[0].starts_with(CHRONY_PHC) {
        true => Ok(bound_ns.saturating_add(phc_error_bound_ns.ok_or(ChronyError::Phc)?)),
        false => Ok(bound_ns),
    }
}

/// Quality of the clocks by which both ends stamp.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Time {
    /// Both ends are on one machine and read one counter: differences between their stamps are
    /// exact.
    pub same_clock: bool,
    /// Largest error of a kernel stamp on the trader's clock, ns; `None` without kernel stamps.
    pub kernel_bound_ns: Option<u64>,
    /// Largest distance of the exchange's clock from the trader's, ns: 0 on one machine, `None` if
    /// unknown.
    pub exchange_bound_ns: Option<u64>,
    /// Source of the bound: `same machine`, `bracket`, `chrony`, both, or empty.
    pub bound_from: String,
    /// Series between the two clocks that are left out, and why: the clocks may be further apart
    /// than a tenth of the p50, or their distance is unknown.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub refused: BTreeMap<String, String>,
    /// Identifies the boot and machine of the trader; empty if it could not be read.
    pub boot_id: String,
    /// Error of the calibration of the trader's clock, parts per million: by how much it ran faster
    /// than CLOCK_MONOTONIC_RAW over the run.
    pub rate_off_ppm: Option<f64>,
    /// How often the wall clock was set during the run. Kernel stamps around a step are wrong by
    /// its size.
    pub wall_steps: u64,
    /// Largest distance of the trader's wall clock from UTC.
    pub utc: Utc,
}

#[cfg(test)]
#[path = "utc_tests.rs"]
mod tests;
