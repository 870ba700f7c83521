//! What clients send: its types. Decoded by the exchange, encoded by a trader.

pub(crate) mod decode;
mod encode;

use crate::client_id::ClientId;
use crate::decimal::Decimal;
use crate::fault::MessageFault;
pub use crate::request::decode::decode_request;
pub use crate::request::encode::{
    encode_amend_order, encode_authenticate, encode_cancel_order, encode_create_order,
    encode_describe, encode_feed_replay, encode_feed_snapshot, encode_instrument_state,
    encode_kill_switch, encode_mass_cancel, encode_start_flow, encode_subscribe,
};
use std::borrow::Cow;
use std::fmt;
use std::net::SocketAddr;

/// The longest `api_token`.
pub const API_TOKEN_BYTES_MAX: usize = 256;
/// The longest `account_id`.
pub const ACCOUNT_ID_BYTES_MAX: usize = 64;
/// The longest `instrument_code`.
pub const INSTRUMENT_CODE_BYTES_MAX: usize = 32;
/// The most channels in one `SUBSCRIBE`.
pub const CHANNELS_MAX: usize = 16;
/// The longest name of a channel.
pub const CHANNEL_NAME_BYTES_MAX: usize = 32;

/// A client's message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request<'a> {
    /// `AUTHENTICATE`.
    Authenticate {
        /// Names the account and proves it.
        api_token: Cow<'a, str>,
        /// Whether the account's orders are to be cancelled when this connection ends; `None`
        /// leaves it as it is, which at first is no. Our extension.
        cancel_on_disconnect: Option<bool>,
        /// Whether replies to orders and cancels on this connection are to carry `stamps`; `None`
        /// leaves it as it is, which at first is no. Our extension.
        stamps: Option<bool>,
    },
    /// `SUBSCRIBE`. The only message whose decoding allocates: it comes once per connection.
    Subscribe {
        /// To what.
        channels: Vec<Channel<'a>>,
    },
    /// `CREATE_ORDER`.
    CreateOrder(CreateOrder<'a>),
    /// `CANCEL_ORDER`.
    CancelOrder(CancelOrder<'a>),
    /// `AMEND_ORDER`. Our extension, as all that follow.
    AmendOrder(AmendOrder<'a>),
    /// `MASS_CANCEL`.
    MassCancel(MassCancel<'a>),
    /// `INSTRUMENT_STATE`, from an operator.
    InstrumentState(SetInstrumentState<'a>),
    /// `KILL_SWITCH`, from an operator.
    KillSwitch(KillSwitch<'a>),
    /// `FEED_REPLAY`, from a subscriber of the channel `FEED`: datagrams are to be sent again.
    FeedReplay {
        /// The number of the first message that is missing.
        from: u64,
        /// How many are missing from there on.
        count: u32,
    },
    /// `FEED_SNAPSHOT`, from a subscriber of the channel `FEED`: the books are to be sent.
    FeedSnapshot,
    /// `FLOW` with action `START`, from an operator: the exchange's own order flow begins.
    StartFlow,
    /// `DESCRIBE`, from an operator: what exchange this is, and in what state.
    Describe,
}

/// A channel that is subscribed to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Channel<'a> {
    /// `ORDERS`; ours: `FEED`, `BOOK`, `TRADES`, `TOP`.
    pub name: Cow<'a, str>,
    /// For `FEED`: the target of its datagrams; `None`: the exchange's multicast group.
    pub address: Option<SocketAddr>,
    /// For `FEED`: the depth; `None` is order by order.
    pub depth: Option<Depth>,
    /// For `BOOK`, `TRADES` and `TOP`: the instrument.
    pub instrument_code: Option<Cow<'a, str>>,
}

impl<'a> Channel<'a> {
    /// A channel that has only its name, such as `ORDERS`.
    pub fn named(name: impl Into<Cow<'a, str>>) -> Channel<'a> {
        Channel { name: name.into(), address: None, depth: None, instrument_code: None }
    }
}

/// What a feed shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Depth {
    /// Each order (L3).
    Orders,
    /// The sum at each price (L2).
    Levels,
}

impl Depth {
    /// As on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Depth::Orders => "ORDERS",
            Depth::Levels => "LEVELS",
        }
    }

    /// From the wire's text.
    pub(crate) fn read(text: &str, field: &'static str) -> Result<Depth, MessageFault> {
        match text {
            "ORDERS" => Ok(Depth::Orders),
            "LEVELS" => Ok(Depth::Levels),
            _ => Err(MessageFault::UnknownValue { field, allowed: "ORDERS, LEVELS" }),
        }
    }
}

/// A new order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateOrder<'a> {
    /// The instrument.
    pub instrument_code: Cow<'a, str>,
    /// The client's name for the order.
    pub client_id: ClientId,
    /// Buy or sell.
    pub side: Side,
    /// The limit. Any decimal: its sign and its tick are the exchange's to judge. `None` is a
    /// market order.
    pub price: Option<Decimal>,
    /// How much. Any decimal: its sign and its lot are the exchange's to judge.
    pub amount: Decimal,
    /// How long it stays.
    pub time_in_force: TimeInForce,
    /// The order waits until the market's price is there.
    pub stop_price: Option<Decimal>,
    /// How much of it the book shows at a time (iceberg); `None` is all.
    pub display_amount: Option<Decimal>,
    /// What becomes of it if it would trade on arrival; `None`: it trades.
    pub post_only: Option<PostOnly>,
    /// Which of the accounts authenticated on this connection; `None` is the first. Our extension.
    pub account_id: Option<Cow<'a, str>>,
}

impl<'a> CreateOrder<'a> {
    /// A limit order of the first account that is good till cancelled.
    pub fn limit(
        instrument_code: impl Into<Cow<'a, str>>,
        client_id: ClientId,
        side: Side,
        price: Decimal,
        amount: Decimal,
    ) -> CreateOrder<'a> {
        CreateOrder {
            instrument_code: instrument_code.into(),
            client_id,
            side,
            price: Some(price),
            amount,
            time_in_force: TimeInForce::GoodTillCancelled,
            stop_price: None,
            display_amount: None,
            post_only: None,
            account_id: None,
        }
    }
}

