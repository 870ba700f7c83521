//! The path of a tick: from the event at the exchange to the trader's order and its reply.
//!
//! See docs/decisions/014-tick-measurement.md.

pub mod attribution;
pub mod samples;

use crate::Percentiles;
use clock::utc::Time;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The points of a tick's path that are stamped, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[repr(usize)]
pub enum Point {
    /// The event was due by the schedule.
    Intended,
    /// The exchange acknowledged the event's cause: its engine had finished and its reports were
    /// encoded.
    Acknowledged,
    /// The feed publisher handed the datagram to the kernel.
    Published,
    /// The trader's kernel received it.
    KernelReceived,
    /// The trader's read returned. Ends stage 1, ingest.
    Read,
    /// It is decoded, checked and applied to the local book. Ends stage 2, normalise.
    Normalised,
    /// The strategy has decided. Ends stage 3, signal.
    Decided,
    /// Risk passed it. Ends stage 4, risk.
    Checked,
    /// The order is encoded and about to be written. Ends stage 5, order.
    Sent,
    /// The exchange's read of the order returned.
    GatewayIn,
    /// The order entered the engine.
    EngineIn,
    /// The engine finished it.
    EngineOut,
    /// Its reply was encoded.
    GatewayOut,
    /// The trader's read of the reply returned.
    Replied,
}

/// Number of points.
pub const POINTS: usize = 14;

/// Points that the exchange stamps; the trader and its kernel stamp the others.
pub const AT_EXCHANGE: [Point; 7] = [
    Point::Intended,
    Point::Acknowledged,
    Point::Published,
    Point::GatewayIn,
    Point::EngineIn,
    Point::EngineOut,
    Point::GatewayOut,
];

/// The time between two neighbouring points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stage {
    /// Its name, and that of its series.
    pub name: &'static str,
    /// The owner of the time, in words.
    pub owner: &'static str,
    /// Its first point; it ends at the next one.
    pub from: Point,
}

/// All stages in order: `STAGES[i]` goes from point `i` to point `i + 1`. They add up to the whole
/// path.
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
    /// Response time if it starts at the intended or real publication; otherwise service time.
    pub kind: clock::kind::Kind,
    /// Its first point.
    pub from: Point,
    /// Its last point.
    pub to: Point,
}

use clock::kind::Kind::{Response, Service};

/// All intervals that become series, the main one first.
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
    // Stages 2 to 4, without a system call.
    Interval { name: "decision", kind: Service, from: Point::Read, to: Point::Checked },
    Interval { name: "order_to_ack", kind: Service, from: Point::Sent, to: Point::Replied },
    Interval { name: "tick_to_ack", kind: Response, from: Point::Intended, to: Point::Replied },
];

/// One tick that led to an order, with its stamps: ns on the trader's clock, which on one machine
/// is also the exchange's. If the clocks of two machines can't be related, the exchange's stamps
/// are on its own clock.
///
/// In a file of samples: `number`, then the stamps in the order of [`Point`], little-endian, 120
/// bytes each, nothing else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// The number of the tick's last message on the feed.
    pub number: u64,
    /// By [`Point`]; 0 without a stamp (a kernel without receive stamps, a server without stamps on
    /// its replies).
    pub stamps: [u64; POINTS],
}

/// Bytes of a sample in a file.
pub const SAMPLE_BYTES: usize = 8 * (1 + POINTS);

