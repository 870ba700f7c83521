//! Holds `tls::properties::{handshake, records}`, which say what they are.
#![no_main]

use transport::tls::properties;

libfuzzer_sys::fuzz_target!(|data: &[u8]| match data {
    [0, data @ ..] => properties::handshake(data),
    [_, data @ ..] => properties::records(data),
    [] => {}
});
