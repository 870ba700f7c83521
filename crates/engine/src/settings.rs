//! The operator's commands, in the same log as the orders.

/// The largest position, long or short, of an account in an instrument, in lots: 2^62. Larger
/// limits are rejected, so that positions and reservations can't overflow.
pub const POSITION_LOTS_MAX: u64 = 1 << 62;

/// State of an instrument.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum InstrumentState {
    /// It trades.
    Open = 0,
    /// No orders enter and no stop triggers. Orders may be cancelled, or reduced at the same price;
    /// they also expire.
    Halted = 1,
    /// Like halted, without amendments. Closing an instrument cancels its orders and stops (reason
    /// [`crate::DoneReason::Closed`], in the order of [`crate::MassCancel`] without an account).
    Closed = 2,
}

/// Sets all settings of an instrument. Initially it is open, its band is 1 to
/// [`crate::PRICE_TICKS_MAX`], and it has no reference price.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InstrumentSettings {
    /// The instrument.
    pub instrument: u16,
    /// Opaque to the engine, which repeats it in [`crate::Event::Applied`] or the rejection.
    pub tag: u32,
    /// Its state.
    pub state: InstrumentState,
    /// The lowest limit of a new or amended order, at least 1. Resting orders stay.
    pub band_low_ticks: i64,
    /// The highest, at least `band_low_ticks` and at most [`crate::PRICE_TICKS_MAX`].
    pub band_high_ticks: i64,
    /// If not 0, 1 to [`crate::PRICE_TICKS_MAX`]: the new reference price, as if the last trade had
    /// been there. Every trade sets the reference price to its own. Stops and collars use it.
    pub reference_ticks: i64,
}

/// Treatment of an order that meets an order of its own account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum SelfTrade {
    /// They trade.
    Allowed = 0,
    /// Cancel the rest of the arriving order.
    CancelNewest = 1,
    /// Cancel all of the resting order, and continue with the other.
    CancelOldest = 2,
    /// Cancel both, first the resting one.
    CancelBoth = 3,
    /// Reduce both by the quantity that they would have traded. An order without a remainder is
    /// cancelled; the other one continues.
    Decrement = 4,
}

/// Sets all limits of an account. Initially it has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccountSettings {
    /// The account, 0 to [`crate::EngineLimits::accounts_max`], exclusive.
    pub account: u32,
    /// Opaque to the engine, which repeats it in [`crate::Event::Applied`] or the rejection.
    pub tag: u32,
    /// The largest order, in lots, at most [`crate::QUANTITY_LOTS_MAX`].
    pub quantity_lots_max: u64,
    /// The largest price times quantity of an order, in tick-lots. Market orders and market stops
    /// count at the reference price. `u64::MAX`: no limit.
    pub notional_max: u64,
    /// How many ticks an order may bid above or offer below the reference price, at most
    /// [`crate::PRICE_TICKS_MAX`]; 0: no limit. A market order is a limit order at this limit or at
    /// the band's, whichever is nearer. Without a reference price there is no collar. A stop's
    /// limit is checked when it is entered or amended.
    pub collar_ticks: u64,
    /// Open orders and stops, over all instruments. `u32::MAX`: no limit.
    pub open_orders_max: u32,
    /// Messages per whole second of the engine's time: every new order, amendment, cancel and mass
    /// cancel of the account counts, rejected or not, unless its instrument is unknown. The limit
    /// never rejects a cancel. `u32::MAX`: no limit.
    pub messages_per_second_max: u32,
    /// Self-trade prevention, used if an order of the account is the incoming one.
    pub self_trade: SelfTrade,
}

impl AccountSettings {
    /// No limits, as every account has initially.
    #[must_use]
    pub fn unlimited(account: u32) -> AccountSettings {
        AccountSettings {
            account,
            tag: 0,
            quantity_lots_max: crate::QUANTITY_LOTS_MAX,
            notional_max: u64::MAX,
            collar_ticks: 0,
            open_orders_max: u32::MAX,
            messages_per_second_max: u32::MAX,
            self_trade: SelfTrade::Allowed,
        }
    }

    /// Whether the engine accepts them, except for the account's number.
    pub(crate) fn is_in_range(&self) -> bool {
        self.quantity_lots_max <= crate::QUANTITY_LOTS_MAX
            && self.collar_ticks <= crate::PRICE_TICKS_MAX.unsigned_abs()
    }
}

/// Sets an account's limits in one instrument, and changes its position there by other means than
/// trades: a balance that is paid in is a position, and an account without short sales has a
/// `short_lots_max` of 0. Initially the position is 0 and both limits are [`POSITION_LOTS_MAX`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PositionSettings {
    /// The account.
    pub account: u32,
    /// Opaque to the engine, which repeats it in [`crate::Event::Applied`] or the rejection.
    pub tag: u32,
    /// The instrument.
    pub instrument: u16,
    /// Limit of the position plus open buy orders, in lots, at most [`POSITION_LOTS_MAX`]. Checked
    /// when an order enters or grows; a lowered limit does not affect open orders.
    pub long_lots_max: u64,
    /// Limit of the open sell orders less the position.
    pub short_lots_max: u64,
    /// Added to the position. The sum, with the account's open orders on that side, must be within
    /// plus and minus [`POSITION_LOTS_MAX`].
    pub change_lots: i64,
}

impl PositionSettings {
    /// No limits and no change, as every position has initially.
    #[must_use]
    pub fn unlimited(account: u32, instrument: u16) -> PositionSettings {
        PositionSettings {
            account,
            tag: 0,
            instrument,
            long_lots_max: POSITION_LOTS_MAX,
            short_lots_max: POSITION_LOTS_MAX,
            change_lots: 0,
        }
    }
}

/// Sets or releases a kill switch. While it is on, new orders and amendments are rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kill {
    /// The account; `None` is the switch for all.
    pub account: Option<u32>,
    /// Opaque to the engine, which repeats it in [`crate::Event::Applied`] or the rejection.
    pub tag: u32,
    /// Whether to set it.
    pub on: bool,
    /// Whether to cancel the open orders of the account, or all, in the order of
    /// [`crate::MassCancel`]. Journals from before this field have it off.
    pub cancel: bool,
}
