//! Limit order book with price-time priority, and matching, for several instruments.
//!
//! Pure: no I/O, no clock, no allocation after construction. The same commands give the same events
//! and the same [`Engine::state_hash`] on every machine. No command panics: what is out of range or
//! past a limit comes back as [`Event::Rejected`].
//!
//! ```
//! use engine::*;
//!
//! let limits = EngineLimits { open_orders_max: 1_000, price_levels_max: 100 };
//! let mut engine = Engine::new(1, limits);
//! let sell = NewOrder {
//!     order_id: 1,
//!     account: 7,
//!     tag: 0,
//!     instrument: 0,
//!     side: Side::Sell,
//!     time_in_force: TimeInForce::GoodTillCancelled,
//!     price_ticks: 101,
//!     quantity_lots: 5,
//! };
//! engine.apply(&Command::New(sell), &mut |event| assert!(matches!(event, Event::Booked { .. })));
//! assert_eq!(engine.top(0).ask, Some(Quote { price_ticks: 101, quantity_lots: 5 }));
//! ```
//!
//! Each decision that decides speed is one file: how a price level is found (`levels`), how orders
//! queue at a level (`queue`), how an id is looked up ([`ids`]).

#![forbid(unsafe_code)]

mod book;
mod command;
mod engine;
mod event;
pub mod ids;
mod levels;
mod memory;
mod queue;
mod state_hash;

pub use command::{
    Cancel, Command, NewOrder, PRICE_TICKS_MAX, QUANTITY_LOTS_MAX, Side, TimeInForce,
};
pub use engine::{Engine, EngineLimits, LimitsError, OPEN_ORDERS_MAX, Quote, Top};
pub use event::{DoneReason, Event, Party, Reject};
