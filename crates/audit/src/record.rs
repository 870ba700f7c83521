//! The records of an audit log. [`crate::file::codec`] has their encoding.

use serde::Serialize;

/// Side of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// To buy.
    Buy,
    /// To sell.
    Sell,
}

/// Action of an order message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// A new order.
    New,
    /// The end of an order.
    Cancel,
    /// A change of an order.
    Amend,
}

/// Kind of a tick's datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TickKind {
    /// New messages.
    Live,
    /// Messages sent again on request.
    Replay,
    /// A part of a snapshot.
    Snapshot,
    /// No messages.
    Heartbeat,
}

/// One record; 0 means an absent stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "record", rename_all = "snake_case")]
pub enum Record {
    /// A datagram of the feed was read.
    Tick {
        /// The number of its last message on the feed.
        number: u64,
        /// Kind of its datagram.
        kind: TickKind,
        /// Messages in it.
        messages: u16,
        /// See `record::tick::Point::Intended`.
        intended_ns: u64,
        /// See `record::tick::Point::Acknowledged`.
        acknowledged_ns: u64,
        /// See `record::tick::Point::Published`.
        published_ns: u64,
        /// See `record::tick::Point::KernelReceived`.
        kernel_ns: u64,
        /// See `record::tick::Point::Read`.
        read_ns: u64,
        /// See `record::tick::Point::Normalised`.
        normalised_ns: u64,
    },
    /// The strategy wanted an order; risk passed or rejected it.
    Decision {
        /// The tick that caused it.
        tick: u64,
        /// The instrument.
        instrument: u16,
        /// Its side.
        side: Side,
        /// See `record::tick::Point::Decided`.
        decided_ns: u64,
        /// See `record::tick::Point::Checked`.
        checked_ns: u64,
        /// In ticks.
        price_ticks: i64,
        /// In lots.
        quantity_lots: u64,
        /// Index of risk's reason in the header, from 0; `None` if it was passed.
        refused: Option<u16>,
    },
    /// An order message was encoded, and usually written.
    Order {
        /// The number in its client id.
        order: u64,
        /// The tick that caused it; 0 if none did.
        tick: u64,
        /// Its action.
        action: Action,
        /// The instrument.
        instrument: u16,
        /// Its side.
        side: Side,
        /// See `record::tick::Point::Sent`; 0 if the kernel had not taken it when this was logged.
        sent_ns: u64,
        /// In ticks.
        price_ticks: i64,
        /// In lots.
        quantity_lots: u64,
    },
    /// The exchange answered.
    Ack {
        /// The number in the client id of the answered message.
        order: u64,
        /// The exchange's number of the order; 0 if unknown.
        order_id: u64,
        /// Whether it was accepted, not rejected.
        accepted: bool,
        /// See `record::tick::Point::Replied`.
        replied_ns: u64,
        /// The reply's stamps: gateway in, engine in, engine out, gateway out.
        stamps: [u64; 4],
    },
    /// An order of ours traded.
    Fill {
        /// The number in the order's client id.
        order: u64,
        /// The exchange's number of the order.
        order_id: u64,
        /// The instrument.
        instrument: u16,
        /// The order's side.
        side: Side,
        /// When the read that brought it returned, ns.
        read_ns: u64,
        /// In ticks.
        price_ticks: i64,
        /// In lots.
        quantity_lots: u64,
        /// The exchange's number of the trade.
        trade_id: u64,
    },
    /// The wall clock was read; the logger writes it, about once a second.
    Wall {
        /// On the header's clock, ns.
        clock_ns: u64,
        /// Nanoseconds since 1970.
        wall_ns: u64,
        /// Largest error so far of a stamp converted to the wall clock, ns.
        bound_ns: u64,
        /// How often the wall clock was set since the logger started.
        steps: u64,
    },
    /// Records were lost because the ring was full; written when the logger notices.
    Lost {
        /// When it noticed, ns.
        noticed_ns: u64,
        /// Number of lost records since the last report.
        count: u64,
    },
    /// The logger has finished. This is the last record.
    End {
        /// Records before this one.
        records: u64,
        /// Records that were logged but are not in the file.
        lost: u64,
        /// Time, ns.
        clock_ns: u64,
    },
    /// The trader follows a feed and begins to trade: what the exchange's journal knows its ticks
    /// and orders by. Before the first tick; absent in logs of version 1.
    Session {
        /// The feed's session: the exchange's start, nanoseconds since 1970. Numbers of ticks count
        /// from there.
        feed: u64,
        /// The run in all client ids: see [`client_id`].
        run: u64,
    },
}

/// The client id of an order in the exchange's eyes: the run's number in 8 hexadecimal digits, then
/// the order's in 12.
pub fn client_id(run: u64, order: u64) -> String {
    format!("{run:08x}-0000-4000-8000-{order:012x}")
}

/// Names of the kinds, in the order of their numbers from 1.
pub const KINDS: [&str; 9] =
    ["tick", "decision", "order", "ack", "fill", "wall", "lost", "end", "session"];

impl Record {
    /// Index of its kind in [`KINDS`].
    pub fn kind(&self) -> usize {
        match self {
            Record::Tick { .. } => 0,
            Record::Decision { .. } => 1,
            Record::Order { .. } => 2,
            Record::Ack { .. } => 3,
            Record::Fill { .. } => 4,
            Record::Wall { .. } => 5,
            Record::Lost { .. } => 6,
            Record::End { .. } => 7,
            Record::Session { .. } => 8,
        }
    }

    /// Its time, ns on the header's clock: the last of its stamps by the trader; 0 without one.
    pub fn at_ns(&self) -> u64 {
        match *self {
            Record::Tick { normalised_ns, .. } => normalised_ns,
            Record::Decision { checked_ns, .. } => checked_ns,
            Record::Order { sent_ns, .. } => sent_ns,
            Record::Ack { replied_ns, .. } => replied_ns,
            Record::Fill { read_ns, .. } => read_ns,
            Record::Wall { clock_ns, .. } | Record::End { clock_ns, .. } => clock_ns,
            Record::Lost { noticed_ns, .. } => noticed_ns,
            Record::Session { .. } => 0,
        }
    }
}
