//! Holds `acked::properties::{strangers, liar}`, which say what they are.
#![no_main]

use transport::acked::properties;

libfuzzer_sys::fuzz_target!(|data: &[u8]| match data {
    [0, data @ ..] => properties::strangers(data),
    [_, data @ ..] => properties::liar(data),
    [] => {}
});
