//! WebSocket frames (RFC 6455, section 5): headers and masking.
//!
//! Our own code, because it runs twice per message at both ends. The tests compare it with
//! tungstenite.

/// The longest header: two bytes, eight of length, four of mask.
pub const FRAME_HEADER_BYTES_MAX: usize = 14;

/// The longest payload of a close, ping or pong (RFC 6455, section 5.5).
pub const CONTROL_PAYLOAD_BYTES_MAX: usize = 125;

/// Kind of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Opcode {
    /// The next fragment of a message.
    Continuation = 0x0,
    /// UTF-8 text.
    Text = 0x1,
    /// Bytes.
    Binary = 0x2,
    /// The end of the connection.
    Close = 0x8,
    /// Asks for a pong with the same payload.
    Ping = 0x9,
    /// The answer to a ping.
    Pong = 0xA,
}

impl Opcode {
    /// Close, ping and pong: never fragmented, allowed between the fragments of a message.
    pub fn is_control(self) -> bool {
        self as u8 >= 0x8
    }

    fn from_bits(bits: u8) -> Option<Opcode> {
        Some(match bits {
            0x0 => Opcode::Continuation,
            0x1 => Opcode::Text,
            0x2 => Opcode::Binary,
            0x8 => Opcode::Close,
            0x9 => Opcode::Ping,
            0xA => Opcode::Pong,
            _ => return None,
        })
    }
}

/// A violation of the protocol or of a limit by the peer. The connection can't continue: send a
/// close with [`FrameError::close_code`] and drop it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// A client's frame without a mask.
    #[error("a client's frame is not masked; RFC 6455 section 5.1 demands it")]
    Unmasked,
    /// A server's frame with a mask.
    #[error("a server's frame is masked; RFC 6455 section 5.1 forbids it")]
    Masked,
    /// One of the three reserved bits is set. We negotiate no extension.
    #[error("a reserved bit is set, but no extension was negotiated (is compression on?)")]
    ReservedBits,
    /// An opcode that RFC 6455 does not define.
    #[error("unknown opcode {0:#x}")]
    UnknownOpcode(u8),
    /// A close, ping or pong of more than [`CONTROL_PAYLOAD_BYTES_MAX`] bytes.
    #[error("a control frame is longer than {CONTROL_PAYLOAD_BYTES_MAX} bytes")]
    ControlTooLong,
    /// A close, ping or pong without the final bit.
    #[error("a control frame is fragmented")]
    ControlFragmented,
    /// A length not in its shortest form, or with its highest bit set.
    #[error("a frame's length is not in its shortest form")]
    LengthForm,
    /// A continuation with no message to continue.
    #[error("a continuation frame came with no message to continue")]
    ContinuationWithoutStart,
    /// A new message before the last fragment of the one before.
    #[error("a new message began before the last fragment of the one before")]
    MessageWithinMessage,
    /// A close whose payload is one byte, or whose code must not be sent.
    #[error("a close frame's code is missing its second byte or must not be sent")]
    CloseCode,
    /// A close whose reason is not UTF-8.
    #[error("a close frame's reason is not UTF-8")]
    CloseReason,
    /// A message, all fragments together, that is longer than the reader's limit.
    #[error("a message is longer than {message_bytes_max} bytes (limit message_bytes_max)")]
    MessageTooBig {
        /// The limit.
        message_bytes_max: usize,
    },
}

impl FrameError {
    /// The code for the close frame (RFC 6455, section 7.4.1): 1002 protocol error, 1007 not UTF-8,
    /// 1009 too big.
    pub fn close_code(self) -> u16 {
        match self {
            FrameError::MessageTooBig { .. } => 1009,
            FrameError::CloseReason => 1007,
            _ => 1002,
        }
    }
}

/// A decoded frame header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameHeader {
    /// Whether this is the last frame of a message.
    pub fin: bool,
    /// Kind of the frame.
    pub opcode: Opcode,
    /// The key of a masked payload.
    pub mask: Option<[u8; 4]>,
    /// The payload's length.
    pub payload_bytes: u64,
    /// The header's own length: the payload's offset from the frame's first byte.
    pub header_bytes: usize,
}

/// Decodes the header at the start of `bytes`; `None` until it is complete. Rejects most invalid
/// headers at the second byte.
pub fn decode_header(bytes: &[u8]) -> Result<Option<FrameHeader>, FrameError> {
    let [first, second, rest @ ..] = bytes else { return Ok(None) };
    if first & 0x70 != 0 {
        return Err(FrameError::ReservedBits);
    }
    let opcode = Opcode::from_bits(first & 0x0f).ok_or(FrameError::UnknownOpcode(first & 0x0f))?;
    let (fin, masked, length) = (first & 0x80 != 0, second & 0x80 != 0, second & 0x7f);
    if opcode.is_control() {
        if length > CONTROL_PAYLOAD_BYTES_MAX as u8 {
            return Err(FrameError::ControlTooLong);
        }
        if !fin {
            return Err(FrameError::ControlFragmented);
        }
    }
    let (payload_bytes, shortest_form_from, length_bytes) = match length {
        126 => {
            let Some(&length) = rest.first_chunk() else { return Ok(None) };
            (u64::from(u16::from_be_bytes(length)), 126, 2)
        }
        127 => {
            let Some(&length) = rest.first_chunk() else { return Ok(None) };
            (u64::from_be_bytes(length), 65_536, 8)
        }
        short => (u64::from(short), 0, 0),
    };
    if payload_bytes < shortest_form_from || payload_bytes >> 63 != 0 {
        return Err(FrameError::LengthForm);
    }
    let mask = match masked {
        true => {
            let Some(&key) = rest[length_bytes..].first_chunk() else { return Ok(None) };
            Some(key)
        }
        false => None,
    };
    let header_bytes = 2 + length_bytes + if masked { 4 } else { 0 };
    Ok(Some(FrameHeader { fin, opcode, mask, payload_bytes, header_bytes }))
}

