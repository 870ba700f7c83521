//! Helpers that the tests of several crates share. Only a dev-dependency: no binary contains it.
//!
//! - [`skip!`] and [`skipped`]: a test that can't run here says what it needs, and is counted.
//! - [`opens`]: whether this kernel has an interface; if not, the test is counted as skipped.
//! - [`child`]: a test that starts its own program again, to be killed.
//! - [`small_disk`]: a test on a disk that is full.
//! - [`cores`]: whether this machine's cores are quiet enough for a test about time.
//! - [`cases`]: how many cases a property test tries.
//! - [`quiet`]: a test about time states what it assumes, and enlarges its effect on a busy
//!   machine.
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

/// How many cases a property test tries whose usual number is `usual`: that number is for
/// `PROPTEST_CASES=256`, proptest's own number, and another value changes it in proportion.
pub fn cases(usual: u32) -> u32 {
    in_proportion(usual, std::env::var("PROPTEST_CASES").ok())
}

fn in_proportion(usual: u32, asked: Option<String>) -> u32 {
    let asked: u32 = asked.and_then(|text| text.parse().ok()).unwrap_or(256);
    (u64::from(usual) * u64::from(asked) / 256).clamp(1, u32::MAX.into()) as u32
}

#[cfg(test)]
mod tests {
    #[test]
    fn cases_grow_and_shrink_with_the_number_that_is_asked() {
        let cases = |usual, asked: &str| super::in_proportion(usual, Some(asked.to_owned()));
        assert_eq!(super::in_proportion(4_000, None), 4_000);
        assert_eq!(
            [cases(4_000, "256"), cases(4_000, "64"), cases(4_000, "1024")],
            [4_000, 1_000, 16_000]
        );
        assert_eq!([cases(6, "32"), cases(6, "0"), cases(6, "many")], [1, 1, 6]);
    }
}
