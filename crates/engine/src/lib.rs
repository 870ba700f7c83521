//! Limit order book with price-time priority, pre-trade risk, and matching, for several instruments.
//!
//! Pure: no I/O, no clock, no allocation after construction. The same inputs give the same events
//! and the same [`Engine::state_hash`] on every machine. No input panics: what is out of range or
//! past a limit comes back as [`Event::Rejected`].
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
//! Each decision that decides speed is one file: how a price level is found (`levels`), how orders
//! queue at a level (`queue`), how an id is looked up ([`ids`]), what risk checks in which order (`risk`).

#![deny(unsafe_code)]

mod accounts;
mod book;
mod codec;
mod codec_record;
mod command;
pub mod depth;
mod engine;
mod event;
mod expiry;
pub mod ids;
mod levels;
mod limits;
mod memory;
mod open_orders;
mod operator;
mod orders;
mod prefetch;
mod queue;
mod risk;
mod saved;
mod settings;
mod state;
mod state_hash;

pub use codec::DecodeError;
pub use command::{
    Amend, Cancel, Command, DISPLAYS_MAX, Input, MassCancel, NewOrder, OrderType, PRICE_TICKS_MAX,
    PostOnly, QUANTITY_LOTS_MAX, Side, TimeInForce,
};
pub use engine::{Engine, Quote, Top};
pub use event::{DoneReason, Event, Party, Reject};
pub use limits::{EngineLimits, LimitsError, OPEN_ORDERS_MAX, POSITIONS_MAX};
pub use saved::Saved;
pub use settings::{
    AccountSettings, InstrumentSettings, InstrumentState, Kill, POSITION_LOTS_MAX,
    PositionSettings, SelfTrade,
};
pub use state::RestoreError;
pub use state_hash::StateHash;
