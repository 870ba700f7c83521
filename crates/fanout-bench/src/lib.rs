//! The client of `fan-out` scenarios: the source of a replicator, and all its subscribers.
//!
//! ```text
//!   run        the plan from start to log: registers, sends, collects, judges
//!   register   one socket for each subscriber, registered at the replicator
//!   flow       sends what is due, and collects arrivals in between
//!   arrivals   when each copy arrived: one place for each message and subscriber
//!   judge      from arrivals to latencies, ranks and losses. No I/O, no clock
//! ```
//!
//! One thread is the source and all subscribers. It can be, because it does not time arrivals
//! itself: the kernel stamps each copy when it reaches the subscriber's socket. All stamps, those
//! of source and replicator too, are of `CLOCK_REALTIME`, which one host has one of.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

mod arrivals;
mod flow;
mod judge;
mod register;
mod run;

pub use run::{FanOutBenchError, run};
