//! The way of a tick: from the event at the exchange to the order that a trader sent for it, and to
//! that order's reply.
//!
//! See docs/decisions/014-tick-measurement.md.

pub mod attribution;
pub mod samples;

use clock::utc::Time;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Where on its way a tick is stamped, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[repr(usize)]
pub enum Point {
    /// The schedule wanted the event to happen.
    Intended,
    /// The exchange acknowledged what caused it: its engine was through and its reports were
    /// encoded.
    Acknowledged,
    /// The feed publisher handed the datagram to the kernel.
    Published,
    /// The trader's kernel had it.
    KernelReceived,
    /// The trader's read returned. Ends stage 1, ingest.
    Read,
    /// It is decoded, checked and in the local book. Ends stage 2, normalise.
    Normalised,
    /// The strategy has decided. Ends stage 3, signal.
    Decided,
    /// Risk has passed it. Ends stage 4, risk.
    Checked,
    /// The order is encoded, the write comes next. Ends stage 5, order.
    Sent,
    /// The exchange's read of the order returned.
    GatewayIn,
    /// The order goes into the engine.
    EngineIn,
    /// The engine is through with it.
    EngineOut,
    /// Its reply is encoded.
    GatewayOut,
    /// The trader's read of the reply returned.
    Replied,
}

/// How many points there are.
pub const POINTS: usize = 14;

/// The points that the exchange stamps; the trader and its kernel stamp the others.
pub const AT_EXCHANGE: [Point; 7] = [
    Point::Intended,
    Point::Acknowledged,
    Point::Published,
    Point::GatewayIn,
    Point::EngineIn,
    Point::EngineOut,
    Point::GatewayOut,
];

/// The way between two points that follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stage {
    /// Its name, and that of its series.
    pub name: &'static str,
    /// Whose time it is, for people.
    pub owner: &'static str,
    /// Where it begins; it ends at the next point.
    pub from: Point,
}

/// All, in order: `STAGES[i]` goes from point `i` to point `i + 1`. They add up to the whole way.
pub const STAGES: [Stage; POINTS - 1] = [
    Stage { name: "event", owner: "exchange", from: Point::Intended },
    Stage { name: "publish", owner: "exchange", from: Point::Acknowledged },
    Stage { name: "network_in", owner: "kernel and network", from: Point::Published },
    Stage { name: "ingest", owner: "kernel and trader", from: Point::KernelReceived },
    Stage { name: "normalise", owner: "trader", from: Point::Read },
    Stage { name: "signal", owner: "trader", from: Point::Normalised },
    Stage { name: "risk", owner: "trader", from: Point::Decided },
    Stage { name: "order", owner: "trader", from: Point::Checked },
    Stage { name: "network_out", owner: "kernel and network", from: Point::Sent },
    Stage { name: "gateway", owner: "exchange", from: Point::GatewayIn },
    Stage { name: "engine", owner: "exchange", from: Point::EngineIn },
    Stage { name: "report", owner: "exchange", from: Point::EngineOut },
    Stage { name: "network_back", owner: "kernel and network", from: Point::GatewayOut },
];

/// An interval over several stages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// The series' name.
    pub name: &'static str,
    /// From the intended or from the real publication; everything else is service time.
    pub kind: clock::kind::Kind,
    /// Where it begins.
    pub from: Point,
    /// Where it ends.
    pub to: Point,
}

use clock::kind::Kind::{Response, Service};

/// All that become series, the one that is judged by first.
pub const INTERVALS: [Interval; 7] = [
    Interval {
        name: "tick_to_gateway",
        kind: Service,
        from: Point::Published,
        to: Point::GatewayIn,
    },
    Interval {
        name: "tick_to_gateway",
        kind: Response,
        from: Point::Intended,
        to: Point::GatewayIn,
    },
    Interval { name: "tick_to_trade", kind: Service, from: Point::Read, to: Point::Sent },
    Interval {
        name: "gateway_to_trade",
        kind: Service,
        from: Point::Acknowledged,
        to: Point::Sent,
    },
    // Stages 2 to 4: no system call is inside.
    Interval { name: "decision", kind: Service, from: Point::Read, to: Point::Checked },
    Interval { name: "order_to_ack", kind: Service, from: Point::Sent, to: Point::Replied },
    Interval { name: "tick_to_ack", kind: Response, from: Point::Intended, to: Point::Replied },
];

/// One tick that led to an order, and its stamps: ns on the trader's clock, which on one machine is
/// the exchange's too. Between machines whose clocks can't be laid beside each other the exchange's
/// stamps are on its own.
///
/// In a file of samples: `number`, then the stamps in the order of [`Point`], little-endian, 120
/// bytes each, nothing else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// The number of the tick's last message on the feed.
    pub number: u64,
    /// By [`Point`]; 0 where it was not stamped (a kernel without receive stamps, a server without
    /// stamps on its replies).
    pub stamps: [u64; POINTS],
}

/// Bytes of a sample in a file.
pub const SAMPLE_BYTES: usize = 8 * (1 + POINTS);

