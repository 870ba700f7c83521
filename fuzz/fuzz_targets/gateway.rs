//! Holds `properties::gateway::gateway`, which says what it is.
#![no_main]

#[path = "../../crates/exchange/tests/it/driven/mod.rs"]
mod driven;
#[path = "../../crates/exchange/tests/it/properties/gateway.rs"]
mod gateway;
#[path = "../../crates/exchange/tests/it/properties/small.rs"]
mod small;

libfuzzer_sys::fuzz_target!(|data: &[u8]| gateway::gateway(data));
