//! What goes into the engine.

/// The highest price that an order may name, in ticks. The lowest is 1.
///
/// The engine never adds prices. The bound keeps price times quantity within 10^24, which fits an
/// `i128`, and lets a price be negated.
pub const PRICE_TICKS_MAX: i64 = 1_000_000_000_000;

/// The largest quantity that an order may name, in lots. The smallest is 1.
///
/// The quantity of a price level is a sum over at most [`crate::OPEN_ORDERS_MAX`] orders; both
/// bounds together keep it below 2^64, so no sum in the engine can overflow.
pub const QUANTITY_LOTS_MAX: u64 = 1_000_000_000_000;

const _: () =
    assert!(QUANTITY_LOTS_MAX as u128 * crate::OPEN_ORDERS_MAX as u128 <= u64::MAX as u128);

/// Which side of the book an order stands on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Side {
    /// Wants to buy at its price or lower.
    Buy = 0,
    /// Wants to sell at its price or higher.
    Sell = 1,
}

impl Side {
    /// The side that this one trades with.
    #[must_use]
    pub fn opposite(self) -> Side {
        match self {
            Side::Buy => Side::Sell,
            Side::Sell => Side::Buy,
        }
    }
}

/// What happens to the part of an order that does not trade on arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum TimeInForce {
    /// It rests in the book until it trades or is cancelled (GTC).
    GoodTillCancelled = 0,
    /// It expires at once (IOC).
    ImmediateOrCancel = 1,
}

/// A limit order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewOrder {
    /// Unique among the orders that are open in the engine, over all instruments. An id may be used
    /// again once its order is done: who numbers orders must not, if reports are to be told apart.
    pub order_id: u64,
    /// Who owns the order. Only the owner may cancel it.
    pub account: u32,
    /// Opaque to the engine. Comes back in every event about this order.
    pub tag: u32,
    /// 0 to the engine's number of instruments, exclusive.
    pub instrument: u16,
    /// Buy or sell.
    pub side: Side,
    /// What becomes of the remainder.
    pub time_in_force: TimeInForce,
    /// 1 to [`PRICE_TICKS_MAX`].
    pub price_ticks: i64,
    /// 1 to [`QUANTITY_LOTS_MAX`].
    pub quantity_lots: u64,
}

/// Takes an open order out of the book.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cancel {
    /// The order to cancel.
    pub order_id: u64,
    /// Who asks. Must be the order's owner.
    pub account: u32,
    /// Opaque to the engine. Comes back only if the cancel is rejected: a cancel that succeeds is
    /// reported with the tag of its order.
    pub tag: u32,
    /// The instrument of the order.
    pub instrument: u16,
}

/// One message to the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// Enter an order.
    New(NewOrder),
    /// Cancel an order.
    Cancel(Cancel),
}

// Commands travel through rings and journals by value: growth should be a decision.
const _: () = assert!(size_of::<Command>() <= 48);
