//! Holds `properties::sbe::sbe_stream` and `sbe_losses`, which say what they are.
#![no_main]

#[path = "../../crates/exchange/tests/it/driven/mod.rs"]
mod driven;
#[path = "../../crates/exchange/tests/it/properties/sbe.rs"]
mod sbe;
#[path = "../../crates/exchange/tests/it/properties/small.rs"]
mod small;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    sbe::sbe_stream(data);
    sbe::sbe_losses(data);
});