/// Counts of a trader that read a feed in a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Tick {
    /// Datagrams read in the measured part.
    pub datagrams: u64,
    /// Messages in them.
    pub messages: u64,
    /// Their mean length, bytes, rounded up; of ticks over TCP with all frames, without TLS.
    pub datagram_bytes: u64,
    /// Gaps in the count of messages.
    pub gaps: u64,
    /// Messages received by replay.
    pub messages_replayed: u64,
    /// How often the book was built from a snapshot, including the first time.
    pub snapshots: u64,
    /// Datagrams of snapshots and replays since the first tick that brought nothing new: a group's
    /// snapshots, and answers that came twice. They are no fault, but the trader reads them.
    pub datagrams_not_needed: u64,
    /// Faults of datagrams, by kind: `truncated`, `unknown_template`, `future_version`, `garbage`,
    /// `old_sequence`, …
    pub faults: BTreeMap<String, u64>,
    /// Datagrams that the kernel dropped since the flow's start because the receive buffer was
    /// full; over `af_xdp` and `dpdk` frames of feed and orders that found no room in a ring.
    pub kernel_drops: u64,
    /// The size of the kernel's receive buffer, bytes: twice the requested size if the kernel
    /// granted it; `None` below the kernel, where frames wait in rings.
    pub receive_buffer_bytes: Option<u64>,
    /// The kernel's receive stamps: `software`, `hardware`, or empty without.
    pub kernel_stamps: String,
    /// Decisions to order that the trader's own risk rejected, by reason.
    pub refused: BTreeMap<String, u64>,
    /// Ticks that led to an order and have a complete path.
    pub samples: u64,
    /// Samples of these with a stamp that precedes the one it must follow by more than the clocks'
    /// error: 0 is expected.
    pub samples_out_of_order: u64,
    /// Samples of these whose stages do not add up to the whole: 0 is expected.
    pub samples_not_adding_up: u64,
    /// The hash of the trader's book at the end, 16 hex digits; with `json-top` of all best prices
    /// that came. `book_sequence` is the number of the last message in it.
    pub book_hash: String,
    /// See `book_hash`.
    pub book_sequence: u64,
    /// The hash of the exchange's book at the same message; empty if unknown.
    pub exchange_book_hash: String,
    /// How the stamps of both ends were converted to one clock.
    pub time: Time,
    /// Whether all memory of the trader was locked, so that the kernel could not page it out.
    pub memory_locked: bool,
    /// Ticks that the exchange's kernel stamped on their way out; `None` if it was not asked to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub departures: Option<Departures>,
    /// Ticks that were handed on a fixed time after their publication; `None`: all were at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hold: Option<TickHold>,
    /// Result of the audit log; `None` without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audit: Option<Audit>,
    /// Result of a strategy that trades; `None` for other strategies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub market_making: Option<MarketMaking>,
}

impl Tick {
    /// Messages that came by replay, because their datagrams did not arrive in time; `None` if that
    /// is not known: a snapshot stood in for some, or the books were not compared at the end.
    pub fn missed(&self) -> Option<u64> {
        let is_known = self.snapshots <= 1 && !self.exchange_book_hash.is_empty();
        is_known.then_some(self.messages_replayed)
    }
}

/// Ticks of the measured part that the trader released at publication plus a hold. Ticks that came
/// later were released on arrival.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct TickHold {
    /// The hold, ns.
    pub hold_ns: u64,
    /// Ticks that were released.
    pub released: u64,
    /// Released ticks that arrived after their time of release, by the kernel's stamp; `None`: it
    /// did not stamp each.
    pub late: Option<u64>,
    /// From publication to arrival, by the kernel's stamp, ns: what it would be without the hold.
    pub arrival: Option<Percentiles>,
    /// From publication to the hand-over, ns.
    pub release: Option<Percentiles>,
    /// How long after its release a late tick arrived, ns.
    pub late_by: Option<Percentiles>,
}

/// Ticks that the exchange's kernel stamped on their way out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Departures {
    /// Datagrams whose stamps the exchange kept: the latest ones, with those of the warm-up.
    pub datagrams: u64,
    /// Samples of these, whose segments are series.
    pub samples: u64,
    /// Largest error of a stamp on the exchange's clock, ns.
    pub bound_ns: u64,
    /// How often the exchange's wall clock was set meanwhile. If it was, no stamp counts.
    pub clock_steps: u64,
}

