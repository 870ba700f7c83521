//! What the tests of several crates share. A dev-dependency and nothing else: no binary carries it.
//!
//! - [`skip!`] and [`skipped`]: a test that can't run here says what it needs, and is counted.
//! - [`opens`]: whether this kernel has an interface; if not, the test is counted as skipped.
//! - [`child`]: a test that starts its own program again, to be killed.
//! - [`small_disk`]: a test on a disk that is full.
//! - [`cores`]: whether this machine's cores are quiet enough for a test about time.

pub mod child;
pub mod cores;
pub mod small_disk;

mod skipping;

pub use skipping::{Need, SKIPPED_FILE, market_data, opens, skipped};
