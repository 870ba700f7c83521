//! Clients' messages. The exchange decodes them, a trader encodes them.

pub(crate) mod decode;
mod encode;
mod form;
mod raw_order;

use crate::client_id::ClientId;
use crate::decimal::Decimal;
use crate::fault::MessageFault;
pub use crate::request::decode::decode_request;
pub use crate::request::encode::{
    encode_absent, encode_amend_order, encode_authenticate, encode_cancel_order,
    encode_create_order, encode_describe, encode_feed_replay, encode_feed_snapshot,
    encode_instrument_state, encode_kill_switch, encode_mass_cancel, encode_order_status,
    encode_start_flow, encode_subscribe,
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
        /// Identifies and authenticates the account.
        api_token: Cow<'a, str>,
        /// Whether to cancel the account's orders when this connection ends; `None` changes
        /// nothing. The initial value is false. Our extension.
        cancel_on_disconnect: Option<bool>,
        /// Whether replies to orders and cancels on this connection carry `stamps`; `None` changes
        /// nothing. The initial value is false. Our extension.
        stamps: Option<bool>,
        /// The account's client is away, and this connection keeps its reports for it: the account
        /// has not come back, and a connection that reads now gets reports first. Ends with the
        /// next one without it. Our extension.
        is_absent: bool,
    },
    /// `SUBSCRIBE`. The only message whose decoding allocates; it comes once per connection.
    Subscribe {
        /// The channels.
        channels: Vec<Channel<'a>>,
    },
    /// `CREATE_ORDER`.
    CreateOrder(CreateOrder<'a>),
    /// `CANCEL_ORDER`.
    CancelOrder(CancelOrder<'a>),
    /// `ORDER_STATUS`. Our extension.
    OrderStatus(OrderStatus<'a>),
    /// `AMEND_ORDER`. Our extension, like all that follow.
    AmendOrder(AmendOrder<'a>),
    /// `MASS_CANCEL`.
    MassCancel(MassCancel<'a>),
    /// `INSTRUMENT_STATE`, from an operator.
    InstrumentState(SetInstrumentState<'a>),
    /// `KILL_SWITCH`, from an operator.
    KillSwitch(KillSwitch<'a>),
    /// `FEED_REPLAY`, from a subscriber of the channel `FEED`: requests datagrams again.
    FeedReplay {
        /// Number of the first missing message.
        from: u64,
        /// Number of missing messages.
        count: u32,
    },
    /// `FEED_SNAPSHOT`, from a subscriber of the channel `FEED`: requests the books.
    FeedSnapshot,
    /// `FLOW` with action `START`, from an operator: starts the exchange's own order flow.
    StartFlow,
    /// `DESCRIBE`, from an operator: requests the exchange's description and state.
    Describe,
}

/// A channel to subscribe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Channel<'a> {
    /// `ORDERS`; our extensions: `FEED`, `BOOK`, `TRADES`, `TOP`.
    pub name: Cow<'a, str>,
    /// For `FEED`: the target of its datagrams; `None`: the exchange's multicast group.
    pub address: Option<SocketAddr>,
    /// For `FEED`: the depth; `None`: order by order.
    pub depth: Option<Depth>,
    /// For `BOOK`, `TRADES` and `TOP`: the instrument.
    pub instrument_code: Option<Cow<'a, str>>,
    /// For `FEED`, from an operator: the exchange's kernel stamps one of N datagrams on its
    /// way out; `None` or 0: none. `DESCRIBE` returns the stamps.
    pub stamp_every: Option<u32>,
    /// For `BOOK` and `TOP`: whether the last message of each tick carries the exchange's stamps,
    /// and the answer names the instrument's units; `None` changes nothing. The initial value is
    /// false.
    pub stamps: Option<bool>,
}

impl<'a> Channel<'a> {
    /// A channel with only a name, such as `ORDERS`.
    pub fn named(name: impl Into<Cow<'a, str>>) -> Channel<'a> {
        Channel {
            name: name.into(),
            address: None,
            depth: None,
            instrument_code: None,
            stamp_every: None,
            stamps: None,
        }
    }
}

/// Level of detail of a feed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Depth {
    /// Each order (L3).
    Orders,
    /// The total at each price (L2).
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
    /// The limit; `None` for a market order. Any decimal: the exchange checks its sign and its
    /// tick.
    pub price: Option<Decimal>,
    /// The amount. Any decimal: the exchange checks its sign and its lot.
    pub amount: Decimal,
    /// Duration of the order.
    pub time_in_force: TimeInForce,
    /// Stop price: the order waits until the market reaches it.
    pub stop_price: Option<Decimal>,
    /// Amount that the book shows at a time (iceberg); `None`: all.
    pub display_amount: Option<Decimal>,
    /// Treatment if it would trade on arrival; `None`: it trades.
    pub post_only: Option<PostOnly>,
    /// The tick that caused it, for an exchange with a delivery window. Our extension.
    pub delivery: Option<DeliveryClock>,
    /// One of the connection's authenticated accounts; `None`: the first. Our extension.
    pub account_id: Option<Cow<'a, str>>,
}

/// The delivery clock of an order or an amendment: the tick that caused it, and the time since it
/// had arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeliveryClock {
    /// The feed's number of that tick's last message.
    pub tick: u64,
    /// From the tick's arrival at the trader to the sending of the order, ns.
    pub response_ns: u64,
}

impl<'a> CreateOrder<'a> {
    /// A limit order of the first account, good till cancelled.
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
            delivery: None,
            account_id: None,
        }
    }
}

/// Cancels an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CancelOrder<'a> {
    /// The client's id of the order.
    pub client_id: ClientId,
    /// The instrument.
    pub instrument_code: Cow<'a, str>,
    /// One of the connection's authenticated accounts; `None`: the first. Our extension.
    pub account_id: Option<Cow<'a, str>>,
}

/// Asks whether an order is open, after a connection or an exchange was lost. Our extension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderStatus<'a> {
    /// The client's id of the order.
    pub client_id: ClientId,
    /// One of the connection's authenticated accounts; `None`: the first.
    pub account_id: Option<Cow<'a, str>>,
    /// Whether this connection takes the order's reports from now on, if the connection that sent
    /// the order is gone.
    pub takes: bool,
}

