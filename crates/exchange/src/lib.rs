//! The exchange: a WebSocket/JSON order gateway that speaks the incumbent's wire, in front of an
//! order book with price-time priority.
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
mod connection;
mod counts;
mod entry;
mod flow_player;
mod market_data;
mod sequencer;
mod setup;

pub use account::register::RegisterError;
pub use account::risk::{Risk, RiskError};
pub use account::tokens::{Tokens, TokensError};
pub use connection::Exchange;
pub use counts::Counts;
pub use flow_player::FlowCounts;
pub use market_data::json::MarketDataCounts;
pub use market_data::plant::FeedCounts;
pub use market_data::publishing::{Feed, FlowConfig, ProcessInfo, Reach};
pub use market_data::subscribers::SubscriberCounts;
pub use sequencer::ReplayCheck;
pub use setup::instruments::{Instruments, InstrumentsError};
pub use setup::limits::{Limits, LimitsError};
pub use setup::opening::Recovery;
pub use setup::start_book::{SYNTHETIC_LEVELS, StartBook, StartBookError};
pub use setup::{instruments, limits};

use clock::Clock;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::mpsc::SyncSender;
pub use transport::datagram::Network;

/// Settings of an exchange.
#[derive(Clone, Debug)]
pub struct Config {
    /// Tokens that may trade.
    pub tokens: Tokens,
    /// Tradable instruments.
    pub instruments: Instruments,
    /// Limits of accounts.
    pub risk: Risk,
    /// Orders that rest before the first client connects.
    pub start_book: StartBook,
    /// Limits of the exchange.
    pub limits: Limits,
    /// Market data as datagrams; `None`: none. Needs a clock.
    pub feed: Option<Feed>,
    /// The exchange's own order flow; `None`: none. Needs a clock.
    pub flow: Option<FlowConfig>,
    /// Program and machine, for the answer to `DESCRIBE`.
    pub process: ProcessInfo,
    /// The clock of all stamps, which must be the clock of the streams. Without one, replies and
    /// market data have no stamps.
    pub clock: Option<Clock>,
    /// The journal that logs every input before its execution; `None`: none.
    pub journal: Option<Journal>,
    /// Inputs kept for [`Exchange::replay_check`], 80 bytes each; 0 is off, the most is
    /// [`limits::REPLAY_INPUTS_MAX`].
    pub replay_inputs_max: usize,
    /// Networks to which the feed may be sent, besides the addresses that subscribers connect from.
    pub feed_allowed: Vec<Network>,
    /// Channel for the operator's log of failed logins; `None`: they are only counted. The exchange
    /// does not wait: if the channel is full, the failure is only counted.
    pub failed_logins: Option<SyncSender<FailedLogin>>,
    /// Time of inputs, ns since 1970: [`clock::steady_wall_ns`], or a test's. It must not step,
    /// because expiries and limits of messages per second use it.
    pub wall_ns: fn() -> u64,
}

/// A login with an unknown token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailedLogin {
    /// Address of the connection, if known.
    pub peer: Option<SocketAddr>,
    /// Number of failed logins since the exchange started, including this one.
    pub count: u64,
}

/// A journal of an exchange. If it has inputs, the exchange recovers from them and ignores the
/// start book.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Journal {
    /// Directory of the journal and of the exchange's register; created if absent.
    pub directory: PathBuf,
    /// How the journal is written. In mode `Sync` a reply waits until its command is durable.
    pub options: journal::Options,
}

impl Default for Config {
    /// Any token, the instruments that ship, no account limits, a synthetic book; no feed, clock,
    /// journal or log.
    fn default() -> Config {
        Config {
            tokens: Tokens::Any,
            instruments: Instruments::shipped(),
            risk: Risk::default(),
            start_book: StartBook::default(),
            limits: Limits::default(),
            feed: None,
            flow: None,
            process: ProcessInfo::default(),
            clock: None,
            journal: None,
            replay_inputs_max: 0,
            feed_allowed: Vec::new(),
            failed_logins: None,
            wall_ns: clock::steady_wall_ns,
        }
    }
}

/// Why an exchange can't be made.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A limit is out of its range.
    #[error(transparent)]
    Limits(#[from] LimitsError),
    /// A limit of the engine is out of its range.
    #[error(transparent)]
    Engine(#[from] engine::LimitsError),
    /// The start book can't be made.
    #[error(transparent)]
    StartBook(#[from] StartBookError),
    /// The engine rejected an order of the start book, or an instrument's settings.
    #[error("the engine rejected an order of the start book: {}; raise that limit", .0.as_str())]
    StartRejected(engine::Reject),
    /// The journal can't be opened.
    #[error(transparent)]
    Journal(#[from] journal::JournalError),
    /// The journal's register can't be used.
    #[error(transparent)]
    Register(#[from] RegisterError),
    /// There is a feed or a flow, but no clock to stamp its ticks.
    #[error("a feed or a flow needs a clock: give the exchange that of its streams")]
    NoClock,
    /// The flow can't be made.
    #[error(transparent)]
    Flow(#[from] flow::FlowError),
    /// Both a flow and a start book from a file.
    #[error("a flow has a start book of its own: remove the start book's file or the flow")]
    TwoBooks,
    /// The flow would meet orders that are not part of it.
    #[error(
        "the journal already has inputs, but a flow needs a new journal: name an empty directory"
    )]
    FlowAfterRecovery,
    /// The feed can't be made.
    #[error(transparent)]
    Feed(#[from] feed::PublisherSettingsError),
    /// There is no socket for the feed.
    #[error(transparent)]
    FeedSocket(#[from] transport::datagram::DatagramError),
    /// The journal did not take the start book.
    #[error("the journal did not take the start book: {0}")]
    StartNotLogged(journal::AppendError),
}
