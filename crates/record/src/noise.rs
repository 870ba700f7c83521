//! What disturbed the measured cores, and who: the part `noise` of a run record.

use serde::{Deserialize, Serialize};

/// What the gap meter saw on the cores, or the kernel's events during the runs told.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Noise {
    /// Each measured core.
    pub cores: Vec<Core>,
    /// The causes that took the time, all cores together; the most first. Their lost times add up
    /// to the cores'.
    pub causes: Vec<Cause>,
    /// While subjects were measured: what others than them took of the cores, by the kernel's
    /// account alone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub under_load: Vec<Cause>,
    /// How well that is known.
    pub attribution: Attribution,
    /// The longest gaps, the longest first.
    pub longest: Vec<Stall>,
}

/// What a spinning thread saw on one core.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Core {
    /// Its number.
    pub core: usize,
    /// How long it was looked at.
    pub seconds: f64,
    /// How often.
    pub looks: u64,
    /// The usual time from look to look, ns: the meter's own resolution.
    pub look_ns: f64,
    /// From look to look longer than this is a gap, ns.
    pub gap_from_ns: u64,
    /// Gaps.
    pub gaps: u64,
    /// Gaps that were counted but not kept: they are in no cause and not in the log.
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
    /// What the gaps took together, without a usual look each, ns.
    pub lost_ns: u64,
    /// What the thread's time exceeds its looks and gaps by, ns: looks a little longer than usual
    /// that are no gaps; below 0 where they were shorter.
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
    /// What they took together, ns.
    pub lost_ns: u64,
    /// That as a share of all lost time.
    pub share: f64,
    /// The median length, ns; `None` where there are too few.
    pub p50_ns: Option<u64>,
    /// The longest, ns.
    pub max_ns: u64,
    /// They come at this distance, ns, on the core that has most of them; `None` where at none.
    pub period_ns: Option<u64>,
    /// The share of them that does.
    pub period_share: f64,
    /// What a period of this length may be.
    pub period_is: Option<PeriodIs>,
}

/// What a period may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PeriodIs {
    /// The tick of this kernel (`CONFIG_HZ`).
    OurTick,
    /// No event of this kernel, at the distance of a kernel's tick: that of the machine below.
    HostTick,
}

/// How well causes are known.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Attribution {
    /// The kernel's events were read.
    pub traced: bool,
    /// What could not be attributed, why, and what to do, a sentence each.
    pub missing: Vec<String>,
    /// Records of the kernel that were read.
    pub events: u64,
    /// Records for which there was no room; the time around them is `untraced`.
    pub events_lost: u64,
    /// Among the kernel's events that are longer than a gap, the share that begins in one: near 1
    /// where both timelines are one.
    pub aligned_share: Option<f64>,
    /// The same cores with and without tracing, in turns: what tracing adds.
    pub cost: Option<Cost>,
}

/// What tracing adds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Cost {
    /// Stretches without it.
    pub off: Stretch,
    /// Stretches with it.
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
    /// What they took together, ns.
    pub lost_ns: u64,
    /// The median gap, ns; `None` where there are too few.
    pub p50_ns: Option<u64>,
}

/// One long gap.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Stall {
    /// The core.
    pub core: usize,
    /// The run, from 1; 0 where there were none.
    pub run: u32,
    /// The subject that was measured then; empty where only the meter was.
    pub subject: String,
    /// When it began: seconds after the meter, or the subject's processes, were started.
    pub at_seconds: f64,
    /// The same, seconds since the Unix epoch, in which the logs state their begin.
    pub at_unix_seconds: f64,
    /// How long it was, ns.
    pub length_ns: u64,
    /// Whose it was, the most first.
    pub parts: Vec<Part>,
}

/// A part of a gap.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Part {
    /// Whose.
    pub cause: String,
    /// How long, ns.
    pub length_ns: u64,
}
