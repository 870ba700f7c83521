//! The share of a series that was disturbed, and by what.

use serde::{Deserialize, Serialize};

/// Share of a series' messages in one run that anything except the subject disturbed, and its
/// parts. Shares are from 0 to 1; docs/METHODOLOGY.md defines each. `None` is not measured, which
/// is not 0; records of before schema 3 have 0 there.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct DisturbedShare {
    /// All parts that are known together, at most 1; `None` if the share is unknown.
    pub share: Option<f64>,
    /// Messages that the pacer sent late, 0 without a schedule; `None` if a schedule's log has no
    /// lateness.
    pub late: Option<f64>,
    /// Messages that were due, waiting or under way while another thread had a measured core.
    pub preempted: Option<f64>,
    /// Messages that a page fault of a measured thread hit.
    pub faulted: Option<f64>,
    /// Messages hit by an interrupt or by the hypervisor, from the idle checks around the run and
    /// from steal time during it; `None` if a measured core had no idle check (`hiccup_seconds =
    /// 0`). Time that was stolen then still counts in `share`.
    pub interrupted: Option<f64>,
    /// Why the share is unknown; empty if it is known.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub unknown: String,
}

/// The program, or other cause, that took most of the measured cores' time from the main series.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Disturber {
    /// Its name: `thread.NAME`, `hypervisor or interrupts`, …
    pub name: String,
    /// The cores that it took.
    pub cores: Vec<usize>,
    /// Largest share of a core's measured time that it took, 0 to 1.
    pub time_share: f64,
    /// Number of times it ran, all runs.
    pub times: u64,
    /// The longest of these times, ns.
    pub longest_ns: u64,
    /// How to remove it.
    pub remedy: String,
}

impl DisturbedShare {
    /// No message was disturbed.
    pub const NONE: DisturbedShare = DisturbedShare {
        share: Some(0.0),
        late: Some(0.0),
        preempted: Some(0.0),
        faulted: Some(0.0),
        interrupted: Some(0.0),
        unknown: String::new(),
    };

    /// It can't be judged, for this reason.
    pub fn not_known(why: impl Into<String>) -> DisturbedShare {
        DisturbedShare { unknown: why.into(), ..DisturbedShare::default() }
    }

    /// The share, if it is known.
    pub fn known(&self) -> Option<f64> {
        self.share.filter(|_| self.unknown.is_empty())
    }

    /// Why it is not known.
    pub(crate) fn why_not_known(&self) -> String {
        match self.unknown.is_empty() {
            true => "the record does not give its disturbed share".to_owned(),
            false => self.unknown.clone(),
        }
    }
}
