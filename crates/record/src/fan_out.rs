//! A fan-out: losses, ranks and the hold of one run.

use serde::{Deserialize, Serialize};

/// One run of a source and its subscribers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FanOutRun {
    /// The order of sending: `fixed`, `rotating`, `random`.
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
