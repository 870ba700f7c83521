//! Holds `properties::tag_value`, which says what it is.
#![no_main]

#[path = "../../crates/fix/tests/it/properties/mod.rs"]
mod properties;

libfuzzer_sys::fuzz_target!(|data: &[u8]| properties::tag_value(data));
