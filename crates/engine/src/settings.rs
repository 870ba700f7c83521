//! What goes into the engine from the exchange's operator, in the same log as the orders.

/// The largest position, long or short, that an account can have in an instrument, in lots: 2^62.
/// Limits above it are refused, so that positions and reservations can't overflow.
pub const POSITION_LOTS_MAX: u64 = 1 << 62;

/// Whether an instrument trades.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum InstrumentState {
    /// It trades.
    Open = 0,
    /// Nothing enters and no stop triggers. Orders may be cancelled, or amended to less at the
    /// same price; they expire.
    Halted = 1,
    /// As halted, without amendments. To close an instrument cancels its orders and stops (reason
    /// [`crate::DoneReason::Closed`], order as in [`crate::MassCancel`] without an account).
    Closed = 2,
}

/// Sets all of an instrument's settings. At first an instrument is open, its band is 1 to
/// [`crate::PRICE_TICKS_MAX`], and it has no reference price.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InstrumentSettings {
    /// Which.
    pub instrument: u16,
    /// Opaque to the engine. Comes back in [`crate::Event::Applied`] or the rejection.
    pub tag: u32,
    /// Whether it trades.
    pub state: InstrumentState,
    /// The lowest limit of an order that is new or amended, at least 1. What rests already stays.
    pub band_low_ticks: i64,
    /// The highest, at least `band_low_ticks` and at most [`crate::PRICE_TICKS_MAX`].
    pub band_high_ticks: i64,
    /// Where not 0, 1 to [`crate::PRICE_TICKS_MAX`]: the reference price from now on, as if the
    /// last trade had been there. Every trade sets the reference price to its own. Stops and
    /// collars look at it.
    pub reference_ticks: i64,
}

/// What becomes of an order that meets one of its own account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum SelfTrade {
    /// They trade.
    Allowed = 0,
    /// Cancel the rest of the arriving order.
    CancelNewest = 1,
    /// The order that rests is cancelled, all of it, and the other goes on.
    CancelOldest = 2,
    /// Both are cancelled: first the one that rests.
    CancelBoth = 3,
    /// Both lose, without a trade, what they would have traded; one that has nothing left is
    /// cancelled, and one that has goes on.
    Decrement = 4,
}

/// Sets all of an account's limits. At first none is in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccountSettings {
    /// Which, 0 to [`crate::EngineLimits::accounts_max`], exclusive.
    pub account: u32,
    /// Opaque to the engine. Comes back in [`crate::Event::Applied`] or the rejection.
    pub tag: u32,
    /// The largest order, in lots, at most [`crate::QUANTITY_LOTS_MAX`].
    pub quantity_lots_max: u64,
    /// The largest order's price times quantity, in tick-lots. A market order, and a stop that is
    /// one, counts at the reference price. `u64::MAX`: none.
    pub notional_max: u64,
    /// How many ticks past the reference price an order may bid (above it) or offer (below it), at
    /// most [`crate::PRICE_TICKS_MAX`]; 0: any number. A market order is a limit order at the end
    /// of this or of the band, whichever is nearer. Without a reference price there is no collar.
    /// A stop's limit is held to it when it is entered or amended.
    pub collar_ticks: u64,
    /// Orders and stops that are open, over all instruments. `u32::MAX`: no limit.
    pub open_orders_max: u32,
    /// Messages within a second of the engine's time (from one whole second to the next): every
    /// new order, amendment, cancel and mass cancel of the account counts, rejected or not, unless
    /// its instrument is unknown. The limit never rejects a cancel. `u32::MAX`: no limit.
    pub messages_per_second_max: u32,
    /// Self-trade prevention: that of the account, when one of its orders meets another.
    pub self_trade: SelfTrade,
}

impl AccountSettings {
    /// No limits: how every account is at first.
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

    /// Whether an engine takes them, but for the account's number.
    pub(crate) fn is_in_range(&self) -> bool {
        self.quantity_lots_max <= crate::QUANTITY_LOTS_MAX
            && self.collar_ticks <= crate::PRICE_TICKS_MAX.unsigned_abs()
    }
}

/// Sets an account's limits in one instrument and changes its position there by what comes in or
/// goes out otherwise than by trade: a balance that is paid in is a position, and an account
/// without short sales has a `short_lots_max` of 0. At first the position is 0 and both limits are
/// [`POSITION_LOTS_MAX`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PositionSettings {
    /// Which account.
    pub account: u32,
    /// Opaque to the engine. Comes back in [`crate::Event::Applied`] or the rejection.
    pub tag: u32,
    /// Which instrument.
    pub instrument: u16,
    /// The most that position and open buy orders together may be, in lots, at most
    /// [`POSITION_LOTS_MAX`]. Checked when an order enters or grows; what is past a limit that was
    /// lowered stays.
    pub long_lots_max: u64,
    /// The most that open sell orders less the position may be.
    pub short_lots_max: u64,
    /// Added to the position. The sum must be within plus and minus [`POSITION_LOTS_MAX`], with
    /// the account's open orders on that side.
    pub change_lots: i64,
}

impl PositionSettings {
    /// No limits, and nothing added: how every position is at first.
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

/// Throws a kill switch or releases it. While it is on, new orders and amendments are refused;
/// what is open stays until it is cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kill {
    /// Whose; that of all if `None`.
    pub account: Option<u32>,
    /// Opaque to the engine. Comes back in [`crate::Event::Applied`] or the rejection.
    pub tag: u32,
    /// Whether it is to be on.
    pub on: bool,
}
