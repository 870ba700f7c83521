//! The exchange: an order gateway that speaks the incumbent's WebSocket/JSON, and SBE, in front of
//! an order book with price-time priority.
//!
//! [`Exchange`] is a [`transport::serve::Service`]. One thread runs everything to completion:
//!
//! ```text
//!   serve: read ─> gateway: head, frames ─> requests: decode ─> commands: check ─> sequencer
//!                                                                                    v
//!   serve: write <─ Outbound <─ reports: encode, route <─── events, numbered ─────── engine
//!                                  └── sessions: subscriptions      orders: client ids
//! ```
//!
//! In the steady state it allocates nothing. It reads one clock per read: the wall clock, smoothed
//! so that it never steps. That is the time of inputs and of the field `time`. The same bytes give
//! the same answers, except for that field and for what depends on time: orders with an expiry, and
//! limits of messages per second.
//!
//! A client that disconnects leaves its orders in the book, unless it asked for
//! `cancel_on_disconnect`.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

mod account;
mod config;
mod connection;
mod counts;
mod entry;
mod execution;
mod flow_player;
mod market_data;
mod opening;
mod past;
mod reply;
mod sbe;
mod sequencer;
mod setup;
mod start_book;

pub use account::register::{RegisterError, account_ids};
pub use account::risk::{Risk, RiskError};
pub use account::tokens::{Tokens, TokensError};
pub use config::{Config, ConfigError, FailedLogin, Journal};
pub use connection::Exchange;
pub use counts::Counts;
pub use execution::deliveries::DeliveryCounts;
pub use flow_player::FlowCounts;
pub use market_data::json::MarketDataCounts;
pub use market_data::plant::FeedCounts;
pub use market_data::settings::{Feed, FlowConfig, ProcessInfo, Reach};
pub use market_data::subscribers::SubscriberCounts;
pub use opening::Recovery;
pub use past::{PastReport, UNKNOWN_TRADE, past_reports};
pub use sequencer::ReplayCheck;
pub use setup::instruments::{Instrument, Instruments, InstrumentsError};
pub use setup::limits::{Limits, LimitsError};
pub use setup::{instruments, limits};
pub use start_book::{SYNTHETIC_LEVELS, StartBook, StartBookError};
pub use transport::datagram::Network;
