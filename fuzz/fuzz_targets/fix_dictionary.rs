//! Holds `properties::loads_or_says_why`, which says what it is.
#![no_main]

#[path = "../../crates/fix/tests/it/properties/mod.rs"]
mod properties;

libfuzzer_sys::fuzz_target!(|data: &str| properties::loads_or_says_why(data));
