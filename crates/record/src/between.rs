//! The clocks of two hosts in a run between them: what the datagrams between them prove about the
//! offset, what symmetric paths would make of it, and what the keepers of the clocks claim.
//!
//! An **offset** is the other end's clock minus the client's. docs/METHODOLOGY.md, "Clocks between
//! hosts", says how it is found.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One run between two clocks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "Between"))]
#[serde(default)]
pub struct HostClocks {
    /// Messages with their replies, of which each has four stamps: sent, received, replied,
    /// returned.
    pub probes: u64,
    /// Source of those nearest to the wire: `application`, next to the system calls; `software`, by
    /// the kernels; `hardware`, also by the client's card. The figures themselves are always by the
    /// first.
    pub stamps: String,
    /// Number of the kernels' stamps of each point, in the order above; the application's stand for
    /// those that are missing or late.
    pub kernel_stamps: [u64; 4],
    /// Number of stamps of the client's card: sent, returned. They need a PTP clock of the card
    /// that tickpath may read.
    pub card_stamps: [u64; 2],
    /// Identify the clocks of the client and of the other end: machine, boot and calibration. Empty
    /// if they are unknown.
    pub clocks: [String; 2],
    /// The instant in the middle of the run, ns on the client's clock.
    pub at_ns: u64,
    /// The offset by which stamps were converted at that instant, ns; `None` if unknown.
    pub offset_ns: Option<i64>,
    /// The offset that no delay below zero leaves; `None` without a probe, or if the probes
    /// contradict the bound of the drift.
    pub bracket: Option<OffsetBracket>,
    /// The offset if both directions take equally long, which nothing proves; `None` where the run
    /// was too short.
    pub estimate: Option<OffsetEstimate>,
    /// The offset by the wall clocks of both ends, for each program that states how far one is from
    /// UTC.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<OffsetClaim>,
    /// Largest error of a stamp of the other end on the client's clock, ns; `None` if unknown.
    pub error_ns: Option<u64>,
    /// Source of that: `bracket`, `chrony`, or both; empty if unknown.
    pub error_from: String,
    /// For each series with a stamp of either clock that is given, by its tag such as
    /// `forward.service`: the largest error of its values, either way, ns.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub errors_ns: BTreeMap<String, u64>,
    /// Series that are left out, and why.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub withheld: BTreeMap<String, String>,
}

/// The bracket over a run. It assumes a bounded drift, and not that paths are symmetric.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct OffsetBracket {
    /// Lowest and highest offset in the middle of the run, ns.
    pub offset_ns: [i64; 2],
    /// Width at the median and at the widest of the instants that were looked at, ns.
    pub width_ns_p50: u64,
    /// See `width_ns_p50`.
    pub width_ns_max: u64,
    /// Windows, within each of which the drift is steady enough for one set of clock lines.
    pub windows: u64,
    /// Windows whose probes contradict the bound of the drift.
    pub windows_contradicted: u64,
    /// Steps of either clock that the probes showed.
    pub steps: u64,
    /// Lowest and highest drift over all windows, parts per million.
    pub drift_ppm: Option<[f64; 2]>,
    /// Smallest round trip without the time at the other end, ns: the longest that it can have
    /// been, since the other end's clock measured that time.
    pub round_trip_ns_min: Option<i64>,
}

/// The estimate over a run. Where paths are asymmetric it is wrong by half the difference, and its
/// interval doesn't say so.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct OffsetEstimate {
    /// The assumption: `symmetric paths`.
    pub assumes: String,
    /// Source of the stamps, as in `between`: of one kind at all four points.
    pub stamps: String,
    /// Offset in the window in the middle, ns.
    pub offset_ns: i64,
    /// Its 95 % interval, from how batches of the window differ from a line, ns.
    pub interval_ns: [i64; 2],
    /// Drift in that window, parts per million.
    pub drift_ppm: f64,
    /// Windows of the run with an estimate.
    pub windows: u64,
    /// How much the clocks wander against each other from window to window: a robust sigma, ns.
    /// `None` below five windows.
    pub wander_ns: Option<f64>,
}

/// An offset that the keepers of both wall clocks claim.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct OffsetClaim {
    /// The keepers: `chrony`, or `chrony and ClockBound` for the client's and the other end's.
    pub from: String,
    /// Lowest and highest offset in the middle of the run, ns.
    pub offset_ns: [i64; 2],
    /// How the bracket contradicts it, in words; empty if it doesn't.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub contradicted: String,
}
