//! Disturbances of the measured cores and their causes: the part `noise` of a run record.

use serde::{Deserialize, Serialize};

/// Disturbances that the gap meter saw on idle cores, or that the kernel's events showed during
/// runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Noise {
    /// Each measured core.
    pub cores: Vec<Core>,
    /// The causes that took the time, over all cores, the largest first. Their lost times add up to
    /// the cores'.
    pub causes: Vec<Cause>,
    /// During runs, time that others took from the subjects' cores, by the kernel's events only.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub under_load: Vec<Cause>,
    /// Quality of the attribution.
    pub attribution: Attribution,
    /// The longest gaps, the longest first.
    pub longest: Vec<Stall>,
}

/// Gaps that a spinning thread saw on one core.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Core {
    /// Its number.
    pub core: usize,
    /// Duration of the measurement.
    pub seconds: f64,
    /// Number of clock readings ("looks").
    pub looks: u64,
    /// The usual time from look to look, ns: the meter's resolution.
    pub look_ns: f64,
    /// A longer time from look to look is a gap, ns.
    pub gap_from_ns: u64,
    /// Number of gaps.
    pub gaps: u64,
    /// Gaps that were counted but not kept: they have no cause and are not in the log.
    pub gaps_not_kept: u64,
    /// Gaps of at least 1 us.
    pub gaps_1us: u64,
    /// Gaps of at least 10 us.
    pub gaps_10us: u64,
    /// Gaps of at least 100 us.
    pub gaps_100us: u64,
    /// Gaps of at least 1 ms.
    pub gaps_1ms: u64,
    /// The longest, ns.
    pub max_ns: u64,
    /// Total of the gaps, less a usual look each, ns.
    pub lost_ns: u64,
    /// Rest of the thread's time after usual looks and gaps, ns: from looks that took a little
    /// longer than usual; below 0 if they were shorter.
    pub unaccounted_ns: i64,
}

/// One cause of lost time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Cause {
    /// Its id, as docs/METHODOLOGY.md lists them: `tick`, `thread.NAME`, `host`, …
    pub cause: String,
    /// Gaps, or parts of gaps.
    pub count: u64,
    /// Total time, ns.
    pub lost_ns: u64,
    /// Share of all lost time.
    pub share: f64,
    /// The median length, ns; `None` if there are too few.
    pub p50_ns: Option<u64>,
    /// The longest, ns.
    pub max_ns: u64,
    /// Period on the core with most of them, ns; `None` if they are not periodic.
    pub period_ns: Option<u64>,
    /// The share of them with this period.
    pub period_share: f64,
    /// Possible source of this period.
    pub period_is: Option<PeriodSource>,
}

/// Possible source of a period.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PeriodSource {
    /// The tick of this kernel (`CONFIG_HZ`).
    OurTick,
    /// No event of this kernel, but a typical tick period: the host's tick.
    HostTick,
}

/// Quality of the attribution.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Attribution {
    /// Whether the kernel's events were read.
    pub traced: bool,
    /// Causes that could not be found, why, and what to do, a sentence each.
    pub missing: Vec<String>,
    /// Records of the kernel that were read.
    pub events: u64,
    /// Records lost because the kernel's buffer was full; the time around them is `untraced`.
    pub events_lost: u64,
    /// Share of the kernel's events longer than a gap that begin in a gap: near 1 if both use the
    /// same timeline.
    pub aligned_share: Option<f64>,
    /// The same cores with and without tracing, in turns: the overhead of tracing.
    pub cost: Option<Cost>,
}

/// Overhead of tracing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Cost {
    /// Without tracing.
    pub off: Stretch,
    /// With tracing.
    pub on: Stretch,
}

/// Gaps of some stretches, all cores together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Stretch {
    /// Core seconds.
    pub seconds: f64,
    /// Gaps.
    pub gaps: u64,
    /// Total time, ns.
    pub lost_ns: u64,
    /// The median gap, ns; `None` if there are too few.
    pub p50_ns: Option<u64>,
}

/// One long gap.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Stall {
    /// The core.
    pub core: usize,
    /// The run, from 1; 0 outside of runs.
    pub run: u32,
    /// The measured subject; empty if only the meter ran.
    pub subject: String,
    /// Its begin: seconds after the start of the meter or of the subject's processes.
    pub at_seconds: f64,
    /// Its begin, seconds since the Unix epoch, as in the logs.
    pub at_unix_seconds: f64,
    /// Its length, ns.
    pub length_ns: u64,
    /// Its causes, the longest first.
    pub parts: Vec<GapPart>,
}

/// A part of a gap.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "Part"))]
#[serde(default)]
pub struct GapPart {
    /// Its cause.
    pub cause: String,
    /// Its length, ns.
    pub length_ns: u64,
}
