//! Traders' commands. `settings` has the operator's.

use crate::settings::{AccountSettings, InstrumentSettings, Kill, PositionSettings};

/// The highest price of an order, in ticks. The lowest is 1.
///
/// The engine never adds prices. The bound keeps price times quantity within 10^24, which fits an
/// `i128`, and lets a price be negated.
pub const PRICE_TICKS_MAX: i64 = 1_000_000_000_000;

/// The largest quantity of an order, in lots. The smallest is 1.
///
/// The quantity of a price level is a sum over at most [`crate::OPEN_ORDERS_MAX`] orders; both
/// bounds together keep it below 2^64, so no sum in the engine can overflow.
pub const QUANTITY_LOTS_MAX: u64 = 1_000_000_000_000;

/// Largest ratio of an iceberg order's quantity to its display quantity.
///
/// It bounds the engine's work for one message. Without it, an order of 10^12 lots that shows 1,
/// and another that meets it, are 10^12 trades.
pub const DISPLAYS_MAX: u64 = 1_000;

const _: () =
    assert!(QUANTITY_LOTS_MAX as u128 * crate::OPEN_ORDERS_MAX as u128 <= u64::MAX as u128);

/// Side of the book.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Side {
    /// Buys at its price or lower.
    Buy = 0,
    /// Sells at its price or higher.
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

/// Treatment of the part of an order that does not trade on arrival, or when a stop triggers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum TimeInForce {
    /// It rests in the book until it trades or is cancelled (GTC).
    GoodTillCancelled = 0,
    /// It expires at once (IOC).
    ImmediateOrCancel = 1,
    /// All of the order trades on arrival, or nothing does and it expires (FOK). Quantity that
    /// self-trade prevention would remove does not trade. If the order needs it, the order expires,
    /// and the resting orders stay unchanged.
    FillOrKill = 2,
    /// It rests until [`NewOrder::expires_ns`] at the latest (GTD).
    GoodTillDate = 3,
}

impl TimeInForce {
    /// Whether an order of this kind can stay in the book.
    #[must_use]
    pub fn may_rest(self) -> bool {
        matches!(self, TimeInForce::GoodTillCancelled | TimeInForce::GoodTillDate)
    }
}

/// Whether an order has a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum OrderType {
    /// It trades at [`NewOrder::price_ticks`] or better.
    Limit = 0,
    /// It trades at any price that its account's collar allows (see
    /// [`AccountSettings::collar_ticks`]). `price_ticks` must be 0, and the time in force IOC or
    /// FOK.
    Market = 1,
}

/// Treatment of an order that is meant to rest but would trade on arrival, because its limit
/// reaches the best price of the other side (of any account).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum PostOnly {
    /// It trades.
    No = 0,
    /// It is rejected.
    Reject = 1,
    /// It rests one tick short of the best price of the other side.
    Reprice = 2,
}

/// An order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewOrder {
    /// Unique among the open orders of the engine, over all instruments. An id may be reused after
    /// its order is done; reports can then no longer be told apart.
    pub order_id: u64,
    /// Owner of the order. Only the owner may cancel or amend it.
    pub account: u32,
    /// Opaque to the engine, which repeats it in every event about this order.
    pub tag: u32,
    /// 0 to the engine's number of instruments, exclusive.
    pub instrument: u16,
    /// Buy or sell.
    pub side: Side,
    /// Limit or market.
    pub order_type: OrderType,
    /// Treatment of the remainder.
    pub time_in_force: TimeInForce,
    /// Only for a limit order without a stop that may rest; `No` for all others.
    pub post_only: PostOnly,
    /// 1 to [`PRICE_TICKS_MAX`]; 0 for a market order.
    pub price_ticks: i64,
    /// 1 to [`QUANTITY_LOTS_MAX`].
    pub quantity_lots: u64,
    /// The shown quantity of the order (iceberg), 1 to `quantity_lots`, at least a
    /// [`DISPLAYS_MAX`]th of it; 0 shows all. Only for a limit order without a stop that may rest.
    pub display_lots: u64,
    /// If not 0, 1 to [`PRICE_TICKS_MAX`]: the order waits outside the book until the instrument's
    /// reference price (see [`InstrumentSettings::reference_ticks`]) reaches this price: at or
    /// above it for a buy order, at or below it for a sell order. When it then enters, risk and
    /// band are not checked again.
    pub stop_ticks: i64,
    /// For a GTD order the time, not 0, from which it is no longer open, on the clock of
    /// [`Input::time_ns`]; 0 for all others.
    pub expires_ns: u64,
}

