//! What comes out of the engine.

use crate::command::Side;

/// An order as an event sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Party {
    /// The order.
    pub order_id: u64,
    /// Its owner.
    pub account: u32,
    /// The tag of the [`crate::NewOrder`] that entered it, or of the last [`crate::Amend`].
    pub tag: u32,
    /// The remaining quantity of the order in lots, shown or not, after the event. In
    /// [`Event::Done`] for an order that was cancelled or expired: the quantity that will now not
    /// trade.
    pub remaining_lots: u64,
}

/// What happened, in the order in which it happened.
///
/// First, whatever the command, the orders whose time has come (GTD) expire, soonest first, the
/// lower id first at the same time: `Done` (`Expired`) each. Then the command:
///
/// - An order that **enters** gives, for each resting order that it meets in price-time priority,
///   a `Trade`, followed at once by `Done` (`Filled`) if the resting order is used up, or by
///   `Replenished` if what it showed is used up. Then comes one event about the order itself:
///   `Done` (`Filled`), `Booked` (GTC and GTD), or `Done` (`Expired`; IOC, FOK, market). Where it
///   meets one of its own account, see [`crate::SelfTrade`].
/// - A stop gives `Waiting`; or, if its price is reached already, `Triggered`, and it enters.
/// - An amendment gives `Amended`; if the order lost its place it then enters.
/// - A cancel gives `Done` (`Cancelled`). A mass cancel gives that for each order, then `Applied`.
/// - A setting gives `Applied`; if it closes an instrument, `Done` (`Closed`) for each of its
///   orders first.
/// - `Rejected` stands alone, but for orders that expired before it, and then nothing has changed
///   but the engine's time and the account's count of messages.
///
/// Last, while a stop of the command's instrument has its price reached and the instrument is
/// open: the next one gives `Triggered` and enters. The next is, of the buy stops whose price is
/// reached, the lowest, or if there is none, of the sell stops the highest; first in first out at
/// the same price. Each trade moves the reference price, so one may lead to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The rest of an order rests in the book, last in the queue at its price.
    Booked {
        /// The instrument.
        instrument: u16,
        /// The order that rests.
        order: Party,
        /// The side it rests on.
        side: Side,
        /// The price it rests at, in ticks.
        price_ticks: i64,
        /// How much of it the book shows, in lots.
        visible_lots: u64,
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
    /// Two orders of an account would have traded: each has lost that quantity
    /// ([`crate::SelfTrade::Decrement`]). Followed, as a trade is, by what becomes of the resting
    /// one (`Done` with [`DoneReason::SelfTrade`], or `Replenished`); the other's `Done`, with the
    /// same reason, comes as that of an order that is filled.
    Decremented {
        /// The instrument.
        instrument: u16,
        /// The price of the resting order, in ticks.
        price_ticks: i64,
        /// How much each lost, in lots, at least 1.
        quantity_lots: u64,
        /// The side of the order that arrived.
        aggressor_side: Side,
        /// The order that arrived, after it.
        aggressor: Party,
        /// The order that rested, after it.
        resting: Party,
    },
    /// An iceberg order shows more, and is now last in the queue at its price.
    Replenished {
        /// The instrument.
        instrument: u16,
        /// The order.
        order: Party,
        /// The side it rests on.
        side: Side,
        /// The price it rests at, in ticks.
        price_ticks: i64,
        /// How much of it the book shows, in lots.
        visible_lots: u64,
    },
    /// An order's price, quantity and tag are new.
    Amended {
        /// The instrument.
        instrument: u16,
        /// The order.
        order: Party,
        /// Its side.
        side: Side,
        /// Its price, in ticks: the one at which it enters, where its post-only gives it another
        /// than was asked for; 0 for a stop that is a market order.
        price_ticks: i64,
        /// Whether it kept its place, with `visible_lots` now. If not, it has left the book, and
        /// enters again.
        kept_place: bool,
        /// How much of it the book shows, in lots: 0 if it is a stop, or did not keep its place.
        visible_lots: u64,
    },
    /// A stop waits for its price.
    Waiting {
        /// The instrument.
        instrument: u16,
        /// The order.
        order: Party,
        /// Its side.
        side: Side,
        /// The price it waits for, in ticks.
        stop_ticks: i64,
    },
    /// A stop's price is reached: it enters.
    Triggered {
        /// The instrument.
        instrument: u16,
        /// The order.
        order: Party,
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
    /// A mass cancel or a setting is done.
    Applied {
        /// The command's.
        tag: u32,
        /// How many orders it ended.
        orders: u32,
    },
    /// A command was refused; nothing has changed.
    Rejected {
        /// The instrument that the command named, whether it exists or not; 0 where it names none.
        instrument: u16,
        /// The order that the command named; 0 where it names none.
        order_id: u64,
        /// The account that sent the command, or that it is about; 0 where it names none.
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
    /// Its owner cancelled it, or the operator did.
    Cancelled = 1,
    /// It was not to rest, and this part found no counterpart; or its time had come.
    Expired = 2,
    /// It met an order of its own account.
    SelfTrade = 3,
    /// Its instrument was closed.
    Closed = 4,
    /// A stop triggered that is to rest at a new price, and its side of the book has
    /// [`crate::EngineLimits::price_levels_max`] prices.
    NoRoom = 5,
}

impl DoneReason {
    /// All, in the order of their numbers.
    pub const ALL: [DoneReason; 6] = [
        DoneReason::Filled,
        DoneReason::Cancelled,
        DoneReason::Expired,
        DoneReason::SelfTrade,
        DoneReason::Closed,
        DoneReason::NoRoom,
    ];
}

/// Why a command was refused. Checked in the order in which they stand here; the first that applies
/// is reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Reject {
    /// The engine has no instrument of this number.
    UnknownInstrument = 0,
    /// The engine knows accounts, and has none of this number; or it knows none, and the command
    /// needs one.
    UnknownAccount,
    /// A setting is out of its range.
    BadSetting,
    /// The account has sent [`crate::AccountSettings::messages_per_second_max`] in this second.
    /// Not for cancels.
    MessageRate,
    /// A kill switch is on, the account's or that of all. Not for cancels.
    KillSwitch,
    /// The instrument is halted. Not for cancels, nor for an amendment that keeps its place (but
    /// for that of a stop).
    InstrumentHalted,
    /// The instrument is closed. Not for cancels.
    InstrumentClosed,
    /// The order's type, time in force, post-only, display, stop and expiry do not go together: see
    /// [`crate::NewOrder`].
    BadCombination,
    /// The price is not within 1 and [`crate::PRICE_TICKS_MAX`], or not 0 in a market order; or
    /// the stop price is not.
    BadPrice,
    /// The quantity is not within 1 and [`crate::QUANTITY_LOTS_MAX`], or the display quantity is
    /// larger (not of an amendment, which keeps it), or less than a [`crate::DISPLAYS_MAX`]th of
    /// it.
    BadQuantity,
    /// A GTD order's time has come already.
    BadExpiry,
    /// The limit is outside the instrument's band. Not for an amendment that keeps its place.
    PriceBand,
    /// An order with this id is open, in this or another instrument.
    DuplicateOrderId,
    /// No order with this id is open in this instrument (never was, or is done). For an amendment
    /// this and the next are checked right after the account's message rate, before the rest.
    UnknownOrder,
    /// The order belongs to another account.
    NotYourOrder,
    /// Risk: larger than [`crate::AccountSettings::quantity_lots_max`]. This and the other risk
    /// checks are not for cancels, nor for an amendment that keeps its place.
    RiskQuantity,
    /// Risk: further past the reference price than [`crate::AccountSettings::collar_ticks`].
    RiskCollar,
    /// Risk: a market order or a stop that is one, its account has a notional limit, and the
    /// instrument has no reference price.
    RiskNoReference,
    /// Risk: worth more than [`crate::AccountSettings::notional_max`].
    RiskNotional,
    /// Risk: the order may rest, or is a stop, and the account has
    /// [`crate::AccountSettings::open_orders_max`] open. Not for an amendment.
    RiskOpenOrders,
    /// Risk: all open orders of the account on this side, with this one, could take its position
    /// past [`crate::PositionSettings::long_lots_max`] or `short_lots_max`. Not for an amendment
    /// that does not grow.
    RiskPosition,
    /// The order is post-only and would trade; or to reprice it would take it below 1, past
    /// [`crate::PRICE_TICKS_MAX`] or outside the band.
    PostOnlyWouldTrade,
    /// The order would rest or wait, and [`crate::EngineLimits::open_orders_max`] orders are open.
    LimitOpenOrders,
    /// The order might rest at a new price, and its side of the book has
    /// [`crate::EngineLimits::price_levels_max`] prices. (For a stop that is to wait: it would
    /// wait at a new price, and its side has [`crate::EngineLimits::stop_levels_max`].) The price
    /// that an amended order leaves counts, whether others rest there or not.
    LimitPriceLevels,
    /// The order might rest or wait until a date, and [`crate::EngineLimits::expiring_orders_max`]
    /// such orders are open.
    LimitExpiringOrders,
}

impl Reject {
    /// The reason as it stands on the wire and in logs. Stable: clients match on it. A limit is
    /// given by its name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Reject::UnknownInstrument => "UNKNOWN_INSTRUMENT",
            Reject::UnknownAccount => "UNKNOWN_ACCOUNT",
            Reject::BadSetting => "BAD_SETTING",
            Reject::MessageRate => "RISK_MESSAGES_PER_SECOND_MAX",
            Reject::KillSwitch => "KILL_SWITCH",
            Reject::InstrumentHalted => "INSTRUMENT_HALTED",
            Reject::InstrumentClosed => "INSTRUMENT_CLOSED",
            Reject::BadCombination => "BAD_COMBINATION",
            Reject::BadPrice => "BAD_PRICE",
            Reject::BadQuantity => "BAD_QUANTITY",
            Reject::BadExpiry => "BAD_EXPIRY",
            Reject::PriceBand => "PRICE_BAND",
            Reject::DuplicateOrderId => "DUPLICATE_ORDER_ID",
            Reject::UnknownOrder => "UNKNOWN_ORDER",
            Reject::NotYourOrder => "NOT_YOUR_ORDER",
            Reject::RiskQuantity => "RISK_QUANTITY_LOTS_MAX",
            Reject::RiskCollar => "RISK_COLLAR_TICKS",
            Reject::RiskNoReference => "RISK_NO_REFERENCE_PRICE",
            Reject::RiskNotional => "RISK_NOTIONAL_MAX",
            Reject::RiskOpenOrders => "RISK_OPEN_ORDERS_MAX",
            Reject::RiskPosition => "RISK_POSITION",
            Reject::PostOnlyWouldTrade => "POST_ONLY_WOULD_TRADE",
            Reject::LimitOpenOrders => "LIMIT_OPEN_ORDERS_MAX",
            Reject::LimitPriceLevels => "LIMIT_PRICE_LEVELS_MAX",
            Reject::LimitExpiringOrders => "LIMIT_EXPIRING_ORDERS_MAX",
        }
    }
}
