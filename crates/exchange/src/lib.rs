//! The exchange: a WebSocket/JSON order gateway that speaks the incumbent's wire, in front of a real
//! order book with price-time priority.
//!
//! [`Exchange`] is a [`transport::serve::Service`]. One thread runs everything to completion:
//!
//! ```text
//!   serve: read ──> gateway: head, frames ──> order_entry: decode, check ──> sequencer ──> engine
//!   serve: write <── Outbound <── reports: encode, route <───────────── events, numbered ───┘
//!                                    └── sessions: who is told      orders: client ids
//! ```
//!
//! In the steady state it allocates nothing and reads one clock a read, the wall clock for the field
//! `time`. The same bytes give the same answers but for that field.
//!
//! A client that goes away leaves its orders in the book.

#![forbid(unsafe_code)]

mod counts;
mod gateway;
pub mod instruments;
pub mod limits;
mod order_entry;
mod orders;
mod refusals;
mod reports;
mod sequencer;
mod sessions;
mod start_book;
mod text;

pub use counts::Counts;
pub use gateway::Exchange;
pub use instruments::{Instruments, InstrumentsError};
pub use limits::{Limits, LimitsError};
pub use sequencer::ReplayCheck;
pub use sessions::{Tokens, TokensError};
pub use start_book::{SYNTHETIC_LEVELS, StartBook, StartBookError};

/// What an exchange is made of.
#[derive(Clone, Debug)]
pub struct Config {
    /// Who may trade.
    pub tokens: Tokens,
    /// What is traded.
    pub instruments: Instruments,
    /// What rests before the first client comes.
    pub start_book: StartBook,
    /// How much it takes.
    pub limits: Limits,
    /// Commands that are remembered for [`Exchange::replay_check`], 48 bytes each; 0 is off, the most is
    /// [`limits::REPLAY_INPUTS_MAX`].
    pub replay_inputs_max: usize,
}

impl Default for Config {
    /// Any token, the instruments that ship, a synthetic book, no log.
    fn default() -> Config {
        Config {
            tokens: Tokens::Any,
            instruments: Instruments::shipped(),
            start_book: StartBook::default(),
            limits: Limits::default(),
            replay_inputs_max: 0,
        }
    }
}

/// Why an exchange can't be made.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A limit is out of its range.
    #[error(transparent)]
    Limits(#[from] LimitsError),
    /// The start book can't be made.
    #[error(transparent)]
    StartBook(#[from] StartBookError),
    /// The engine refused an order of the start book.
    #[error("an order of the start book was refused: {}; raise that limit", .0.as_str())]
    StartBookRefused(engine::Reject),
}
