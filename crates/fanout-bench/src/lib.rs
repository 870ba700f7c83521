//! The client of `fan-out` scenarios: the source of a replicator, and all its subscribers.
//!
//! ```text
//!   run        the plan from start to log: registers, sends, collects, judges
//!   register   one socket for each subscriber, registered at the replicator
//!   flow       sends what is due, and collects arrivals in between
//!   arrivals   when each copy arrived: one place for each message and subscriber
//!   judge      from arrivals to latencies, ranks and losses. No I/O, no clock
//!   hosts      the source's side of subscribers on other hosts: probes, and what is certain
//!   end        the other side: subscribers on a host of their own (`tickpath subscribers`)
//! ```
//!
//! On one host, one thread is the source and all subscribers. It can be, because it does not time
//! arrivals itself: the kernel stamps each copy when it reaches the subscriber's socket. All
//! stamps, those of source and replicator too, are of `CLOCK_REALTIME`, which one host has one of.
//!
//! Subscribers of other hosts have the clocks of these. How their arrivals are compared is in
//! docs/decisions/045-a-spread-between-hosts.md.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

mod arrivals;
mod end;
mod flow;
mod hosts;
mod judge;
mod register;
mod run;

pub use end::{EndCounts, serve};
pub use run::{FanOutBenchError, run};
