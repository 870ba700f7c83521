//! How every answer leaves: as one text frame in its connection's buffer.

use wire::frame::{Opcode, write_frame_with};

/// Appends a text frame.
#[inline]
pub(crate) fn send(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    write_frame_with(out, Opcode::Text, None, write);
}

/// The wire's time, milliseconds since 1970, of the engine's, nanoseconds.
#[inline]
pub(crate) fn wire_time(time_ns: u64) -> i64 {
    (time_ns / 1_000_000) as i64
}
