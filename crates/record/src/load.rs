//! Messages of a measurement: how many were sent and received, and the additions of some loads.

use serde::{Deserialize, Serialize};

/// Mean length of each message on the stream, frame headers included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct MessageBytes {
    /// An order, bytes.
    pub order: u64,
    /// The order's ack, bytes.
    pub order_reply: u64,
    /// A cancel, bytes.
    pub cancel: u64,
    /// The cancel's ack, bytes.
    pub cancel_reply: u64,
}

/// Additions for requests over datagrams, which may be lost. `lost`, `duplicated` and
/// `out_of_order` of their [`Load`] count the measured part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Datagrams {
    /// Time after which a request without its reply is lost, ns. A lost request is in the series
    /// with the time that was waited for it, so no percentile is one of the survivors.
    pub patience_ns: u64,
    /// Lost requests whose reply came after that time.
    pub late: u64,
}

/// Messages of the measured part that the kernel stamped; their segments are series, each with its
/// own count.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct KernelStamped {
    /// Messages.
    pub messages: u64,
    /// Messages that the network card stamped too, by a clock of its own.
    pub by_card: u64,
    /// Largest error of the card's stamps on our clock, ns, of the worst run; absent if its clock
    /// can't be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub card_bound_ns: Option<u64>,
    /// Largest error of a stamp on our clock, ns; of the worst run.
    pub bound_ns: u64,
    /// How often the wall clock, which the kernel stamps by, was set meanwhile.
    pub clock_steps: u64,
}

impl KernelStamped {
    /// The messages of two runs together.
    pub(crate) fn and(&self, other: &KernelStamped) -> KernelStamped {
        KernelStamped {
            messages: self.messages.saturating_add(other.messages),
            by_card: self.by_card.saturating_add(other.by_card),
            card_bound_ns: self.card_bound_ns.max(other.card_bound_ns),
            bound_ns: self.bound_ns.max(other.bound_ns),
            clock_steps: self.clock_steps.saturating_add(other.clock_steps),
        }
    }

    /// The clocks that stamped: `software`, or `software and hardware`.
    pub fn source(&self) -> &'static str {
        if self.by_card > 0 { "software and hardware" } else { "software" }
    }
}

/// A change to another exchange in mid-run, or the longest time without an answer where an exchange
/// stays and the leader of its cluster is lost, as the client saw it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Outage {
    /// When the client gave up the connection, ns after the start of the measured part. Where the
    /// exchange stays: when its last answer before came.
    pub lost_ns: u64,
    /// From the last answer before to the first answer after, ns; from tick to tick for a trader
    /// that follows a feed. Without any after it, to the end of the run.
    pub silence_ns: u64,
    /// From giving up the connection until logged on at the next exchange, ns.
    pub connecting_ns: u64,
    /// Messages that were written, and not answered by the lost exchange. Where the exchange stays:
    /// all that were sent before its first answer after, and not answered.
    pub unanswered: u64,
    /// Unanswered messages that the next exchange has, or that the one that stays accepts: answered
    /// late.
    pub accepted_late: u64,
    /// Unanswered messages that it doesn't have: never accepted, or an order that its own cancel
    /// ended. Where the exchange stays: messages that it rejected.
    pub rejected: u64,
    /// Cancels that were sent again, because their order is open.
    pub sent_again: u64,
    /// Whether the exchange stayed, and the leader of the cluster with its copies was lost.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub exchange_stayed: bool,
}

/// Packets between an exchange and its follower where some are lost on purpose, in both directions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct BetweenZones {
    /// Packets that were sent, from the start of the follower to its end.
    pub packets: u64,
    /// Sent packets that were dropped.
    pub dropped: u64,
}

/// Messages sent and received, over the measured part of one or several runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Load {
    /// `open` or `ping-pong`; empty if nothing was sent.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub model: String,
    /// Messages per second of the schedule; `None` in ping-pong.
    pub rate_per_second_offered: Option<f64>,
    /// Messages per second that were sent.
    pub rate_per_second_achieved: f64,
    /// Orders and cancels written.
    pub sent: u64,
    /// Replies to them.
    pub received: u64,
    /// Messages without a reply after the run had drained.
    pub lost: u64,
    /// Messages that the reader knows it skipped, because a newer one of the same key replaced
    /// them.
    #[serde(skip_serializing_if = "stats::is_zero")]
    pub conflated: u64,
    /// Replies to messages that were already answered, or never sent.
    pub duplicated: u64,
    /// Replies on one connection in another order than that of their messages.
    pub out_of_order: u64,
    /// Cancels sent before the ack of their order was read.
    pub overtakes: u64,
    /// Orders or cancels that were rejected.
    pub rejected: u64,
    /// Messages that answer nothing: fills of orders that were meant to rest, errors.
    pub unexpected: u64,
    /// Messages that waited because too many were unanswered; the wait is part of the response
    /// time.
    pub held_back: u64,
    /// How often an end of a queue waited for a block that was not ready; the wait is part of the
    /// response time.
    pub blocks_late: u64,
    /// Lost and late datagrams; absent where messages go over streams.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub datagrams: Option<Datagrams>,
    /// The clocks of both ends, of each run in order; empty where one clock stamps.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub between: Vec<crate::between::HostClocks>,
    /// Messages that the kernel stamped; absent if it was not asked to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stamped: Option<KernelStamped>,
    /// Losses of an exchange, or of the leader of its cluster, of all runs in order; empty without
    /// any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub outages: Vec<Outage>,
    /// Packets between the exchange and its follower, of all runs; absent unless some are lost on
    /// purpose.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub between_zones: Option<BetweenZones>,
    /// Mean lengths of the messages.
    pub message_bytes: MessageBytes,
    /// Messages sent in the warm-up, which do not count.
    pub warm_up_sent: u64,
    /// The p99 of the delay behind the schedule, ns; of the worst run.
    pub lateness_ns_p99: Option<u64>,
    /// Involuntary context switches of the measuring thread, all runs.
    pub context_switches_involuntary: u64,
    /// Page faults of the measuring thread in the measured part, all runs.
    pub page_faults: u64,
    /// Processor time of both ends; absent if the client does not say it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processor: Option<crate::processor::Processor>,
    /// Packets that the network devices of both ends dropped or could not take, from the start of
    /// the exchange to its end; absent unless both have a network of their own on this machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packets_dropped: Option<u64>,
    /// The stacks of the ends that bypass the kernel's: the mode in which AF_XDP runs, and why.
    /// Also the version of a cluster that follows the exchange.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stacks: Vec<String>,
    /// Cost of the client's codec, of each run in order; empty where the client does not say it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub codec: Vec<crate::codec::CodecRun>,
    /// Bulk flows beside the requests, of each run in order; empty without any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bulk: Vec<crate::bulk::BulkRun>,
    /// Results of a matching engine, of each run in order.
    #[serde(alias = "matching", skip_serializing_if = "Vec::is_empty")]
    pub engine: Vec<crate::engine::EngineRun>,
    /// Losses and ranks of the subscribers of a fan-out, of each run in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fan_out: Vec<crate::fan_out::FanOutRun>,
    /// Results of reading a feed, of each run in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tick: Vec<crate::tick::Tick>,
    /// Activity of the client's virtual machine, of each run in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub runtime: Vec<crate::runtime::Runtime>,
}
