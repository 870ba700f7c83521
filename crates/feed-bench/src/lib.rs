//! The client of `feed` scenarios: a feed on a schedule, into a book on one core.
//!
//! ```text
//!   prepared   the feed, made before the start: workload W1 through an engine and a publisher
//!   source     a thread of its own: sends each datagram when it is due
//!   run        the measuring thread: receives, applies, times; then what became of all datagrams
//! ```
//!
//! The source sends the same feed again and again. It can, because it begins and ends with empty
//! books.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

mod prepared;
mod run;
mod source;

pub use run::{FeedBenchError, run};
