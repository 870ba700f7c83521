//! Subscribers on a host of their own, and their words with the source's host.
//!
//! ```text
//!   dialogue  what both ends say over TCP: a line of JSON each, then arrivals as numbers
//!   receive   receives the copies, and keeps when each came
//!   serve     the process: one client at a time, and the echo by which its clock is found
//! ```

pub(crate) mod dialogue;
mod receive;
mod serve;

pub use serve::{EndCounts, serve};
