//! Order entry in SBE (Simple Binary Encoding) over TCP: the same requests and replies as in JSON.
//!
//! A frame is SBE's simple open framing header, the standard message header, a block of fixed
//! length, and in some messages a text:
//!
//! | bytes | |
//! |---|---|
//! | 0..4 | length of the whole frame, big endian |
//! | 4..6 | 0xEB50, big endian: SBE 1.0, little endian |
//! | 6..14 | block length, template, schema, version |
//! | 14.. | the block, then of a text its length (2 bytes) and its bytes |
//!
//! The schema is `clients/feed/tickpath-orders.xml`. The codec is ours, one line a field, because
//! a block is then one array with offsets that the compiler knows; a test holds it against the
//! codecs that are generated from the schema.

mod block;
pub mod client;
pub mod exchange;

use crate::client_id::ClientIdError;

/// Bytes of a frame before its message.
pub const FRAME_HEAD_BYTES: usize = 6;
/// Bytes of a message before its block.
pub const MESSAGE_HEAD_BYTES: usize = 8;
/// The longest frame, bytes.
pub const FRAME_BYTES_MAX: usize = 1024;
/// The longest text of a frame (a token, a reason), in bytes.
pub const TEXT_BYTES_MAX: usize = 512;
/// SBE 1.0, little endian, as the framing header names it.
const ENCODING: u16 = 0xEB50;
/// The schema's number.
pub const SCHEMA: u16 = 29_802;
/// The schema's version: 1 added the delivery clock to orders and their replacements, 2 `Ended`.
const VERSION: u16 = 2;

/// Why bytes are not a frame, or a frame is not a message: the stream is unusable after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameFault {
    /// A length out of range.
    #[error("a frame of {bytes} bytes: the length must be from 14 to {FRAME_BYTES_MAX}")]
    Length {
        /// The length in the frame.
        bytes: u32,
    },
    /// Another encoding.
    #[error("a frame's encoding type is {found:#06x}: send 0xeb50 (SBE 1.0, little endian)")]
    Encoding {
        /// The encoding in the frame.
        found: u16,
    },
    /// Another schema.
    #[error("a message of schema {found}: send messages of schema {SCHEMA}")]
    Schema {
        /// The schema in the message.
        found: u16,
    },
    /// A template that this end does not receive.
    #[error("a message of template {found}, which is not one that may come here")]
    Template {
        /// The template in the message.
        found: u16,
    },
    /// The block or the text is longer than the frame, or shorter than the template.
    #[error("a message of template {template} is shorter than its fields")]
    Short {
        /// The template.
        template: u16,
    },
}

/// Why the value of a field is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FieldFault {
    /// A client id.
    #[error(transparent)]
    ClientId(ClientIdError),
    /// A field that must not be null.
    #[error("field {0} is missing")]
    Missing(&'static str),
    /// Any other value.
    #[error("field {field} is not {expected}")]
    Value {
        /// The field.
        field: &'static str,
        /// The expected value.
        expected: &'static str,
    },
}

/// Why a message can't be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MessageError {
    /// The stream is unusable.
    #[error(transparent)]
    Frame(#[from] FrameFault),
    /// The message is invalid; the next one may be valid.
    #[error(transparent)]
    Field(#[from] FieldFault),
}

/// Whether a connection that begins with these bytes speaks SBE: no head of HTTP, TLS or PROXY
/// begins with a zero, and the length of a frame does.
#[must_use]
pub fn is_sbe(first: &[u8]) -> bool {
    first.first() == Some(&0)
}

/// The first message of `bytes`, and the length of its frame; `None` if it is incomplete.
///
/// # Errors
/// The bytes are not a frame.
#[inline]
pub fn split(bytes: &[u8]) -> Result<Option<(&[u8], usize)>, FrameFault> {
    let Some((head, _)) = bytes.split_first_chunk::<FRAME_HEAD_BYTES>() else { return Ok(None) };
    let [a, b, c, d, e, f] = *head;
    let (length, encoding) = (u32::from_be_bytes([a, b, c, d]), u16::from_be_bytes([e, f]));
    let least = FRAME_HEAD_BYTES + MESSAGE_HEAD_BYTES;
    if !(least..=FRAME_BYTES_MAX).contains(&(length as usize)) {
        return Err(FrameFault::Length { bytes: length });
    }
    if encoding != ENCODING {
        return Err(FrameFault::Encoding { found: encoding });
    }
    let frame = bytes.get(..length as usize);
    Ok(frame.map(|frame| (&frame[FRAME_HEAD_BYTES..], frame.len())))
}
