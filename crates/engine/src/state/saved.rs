//! An engine's state, piece by piece: what a snapshot holds, and what the state hash is taken of.

use crate::command::NewOrder;
use crate::limits::EngineLimits;
use crate::settings::{AccountSettings, InstrumentSettings, PositionSettings};

/// A piece of an engine's state. [`crate::Engine::save`] gives all of them, always in this order:
/// `Engine`; each `Instrument` by number; each `Account` by number; each `Position` that is not as
/// at first, by account, then instrument; each `Order` as [`crate::MassCancel`] without an account
/// orders them; each `Joined` by account, oldest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Saved {
    /// What there is one of.
    Engine {
        /// How many instruments.
        instruments: u16,
        /// How much it holds.
        limits: EngineLimits,
        /// The latest time that it has seen.
        time_ns: u64,
        /// Whether the kill switch of all is on.
        killed: bool,
    },
    /// An instrument, with its reference price as it is now, and tag 0.
    Instrument(InstrumentSettings),
    /// An account, with tag 0.
    Account {
        /// Its limits.
        settings: AccountSettings,
        /// Whether its kill switch is on.
        killed: bool,
        /// The whole second of its last message that counted, 0 at first.
        second: u64,
        /// How many messages it has sent in that second.
        messages: u32,
    },
    /// A position, with its limits, tag 0, and itself in `change_lots`.
    Position(PositionSettings),
    /// An open order or a stop that waits (`stop_ticks` not 0; a stop that has triggered is a
    /// limit order without a stop). `quantity_lots` is what is left of it, `display_lots` as it
    /// was entered.
    Order {
        /// As it would be entered.
        order: NewOrder,
        /// How much of it the book shows; 0 if it waits.
        visible_lots: u64,
    },
    /// An order's place among its account's (see [`crate::MassCancel`]). Not in an engine without
    /// accounts.
    Joined {
        /// Whose.
        account: u32,
        /// Which.
        order_id: u64,
    },
}
