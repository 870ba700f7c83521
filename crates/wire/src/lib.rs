//! The messages and their codecs. Bytes in, bytes out, no I/O.
//!
//! | module | from | to |
//! |---|---|---|
//! | [`http`] | the head of a connection | an upgrade, or a plain request |
//! | [`frame`] | payload | WebSocket frames (RFC 6455), both sides |
//! | [`reader`] | bytes as they come from a socket | whole messages, with the stamp of their first byte |
//! | [`request`] | client's JSON | orders, amendments, cancels, authentication, operators' requests; and a client's encoders |
//! | [`reply`] | exchange's facts | JSON; and a client's decoder |
//! | [`market_data`] | the feed | JSON for its subscribers |
//! | [`sbe`] | frames in SBE | the same requests and replies, and a session's messages; both sides |
//! | [`administration`] | the exchange's state | JSON |
//!
//! Encoders append to a `Vec<u8>` that the caller reuses; decoders borrow from their input. In the
//! usual case neither allocates, which a test checks with a counting allocator.
//!
//! See docs/decisions/010-wire-extensions.md.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

pub mod administration;
pub mod client_id;
pub mod decimal;
mod digits;
pub mod fault;
pub mod frame;
pub mod http;
mod json;
pub mod market_data;
pub mod order_id;
pub mod reader;
pub mod reply;
pub mod request;
pub mod sbe;

pub use client_id::ClientId;
pub use decimal::Decimal;
pub use fault::MessageFault;
pub use order_id::OrderId;