/// The end of an order, wished.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CancelOrder<'a> {
    /// The order, by its client's name.
    pub client_id: ClientId,
    /// What it trades.
    pub instrument_code: Cow<'a, str>,
    /// Which of the accounts authenticated on this connection; `None` is the first. Our extension.
    pub account_id: Option<Cow<'a, str>>,
}

/// Another price or amount for an open order, or both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AmendOrder<'a> {
    /// The order, by its client's name.
    pub client_id: ClientId,
    /// Its client's name from now on; `None` keeps it.
    pub new_client_id: Option<ClientId>,
    /// What it trades.
    pub instrument_code: Cow<'a, str>,
    /// Its limit from now on; `None` for a stop that is a market order, which has none.
    pub price: Option<Decimal>,
    /// How much of it is to be open from now on, whatever has traded before.
    pub amount: Decimal,
    /// Which of the accounts authenticated on this connection; `None` is the first.
    pub account_id: Option<Cow<'a, str>>,
}

/// The end of all open orders of an account that fit every criterion which is given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MassCancel<'a> {
    /// The client's name for this request, which comes back in its answer.
    pub client_id: Option<ClientId>,
    /// The instrument; `None` is all.
    pub instrument_code: Option<Cow<'a, str>>,
    /// On which side; `None` is both.
    pub side: Option<Side>,
    /// Which of the accounts authenticated on this connection; `None` is the first. From an
    /// operator: whose orders; `None` is everybody's.
    pub account_id: Option<Cow<'a, str>>,
}

/// An instrument is to be opened, halted or closed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetInstrumentState<'a> {
    /// The operator's name for this request, which comes back in its answer.
    pub client_id: Option<ClientId>,
    /// Which.
    pub instrument_code: Cow<'a, str>,
    /// What it is to be.
    pub state: InstrumentState,
}

/// A kill switch is to be thrown or released.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KillSwitch<'a> {
    /// The operator's name for this request, which comes back in its answer.
    pub client_id: Option<ClientId>,
    /// Whose; `None` is that of all.
    pub account_id: Option<Cow<'a, str>>,
    /// Whether it is to be on.
    pub on: bool,
}

/// Which way an order trades.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// Bids.
    Buy,
    /// Asks.
    Sell,
}

impl Side {
    /// As on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Side::Buy => "BUY",
            Side::Sell => "SELL",
        }
    }

    /// From the wire's text.
    pub(crate) fn read(text: &str, field: &'static str) -> Result<Side, MessageFault> {
        match text {
            "BUY" => Ok(Side::Buy),
            "SELL" => Ok(Side::Sell),
            _ => Err(MessageFault::UnknownValue { field, allowed: "BUY, SELL" }),
        }
    }
}

/// How long an order stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TimeInForce {
    /// Rests until it is filled or cancelled.
    GoodTillCancelled,
    /// What does not trade at once is cancelled.
    ImmediateOrCancelled,
    /// All of it trades at once, or nothing.
    FillOrKill,
    /// Rests until it is filled or cancelled, or its time has come.
    GoodTillDate {
        /// From when on it is no longer open, milliseconds since 1970.
        expire_time_ms: i64,
    },
}

/// What becomes of an order that is to rest, but would trade on arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PostOnly {
    /// It is refused.
    Reject,
    /// It rests one tick short of the other side's best price.
    Reprice,
}

impl PostOnly {
    /// As on the wire.
    pub fn name(self) -> &'static str {
        match self {
            PostOnly::Reject => "REJECT",
            PostOnly::Reprice => "REPRICE",
        }
    }
}

/// Whether an instrument trades.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum InstrumentState {
    /// It trades.
    Open,
    /// Nothing enters; what is open may be cancelled, or amended to less.
    Halted,
    /// Nothing is open.
    Closed,
}

impl InstrumentState {
    /// As on the wire.
    pub fn name(self) -> &'static str {
        match self {
            InstrumentState::Open => "OPEN",
            InstrumentState::Halted => "HALTED",
            InstrumentState::Closed => "CLOSED",
        }
    }
}

/// A request that can't be carried out as it stands. With a client id it is answered by `REJECTED`,
/// without one by `ERROR`; `fault` in text is the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestError {
    /// The fault.
    pub fault: MessageFault,
    /// The order it was about, if that could be read.
    pub client_id: Option<ClientId>,
}

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fault.fmt(f)
    }
}

impl std::error::Error for RequestError {}
