//! Probes an address that belongs to somebody else, one probe at a time and no faster than asked.
//!
//! ```text
//!   run     a pinned measuring thread makes probes; the caller's thread writes the log
//!   target  how a connection is opened, step by step: connect, TLS handshake, WebSocket upgrade
//!   line    an open connection, and a ping over it
//!   timed   the clock, the stop flag, and reads that wait no longer than they may
//! ```
//!
//! There is no schedule to fall behind: the rate is a limit, for the sake of the target. So there
//! is no response time, only the service time of each step.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

mod line;
mod run;
mod target;
mod timed;

pub use run::{EndpointError, run};
