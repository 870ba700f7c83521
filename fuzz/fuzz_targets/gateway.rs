//! Holds `properties::gateway`, which says what it is.
#![no_main]

#[path = "../../crates/exchange/tests/it/driven/mod.rs"]
mod driven;
#[path = "../../crates/exchange/tests/it/properties/mod.rs"]
mod properties;

libfuzzer_sys::fuzz_target!(|data: &[u8]| properties::gateway(data));
