//! Random commands that meet each other, and limits small enough to be reached: made from bytes, so
//! that proptest and libFuzzer share them.

#![allow(dead_code, reason = "each test file uses its part")]

mod decode;

pub use decode::{COMMAND_BYTES, LIMITS_BYTES, decode_inputs, decode_limits};
use engine::*;
use proptest::prelude::*;

/// A sequence of commands.
pub fn inputs(length_max: usize) -> impl Strategy<Value = Vec<Input>> {
    prop::collection::vec(any::<[u8; COMMAND_BYTES]>(), 0..length_max)
        .prop_map(|bytes| decode_inputs(&bytes))
}

/// Capacities for the three instruments of [`inputs`].
pub fn limits() -> impl Strategy<Value = EngineLimits> {
    any::<[u8; LIMITS_BYTES]>().prop_map(|bytes| decode_limits(&bytes))
}
