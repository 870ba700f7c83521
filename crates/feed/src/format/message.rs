//! The messages of the feed.

use engine::{InstrumentState, Side};

/// A feed. Each numbers its own messages, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Channel {
    /// Order by order (L3).
    Orders = 0,
    /// Price by price (L2).
    Levels = 1,
}

/// The header of a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketHeader {
    /// Identifies a run of the exchange by its start, in nanoseconds since 1970. Another session
    /// has other numbers and other books.
    pub session: u64,
    /// The number of its first message. Without messages (heartbeat): the number of the next
    /// message. In a snapshot: the first number that it does not contain.
    pub sequence: u64,
    /// Number of messages.
    pub count: u16,
    /// Index of this datagram in its snapshot, from 0; otherwise 0.
    pub part: u16,
    /// Number of datagrams of the snapshot; otherwise 1.
    pub parts: u16,
    /// The feed.
    pub channel: Channel,
    /// The kind of packet.
    pub kind: PacketKind,
    /// When its first event was due, on the exchange's clock, ns. An event without a schedule (a
    /// client's order) is due when its cause was read.
    pub intended_ns: u64,
    /// When its last event was acknowledged, that is, when the engine had finished and its reports
    /// were encoded, on the exchange's clock, ns.
    pub acknowledged_ns: u64,
    /// When it was handed to the kernel, on the exchange's clock, ns. The sender writes it.
    pub published_ns: u64,
}

/// The purpose of a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum PacketKind {
    /// New messages; without any, it is a heartbeat.
    Live = 0,
    /// Messages sent again on request.
    Replay = 1,
    /// A part of a snapshot. The messages of all parts in order build the books from nothing, and
    /// have no numbers. For each instrument: [`FeedMessage::Definition`], [`FeedMessage::State`],
    /// and its entries, side by side, best price first, first in first.
    Snapshot = 2,
}

/// One event of the feed. Quantities are the shown ones, in lots; prices are in ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FeedMessage {
    /// A new resting order, last in the queue at its price. ([`Channel::Orders`])
    OrderAdded {
        /// The instrument.
        instrument: u16,
        /// The order.
        order_id: u64,
        /// Its side.
        side: Side,
        /// Its price, in ticks.
        price_ticks: i64,
        /// Its shown quantity, in lots, at least 1.
        quantity_lots: u64,
    },
    /// A smaller shown quantity of an order, which keeps its place. ([`Channel::Orders`])
    OrderReduced {
        /// The instrument.
        instrument: u16,
        /// The order.
        order_id: u64,
        /// Its new shown quantity, in lots, at least 1.
        quantity_lots: u64,
    },
    /// The end of a resting order. ([`Channel::Orders`])
    OrderDeleted {
        /// The instrument.
        instrument: u16,
        /// The order.
        order_id: u64,
    },
    /// A trade of a resting order. On [`Channel::Orders`] it reduces the shown quantity, and
    /// removes the order if none is left; on [`Channel::Levels`] a message for the level follows.
    Trade {
        /// The instrument.
        instrument: u16,
        /// Number of the trade at this exchange.
        trade_id: u64,
        /// The resting order.
        order_id: u64,
        /// The side of the incoming order.
        aggressor_side: Side,
        /// The price, in ticks.
        price_ticks: i64,
        /// The traded quantity, in lots, at least 1.
        quantity_lots: u64,
    },
    /// The total at a price. ([`Channel::Levels`])
    Level {
        /// The instrument.
        instrument: u16,
        /// The side.
        side: Side,
        /// The price, in ticks.
        price_ticks: i64,
        /// In lots; 0 if nothing rests there.
        quantity_lots: u64,
        /// Number of orders there.
        orders: u32,
    },
    /// The state of an instrument: open, halted or closed.
    State {
        /// The instrument.
        instrument: u16,
        /// Its state.
        state: InstrumentState,
    },
    /// The definition of an instrument, its first message in a snapshot.
    Definition {
        /// The instrument.
        instrument: u16,
        /// Its code, padded with zeros.
        code: [u8; 32],
        /// Value of a tick as a decimal: mantissa and exponent of ten.
        tick: (i64, i8),
        /// Size of a lot, likewise.
        lot: (i64, i8),
        /// Number of its orders (or levels) that follow in this snapshot.
        entries: u32,
        /// [`crate`]'s hash of the resulting book.
        book_hash: u64,
    },
}

impl FeedMessage {
    /// The instrument of the message.
    #[must_use]
    #[inline]
    pub fn instrument(&self) -> u16 {
        match *self {
            FeedMessage::OrderAdded { instrument, .. }
            | FeedMessage::OrderReduced { instrument, .. }
            | FeedMessage::OrderDeleted { instrument, .. }
            | FeedMessage::Trade { instrument, .. }
            | FeedMessage::Level { instrument, .. }
            | FeedMessage::State { instrument, .. }
            | FeedMessage::Definition { instrument, .. } => instrument,
        }
    }
}
