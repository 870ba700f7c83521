//! Holds `properties::frame_reader`, which says what it is.
#![no_main]

#[path = "../../crates/wire/tests/it/properties/mod.rs"]
mod properties;

libfuzzer_sys::fuzz_target!(|data: &[u8]| properties::frame_reader(data));
