//! Holds `properties::any_bytes`, which says what it is.
#![no_main]

#[path = "../../crates/bypass/tests/it/properties/mod.rs"]
mod properties;

libfuzzer_sys::fuzz_target!(|data: &[u8]| properties::any_bytes(data));
