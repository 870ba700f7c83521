//! Fan-out: copies each datagram of a source to many subscribers, because a cloud has no multicast.
//!
//! ```text
//!   source ── datagram ──> replicate ── one of five ways ──> subscriber, subscriber, …
//!                             │ order: fixed, rotating, random
//!                             └ subscribers: of a file, or with a lease that register gives
//! ```
//!
//! - [`replicate`] is the loop: it receives, and sends a copy to each subscriber.
//! - [`tunnel`] is the header that carries a multicast group and stamps inside a unicast datagram.
//! - [`gre`] finds the datagrams in packets of a GRE tunnel.
//! - [`subscribers`] is the list of subscribers and what was sent to each.
//! - [`register`] is how a subscriber gets into that list: it must show that it receives at its
//!   address before anything but one challenge is sent there.
//! - [`order`] is who gets a datagram first. The crate `fair` makes that not matter.
//!
//! All of it but [`replicate`] is without I/O and reads no clock.

#![deny(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

pub mod gre;
pub mod order;
pub mod register;
pub mod replicate;
pub mod subscribers;
pub mod tunnel;
