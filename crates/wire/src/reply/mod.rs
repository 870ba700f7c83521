//! The exchange's messages.

mod decode;
mod encode;
mod form;

use crate::client_id::ClientId;
use crate::decimal::Decimal;
use crate::fault::MessageFault;
use crate::order_id::OrderId;
pub use crate::reply::decode::{ReplyError, decode_reply, decode_stamped_reply};
pub(crate) use crate::reply::encode::write_stamps;
pub use crate::reply::encode::{
    encode_amended, encode_applied, encode_authenticated, encode_booked, encode_decremented,
    encode_done, encode_ended, encode_error, encode_fill, encode_mass_cancelled, encode_open,
    encode_rejected, encode_stamps, encode_subscriptions, encode_triggered, encode_waiting,
};
use crate::request::{Depth, Side};
use std::borrow::Cow;
use std::net::SocketAddr;

/// Four times, ns on the exchange's clock: when the last byte of a request was read, when the
/// engine got it, when the engine had finished, and when this reply was encoded. Our extension, for
/// clients that request it.
pub type Stamps = [u64; 4];

/// An exchange's message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply<'a> {
    /// `AUTHENTICATED`. Several on one connection come in the order of the requests.
    Authenticated,
    /// `SUBSCRIPTIONS`. The only reply whose decoding allocates.
    Subscriptions(Subscriptions<'a>),
    /// `BOOKED`: the order was accepted.
    Booked(OrderBooked<'a>),
    /// `FILL`: the order traded.
    Fill(Fill<'a>),
    /// `DONE`: the order has ended.
    Done(OrderDone<'a>),
    /// `REJECTED`: a request about this order was rejected.
    Rejected(RequestRejected<'a>),
    /// `OPEN`: the order that was asked about is open.
    Open(OrderOpen<'a>),
    /// `ENDED`: the order that was asked about has ended.
    Ended(OrderEnded<'a>),
    /// `AMENDED`: an order's price, amount or name has changed.
    Amended(OrderAmended<'a>),
    /// `WAITING`: a stop was accepted.
    Waiting(StopWaiting<'a>),
    /// `TRIGGERED`: a stop's price was reached; its reports as an order follow.
    Triggered(StopTriggered<'a>),
    /// `DECREMENTED`: the order met an order of its own account, and lost the amount that they
    /// would have traded.
    Decremented(TradePrevented<'a>),
    /// `MASS_CANCELLED`: a mass cancel is done, and all of its cancels were reported before.
    MassCancelled(RequestApplied<'a>),
    /// `APPLIED`: an operator's setting is done.
    Applied(RequestApplied<'a>),
    /// `ERROR`: a message was rejected and can't be assigned to an order.
    Error {
        /// The reason, in words.
        reason: Cow<'a, str>,
    },
    /// Any other type.
    Other {
        /// Its name.
        kind: Cow<'a, str>,
    },
}

/// The current subscriptions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subscriptions<'a> {
    /// Every account with every channel, then the channels of the connection.
    pub channels: Vec<Subscription<'a>>,
    /// Milliseconds since 1970.
    pub time_ms: i64,
}

/// A subscribed channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subscription<'a> {
    /// One account's channel.
    Account {
        /// The account.
        account_id: Cow<'a, str>,
        /// The channel, such as `ORDERS`.
        name: Cow<'a, str>,
    },
    /// Market data as JSON. Our extension.
    MarketData {
        /// The channel, such as `BOOK`.
        name: Cow<'a, str>,
        /// The instrument.
        instrument_code: Cow<'a, str>,
        /// Its tick and its lot, if the subscription asked for stamps.
        units: Option<[Decimal; 2]>,
    },
    /// The feed. Our extension.
    Feed(FeedSubscription),
}

/// A subscription of the feed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeedSubscription {
    /// Its depth.
    pub depth: Depth,
    /// Target of its datagrams: the subscriber's own address, or a multicast group.
    pub address: SocketAddr,
    /// The exchange's session, as in the datagrams.
    pub session: u64,
    /// The number of the last message before the subscription.
    pub sequence: u64,
    /// How long orders wait that answer the same tick, us; `None`: they don't.
    pub delivery_window_us: Option<u64>,
}

/// An order that was accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderBooked<'a> {
    /// The client's name for the order.
    pub client_id: ClientId,
    /// The instrument.
    pub instrument_code: Cow<'a, str>,
    /// Buy or sell.
    pub side: Side,
    /// The limit.
    pub price: Decimal,
    /// The whole amount of the order, or that of its last amendment.
    pub amount: Decimal,
    /// The exchange's name for the order.
    pub order_id: OrderId,
    /// Counts the events of this instrument's book.
    pub order_book_sequence: i64,
    /// Milliseconds since 1970.
    pub time_ms: i64,
    /// The account.
    pub uid: Cow<'a, str>,
}

/// An order that is open, as its client asked. Our extension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderOpen<'a> {
    /// The client's name for the order.
    pub client_id: ClientId,
    /// The exchange's name for the order.
    pub order_id: OrderId,
    /// Milliseconds since 1970.
    pub time_ms: i64,
    /// The account.
    pub uid: Cow<'a, str>,
}

/// An order that has ended, as its client asked. Our extension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderEnded<'a> {
    /// The client's name for the order.
    pub client_id: ClientId,
    /// How it ended.
    pub status: DoneStatus,
    /// The exchange's name for the order.
    pub order_id: OrderId,
    /// Time of the answer, in milliseconds since 1970.
    pub time_ms: i64,
    /// The account.
    pub uid: Cow<'a, str>,
}

/// A trade, as one of its two orders sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fill<'a> {
    /// The client's name for the order.
    pub client_id: ClientId,
    /// The instrument.
    pub instrument_code: Cow<'a, str>,
    /// Buy or sell: this order's side.
    pub side: Side,
    /// The trade's price: the resting order's.
    pub price: Decimal,
    /// The traded amount.
    pub amount: Decimal,
    /// The order's remaining amount.
    pub remaining: Decimal,
    /// The exchange's name for the order.
    pub order_id: OrderId,
    /// The exchange's name for the trade, the same on both sides.
    pub trade_id: i64,
    /// Counts the events of this instrument's book.
    pub order_book_sequence: i64,
    /// Milliseconds since 1970.
    pub time_ms: i64,
    /// The account.
    pub uid: Cow<'a, str>,
}

/// An order that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderDone<'a> {
    /// The client's name for the order.
    pub client_id: ClientId,
    /// The instrument.
    pub instrument_code: Cow<'a, str>,
    /// The reason of its end.
    pub status: DoneStatus,
    /// The exchange's name for the order.
    pub order_id: OrderId,
    /// Counts the events of this instrument's book.
    pub order_book_sequence: i64,
    /// Milliseconds since 1970.
    pub time_ms: i64,
    /// The account.
    pub uid: Cow<'a, str>,
}

/// The reason of an order's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DoneStatus {
    /// Its client cancelled it.
    Cancelled,
    /// Fully traded.
    Filled,
    /// Its time in force ended: an immediate order's remainder, or an order whose date was reached.
    Expired,
    /// It met an order of its own account.
    SelfTradePrevented,
    /// Its instrument was closed.
    Closed,
    /// A triggered stop can't rest, because its side of the book has the maximum number of prices.
    NoRoom,
}

impl DoneStatus {
    /// All, in the order of declaration.
    pub const ALL: [DoneStatus; 6] = [
        DoneStatus::Cancelled,
        DoneStatus::Filled,
        DoneStatus::Expired,
        DoneStatus::SelfTradePrevented,
        DoneStatus::Closed,
        DoneStatus::NoRoom,
    ];

    /// As on the wire.
    pub fn name(self) -> &'static str {
        match self {
            DoneStatus::Cancelled => "CANCELLED",
            DoneStatus::Filled => "FILLED",
            DoneStatus::Expired => "EXPIRED",
            DoneStatus::SelfTradePrevented => "SELF_TRADE_PREVENTED",
            DoneStatus::Closed => "CLOSED",
            DoneStatus::NoRoom => "NO_ROOM",
        }
    }

    /// From the wire's text.
    pub(crate) fn read(text: &str) -> Result<DoneStatus, MessageFault> {
        let allowed = "CANCELLED, FILLED, EXPIRED, SELF_TRADE_PREVENTED, CLOSED, NO_ROOM";
        DoneStatus::ALL
            .into_iter()
            .find(|status| status.name() == text)
            .ok_or(MessageFault::UnknownValue { field: "status", allowed })
    }
}

/// A rejected request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestRejected<'a> {
    /// The order of the request.
    pub client_id: ClientId,
    /// The reason, in words.
    pub reason: Cow<'a, str>,
    /// Milliseconds since 1970.
    pub time_ms: i64,
    /// The account.
    pub uid: Cow<'a, str>,
}

/// An order whose price, amount or name has changed. If it lost its place, it enters again, and its
/// reports follow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderAmended<'a> {
    /// The client's new name for the order.
    pub client_id: ClientId,
    /// The previous name, if it has changed.
    pub replaced_client_id: Option<ClientId>,
    /// The instrument.
    pub instrument_code: Cow<'a, str>,
    /// Buy or sell.
    pub side: Side,
    /// The limit; `None` for a stop that is a market order.
    pub price: Option<Decimal>,
    /// The order's open amount.
    pub amount: Decimal,
    /// Whether it kept its place in the queue.
    pub place_kept: bool,
    /// The exchange's name for the order, which does not change.
    pub order_id: OrderId,
    /// Counts the events of this instrument's book.
    pub order_book_sequence: i64,
    /// Milliseconds since 1970.
    pub time_ms: i64,
    /// The account.
    pub uid: Cow<'a, str>,
}

