//! Probes an address that belongs to somebody else, one probe at a time and no faster than asked.
//!
//! ```text
//!   run       a pinned measuring thread makes probes; the caller's thread writes the log
//!   name      the addresses of the target's name, and their changes during the run
//!   route     one address, its connections, and a probe of it
//!   target    how a connection is opened, step by step: connect, TLS handshake, WebSocket upgrade
//!   line      an open WebSocket, and a ping over it
//!   datagram  a UDP socket, and a datagram to an echo server and back
//!   segments  counts of stamped pings
//!   timed     the clock, the stop flag, and reads that wait no longer than they may
//! ```
//!
//! There is no schedule to fall behind: the rate is a limit, for the sake of the target. So there
//! is no response time, only the service time of each step.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

mod connection;
mod datagram;
mod name;
mod route;
mod run;
mod segments;
mod target;
mod timed;

pub use run::{EndpointError, ProbeResult, run};