/// Counts of an audit logger.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Audit {
    /// The file, next to run.json; empty if it was not kept.
    pub file: String,
    /// Records in it.
    pub records: u64,
    /// Records lost because the ring to the logger was full: 0 is expected.
    pub lost: u64,
    /// Why it stopped writing, empty if it did not. The remaining records are then lost too.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub failed: String,
    /// The core that the logger ran on; `None` if it was not pinned.
    pub core: Option<usize>,
    /// The process whose core that is too: `exchange`, `trader`, or empty.
    pub shares_core_with: String,
    /// How often the logger woke and wrote.
    pub windows: u64,
    /// Total time of these, ns.
    pub windows_ns: u64,
    /// Samples whose path overlaps one of these times.
    pub samples_in_windows: u64,
}

/// Result of a market-making strategy. Prices and money are in ticks and lots.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct MarketMaking {
    /// Lots bought less lots sold.
    pub position_lots: i64,
    /// Profit, in ticks times lots, with the position valued at the last mid price (which may lie
    /// between two ticks).
    pub pnl_tick_lots: f64,
    /// Orders that were entered. A moved quote stays the same order.
    pub quotes: u64,
    /// Orders of these that traded at least in part.
    pub quotes_filled: u64,
    /// Lots that traded.
    pub filled_lots: u64,
    /// Shares of the time in which a quote of ours was at the best bid, and at the best ask.
    pub share_at_top: [f64; 2],
    /// Median number of lots ahead of a quote when it joined its queue.
    pub queue_ahead_lots_p50: Option<u64>,
    /// Lifetimes of the flow's orders, ns: p10, p50, p90.
    pub flow_lifetime_ns: [Option<u64>; 3],
}

/// Mean stages of paths around a percentile of the whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Attribution {
    /// The percentile of the interval `of`: `p50` or `p99`.
    pub around: String,
    /// The name of the interval.
    pub of: String,
    /// The interval's kind: response time from the due publication, service time from the real one.
    pub kind: clock::kind::Kind,
    /// The percentile, ns, over all runs.
    pub total_ns: u64,
    /// Number of samples around it.
    pub samples: u64,
    /// Rank distance of these samples on either side: 0.001, or more if that holds too few.
    pub within_rank: f64,
    /// Samples that were left out: without a stamp that others have, or with a stamp that precedes
    /// the one it must follow by more than the clocks' error.
    #[serde(default, skip_serializing_if = "stats::is_zero")]
    pub left_out: u64,
    /// Mean of each stage over these samples, ns, in the order of the path. They add up to the mean
    /// of the totals.
    pub stages: Vec<(String, f64)>,
}

/// One of the worst ticks, with all its stamps and the disturbances of its cores.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct TracedTick {
    /// The run, from 1.
    pub run: u32,
    /// The number of its last message on the feed.
    pub number: u64,
    /// The name of an interval.
    pub of: String,
    /// Its begin, ns on the clock of the stamps.
    pub begin_ns: u64,
    /// Its length, ns.
    pub total_ns: u64,
    /// By stage, ns, in the order of the path; they add up. Below 0 if two clocks disagree by less
    /// than their bound.
    pub stages: Vec<(String, i64)>,
    /// Times in which a thread of the path did not have its core.
    pub noise: Vec<CoreLoss>,
}

/// A time in which a thread did not have its core.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct CoreLoss {
    /// Id of the cause: `switched out`, `page fault`, `host` (unknown to the kernel), or the
    /// kernel's work.
    pub cause: String,
    /// The thread: `exchange` or `trader`.
    pub of: String,
    /// Its core; `None` if it was not pinned.
    pub core: Option<usize>,
    /// Its begin relative to the path's begin, ns; below 0 if earlier.
    pub from_ns: i64,
    /// Its length, ns; 0 for a page fault, because the kernel reports only the start.
    pub length_ns: u64,
}
