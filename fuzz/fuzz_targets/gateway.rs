//! Holds `properties::gateway`, which says what it is.
#![no_main]

#[path = "../../crates/exchange/tests/driven/mod.rs"]
mod driven;
#[path = "../../crates/exchange/tests/properties/mod.rs"]
mod properties;

libfuzzer_sys::fuzz_target!(|data: &[u8]| properties::gateway(data));
