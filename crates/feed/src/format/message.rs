//! What the feed says.

use engine::{InstrumentState, Side};

/// Which feed. Each counts its messages by itself, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Channel {
    /// Order by order (L3).
    Orders = 0,
    /// Price by price (L2).
    Levels = 1,
}

/// The head of every datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketHeader {
    /// Which run of the exchange: when it began, in nanoseconds since 1970. Another session is
    /// another count, and another book.
    pub session: u64,
    /// The number of the first message in it. In a packet without messages (a heartbeat, a
    /// snapshot): the number that the next message will have, or, in a snapshot, the first that it
    /// does not contain.
    pub sequence: u64,
    /// How many messages.
    pub count: u16,
    /// Index of this datagram in its snapshot, from 0; otherwise 0.
    pub part: u16,
    /// Number of datagrams of the snapshot; otherwise 1.
    pub parts: u16,
    /// Which feed.
    pub channel: Channel,
    /// What kind of packet.
    pub kind: PacketKind,
    /// When the schedule wanted the first event in it to happen, on the exchange's clock, ns; when
    /// its cause was read where nothing was scheduled (a client's order).
    pub intended_ns: u64,
    /// When the last event in it was acknowledged: the engine was through with it and its reports
    /// were encoded, on the exchange's clock, ns.
    pub acknowledged_ns: u64,
    /// When it was handed to the kernel, on the exchange's clock, ns. Patched in by whoever sends
    /// it.
    pub published_ns: u64,
}

/// What a datagram is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum PacketKind {
    /// New messages. Without any: a heartbeat.
    Live = 0,
    /// Messages that were asked for again.
    Replay = 1,
    /// A part of a snapshot: the messages of all its parts, one after the other, make the books
    /// from nothing, and have no numbers. For each instrument [`Message::Definition`],
    /// [`Message::State`], and its entries, side by side, best price first, first in first.
    Snapshot = 2,
}

/// One event of the feed. Quantities are what the book shows, in lots; prices are in ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Message {
    /// An order rests, last in the queue at its price. ([`Channel::Orders`])
    OrderAdded {
        /// The instrument.
        instrument: u16,
        /// The order.
        order_id: u64,
        /// Its side.
        side: Side,
        /// Where it rests, in ticks.
        price_ticks: i64,
        /// How much it shows, in lots, at least 1.
        quantity_lots: u64,
    },
    /// An order shows less now, and keeps its place. ([`Channel::Orders`])
    OrderReduced {
        /// The instrument.
        instrument: u16,
        /// The order.
        order_id: u64,
        /// How much it shows now, in lots, at least 1.
        quantity_lots: u64,
    },
    /// An order rests no longer. ([`Channel::Orders`])
    OrderDeleted {
        /// The instrument.
        instrument: u16,
        /// The order.
        order_id: u64,
    },
    /// A resting order traded. On [`Channel::Orders`] it shows so much less, and rests no longer
    /// where that is all it showed; on [`Channel::Levels`] the level's own message follows.
    Trade {
        /// The instrument.
        instrument: u16,
        /// Counts the trades of the exchange.
        trade_id: u64,
        /// The order that rested.
        order_id: u64,
        /// The side of the order that arrived.
        aggressor_side: Side,
        /// The price, in ticks.
        price_ticks: i64,
        /// How much changed hands, in lots, at least 1.
        quantity_lots: u64,
    },
    /// All that is shown at a price now. ([`Channel::Levels`])
    Level {
        /// The instrument.
        instrument: u16,
        /// The side.
        side: Side,
        /// The price, in ticks.
        price_ticks: i64,
        /// In lots; 0: nothing rests there any more.
        quantity_lots: u64,
        /// Orders there.
        orders: u32,
    },
    /// An instrument is open, halted or closed.
    State {
        /// The instrument.
        instrument: u16,
        /// Its state.
        state: InstrumentState,
    },
    /// What an instrument is: in snapshots, first of its messages.
    Definition {
        /// The instrument.
        instrument: u16,
        /// Its code, padded with zeros.
        code: [u8; 32],
        /// A tick's worth, as a decimal: mantissa and exponent of ten.
        tick: (i64, i8),
        /// A lot's size, likewise.
        lot: (i64, i8),
        /// Orders (or levels) that follow of it in this snapshot.
        entries: u32,
        /// [`crate`]'s hash of the book that they make.
        book_hash: u64,
    },
}

impl Message {
    /// The instrument that it is about.
    #[must_use]
    #[inline]
    pub fn instrument(&self) -> u16 {
        match *self {
            Message::OrderAdded { instrument, .. }
            | Message::OrderReduced { instrument, .. }
            | Message::OrderDeleted { instrument, .. }
            | Message::Trade { instrument, .. }
            | Message::Level { instrument, .. }
            | Message::State { instrument, .. }
            | Message::Definition { instrument, .. } => instrument,
        }
    }
}
