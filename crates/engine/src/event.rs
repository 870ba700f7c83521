//! The engine's events.

use crate::command::Side;

/// An order as an event sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Party {
    /// The order.
    pub order_id: u64,
    /// Its owner.
    pub account: u32,
    /// The tag of its [`crate::NewOrder`] or of the last [`crate::Amend`].
    pub tag: u32,
    /// The order's remaining quantity in lots after the event, shown or hidden. In [`Event::Done`]
    /// of a cancelled or expired order: the quantity that did not trade.
    pub remaining_lots: u64,
}

/// The events of an input, in order.
///
/// For any command, first the orders whose date (GTD) has come expire, earliest first, the lower id
/// first at the same time: `Done` (`Expired`) each. Then the command:
///
/// - An order that **enters** gives a `Trade` for each resting order that it meets in price-time
///   priority, followed at once by `Done` (`Filled`) if the resting order is used up, or by
///   `Replenished` if its shown quantity is used up. Then comes one event about the order itself:
///   `Done` (`Filled`), `Booked` (GTC and GTD), or `Done` (`Expired`; IOC, FOK, market). If it
///   meets an order of its own account, see [`crate::SelfTrade`].
/// - A stop gives `Waiting`; or, if its price is already reached, `Triggered`, and it enters.
/// - An amendment gives `Amended`; if the order lost its place it then enters.
/// - A cancel gives `Done` (`Cancelled`). A mass cancel gives that for each order, then `Applied`.
/// - A setting gives `Applied`; if it closes an instrument, first `Done` (`Closed`) for each of its
///   orders.
/// - `Rejected` is the only event, except for orders that expired before it. Then only the engine's
///   time and the account's count of messages have changed.
///
/// Last, while the price of a stop of the command's instrument is reached and the instrument is
/// open, the next stop gives `Triggered` and enters. The next stop is the lowest buy stop whose
/// price is reached or, without one, the highest sell stop; first in first out at the same price.
/// Each trade moves the reference price, so one stop may trigger another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The remainder of an order rests in the book, last in the queue at its price.
    Booked {
        /// The instrument.
        instrument: u16,
        /// The resting order.
        order: Party,
        /// Its side.
        side: Side,
        /// Its price, in ticks.
        price_ticks: i64,
        /// Its shown quantity, in lots.
        visible_lots: u64,
    },
    /// Two orders traded, at the price of the resting one.
    Trade {
        /// The instrument.
        instrument: u16,
        /// The price of the resting order, in ticks.
        price_ticks: i64,
        /// The traded quantity, in lots, at least 1.
        quantity_lots: u64,
        /// The side of the incoming order.
        aggressor_side: Side,
        /// The incoming order, after the trade.
        aggressor: Party,
        /// The resting order, after the trade.
        resting: Party,
    },
    /// Two orders of an account would have traded: each has lost that quantity
    /// ([`crate::SelfTrade::Decrement`]). As after a trade, the consequence for the resting order
    /// follows (`Done` with [`DoneReason::SelfTrade`], or `Replenished`). The incoming order's
    /// `Done`, with the same reason, comes where that of a filled order would.
    Decremented {
        /// The instrument.
        instrument: u16,
        /// The price of the resting order, in ticks.
        price_ticks: i64,
        /// The quantity that each lost, in lots, at least 1.
        quantity_lots: u64,
        /// The side of the incoming order.
        aggressor_side: Side,
        /// The incoming order, after it.
        aggressor: Party,
        /// The resting order, after it.
        resting: Party,
    },
    /// An iceberg order shows its next part, and is now last in the queue at its price.
    Replenished {
        /// The instrument.
        instrument: u16,
        /// The order.
        order: Party,
        /// Its side.
        side: Side,
        /// Its price, in ticks.
        price_ticks: i64,
        /// Its shown quantity, in lots.
        visible_lots: u64,
    },
    /// An order's price, quantity and tag have changed.
    Amended {
        /// The instrument.
        instrument: u16,
        /// The order.
        order: Party,
        /// Its side.
        side: Side,
        /// Its price, in ticks: the price at which it enters, which post-only may have changed; 0
        /// for a stop that is a market order.
        price_ticks: i64,
        /// Whether it kept its place, with `visible_lots` now. If not, it has left the book, and
        /// enters again.
        kept_place: bool,
        /// Its shown quantity, in lots: 0 for a stop, or if it did not keep its place.
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
        /// Its stop price, in ticks.
        stop_ticks: i64,
    },
    /// A stop's price is reached: it enters the book.
    Triggered {
        /// The instrument.
        instrument: u16,
        /// The order.
        order: Party,
    },
    /// An order has ended.
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
        /// The command's tag.
        tag: u32,
        /// Number of orders that it ended.
        orders: u32,
    },
    /// A command was rejected; nothing has changed.
    Rejected {
        /// The instrument of the command, existing or not; 0 without one.
        instrument: u16,
        /// The order of the command; 0 without one.
        order_id: u64,
        /// The account that sent the command, or its subject; 0 without one.
        account: u32,
        /// The tag of the command.
        tag: u32,
        /// The reason.
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
    /// It could not rest, and this part found no counterpart; or its date was reached.
    Expired = 2,
    /// It met an order of its own account.
    SelfTrade = 3,
    /// Its instrument was closed.
    Closed = 4,
    /// A triggered stop can't rest at a new price, because its side of the book has
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

/// Why a command was rejected. Checked in this order; the first that applies is reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Reject {
    /// The engine has no instrument with this number.
    UnknownInstrument = 0,
    /// The engine has no account with this number; or it has no accounts, and the command needs
    /// one.
    UnknownAccount,
    /// A setting is out of its range.
    BadSetting,
    /// The account has sent [`crate::AccountSettings::messages_per_second_max`] in this second. Not
    /// for cancels.
    MessageRate,
    /// A kill switch is on, the account's or that for all. Not for cancels.
    KillSwitch,
    /// The instrument is halted. Not for cancels, nor for an amendment that keeps its place (except
    /// one of a stop).
    InstrumentHalted,
    /// The instrument is closed. Not for cancels.
    InstrumentClosed,
    /// The order's type, time in force, post-only, display, stop and expiry are not compatible: see
    /// [`crate::NewOrder`].
    BadCombination,
    /// The price is not within 1 and [`crate::PRICE_TICKS_MAX`], or not 0 in a market order; or the
    /// stop price is out of range.
    BadPrice,
    /// The quantity is not within 1 and [`crate::QUANTITY_LOTS_MAX`]; or the display quantity is
    /// larger (not in an amendment, which keeps it), or less than a [`crate::DISPLAYS_MAX`]th of
    /// it.
    BadQuantity,
    /// A GTD order's date has already passed.
    BadExpiry,
    /// The limit is outside the instrument's band. Not for an amendment that keeps its place.
    PriceBand,
    /// An order with this id is open, in any instrument.
    DuplicateOrderId,
    /// No order with this id is open in this instrument. For an amendment, this and the next are
    /// checked directly after the account's message rate, before the rest.
    UnknownOrder,
    /// The order belongs to another account.
    NotYourOrder,
    /// Risk: larger than [`crate::AccountSettings::quantity_lots_max`]. The risk checks don't apply
    /// to cancels, nor to amendments that keep their place.
    RiskQuantity,
    /// Risk: further beyond the reference price than [`crate::AccountSettings::collar_ticks`].
    RiskCollar,
    /// Risk: a market order or a market stop, whose account has a notional limit, in an instrument
    /// without a reference price.
    RiskNoReference,
    /// Risk: worth more than [`crate::AccountSettings::notional_max`].
    RiskNotional,
    /// Risk: the order may rest, or is a stop, and the account has
    /// [`crate::AccountSettings::open_orders_max`] open. Not for an amendment.
    RiskOpenOrders,
    /// Risk: all open orders of the account on this side, including this one, could take its
    /// position beyond [`crate::PositionSettings::long_lots_max`] or `short_lots_max`. Not for an
    /// amendment that does not grow.
    RiskPosition,
    /// The order is post-only and would trade; or repricing would move it below 1, above
    /// [`crate::PRICE_TICKS_MAX`] or outside the band.
    PostOnlyWouldTrade,
    /// The order would rest or wait, and [`crate::EngineLimits::open_orders_max`] orders are open.
    LimitOpenOrders,
    /// The order might rest at a new price, and its side of the book has
    /// [`crate::EngineLimits::price_levels_max`] prices. (For a stop: it would wait at a new price,
    /// and its side has [`crate::EngineLimits::stop_levels_max`].) The price that an amended order
    /// leaves counts, even if no other order rests there.
    LimitPriceLevels,
    /// The order might rest or wait until a date, and [`crate::EngineLimits::expiring_orders_max`]
    /// such orders are open.
    LimitExpiringOrders,
}

impl Reject {
    /// The reason on the wire and in logs. Clients match on it, so it must not change. A limit is
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
