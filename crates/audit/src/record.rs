//! One thing that happened. How it stands in a file is [`crate::file::codec`]'s.

use serde::Serialize;

/// Whose side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// To buy.
    Buy,
    /// To sell.
    Sell,
}

/// What an order message asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// A new order.
    New,
    /// An order's end.
    Cancel,
    /// An order's change.
    Amend,
}

/// What kind of datagram a tick was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TickKind {
    /// New messages.
    Live,
    /// Messages that were asked for again.
    Replay,
    /// A part of a snapshot.
    Snapshot,
    /// No messages.
    Heartbeat,
}

/// One thing that happened; 0 stands for a stamp that was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "record", rename_all = "snake_case")]
pub enum Record {
    /// A datagram of the feed was read.
    Tick {
        /// The number of its last message on the feed.
        number: u64,
        /// What kind of datagram.
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
    /// The strategy wanted an order, and risk passed it or refused it.
    Decision {
        /// The tick that led to it.
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
        /// Why risk refused it: the how many-th of the header's reasons, from 0; `None`: it was
        /// passed.
        refused: Option<u16>,
    },
    /// An order message was encoded, and mostly written.
    Order {
        /// The number in its client id.
        order: u64,
        /// The tick that led to it; 0: none.
        tick: u64,
        /// New, or the end of one.
        action: Action,
        /// The instrument.
        instrument: u16,
        /// Its side.
        side: Side,
        /// See `record::tick::Point::Sent`; 0: the kernel had not taken it when this was told.
        sent_ns: u64,
        /// In ticks.
        price_ticks: i64,
        /// In lots.
        quantity_lots: u64,
    },
    /// The exchange has answered.
    Ack {
        /// The number in the client id of what it answers.
        order: u64,
        /// The exchange's number of the order; 0: it said none.
        order_id: u64,
        /// Or refused.
        accepted: bool,
        /// See `record::tick::Point::Replied`.
        replied_ns: u64,
        /// The reply's own: gateway in, engine in, engine out, gateway out.
        stamps: [u64; 4],
    },
    /// An order of ours traded.
    Fill {
        /// The number in the order's client id.
        order: u64,
        /// The exchange's number of it.
        order_id: u64,
        /// The instrument.
        instrument: u16,
        /// The order's side.
        side: Side,
        /// When the read returned that brought the news, ns.
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
        /// By how much a stamp that was laid on the wall clock was off so far, ns, at most.
        bound_ns: u64,
        /// How often the wall clock was set since the logger began.
        steps: u64,
    },
    /// Records found no room on their way to the logger; the logger writes it where it noticed.
    Lost {
        /// When it noticed, ns.
        noticed_ns: u64,
        /// How many since it noticed last.
        count: u64,
    },
    /// The logger has finished. Nothing follows.
    End {
        /// Records before this one.
        records: u64,
        /// The number of records that were sent but are not in the file.
        lost: u64,
        /// When, ns.
        clock_ns: u64,
    },
}

/// The kinds by name, in the order of their numbers, which begin at 1.
pub const KINDS: [&str; 8] = ["tick", "decision", "order", "ack", "fill", "wall", "lost", "end"];

impl Record {
    /// Which kind it is, as an index into [`KINDS`].
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
        }
    }

    /// When it happened, ns on the header's clock: the last of its stamps that is the trader's
    /// own; 0: it has none.
    pub fn at_ns(&self) -> u64 {
        match *self {
            Record::Tick { normalised_ns, .. } => normalised_ns,
            Record::Decision { checked_ns, .. } => checked_ns,
            Record::Order { sent_ns, .. } => sent_ns,
            Record::Ack { replied_ns, .. } => replied_ns,
            Record::Fill { read_ns, .. } => read_ns,
            Record::Wall { clock_ns, .. } | Record::End { clock_ns, .. } => clock_ns,
            Record::Lost { noticed_ns, .. } => noticed_ns,
        }
    }
}
