//! `fan-out`: a source, a replicator and its subscribers.

use crate::range::{OutOfRange, require, within};
use crate::tables::fan_out::{ARRIVALS_MAX, MESSAGE_BYTES_MAX, MESSAGE_BYTES_MIN, SUBSCRIBERS_MAX};
use crate::tables::load::check_plain;
use clock::schedule::Arrival;
use host::scheduling::Scheduling;
use serde::{Deserialize, Serialize};
use std::net::{Ipv4Addr, SocketAddrV4};

/// Until the last subscriber has a message.
pub const LAST: &str = "last";
/// Until half of them have it.
pub const MEDIAN: &str = "median";
/// Until the first one has it.
pub const FIRST: &str = "first";
/// Until any one has it: each copy counts.
pub const ARRIVAL: &str = "arrival";
/// From the first arrival to the last.
pub const SPREAD: &str = "spread";
/// From the source to the replicator.
pub const HOP_1: &str = "hop_1";
/// From the replicator's receive call to its send call.
pub const REPLICATOR: &str = "replicator";
/// From that to each arrival.
pub const HOP_2: &str = "hop_2";

/// Until a copy is handed on, with a hold.
pub const RELEASE: &str = "release";
/// From the first hand-over of a message to the last, with a hold.
pub const RELEASE_SPREAD: &str = "release_spread";
/// From a message's release to the arrival of a copy that is late.
pub const LATE: &str = "late";

/// The name of [`ARRIVAL`] at one subscriber, by its number from 1.
pub fn series_of(subscriber: usize) -> String {
    format!("{ARRIVAL}@{subscriber}")
}

/// The plan, JSON on the client's stdin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FanOutPlan {
    /// Name of the subject, for messages and tags.
    pub subject: String,
    /// The address of source and subscribers.
    pub own: Ipv4Addr,
    /// Where the replicator receives the source's messages.
    pub replicator: SocketAddrV4,
    /// Where subscribers register at it.
    pub registration: SocketAddrV4,
    /// Subscribers.
    pub subscribers: usize,
    /// `HOST:PORT` of each end that has subscribers on a host of its own; none: all are here.
    #[serde(default)]
    pub hosts: Vec<String>,
    /// `HOST:PORT` of a further end, on the replicator's host, which says when the replicator had
    /// each message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicator_end: Option<String>,
    /// Length of a message, with its header.
    pub message_bytes: usize,
    /// Messages a second.
    pub rate_per_second: f64,
    /// How they are spread over time.
    pub arrival: Arrival,
    /// Messages of a burst, where arrival is `burst`.
    pub burst: u64,
    /// Seed of random arrivals.
    pub seed: u64,
    /// Sent first, and thrown away.
    pub warm_up_messages: u64,
    /// Measured.
    pub messages: u64,
    /// The share of messages that is to reach everybody at once, for the smallest hold.
    pub fair: f64,
    /// How long after its sending each message is handed on, ns; 0: nothing is held.
    #[serde(default)]
    pub hold_ns: u64,
    /// Messages that are sent first, after a warm-up of their own, to find the smallest hold, which
    /// is then applied; 0: no search.
    #[serde(default)]
    pub search_messages: u64,
    /// Whether the thread polls its sockets instead of sleeping.
    pub spins: bool,
    /// The measuring thread's core; `None`: not pinned.
    pub core: Option<usize>,
    /// Scheduling class of the measuring thread.
    pub scheduling: Scheduling,
    /// The HdrHistogram log to append to.
    pub hlog: String,
}

impl FanOutPlan {
    /// Checks that it can be carried out.
    ///
    /// # Errors
    /// The first key that is out of range, with the values that are allowed.
    pub fn check(&self) -> Result<(), OutOfRange> {
        let bytes = MESSAGE_BYTES_MIN..=MESSAGE_BYTES_MAX;
        within("message_bytes", self.message_bytes, bytes, "a message has {} bytes")?;
        within("subscribers", self.subscribers, 1..=SUBSCRIBERS_MAX, "there are {}")?;
        check_plain("arrival", self.arrival)?;
        let holds = self.hold_ns > 0 || self.search_messages > 0;
        let why = "subscribers on other hosts hold nothing";
        require(self.hosts.is_empty() || !holds, "hold_ns", self.hold_ns, why)?;
        check_arrivals(self.messages, self.subscribers, holds)
    }
}

/// Checks that there is memory for the arrivals of all messages, and with a hold for their
/// releases.
pub(crate) fn check_arrivals(
    messages: u64,
    subscribers: usize,
    holds: bool,
) -> Result<(), OutOfRange> {
    let arrivals = messages.saturating_mul(subscribers as u64);
    let times = arrivals.saturating_mul(1 + u64::from(holds));
    let releases = if holds { ", each with its release" } else { "" };
    let why = format!(
        "{arrivals} copies in one run{releases}, ARRIVALS_MAX is {ARRIVALS_MAX} times, which take \
         400 MB: lower seconds, load.rate_per_second or fan_out.subscribers"
    );
    require(times <= ARRIVALS_MAX, "seconds", messages, why)
}
