//! The settings of an exchange, and the errors of making one.

use crate::account::register::RegisterError;
use crate::account::risk::Risk;
use crate::account::tokens::Tokens;
use crate::market_data::settings::{Feed, FlowConfig, ProcessInfo};
use crate::setup::instruments::Instruments;
use crate::setup::limits::{Limits, LimitsError};
use crate::start_book::{StartBook, StartBookError};
use clock::Clock;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::mpsc::SyncSender;
use transport::datagram::{Network, SharedDevice};

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
    /// Where the feed leaves if the streams have no sockets of the kernel: their device. `None`: by
    /// a socket of its own.
    pub feed_device: Option<SharedDevice>,
    /// How long orders wait for others that answer the same tick, us, from 1 to
    /// [`crate::limits::DELIVERY_WINDOW_US_MAX`]; `None`: they don't. Needs a feed.
    pub delivery_window_us: Option<u64>,
    /// The exchange's own order flow; `None`: none. Needs a clock.
    pub flow: Option<FlowConfig>,
    /// Program and machine, for the answer to `DESCRIBE`.
    pub process: ProcessInfo,
    /// The clock of all stamps, which must be the clock of the streams. Without one, replies and
    /// market data have no stamps.
    pub clock: Option<Clock>,
    /// The journal that logs every input before its execution; `None`: none.
    pub journal: Option<Journal>,
    /// Inputs kept for [`crate::Exchange::replay_check`], 80 bytes each; 0 is off, the most is
    /// [`crate::limits::REPLAY_INPUTS_MAX`].
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
            feed_device: None,
            delivery_window_us: None,
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
    /// The journal's file of terms can't be used.
    #[error(transparent)]
    Terms(#[from] replica::term::TermsError),
    /// There is a feed or a flow, but no clock to stamp its ticks.
    #[error("a feed or a flow needs a clock: give the exchange that of its streams")]
    NoClock,
    /// There is a delivery window, but no feed that numbers the ticks.
    #[error("a delivery window needs a feed, whose numbers the orders name: add --feed unicast")]
    NoFeed,
    /// The flow can't be made.
    #[error(transparent)]
    Flow(#[from] flow::FlowError),
    /// Both a flow and a start book from a file.
    #[error("a flow has a start book of its own: remove the start book's file or the flow")]
    TwoBooks,
    /// The exchange's own orders in the journal are not the beginning of this flow.
    #[error(
        "the journal has {there} orders, amendments and cancels of the exchange's own, and they are \
         not those with which this flow begins: give the flow's earlier settings, or name an empty \
         directory"
    )]
    OtherFlow {
        /// Their number.
        there: u64,
    },
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
