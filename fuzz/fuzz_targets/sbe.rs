//! Holds `properties::sbe::sbe` and `sbe_blocks`, which say what they are.
#![no_main]

#[path = "../../crates/wire/tests/it/properties/mod.rs"]
mod properties;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    properties::sbe::sbe(data);
    properties::sbe::sbe_blocks(data);
});
