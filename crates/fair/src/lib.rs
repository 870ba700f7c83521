//! Fairness that is enforced: pure functions and queues, without I/O and without a clock.
//!
//! - [`hold`]: a message carries a time, and nobody sees it before (hold and release).
//! - [`holding`]: the messages that wait for that time.
//! - [`window`]: the orders that answer one tick wait for each other, and are put in order by how
//!   long each took since its participant had the tick (delivery-based ordering).
//! - [`entry`]: orders reach the sequencer in the order in which they reached their gateways.
//! - [`publications`]: which tick was published when, for [`window`].
//!
//! The first and the third need a part beside each participant that the participant can't change:
//! the one that holds a message back, or measures how long an order took.
//!
//! See docs/decisions/032-delivery-based-ordering.md and docs/decisions/034-hold-and-release.md.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

pub mod entry;
pub mod hold;
pub mod holding;
pub mod publications;
pub mod window;
