//! Holds `trader::follower_properties::messages`, which says what it is.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| trader::follower_properties::messages(data));