/// Changes the price or amount of an open order, or both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AmendOrder<'a> {
    /// The client's id of the order.
    pub client_id: ClientId,
    /// The client's new name for the order; `None` keeps it.
    pub new_client_id: Option<ClientId>,
    /// The instrument.
    pub instrument_code: Cow<'a, str>,
    /// The new limit; `None` for a stop that is a market order.
    pub price: Option<Decimal>,
    /// The new open amount, regardless of earlier trades.
    pub amount: Decimal,
    /// The tick that caused it, for an exchange with a delivery window.
    pub delivery: Option<DeliveryClock>,
    /// One of the connection's authenticated accounts; `None`: the first.
    pub account_id: Option<Cow<'a, str>>,
}

/// Cancels all open orders of an account that match all given criteria.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MassCancel<'a> {
    /// The client's name for this request, repeated in the answer.
    pub client_id: Option<ClientId>,
    /// The instrument; `None`: all.
    pub instrument_code: Option<Cow<'a, str>>,
    /// The side; `None`: both.
    pub side: Option<Side>,
    /// One of the connection's authenticated accounts; `None`: the first. From an operator: the
    /// owner of the orders; `None`: all accounts.
    pub account_id: Option<Cow<'a, str>>,
}

/// Opens, halts or closes an instrument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetInstrumentState<'a> {
    /// The operator's name for this request, repeated in the answer.
    pub client_id: Option<ClientId>,
    /// The instrument.
    pub instrument_code: Cow<'a, str>,
    /// Its new state.
    pub state: InstrumentState,
}

/// Sets or releases a kill switch. Setting it cancels the open orders of the account, or all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KillSwitch<'a> {
    /// The operator's name for this request, repeated in the answer.
    pub client_id: Option<ClientId>,
    /// The account; `None`: the switch for all accounts.
    pub account_id: Option<Cow<'a, str>>,
    /// Whether to set it.
    pub on: bool,
}

/// Side of an order.
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

/// Duration of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TimeInForce {
    /// Rests until it is filled or cancelled.
    GoodTillCancelled,
    /// Cancels the part that does not trade at once.
    ImmediateOrCancelled,
    /// Trades fully at once, or not at all.
    FillOrKill,
    /// Rests until it is filled or cancelled, or until its date.
    GoodTillDate {
        /// Time from which it is no longer open, milliseconds since 1970.
        expire_time_ms: i64,
    },
}

/// Treatment of a post-only order that would trade on arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PostOnly {
    /// It is rejected.
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

/// State of an instrument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum InstrumentState {
    /// It trades.
    Open,
    /// No orders enter; open orders may be cancelled, or reduced.
    Halted,
    /// No orders are open.
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

/// A request that can't be executed. The answer is `REJECTED` if it has a client id, otherwise
/// `ERROR`, with the text of `fault` as the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestError {
    /// The fault.
    pub fault: MessageFault,
    /// The order of the request, if readable.
    pub client_id: Option<ClientId>,
}

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fault.fmt(f)
    }
}

impl std::error::Error for RequestError {}
