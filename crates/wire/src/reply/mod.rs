//! What the exchange sends: its types.

mod decode;
mod encode;

use crate::client_id::ClientId;
use crate::decimal::Decimal;
use crate::fault::MessageFault;
use crate::order_id::OrderId;
pub use crate::reply::decode::{ReplyError, decode_reply, decode_stamped_reply};
pub use crate::reply::encode::{
    encode_amended, encode_applied, encode_authenticated, encode_booked, encode_decremented,
    encode_done, encode_error, encode_fill, encode_mass_cancelled, encode_rejected, encode_stamps,
    encode_subscriptions, encode_triggered, encode_waiting,
};
use crate::request::{Depth, Side};
use std::borrow::Cow;
use std::net::SocketAddr;

/// When a request was read (the read that brought its last byte), went into the engine, was done
/// there, and when this reply was encoded: ns on the exchange's clock. Our extension, for who
/// asked for it.
pub type Stamps = [u64; 4];

/// An exchange's message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply<'a> {
    /// `AUTHENTICATED`. Several on one connection come in the order that was asked.
    Authenticated,
    /// `SUBSCRIPTIONS`. The only reply whose decoding allocates.
    Subscriptions(Subscriptions<'a>),
    /// `BOOKED`: the order was accepted.
    Booked(Booked<'a>),
    /// `FILL`: the order traded.
    Fill(Fill<'a>),
    /// `DONE`: the order has ended.
    Done(Done<'a>),
    /// `REJECTED`: a request about this order was refused.
    Rejected(Rejected<'a>),
    /// `AMENDED`: an order's price, amount or name is new.
    Amended(Amended<'a>),
    /// `WAITING`: a stop was accepted.
    Waiting(Waiting<'a>),
    /// `TRIGGERED`: a stop's price is there; what it does as an order follows.
    Triggered(Triggered<'a>),
    /// `DECREMENTED`: the order met one of its own account, and lost what they would have traded.
    Decremented(Decremented<'a>),
    /// `MASS_CANCELLED`: a mass cancel is done, and all its cancels were told before.
    MassCancelled(Applied<'a>),
    /// `APPLIED`: an operator's setting is done.
    Applied(Applied<'a>),
    /// `ERROR`: a message was refused that could not be tied to an order.
    Error {
        /// Why, for a person.
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
    /// Every account with every channel, then what belongs to the connection.
    pub channels: Vec<Subscription<'a>>,
    /// Milliseconds since 1970.
    pub time_ms: i64,
}

/// One channel that is subscribed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subscription<'a> {
    /// One account's channel.
    Account {
        /// Whose.
        account_id: Cow<'a, str>,
        /// The channel, such as `ORDERS`.
        name: Cow<'a, str>,
    },
    /// Market data as JSON. Ours.
    MarketData {
        /// The channel, such as `BOOK`.
        name: Cow<'a, str>,
        /// The instrument.
        instrument_code: Cow<'a, str>,
    },
    /// The feed. Ours.
    Feed(FeedSubscription),
}

/// The feed, as it is subscribed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeedSubscription {
    /// How deep.
    pub depth: Depth,
    /// Where its datagrams go: the subscriber's own address, or a multicast group.
    pub address: SocketAddr,
    /// Which run of the exchange, as in the datagrams.
    pub session: u64,
    /// The number of the last message before the subscription.
    pub sequence: u64,
}

/// An order that was accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Booked<'a> {
    /// The client's name for the order.
    pub client_id: ClientId,
    /// The instrument.
    pub instrument_code: Cow<'a, str>,
    /// Buy or sell.
    pub side: Side,
    /// The limit.
    pub price: Decimal,
    /// The whole amount of the order, or what its last amendment said.
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

/// A trade, as one of its two orders sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fill<'a> {
    /// The client's name for the order.
    pub client_id: ClientId,
    /// The instrument.
    pub instrument_code: Cow<'a, str>,
    /// Buy or sell: this order's side.
    pub side: Side,
    /// At which the trade was made: the resting order's.
    pub price: Decimal,
    /// How much was traded.
    pub amount: Decimal,
    /// How much of the order is left.
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
pub struct Done<'a> {
    /// The client's name for the order.
    pub client_id: ClientId,
    /// What was traded.
    pub instrument_code: Cow<'a, str>,
    /// How it ended.
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

/// How an order ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DoneStatus {
    /// By its client's wish.
    Cancelled,
    /// Wholly traded.
    Filled,
    /// By its time in force: what an immediate order could not trade, or its time had come.
    Expired,
    /// It met an order of its own account.
    SelfTradePrevented,
    /// Its instrument was closed.
    Closed,
    /// A stop triggered that was to rest, and its side of the book has as many prices as it takes.
    NoRoom,
}

impl DoneStatus {
    /// All, in the order of their declaration.
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

/// A request that was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejected<'a> {
    /// The order it was about.
    pub client_id: ClientId,
    /// Why, for a person.
    pub reason: Cow<'a, str>,
    /// Milliseconds since 1970.
    pub time_ms: i64,
    /// The account.
    pub uid: Cow<'a, str>,
}

/// An order whose price, amount or name is new. If it lost its place it enters again, and what it
/// does then follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Amended<'a> {
    /// The client's name for the order from now on.
    pub client_id: ClientId,
    /// What it was until now, if it is new.
    pub replaced_client_id: Option<ClientId>,
    /// The instrument.
    pub instrument_code: Cow<'a, str>,
    /// Buy or sell.
    pub side: Side,
    /// The limit; `None` of a stop that is a market order.
    pub price: Option<Decimal>,
    /// How much of the order is open now.
    pub amount: Decimal,
    /// Whether it kept its place in the queue.
    pub place_kept: bool,
    /// The exchange's name for the order, which stays.
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
pub struct Waiting<'a> {
    /// The client's name for the order.
    pub client_id: ClientId,
    /// The instrument.
    pub instrument_code: Cow<'a, str>,
    /// Buy or sell.
    pub side: Side,
    /// The price that it waits for.
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

/// A stop whose price is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Triggered<'a> {
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

/// A trade of an account with itself that was prevented, as one of its two orders sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decremented<'a> {
    /// The client's name for the order.
    pub client_id: ClientId,
    /// The instrument.
    pub instrument_code: Cow<'a, str>,
    /// Buy or sell: this order's side.
    pub side: Side,
    /// At which the trade would have been made.
    pub price: Decimal,
    /// How much the order lost.
    pub amount: Decimal,
    /// How much of the order is left.
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

/// A mass cancel or an operator's setting that is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied<'a> {
    /// The name that its request had.
    pub client_id: Option<ClientId>,
    /// How many orders it ended.
    pub count: i64,
    /// Milliseconds since 1970.
    pub time_ms: i64,
    /// The account, or the operator.
    pub uid: Cow<'a, str>,
}
