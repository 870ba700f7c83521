//! A fan-out: losses, ranks and the hold of one run.

use crate::between::HostClocks;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One run of a source and its subscribers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FanOutRun {
    /// The order of sending: `fixed`, `rotating`, `random`; empty: that of a replicator which ran
    /// already.
    pub order: String,
    /// Messages that the source sent.
    pub messages: u64,
    /// The part of these that reached every subscriber. Only they have a first, a median and a last
    /// arrival, and ranks.
    pub whole: u64,
    /// Messages that the replicator received, warm-up included; `None`: it did not say.
    pub replicated: Option<u64>,
    /// Messages that the kernel dropped in front of the replicator, whose receive buffer was full;
    /// `None`: it does not say.
    pub dropped_before: Option<u64>,
    /// Copies that the kernel did not take from the replicator; `None`: it did not say.
    pub dropped_in: Option<u64>,
    /// Copies that the kernel dropped in front of subscribers, whose receive buffers were full;
    /// `None`: it does not say.
    pub dropped_after: Option<u64>,
    /// The share of messages that is to reach everybody at once.
    pub fair: f64,
    /// The smallest hold with which that share does, ns; `None`: too many messages were lost.
    pub hold_ns: Option<u64>,
    /// Mean time that this hold adds to a copy, ns.
    pub held_ns_mean: Option<f64>,
    /// Copies that arrive after it.
    pub late: Option<u64>,
    /// The hold that was applied; `None`: nothing was held.
    pub held: Option<FanOutHeld>,
    /// The subscribers, in the order in which they registered.
    pub subscribers: Vec<FanOutSubscriber>,
    /// The clocks of subscribers on other hosts; `None`: source and subscribers have one clock, and
    /// their figures are exact.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hosts: Option<FanOutHosts>,
}

/// The clocks of several hosts, and how far they leave a fan-out's figures open. The figures are by
/// the middle of what each arrival can have been.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FanOutHosts {
    /// The ends that have the subscribers, in the order of the scenario; then the one on the
    /// replicator's host, if there is one, which has none.
    pub ends: Vec<FanOutEnd>,
    /// By how much the spread of a message can differ from its figure at most, ns; `None`: no
    /// message has one.
    pub spread_error_ns: Option<u64>,
    /// The least and the most that the median of the spreads can be, ns.
    pub spread_ns_p50: Option<[u64; 2]>,
    /// The same of the 99th percentile.
    pub spread_ns_p99: Option<[u64; 2]>,
    /// Whole messages of which two copies certainly arrived at different times. The spread of all
    /// others is within what the clocks leave open, so it may be 0.
    pub resolved: u64,
    /// Whole messages of which no subscriber was certainly first. They count as nobody's.
    pub first_not_judged: u64,
    /// Whole messages of which no subscriber was certainly last.
    pub last_not_judged: u64,
    /// Largest error of the values of each series, either way, ns; by its tag, such as
    /// `last.service`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub errors_ns: BTreeMap<String, u64>,
}

/// An end on another host, and its clock.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FanOutEnd {
    /// As the scenario names it.
    pub host: String,
    /// Its subscribers. They have the numbers behind those of the ends before it.
    pub subscribers: u64,
    /// Copies that arrived.
    pub received: u64,
    /// Arrived copies that have no place on the source's clock, because the offset of the clocks is
    /// unknown then.
    pub unplaced: u64,
    /// How often its wall clock was set during the run.
    pub clock_steps: u64,
    /// Largest error of its kernel's stamps on its own clock, ns.
    pub stamp_error_ns: u64,
    /// Largest error of an arrival on the source's clock, either way, ns; `None`: none has a place.
    pub arrival_error_ns: Option<u64>,
    /// Probes of its clock that were not answered.
    pub probes_lost: u64,
    /// The offset of its clock against the source's.
    pub between: HostClocks,
}

/// A hold that was applied: each copy was handed on at its message's release, a fixed time after
/// sending, or when it came if that was later.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FanOutHeld {
    /// The hold, ns after sending; `None`: the search found none that is long enough, since too
    /// many messages were lost, and nothing was held.
    pub hold_ns: Option<u64>,
    /// Messages of the search, sent before the measured ones and not held; `None`: the scenario
    /// names the hold.
    pub searched: Option<u64>,
    /// Measured messages of which every copy arrived by the release: everybody got them at once.
    pub simultaneous: u64,
    /// Measured copies that arrived after the release.
    pub late: u64,
}

/// One subscriber in one run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FanOutSubscriber {
    /// Copies that arrived.
    pub received: u64,
    /// Copies that did not.
    pub lost: u64,
    /// Whole messages of which it got the first copy.
    pub first: u64,
    /// Whole messages of which it got the last copy.
    pub last: u64,
}
