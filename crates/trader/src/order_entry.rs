//! How orders are said and their replies understood. One implementation a wire; the desk knows no
//! other difference between the exchange and the floor.

use std::io;
use std::net::TcpStream;

/// Which of an order's two messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// Its creation.
    Order,
    /// Its cancel.
    Cancel,
}

/// What came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The message of order `number` was carried out.
    Ack(Message, u64),
    /// The order, or its cancel, was refused.
    Rejected(u64),
    /// Nobody asked for it: a fill, an error, another's order.
    Unexpected,
    /// Nothing that concerns an order: a ping, a subscription.
    Aside,
}

/// A reply with the stamp of the read that brought its first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// What came back.
    pub reply: Reply,
    /// ns on the desk's clock.
    pub first_byte_ns: u64,
    /// Its bytes on the stream.
    pub bytes: usize,
}

/// One way to say orders, over several connections (lanes).
pub trait OrderEntry {
    /// Makes a fresh, blocking connection ready to trade for `accounts`: handshake, authentication.
    ///
    /// # Errors
    /// If the other end does not answer as it should within the stream's time-outs.
    fn log_on(&mut self, lane: usize, stream: &mut TcpStream, accounts: &[usize])
    -> io::Result<()>;

    /// Appends the message of order `number` of `account` to `out`.
    fn encode(&mut self, message: Message, number: u64, account: usize, out: &mut Vec<u8>);

    /// Where the next bytes of this lane go; not empty.
    fn space(&mut self, lane: usize) -> &mut [u8];

    /// `n` bytes were put there by a read that returned at `stamp_ns`.
    fn filled(&mut self, lane: usize, n: usize, stamp_ns: u64);

    /// The next whole reply of this lane. What the wire itself must answer (a pong) goes to `out`.
    ///
    /// # Errors
    /// If the stream can't be understood any more, in words.
    fn next(&mut self, lane: usize, out: &mut Vec<u8>) -> Result<Option<Received>, String>;

    /// The first refusal or unexpected message, in words, for the record.
    fn first_complaint(&self) -> Option<&str>;
}
