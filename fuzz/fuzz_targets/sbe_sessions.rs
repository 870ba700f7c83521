//! Holds `properties::sbe::sbe_stream` and `sbe_losses`, which say what they are.
#![no_main]

#[path = "../../crates/exchange/tests/it/driven/mod.rs"]
mod driven;
#[path = "../../crates/exchange/tests/it/properties/mod.rs"]
mod properties;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    properties::sbe::sbe_stream(data);
    properties::sbe::sbe_losses(data);
});
