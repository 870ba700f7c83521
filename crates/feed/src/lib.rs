//! The market data feed: publishes an exchange's books, and keeps a follower's books equal to them.
//! Bytes in, bytes out, no I/O, no clock.
//!
//! A *tick* is a datagram: a [`PacketHeader`] and the messages of one engine input (of several if
//! they come too fast). The stamps in its header are the datagram's.
//!
//! See docs/decisions/012-market-data-feed.md.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

mod book;
mod counts;
mod fault;
mod follower;
mod format;
mod publisher;
mod settings;
mod top_history;

pub use book::{Book, BookFault};
pub use counts::Counts;
pub use engine::depth::RestingOrder;
pub use fault::{Fault, Faults};
pub use follower::asked::RecoveryRequest;
pub use follower::{Follower, Outcome};
pub use format::codec::MESSAGE_BYTES_MAX;
pub use format::message::{Channel, FeedMessage, PacketHeader, PacketKind};
pub use format::packet::{
    Messages, PACKET_HEADER_BYTES, Packet, SEQUENCE_MAX, encode_packet, patch_place,
    patch_published,
};
pub use publisher::Publisher;
pub use publisher::packets::ReplayError;
pub use publisher::sending::Sending;
pub use settings::{
    DATAGRAM_BYTES_DEFAULT, DATAGRAM_BYTES_LARGEST, DATAGRAM_BYTES_MIN, Definition,
    FollowerSettings, PublisherSettings, PublisherSettingsError,
};
pub use top_history::TopHistory;
