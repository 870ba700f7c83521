//! Holds `properties::segment`, which says what it is.
#![no_main]

#[path = "../../crates/journal/tests/it/properties/mod.rs"]
mod properties;

libfuzzer_sys::fuzz_target!(|data: &[u8]| properties::segment(data));
