//! Encodes the load's orders and decodes their replies, with one implementation per wire. The desk
//! knows no other difference between the exchange and the floor.

pub(super) mod fix;
pub(super) mod raw;
pub(super) mod sbe;
pub(super) mod websocket;

use crate::session::codec::StampedReply;
pub use crate::session::standing::OrderStanding;
use std::io;
use std::time::Duration;
use transport::Blocking;
use transport::echo::datagrams::EchoStamps;

/// One of an order's two messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadMessage {
    /// Its creation.
    Order,
    /// Its cancel.
    Cancel,
}

impl LoadMessage {
    /// Number of this message of order `number` among all messages.
    pub(crate) fn sequence(self, number: u64) -> u64 {
        2 * number + u64::from(self == LoadMessage::Cancel)
    }
}

/// A reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The exchange executed this message of order `number`.
    Ack(LoadMessage, u64),
    /// No reply to this message of order `number` came in time: the desk stopped waiting.
    Lost(LoadMessage, u64),
    /// The exchange rejected the order or its cancel.
    Rejected(u64),
    /// Not expected: a fill, an error, a reply about a foreign order.
    Unexpected,
    /// Nothing about an order: a ping, a subscription.
    Aside,
}

/// A reply with its stamp.
pub type ReceivedReply = StampedReply<Reply>;

/// The account of a connection whose session has one.
///
/// # Errors
/// There are more.
pub(crate) fn only_one(accounts: &[usize], dialect: &str) -> io::Result<usize> {
    let [account] = *accounts else {
        return Err(io::Error::other(format!(
            "{} accounts on one connection, but a session of {dialect} has one: give each its own \
             (load.connections = load.accounts)",
            accounts.len()
        )));
    };
    Ok(account)
}

/// One encoding of orders, over several connections (lanes).
pub trait OrderProtocol {
    /// Makes a fresh, blocking connection ready to trade for `accounts`: handshake, authentication.
    ///
    /// # Errors
    /// If the other end does not answer as it should within the stream's time-outs.
    fn log_on(
        &mut self,
        lane: usize,
        stream: &mut dyn Blocking,
        accounts: &[usize],
    ) -> io::Result<()>;

    /// The lane gets a fresh connection to `target`: forgets what the last one left. Each step of
    /// its log-on takes at most `patience`.
    fn renew(&mut self, _lane: usize, _target: &str, _patience: Duration) {}

    /// Asks what became of orders, given by number and account. The lane has just logged on.
    ///
    /// # Errors
    /// The other end does not answer, or the encoding has no such request.
    fn standings(
        &mut self,
        _lane: usize,
        _stream: &mut dyn Blocking,
        _orders: &[(u64, usize)],
    ) -> io::Result<Vec<OrderStanding>> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Appends the message of order `number` of `account` to `out`.
    fn encode(&mut self, message: LoadMessage, number: u64, account: usize, out: &mut Vec<u8>);

    /// The kernel stamps this encoded message: asks the other end for its kernel's stamps, where it
    /// can have them.
    fn choose(&mut self, _message: &mut [u8]) {}

    /// Space for the lane's next bytes; not empty.
    fn space(&mut self, lane: usize) -> &mut [u8];

    /// A read that returned at `stamp_ns` put `n` bytes there.
    fn filled(&mut self, lane: usize, n: usize, stamp_ns: u64);

    /// The next complete reply of the lane. A pong of the session's own is appended to `out`.
    ///
    /// # Errors
    /// If the stream can't be decoded any more, in words.
    fn next(&mut self, lane: usize, out: &mut Vec<u8>) -> Result<Option<ReceivedReply>, String>;

    /// Appends what the lane's session must send now although nothing came: a heartbeat. Called ten
    /// times a second while the load runs.
    ///
    /// # Errors
    /// If the other end has been silent for too long, in words.
    fn keep_alive(&mut self, _lane: usize, _now_ns: u64, _out: &mut Vec<u8>) -> Result<(), String> {
        Ok(())
    }

    /// The run is over: appends what ends the lane's session in order.
    fn log_off(&mut self, _lane: usize, _now_ns: u64, _out: &mut Vec<u8>) {}

    /// The other end's stamps in the reply that [`OrderProtocol::next`] gave last, on the clock of
    /// the plan.
    fn stamps(&self) -> Option<EchoStamps> {
        None
    }

    /// The first rejection or unexpected message, in words, for the record.
    fn first_complaint(&self) -> Option<&str>;
}
