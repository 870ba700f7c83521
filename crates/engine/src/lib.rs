//! Limit order book with price-time priority, pre-trade risk, and matching, for several
//! instruments.
//!
//! Pure: no I/O, no clock, no allocation after construction. The same inputs give the same events
//! and the same [`Engine::state_hash`] on every machine. No input panics: an invalid command or one
//! beyond a limit gives [`Event::Rejected`].
//!
//! ```
//! use engine::*;
//!
//! let mut engine = Engine::new(1, EngineLimits::matching_only(1_000, 100));
//! let sell = NewOrder { order_id: 1, account: 7, ..NewOrder::limit(Side::Sell, 101, 5) };
//! let input = Input { time_ns: 0, command: Command::New(sell) };
//! engine.apply(&input, &mut |event| assert!(matches!(event, Event::Booked { .. })));
//! assert_eq!(engine.top(0).ask, Some(Quote { price_ticks: 101, quantity_lots: 5 }));
//! ```
//!
//! Each decision about speed has its own file: finding a price level (`book::levels`), queueing
//! orders at a level (`book::queue`), finding an order by its id (`open_orders::index`), and the
//! risk checks (`risk`).
//!
//! See docs/decisions/007-engine-data-structures.md.

#![deny(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

mod book;
mod codec;
mod command;
pub mod depth;
mod engine;
mod event;
pub mod ids;
mod limits;
mod memory;
mod open_orders;
mod operator;
mod orders;
mod prefetch;
mod risk;
mod settings;
mod state;

pub use codec::DecodeError;
pub use command::{
    Amend, Cancel, Command, DISPLAYS_MAX, Input, MassCancel, NewOrder, OrderType, PRICE_TICKS_MAX,
    PostOnly, QUANTITY_LOTS_MAX, Side, TimeInForce,
};
pub use engine::{Engine, Quote, Top};
pub use event::{DoneReason, Event, Party, Reject};
pub use limits::{EngineLimits, LimitsError, OPEN_ORDERS_MAX, POSITIONS_MAX};
pub use settings::{
    AccountSettings, InstrumentSettings, InstrumentState, Kill, POSITION_LOTS_MAX,
    PositionSettings, SelfTrade,
};
pub use state::RestoreError;
pub use state::hash::StateHash;
pub use state::saved::SavedItem;
