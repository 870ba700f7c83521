//! An engine's state in pieces, for snapshots and the state hash.

use crate::command::NewOrder;
use crate::limits::EngineLimits;
use crate::settings::{AccountSettings, InstrumentSettings, PositionSettings};

/// A piece of an engine's state. [`crate::Engine::save`] gives all of them, in this order:
/// `Engine`; each `Instrument` by number; each `Account` by number; each changed `Position`, by
/// account, then instrument; each `Order` in the order of [`crate::MassCancel`] without an account;
/// each `Joined` by account, oldest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SavedItem {
    /// Values that exist once.
    Engine {
        /// Number of instruments.
        instruments: u16,
        /// Its capacities.
        limits: EngineLimits,
        /// The latest time so far.
        time_ns: u64,
        /// Whether the kill switch for all accounts is on.
        killed: bool,
    },
    /// An instrument, with its present reference price, and tag 0.
    Instrument(InstrumentSettings),
    /// An account, with tag 0.
    Account {
        /// Its limits.
        settings: AccountSettings,
        /// Whether its kill switch is on.
        killed: bool,
        /// The whole second of its last counted message, 0 initially.
        second: u64,
        /// Number of its messages in that second.
        messages: u32,
    },
    /// A position with its limits, with tag 0; `change_lots` is the position itself.
    Position(PositionSettings),
    /// An open order or a waiting stop (`stop_ticks` not 0; a triggered stop is a limit order
    /// without a stop). `quantity_lots` is the remainder, `display_lots` is as entered.
    Order {
        /// The order as it would be entered.
        order: NewOrder,
        /// Its shown quantity; 0 for a stop.
        visible_lots: u64,
    },
    /// An order's place among the orders of its account (see [`crate::MassCancel`]). Not in an
    /// engine without accounts.
    Joined {
        /// The account.
        account: u32,
        /// The order.
        order_id: u64,
    },
}
