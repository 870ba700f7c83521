//! The market data feed: what an exchange publishes of its books, and how a follower's book stays equal to them.
//! Bytes in, bytes out, no I/O, no clock.
//!
//! A *tick* is a datagram: a [`PacketHeader`] and the messages that one input of the engine led to (or, where they come too
//! fast, several inputs). The stamps in its header are the datagram's.

#![forbid(unsafe_code)]

mod message;

pub use message::{Channel, Message, PacketHeader, PacketKind};
