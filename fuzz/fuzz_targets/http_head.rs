//! Holds `properties::http_head`, which says what it is.
#![no_main]

#[path = "../../crates/wire/tests/it/properties/mod.rs"]
mod properties;

libfuzzer_sys::fuzz_target!(|data: &[u8]| properties::http_head(data));
