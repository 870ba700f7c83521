//! What the tests of several crates share. A dev-dependency and nothing else: no binary carries it.
//!
//! - [`skip!`] and [`skipped`]: a test that can't run here says what it needs, and is counted.
//! - [`opens`]: whether this kernel has an interface; if not, the test is counted as skipped.
//! - [`child`]: a test that starts its own program again, to be killed.
//! - [`small_disk`]: a test on a disk that is full.
//! - [`cores`]: whether this machine's cores are quiet enough for a test about time.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

#[allow(clippy::disallowed_macros)]
pub mod child;
#[allow(clippy::disallowed_methods)]
pub mod cores;
#[allow(clippy::disallowed_macros)]
pub mod small_disk;

#[allow(clippy::disallowed_macros)]
mod skipping;

pub use skipping::{Need, SKIPPED_FILE, market_data, opens, skipped};
