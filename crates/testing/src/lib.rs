//! Helpers that the tests of several crates share. Only a dev-dependency: no binary contains it.
//!
//! - [`skip!`] and [`skipped`]: a test that can't run here says what it needs, and is counted.
//! - [`opens`]: whether this kernel has an interface; if not, the test is counted as skipped.
//! - [`child`]: a test that starts its own program again, to be killed.
//! - [`small_disk`]: a test on a disk that is full.
//! - [`halting_disk`]: a test on disks that take nothing for a while.
//! - [`cores`]: whether this machine's cores are quiet enough for a test about time, and a limit on
//!   time that what others take of a core does not shorten.
//! - [`cases`]: how many cases a property test tries.
//! - [`quiet`]: a test about time states what it assumes, and enlarges its effect on a busy
//!   machine.
//! - [`schema`]: whether JSON is as one of our schemas says.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

#[cfg(test)]
mod again;
#[allow(clippy::disallowed_macros)]
pub mod child;
#[allow(clippy::disallowed_methods)]
pub mod cores;
pub mod halting_disk;
mod mounts;
pub mod quiet;
pub mod schema;
pub mod small_disk;

#[allow(clippy::disallowed_macros)]
mod skipping;

pub use skipping::{Need, SKIPPED_FILE, market_data, opens, skipped};

/// How many cases a property test tries whose usual number is `usual`: the share of it that
/// `TICKPATH_CASES_PERCENT` says, and at least one.
///
/// Not `PROPTEST_CASES`: `proptest!` puts that number in the place of every other, so that a test
/// of six slow cases would try as many as one of thousands.
pub fn cases(usual: u32) -> u32 {
    per_cent_of(usual, std::env::var("TICKPATH_CASES_PERCENT").ok())
}

fn per_cent_of(usual: u32, asked: Option<String>) -> u32 {
    let asked: u32 = asked.and_then(|text| text.parse().ok()).unwrap_or(100);
    (u64::from(usual) * u64::from(asked) / 100).clamp(1, u32::MAX.into()) as u32
}

#[cfg(test)]
mod tests {
    use proptest::test_runner::{Config, contextualize_config};

    #[test]
    fn cases_grow_and_shrink_with_the_number_that_is_asked() {
        let cases = |usual, asked: &str| super::per_cent_of(usual, Some(asked.to_owned()));
        assert_eq!(super::per_cent_of(4_000, None), 4_000);
        assert_eq!(
            [cases(4_000, "100"), cases(4_000, "25"), cases(4_000, "400")],
            [4_000, 1_000, 16_000]
        );
        assert_eq!([cases(6, "12"), cases(6, "0"), cases(6, "many")], [1, 1, 6]);
    }

    /// `make test` once set `PROPTEST_CASES=64`, meant as a quarter, and a test of six cases took
    /// two minutes with 64 of them, while one of 4 000 tried 64.
    #[test]
    fn nothing_replaces_the_number_that_a_test_asks_for() {
        let config = contextualize_config(Config::with_cases(super::cases(6)));
        assert_eq!(config.cases, super::cases(6), "PROPTEST_CASES is set: unset it");
    }
}
