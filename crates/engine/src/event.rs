//! What comes out of the engine.

use crate::command::Side;

/// An order as an event sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Party {
    /// The order.
    pub order_id: u64,
    /// Its owner.
    pub account: u32,
    /// The tag of the [`crate::NewOrder`] that entered it.
    pub tag: u32,
    /// What is left of the order, in lots, after what the event tells. In [`Event::Done`] for an
    /// order that was cancelled or expired: the quantity that will now not trade.
    pub remaining_lots: u64,
}

/// What happened, in the order in which it happened.
///
/// A crossing order gives, for each resting order that it meets in price-time priority, a `Trade`,
/// followed at once by `Done` (`Filled`) if the resting order is used up. Then comes one event
/// about the crossing order itself: `Done` (`Filled`), `Booked` (GTC), or `Done` (`Expired`, IOC).
/// `Rejected` always stands alone, and then nothing has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// What is left of an order rests in the book, last in the queue at its price.
    Booked {
        /// The instrument.
        instrument: u16,
        /// The order that rests.
        order: Party,
        /// The side it rests on.
        side: Side,
        /// The price it rests at, in ticks.
        price_ticks: i64,
    },
    /// Two orders traded, at the price of the resting one.
    Trade {
        /// The instrument.
        instrument: u16,
        /// The price of the resting order, in ticks.
        price_ticks: i64,
        /// How much changed hands, in lots, at least 1.
        quantity_lots: u64,
        /// The side of the order that arrived.
        aggressor_side: Side,
        /// The order that arrived, after the trade.
        aggressor: Party,
        /// The order that rested, after the trade.
        resting: Party,
    },
    /// An order has come to its end.
    Done {
        /// The instrument.
        instrument: u16,
        /// The order.
        order: Party,
        /// Why it ended.
        reason: DoneReason,
    },
    /// A command was refused; nothing has changed.
    Rejected {
        /// The instrument that the command named, whether it exists or not.
        instrument: u16,
        /// The order that the command named.
        order_id: u64,
        /// The account that sent the command.
        account: u32,
        /// The tag of the command.
        tag: u32,
        /// Why.
        reason: Reject,
    },
}

/// Why an order ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum DoneReason {
    /// All of it traded.
    Filled = 0,
    /// Its owner cancelled it.
    Cancelled = 1,
    /// It was immediate-or-cancel, and this part found no counterpart.
    Expired = 2,
}

/// Why a command was refused. Checked in the order in which they stand here; the first that applies
/// is reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Reject {
    /// The engine has no instrument of this number.
    UnknownInstrument = 0,
    /// The price is not within 1 and [`crate::PRICE_TICKS_MAX`].
    BadPrice = 1,
    /// The quantity is not within 1 and [`crate::QUANTITY_LOTS_MAX`].
    BadQuantity = 2,
    /// An order with this id is open, in this or another instrument.
    DuplicateOrderId = 3,
    /// No order with this id is open in this instrument (never was, or is done).
    UnknownOrder = 4,
    /// The order belongs to another account.
    NotYourOrder = 5,
    /// The order would rest, and [`crate::EngineLimits::open_orders_max`] orders are open.
    LimitOpenOrders = 6,
    /// The order might rest at a new price, and its side of the book has
    /// [`crate::EngineLimits::price_levels_max`] prices.
    LimitPriceLevels = 7,
}

impl Reject {
    /// The reason as it stands on the wire and in logs. Stable: clients match on it. A limit is
    /// given by its name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Reject::UnknownInstrument => "UNKNOWN_INSTRUMENT",
            Reject::BadPrice => "BAD_PRICE",
            Reject::BadQuantity => "BAD_QUANTITY",
            Reject::DuplicateOrderId => "DUPLICATE_ORDER_ID",
            Reject::UnknownOrder => "UNKNOWN_ORDER",
            Reject::NotYourOrder => "NOT_YOUR_ORDER",
            Reject::LimitOpenOrders => "LIMIT_OPEN_ORDERS_MAX",
            Reject::LimitPriceLevels => "LIMIT_PRICE_LEVELS_MAX",
        }
    }
}