/// What a trader did with a feed in a run, beside its latencies.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Tick {
    /// Datagrams of the measured part that were read.
    pub datagrams: u64,
    /// Messages in them.
    pub messages: u64,
    /// Their mean length, bytes, rounded.
    pub datagram_bytes: u64,
    /// Gaps in the count of messages.
    pub gaps: u64,
    /// Messages that came by replay.
    pub messages_replayed: u64,
    /// Times the book was made from a snapshot, the first with them.
    pub snapshots: u64,
    /// What was wrong with datagrams, by kind: `truncated`, `unknown_template`, `future_version`,
    /// `garbage`, `old_sequence`, …
    pub faults: BTreeMap<String, u64>,
    /// Datagrams that the kernel dropped for want of room in the receive buffer.
    pub kernel_drops: u64,
    /// The receive buffer that the kernel set aside, bytes: the double of what was asked, if it
    /// gave that.
    pub receive_buffer_bytes: u64,
    /// Whether the kernel stamped what it received: `software`, `hardware` or empty.
    pub kernel_stamps: String,
    /// Decisions to order that the trader's own risk refused, by reason.
    pub refused: BTreeMap<String, u64>,
    /// Ticks that led to an order whose way is known from end to end.
    pub samples: u64,
    /// How many of these have a stamp that lies before the one it must follow by more than the
    /// clocks' error: 0 is expected.
    pub samples_out_of_order: u64,
    /// How many of these have stages that do not add up to the whole: 0 is expected.
    pub samples_not_adding_up: u64,
    /// The hash of the trader's book at the end, 16 hex digits, and the number of the last message
    /// in it.
    pub book_hash: String,
    /// See `book_hash`.
    pub book_sequence: u64,
    /// The hash of the exchange's book at the same message; empty where it could not be asked.
    pub exchange_book_hash: String,
    /// How the stamps of both ends were brought onto one clock.
    pub time: Time,
    /// Whether all memory of the trader was locked: none of it could be taken away in mid-run.
    pub memory_locked: bool,
    /// What became of the audit log; `None` without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audit: Option<Audit>,
    /// How a strategy that trades ended; `None` for one that does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub market_making: Option<MarketMaking>,
}

/// What an audit logger did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Audit {
    /// The file, beside run.json; empty where it was not kept.
    pub file: String,
    /// Records in it.
    pub records: u64,
    /// Records that found no room on their way to the logger: 0 is expected.
    pub lost: u64,
    /// Why it stopped writing; empty if it did not. Then what it could not write is lost, too.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub failed: String,
    /// The core that the logger ran on; `None` if it was not pinned.
    pub core: Option<usize>,
    /// Whose core that is too: `exchange`, `trader`, or empty.
    pub shares_core_with: String,
    /// Times the logger woke and wrote.
    pub windows: u64,
    /// How long it took in all, ns.
    pub windows_ns: u64,
    /// Samples whose way lies in one of these windows, in part at least.
    pub samples_in_windows: u64,
}

/// How a market-making strategy ended. Prices and money are in ticks and lots.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct MarketMaking {
    /// Lots, bought less sold.
    pub position_lots: i64,
    /// Money made, in ticks times lots, the position valued at the last mid price (which may lie
    /// between two ticks).
    pub pnl_tick_lots: f64,
    /// Orders that were entered. A quote that is moved stays the same order.
    pub quotes: u64,
    /// How many of these traded at least in part.
    pub quotes_filled: u64,
    /// Lots that traded.
    pub filled_lots: u64,
    /// Share of the time in which a quote of ours was at the best bid, and at the best ask.
    pub share_at_top: [f64; 2],
    /// Lots ahead of our quotes when they joined their queue, median.
    pub queue_ahead_lots_p50: Option<u64>,
    /// How long the flow's orders lived, ns: p10, p50, p90.
    pub flow_lifetime_ns: [Option<u64>; 3],
}

/// What the whole way was made of, around a percentile of the whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Attribution {
    /// `p50` or `p99`: percentiles of the interval `of`.
    pub around: String,
    /// The name of an interval,
    pub of: String,
    /// and its kind: one begins when the publication was due, another when it was.
    pub kind: clock::kind::Kind,
    /// The interval's value there, ns, over all runs.
    pub total_ns: u64,
    /// Samples around it.
    pub samples: u64,
    /// They lie within this share of rank on either side: 0.001, or more where so few are in that.
    pub within_rank: f64,
    /// Samples that are none of the ways: without a stamp that others have, or with one that lies
    /// before the one it must follow by more than the clocks' error.
    #[serde(default, skip_serializing_if = "stats::is_zero")]
    pub left_out: u64,
    /// Mean of each stage over those, ns, in the order of the way; they add up to the mean of the
    /// totals.
    pub stages: Vec<(String, f64)>,
}

/// One of the worst ticks, with all its stamps and what happened on the cores meanwhile.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Traced {
    /// Which run, from 1.
    pub run: u32,
    /// The number of its last message on the feed.
    pub number: u64,
    /// The name of an interval.
    pub of: String,
    /// When it began, ns on the clock that stamped.
    pub begin_ns: u64,
    /// How long the whole took, ns.
    pub total_ns: u64,
    /// By stage, ns, in the order of the way; they add up. Below 0 where two clocks disagree by
    /// less than their bound.
    pub stages: Vec<(String, i64)>,
    /// What took a measured core from its thread meanwhile.
    pub noise: Vec<Taken>,
}

/// A thread did not have its core.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Taken {
    /// `switched out`, `page fault`, `host` (nothing that the kernel knows of), or what the kernel
    /// did there: ids of causes.
    pub cause: String,
    /// Whose thread: `exchange` or `trader`.
    pub of: String,
    /// Its core; `None` if it was not pinned.
    pub core: Option<usize>,
    /// Since the way's begin, ns; below 0 where it was under way by then.
    pub from_ns: i64,
    /// How long, ns; 0 of a fault, of which the kernel tells only when it began.
    pub length_ns: u64,
}
