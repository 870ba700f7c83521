//! The exchange: a WebSocket/JSON order gateway that speaks the incumbent's wire, in front of a real
//! order book with price-time priority.
//!
//! [`Exchange`] is a [`transport::serve::Service`]. One thread runs everything to completion:
//!
//! ```text
//!   serve: read ──> gateway: head, frames ──> requests: decode ──> commands: check ──> sequencer ──> engine
//!   serve: write <── Outbound <── reports: encode, route <────────────────────── events, numbered ───┘
//!                                    └── sessions: who is told      orders: client ids
//! ```
//!
//! In the steady state it allocates nothing and reads one clock a read, the wall clock as it would be without steps: it is the time of what is sequenced, and stands in the
//! field `time`. The same bytes give the same answers but for that field, and for what depends on the time: orders that are good till a
//! date, and limits of messages per second.
//!
//! A client that goes away leaves its orders in the book, unless it has wished otherwise (`cancel_on_disconnect`).

#![forbid(unsafe_code)]

mod commands;
mod counts;
mod execution;
mod feed_entry;
mod feed_subscribers;
mod gateway;
mod house;
mod inspection;
pub mod instruments;
pub mod limits;
mod market_data;
mod observed;
mod opening;
mod operator;
mod order_entry;
mod orders;
mod plant;
mod publishing;
mod refusals;
mod register;
mod reports;
mod requests;
mod risk;
mod sequencer;
mod sessions;
mod stamping;
mod start_book;
mod text;
mod tokens;
mod turn;

pub use counts::Counts;
pub use feed_subscribers::SubscriberCounts;
pub use gateway::Exchange;
pub use house::FlowCounts;
pub use instruments::{Instruments, InstrumentsError};
pub use limits::{Limits, LimitsError};
pub use market_data::MarketDataCounts;
pub use opening::Recovery;
pub use plant::FeedCounts;
pub use publishing::{About, Feed, HouseFlow, Reach};
pub use register::RegisterError;
pub use risk::{Risk, RiskError};
pub use sequencer::ReplayCheck;
pub use start_book::{SYNTHETIC_LEVELS, StartBook, StartBookError};
pub use tokens::{Tokens, TokensError};

use measure::clock::Clock;
use std::path::PathBuf;

/// What an exchange is made of.
#[derive(Clone, Debug)]
pub struct Config {
    /// Who may trade.
    pub tokens: Tokens,
    /// What is traded.
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
    /// What everything is stamped by: that of the streams. Without one replies and market data have no stamps.
    pub clock: Option<Clock>,
    /// Where everything is logged before it is executed; `None`: nowhere.
    pub journal: Option<Journal>,
    /// Inputs that are remembered for [`Exchange::replay_check`], 80 bytes each; 0 is off, the most is
    /// [`limits::REPLAY_INPUTS_MAX`].
    pub replay_inputs_max: usize,
    /// The time of what is sequenced, in nanoseconds since 1970: [`measure::clock::steady_wall_ns`], or a test's own. Limits of messages per second and dates
    /// of orders go by it: it must not step.
    pub wall_ns: fn() -> u64,
}

/// A journal of an exchange. Where it holds inputs already, the exchange begins where they lead, and without the start book.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Journal {
    /// Of the journal and of the exchange's register beside it; made if it is not there.
    pub directory: PathBuf,
    /// How it is written. In mode `Sync` what is answered to a command waits until the command is durable.
    pub options: journal::Options,
}

impl Default for Config {
    /// Any token, the instruments that ship, no limits of accounts, a synthetic book, no feed, no clock, no journal, no log.
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
            wall_ns: measure::clock::steady_wall_ns,
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
    FeedSocket(#[from] transport::datagrams::DatagramError),
    /// The journal did not take the start book.
    #[error("the start book could not be logged: {0}")]
    StartNotTaken(journal::Refused),
}
