//! FIX 4.4 without I/O: bytes and the time go in, bytes and events come out.
//!
//! ```text
//!   received ─> frame ─> message: fields ─> session: sequence, dictionary ─> Event
//!   written  <─ session: header, length, checksum <─ Body <─ the caller's message
//!                  └─ store: what was sent, and both sequence numbers
//! ```
//!
//! - [`frame`]: where a message begins and ends, BodyLength, CheckSum.
//! - [`message`], [`encode`]: fields of a message that came; fields of one that goes.
//! - [`dictionary`]: messages and fields as data, read from the usual XML.
//! - [`hot`]: the few messages of a measured path, without encoding and dictionary.
//! - [`session`]: logon, heartbeat, resend, gap fill, reject, logout.
//! - [`signature`]: signed logons.
//! - [`store`]: the one part that may touch a disk, behind a trait.
//!
//! Source of the rules: FIX 4.4, volume 2, "FIX Session-level Test Cases and Expected Behaviors".

#![deny(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

pub mod dictionary;
pub mod encode;
pub mod frame;
pub mod hot;
pub mod message;
mod reject_reason;
// Bytes are compared sixteen at a time.
#[allow(unsafe_code)]
mod separators;
pub mod session;
pub mod signature;
pub mod store;
pub mod tag;
pub mod time;

/// The field separator.
pub const SOH: u8 = 1;

/// The dictionary of what tickpath supports.
pub const TICKPATH_XML: &str = include_str!("../../../clients/fix/tickpath-fix44.xml");
