//! What the tests of several crates share. A dev-dependency and nothing else: no binary carries it.
//!
//! - [`skip!`] and [`skipped`]: a test that can't run here says what it needs, and is counted.
//! - [`opens`]: whether this kernel has an interface; if not, the test is counted as skipped.
//! - [`child`]: a test that starts its own program again, to be killed.
//! - [`small_disk`]: a test on a disk that is full.
//! - [`cores`]: whether this machine's cores are quiet enough for a test about time.
//! - [`quiet`]: a test about time states what it assumes, and enlarges its effect on a busy machine.
//! - [`schema`]: whether JSON is as one of our schemas says.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

#[allow(clippy::disallowed_macros)]
pub mod child;
#[allow(clippy::disallowed_methods)]
pub mod cores;
pub mod quiet;
pub mod schema;
#[allow(clippy::disallowed_macros)]
pub mod small_disk;

#[allow(clippy::disallowed_macros)]
mod skipping;

pub use skipping::{Need, SKIPPED_FILE, market_data, opens, skipped};
