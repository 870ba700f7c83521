//! Ships the exchange's journal to a follower on another machine, which keeps a copy that opens as
//! a journal.
//!
//! ```text
//! primary                                            follower
//!   journal's writer: write ─> [written] ─ fdatasync
//!                                  v
//!   ship: Tail ─ Records ──────── TCP ─────────────>  follow: LogCopy: write, fdatasync
//!   acknowledgements <──────────────────── Ack ─────  all records below are durable here
//! ```
//!
//! | module | |
//! |---|---|
//! | [`frame`] | the bytes between the two. Pure |
//! | [`term`] | who may write the log, from which record on, and the file that says so |
//! | [`admission`] | whether a follower takes a primary. Pure |
//! | [`session`] | a follower's end of one connection: bytes in, bytes out, a [`session::Store`] |
//! | [`store`] | the store that is a journal's directory |
//! | [`replayed`] | the store of a cluster's member, which sees its input again after a restart |
//! | [`member`] | a cluster's member: the connections in the cluster's log, and its copy |
//! | `room` | waits for room on its disk |
//! | [`lag`] | when a follower counts as lost. Pure |
//! | `pace` | how fast a follower that was away catches up. Pure |
//! | [`lease`] | when a standby takes over, and why. Pure |
//! | [`fence`] | rejects old primaries at the address of a follower that was promoted |
//! | [`publish`] | files that appear whole |
//! | [`ship`], `ship_error` | the primary's threads, and why a connection ends |
//! | [`follow`] | the follower's loop |
//! | `stream`, `reply`, `wire` | the sockets of the two |
//!
//! The last three rows, `pace` and [`fence`] need the feature `sockets`, which is on by default.
//!
//! See docs/decisions/026-primary-and-follower.md, docs/decisions/029-promotion-by-lease.md and
//! docs/decisions/040-the-copy-in-a-cluster.md.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

pub mod admission;
#[cfg(feature = "sockets")]
pub mod fence;
#[cfg(feature = "sockets")]
pub mod follow;
pub mod frame;
pub mod lag;
pub mod lease;
pub mod member;
#[cfg(feature = "sockets")]
mod pace;
pub mod publish;
pub mod register;
pub mod replayed;
#[cfg(feature = "sockets")]
mod reply;
mod room;
pub mod session;
#[cfg(feature = "sockets")]
pub mod ship;
#[cfg(feature = "sockets")]
mod ship_error;
pub mod store;
#[cfg(feature = "sockets")]
mod stream;
pub mod term;
#[cfg(feature = "sockets")]
mod wire;

#[cfg(feature = "sockets")]
pub use reply::Distance;