impl NewOrder {
    /// Whether its display quantity is large enough.
    #[must_use]
    #[inline]
    pub(crate) fn shows_enough(&self) -> bool {
        let most_lots = self.display_lots.saturating_mul(DISPLAYS_MAX);
        self.display_lots == 0 || self.quantity_lots <= most_lots
    }

    /// Whether the book can show `visible_lots` of its remainder while it rests.
    #[must_use]
    pub(crate) fn can_show(&self, visible_lots: u64) -> bool {
        match self.display_lots {
            0 => visible_lots == self.quantity_lots,
            most_lots => (1..=most_lots.min(self.quantity_lots)).contains(&visible_lots),
        }
    }

    /// A plain limit order: GTC, all of it shown.
    #[must_use]
    pub fn limit(side: Side, price_ticks: i64, quantity_lots: u64) -> NewOrder {
        NewOrder {
            order_id: 0,
            account: 0,
            tag: 0,
            instrument: 0,
            side,
            order_type: OrderType::Limit,
            time_in_force: TimeInForce::GoodTillCancelled,
            post_only: PostOnly::No,
            price_ticks,
            quantity_lots,
            display_lots: 0,
            stop_ticks: 0,
            expires_ns: 0,
        }
    }
}

/// Changes an open order's price, quantity or both, and gives it a new tag. If the price stays and
/// the quantity does not grow, it keeps its place; otherwise it leaves the book and enters again
/// under its id, last at its price, and may trade. In both cases it keeps its side, its display
/// quantity, its post-only and its time in force. A reduction of an iceberg order first takes
/// hidden quantity.
///
/// For a waiting stop, it changes the limit and the quantity, not the stop price. The stop keeps
/// its place, but is checked like an amendment that does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Amend {
    /// The order to amend.
    pub order_id: u64,
    /// The requesting account. Must be the order's owner.
    pub account: u32,
    /// Opaque to the engine: the order's new tag, or the rejection's.
    pub tag: u32,
    /// The instrument of the order.
    pub instrument: u16,
    /// As [`NewOrder::price_ticks`]; 0 for a stop that is a market order.
    pub price_ticks: i64,
    /// The new open quantity, regardless of earlier trades: 1 to [`QUANTITY_LOTS_MAX`].
    pub remaining_lots: u64,
}

/// Removes an open order from the book.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cancel {
    /// The order to cancel.
    pub order_id: u64,
    /// The requesting account. Must be the order's owner.
    pub account: u32,
    /// Opaque to the engine, which repeats it only if the cancel is rejected: a successful cancel
    /// is reported with the tag of its order.
    pub tag: u32,
    /// The instrument of the order.
    pub instrument: u16,
}

/// Cancels all open orders and waiting stops that match all given criteria.
///
/// With an account: the order that joined a queue last is cancelled first (an order joins when it
/// is booked, when its stop starts to wait, and when an amendment costs it its place). Without: by
/// instrument; in each the bids, the asks, the buy stops, the sell stops; in each, the best (for
/// stops: the next to trigger) first, in the order of their queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MassCancel {
    /// The owner; `None` is all accounts. Needs an engine with accounts.
    pub account: Option<u32>,
    /// The instrument; `None` is all.
    pub instrument: Option<u16>,
    /// The side; `None` is both.
    pub side: Option<Side>,
    /// Opaque to the engine, which repeats it in [`crate::Event::Applied`].
    pub tag: u32,
}

/// One message to the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// Enter an order.
    New(NewOrder),
    /// Amend an order.
    Amend(Amend),
    /// Cancel an order.
    Cancel(Cancel),
    /// Cancel many.
    MassCancel(MassCancel),
    /// Set an instrument's state, band and reference price.
    Instrument(InstrumentSettings),
    /// Set an account's limits.
    Account(AccountSettings),
    /// Set an account's limits in one instrument, and change its position there.
    Position(PositionSettings),
    /// Set or release a kill switch.
    Kill(Kill),
}

/// A command and its time: the unit that is sequenced, logged and replayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Input {
    /// Time of sequencing, in nanoseconds since 1970 UTC. The engine's time never decreases: an
    /// earlier time counts as the latest one so far.
    pub time_ns: u64,
    /// The command.
    pub command: Command,
}

// Commands are copied through rings and journals, so their size is a decision.
const _: () = assert!(size_of::<Command>() <= 72 && size_of::<Input>() <= 80);
