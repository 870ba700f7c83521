//! How every answer leaves: as one text frame in its connection's buffer.

use wire::frame::{Opcode, write_frame_with};

/// Appends a text frame.
#[inline]
pub(crate) fn send(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    write_frame_with(out, Opcode::Text, None, write);
}
