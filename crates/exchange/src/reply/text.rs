//! Writes a reply as a text frame into its connection's buffer.

use wire::frame::{Opcode, write_frame_with};

/// Appends a text frame.
#[inline]
pub(crate) fn send(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    write_frame_with(out, Opcode::Text, None, write);
}

/// Converts the engine's time (ns since 1970) to the wire's (ms since 1970).
#[inline]
pub(crate) fn wire_time(time_ns: u64) -> i64 {
    (time_ns / 1_000_000) as i64
}

/// The wire's name of a side.
#[inline]
pub(crate) fn wire_side(side: engine::Side) -> wire::request::Side {
    match side {
        engine::Side::Buy => wire::request::Side::Buy,
        engine::Side::Sell => wire::request::Side::Sell,
    }
}