/// A stop that waits for its price.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StopWaiting<'a> {
    /// The client's name for the order.
    pub client_id: ClientId,
    /// The instrument.
    pub instrument_code: Cow<'a, str>,
    /// Buy or sell.
    pub side: Side,
    /// Its stop price.
    pub stop_price: Decimal,
    /// The whole amount of the order.
    pub amount: Decimal,
    /// The exchange's name for the order.
    pub order_id: OrderId,
    /// Counts the events of this instrument's book.
    pub order_book_sequence: i64,
    /// Milliseconds since 1970.
    pub time_ms: i64,
    /// The account.
    pub uid: Cow<'a, str>,
}

/// A stop whose price was reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StopTriggered<'a> {
    /// The client's name for the order.
    pub client_id: ClientId,
    /// The instrument.
    pub instrument_code: Cow<'a, str>,
    /// The exchange's name for the order.
    pub order_id: OrderId,
    /// Counts the events of this instrument's book.
    pub order_book_sequence: i64,
    /// Milliseconds since 1970.
    pub time_ms: i64,
    /// The account.
    pub uid: Cow<'a, str>,
}

/// A prevented trade of an account with itself, as one of its two orders sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TradePrevented<'a> {
    /// The client's name for the order.
    pub client_id: ClientId,
    /// The instrument.
    pub instrument_code: Cow<'a, str>,
    /// Buy or sell: this order's side.
    pub side: Side,
    /// The price of the prevented trade.
    pub price: Decimal,
    /// The amount that the order lost.
    pub amount: Decimal,
    /// The order's remaining amount.
    pub remaining: Decimal,
    /// The exchange's name for the order.
    pub order_id: OrderId,
    /// Counts the events of this instrument's book.
    pub order_book_sequence: i64,
    /// Milliseconds since 1970.
    pub time_ms: i64,
    /// The account.
    pub uid: Cow<'a, str>,
}

/// A completed mass cancel, or an applied setting of an operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestApplied<'a> {
    /// The name of its request.
    pub client_id: Option<ClientId>,
    /// Number of orders that it ended.
    pub count: i64,
    /// Milliseconds since 1970.
    pub time_ms: i64,
    /// The account, or the operator.
    pub uid: Cow<'a, str>,
}
