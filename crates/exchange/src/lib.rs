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
mod house;
mod market_data;
mod sequencer;
mod setup;

pub use account::register::RegisterError;
pub use account::risk::{Risk, RiskError};
pub use account::tokens::{Tokens, TokensError};
pub use connection::Exchange;
pub use counts::Counts;
pub use house::FlowCounts;
pub use market_data::json::MarketDataCounts;
pub use market_data::plant::FeedCounts;
pub use market_data::publishing::{About, Feed, HouseFlow, Reach};
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

/// What an exchange is made of.
#[derive(Clone, Debug)]
pub struct Config {
    /// Tokens that may trade.
    pub tokens: Tokens,
    /// Tradable instruments.
    pub instruments: Instruments,
    /// What accounts may do.
    pub risk: Risk,
    /// What rests before the first client comes.
    pub start_book: StartBook,
    /// How much it takes.
    pub limits: Limits,
    /// What happens in the books, as datagrams; `None`: none. Needs a clock.
    pub feed: Option<Feed>,
    /// The house's own orders; `None`: none. Needs a clock.
    pub flow: Option<HouseFlow>,
    /// What `DESCRIBE` is told.
    pub about: About,
    /// The clock of all stamps: that of the streams. Without one, replies and market data have no
    /// stamps.
    pub clock: Option<Clock>,
    /// Where everything is logged before it is executed; `None`: nowhere.
    pub journal: Option<Journal>,
    /// Inputs kept for [`Exchange::replay_check`], 80 bytes each; 0 is off, the most is
    /// [`limits::REPLAY_INPUTS_MAX`].
    pub replay_inputs_max: usize,
    /// Networks to which the feed may be sent beside the addresses that subscribers connect from.
    pub feed_allowed: Vec<Network>,
    /// Channel for the operator's log of failed logins; `None`: they are only counted. The exchange
    /// does not wait: failures that find no room in the channel are only counted.
    pub failed_logins: Option<SyncSender<FailedLogin>>,
    /// Time of inputs, ns since 1970: [`clock::steady_wall_ns`], or a test's own. Limits of
    /// messages per second and expiries use it, so it must not step.
    pub wall_ns: fn() -> u64,
}

/// A login with a token that nobody has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailedLogin {
    /// Where it came from, if that is known.
    pub peer: Option<SocketAddr>,
    /// How many have failed since the exchange started, this one included.
    pub count: u64,
}

/// A journal of an exchange. If it has inputs, the exchange recovers from them and ignores the
/// start book.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Journal {
    /// Directory of the journal and of the exchange's register; created if absent.
    pub directory: PathBuf,
    /// How it is written. In mode `Sync` an answer waits until its command is durable.
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
            about: About::default(),
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
    /// The engine can't be made so large.
    #[error(transparent)]
    Engine(#[from] engine::LimitsError),
    /// The start book can't be made.
    #[error(transparent)]
    StartBook(#[from] StartBookError),
    /// The engine refused an order of the start book, or an instrument's settings.
    #[error("an order of the start book was refused: {}; raise that limit", .0.as_str())]
    StartRefused(engine::Reject),
    /// The journal can't be opened.
    #[error(transparent)]
    Journal(#[from] journal::JournalError),
    /// What stands beside the journal can't be used.
    #[error(transparent)]
    Register(#[from] RegisterError),
    /// There is a feed or a flow, and nothing to stamp its ticks by.
    #[error("a feed or a flow needs a clock: give the exchange that of its streams")]
    NoClock,
    /// The flow can't be made.
    #[error(transparent)]
    Flow(#[from] flow::FlowError),
    /// A flow and a start book of a file.
    #[error("a flow brings its own book: leave the file of the start book out, or the flow")]
    TwoBooks,
    /// The flow would meet other orders than its own.
    #[error(
        "the journal holds inputs already, and a flow begins with its own book: name an empty directory"
    )]
    FlowAfterRecovery,
    /// The feed can't be made.
    #[error(transparent)]
    Feed(#[from] feed::PublisherSettingsError),
    /// There is no socket for the feed.
    #[error(transparent)]
    FeedSocket(#[from] transport::datagram::DatagramError),
    /// The journal did not take the start book.
    #[error("the start book could not be logged: {0}")]
    StartNotTaken(journal::AppendError),
}