/// Appends a header: with a mask for a client, without one for a server.
pub fn write_header(
    out: &mut Vec<u8>,
    fin: bool,
    opcode: Opcode,
    mask: Option<[u8; 4]>,
    payload_bytes: usize,
) {
    let start = out.len();
    out.resize(start + header_bytes(mask.is_some(), payload_bytes), 0);
    put_header(&mut out[start..], fin, opcode, mask, payload_bytes);
}

/// Bytes of the header of a payload that is so long.
pub fn header_bytes(masked: bool, payload_bytes: usize) -> usize {
    let length_bytes = match payload_bytes {
        0..=125 => 0,
        126..=65_535 => 2,
        _ => 8,
    };
    2 + length_bytes + if masked { 4 } else { 0 }
}

/// Writes a header into exactly its room, without copying its parts.
#[inline]
fn put_header(
    room: &mut [u8],
    fin: bool,
    opcode: Opcode,
    mask: Option<[u8; 4]>,
    payload_bytes: usize,
) {
    let masked = if mask.is_some() { 0x80 } else { 0 };
    room[0] = opcode as u8 | if fin { 0x80 } else { 0 };
    match payload_bytes {
        0..=125 => room[1] = masked | payload_bytes as u8,
        126..=65_535 => {
            room[1] = masked | 126;
            room[2..4].copy_from_slice(&(payload_bytes as u16).to_be_bytes());
        }
        _ => {
            room[1] = masked | 127;
            room[2..10].copy_from_slice(&(payload_bytes as u64).to_be_bytes());
        }
    }
    if let (Some(key), Some(room)) = (mask, room.last_chunk_mut()) {
        *room = key;
    }
}

/// Masks or unmasks (the same operation) a payload from its first byte, eight bytes at a time.
pub fn mask_in_place(payload: &mut [u8], key: [u8; 4]) {
    let key_twice =
        u64::from_ne_bytes([key[0], key[1], key[2], key[3], key[0], key[1], key[2], key[3]]);
    let (words, rest) = payload.as_chunks_mut::<8>();
    for word in words {
        *word = (u64::from_ne_bytes(*word) ^ key_twice).to_ne_bytes();
    }
    for (byte, key) in rest.iter_mut().zip(key.iter().cycle()) {
        *byte ^= key;
    }
}

/// Appends a whole frame. `write` appends the payload directly after the header, so that it is
/// written once in its final place, and masked there.
///
/// Reserves room for the header of a payload of 126 to 65 535 bytes, the size of orders and acks. A
/// shorter or longer payload (a cancel has 103 bytes) is moved by the difference.
pub fn write_frame_with(
    out: &mut Vec<u8>,
    opcode: Opcode,
    mask: Option<[u8; 4]>,
    write: impl FnOnce(&mut Vec<u8>),
) {
    let start = out.len();
    let room = if mask.is_some() { 8 } else { 4 };
    out.resize(start + room, 0);
    write(out);
    let payload_bytes = out.len().saturating_sub(start + room);
    let header_bytes = header_bytes(mask.is_some(), payload_bytes);
    let payload = start + header_bytes;
    if header_bytes != room {
        out.resize(start + payload_bytes + header_bytes.max(room), 0);
        out.copy_within(start + room..start + room + payload_bytes, payload);
        out.truncate(payload + payload_bytes);
    }
    put_header(&mut out[start..payload], true, opcode, mask, payload_bytes);
    if let Some(key) = mask {
        mask_in_place(&mut out[payload..], key);
    }
}

/// Appends a frame with a ready payload: pings, pongs, fragments.
pub fn write_frame(
    out: &mut Vec<u8>,
    fin: bool,
    opcode: Opcode,
    mask: Option<[u8; 4]>,
    payload: &[u8],
) {
    write_header(out, fin, opcode, mask, payload.len());
    let start = out.len();
    out.extend_from_slice(payload);
    if let Some(key) = mask {
        mask_in_place(&mut out[start..], key);
    }
}

/// Appends a close frame. Cuts a reason that is too long at the end of a character.
pub fn write_close(out: &mut Vec<u8>, code: u16, reason: &str, mask: Option<[u8; 4]>) {
    let mut payload = [0; CONTROL_PAYLOAD_BYTES_MAX];
    let reason = &reason[..reason.floor_char_boundary(CONTROL_PAYLOAD_BYTES_MAX - 2)];
    payload[..2].copy_from_slice(&code.to_be_bytes());
    payload[2..2 + reason.len()].copy_from_slice(reason.as_bytes());
    write_frame(out, true, Opcode::Close, mask, &payload[..2 + reason.len()]);
}
