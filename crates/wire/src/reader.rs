//! Reads whole messages from the bytes of a socket, usually without a copy.
//!
//! ```
//! use wire::frame::{Opcode, write_frame};
//! use wire::reader::{FrameLimits, Message, MessageReader, Role};
//!
//! let mut sent = Vec::new();
//! write_frame(&mut sent, true, Opcode::Text, Some([1, 2, 3, 4]), b"hello");
//!
//! let mut reader = MessageReader::new(Role::Server, FrameLimits::default());
//! let space = reader.space(); // recv() reads into this
//! space[..sent.len()].copy_from_slice(&sent);
//! reader.filled(sent.len(), 17); // the result of recv(), and its time
//! let received = reader.next()?.expect("the message is whole");
//! assert_eq!(received.message, Message::Text(b"hello"));
//! assert_eq!(received.first_byte_ns, 17);
//! # Ok::<(), wire::frame::FrameError>(())
//! ```

use crate::frame::{
    CONTROL_PAYLOAD_BYTES_MAX, FRAME_HEADER_BYTES_MAX, FrameError, FrameHeader, Opcode,
    decode_header, mask_in_place,
};
use std::ops::Range;

/// The reader's end of the connection: a server takes masked frames, a client unmasked ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Reads a client's frames.
    Server,
    /// Reads a server's frames.
    Client,
}

/// Limits of a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameLimits {
    /// Longest message, all fragments together. The reader's buffer is a little larger.
    pub message_bytes_max: usize,
}

impl Default for FrameLimits {
    /// 64 KiB: two hundred times the size of an order.
    fn default() -> FrameLimits {
        FrameLimits { message_bytes_max: 64 * 1024 }
    }
}

/// Minimum size of [`MessageReader::space`]; below it the buffer is compacted.
pub const READ_BYTES_MIN: usize = 4 * 1024;

/// A whole message in the reader's buffer, unmasked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message<'a> {
    /// Text. Its decoder checks the UTF-8.
    Text(&'a [u8]),
    /// Bytes.
    Binary(&'a [u8]),
    /// Asks for a pong with the same payload.
    Ping(&'a [u8]),
    /// Answers a ping.
    Pong(&'a [u8]),
    /// The peer's last message; bytes after it are dropped.
    Close {
        /// The peer's code, if any (RFC 6455, section 7.4).
        code: Option<u16>,
        /// A text for people; UTF-8.
        reason: &'a [u8],
    },
}

/// A message and the time of its first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadOutcome<'a> {
    /// The message.
    pub message: Message<'a>,
    /// The stamp of the [`MessageReader::filled`] with the first byte of the message's first frame.
    pub first_byte_ns: u64,
}

/// An incomplete data message; the payload of its fragments so far, contiguous.
#[derive(Clone, Debug)]
struct Assembly {
    opcode: Opcode,
    range: Range<usize>,
    first_byte_ns: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    Closed,
    Failed(FrameError),
}

/// Reads messages from one buffer that is allocated once.
///
/// Call [`MessageReader::next`] until it returns `None` before the next `space` and `filled`; then
/// every stamp is exact. (Otherwise a message may get the stamp of an older read.)
#[derive(Clone, Debug)]
pub struct MessageReader {
    role: Role,
    message_bytes_max: usize,
    buffer: Box<[u8]>,
    /// Bytes that are not yet parsed.
    unread: Range<usize>,
    assembly: Option<Assembly>,
    /// Start of the last fill: bytes before it came at `older_ns`, others at `latest_ns`.
    latest_at: usize,
    latest_ns: u64,
    older_ns: u64,
    state: State,
}

impl MessageReader {
    /// Allocates the buffer: `message_bytes_max`, and some room to read ahead.
    pub fn new(role: Role, limits: FrameLimits) -> MessageReader {
        // In addition to the longest message: its last header, one control frame between its
        // fragments, and a read that is worth its system call.
        let extra = 2 * FRAME_HEADER_BYTES_MAX + CONTROL_PAYLOAD_BYTES_MAX + READ_BYTES_MIN;
        MessageReader {
            role,
            message_bytes_max: limits.message_bytes_max,
            buffer: vec![0; limits.message_bytes_max.saturating_add(extra)].into_boxed_slice(),
            unread: 0..0,
            assembly: None,
            latest_at: 0,
            latest_ns: 0,
            older_ns: 0,
            state: State::Open,
        }
    }

    /// Resets the reader for the next connection and keeps its buffer.
    pub fn reset(&mut self) {
        self.unread = 0..0;
        self.assembly = None;
        self.latest_at = 0;
        self.state = State::Open;
    }

    /// Whether a message is incomplete, once [`MessageReader::next`] has returned `None`. For a
    /// server that gives up on such a message.
    pub fn is_within_message(&self) -> bool {
        self.assembly.is_some() || !self.unread.is_empty()
    }

    /// The space for the next read: at least [`READ_BYTES_MIN`] once `next` has returned `None`;
    /// empty only while whole messages wait to be taken.
    pub fn space(&mut self) -> &mut [u8] {
        if self.state != State::Open {
            self.unread = 0..0; // nothing that follows a close or an error is read
        }
        if self.unread.is_empty() && self.assembly.is_none() {
            self.unread = 0..0;
            self.latest_at = 0;
        } else if self.buffer.len() - self.unread.end < READ_BYTES_MIN {
            self.compact();
        }
        &mut self.buffer[self.unread.end..]
    }

    /// Adds the first `n` bytes of [`MessageReader::space`], filled by a read that returned at
    /// `stamp_ns`.
    pub fn filled(&mut self, n: usize, stamp_ns: u64) {
        debug_assert!(
            n <= self.buffer.len() - self.unread.end,
            "more was filled than space() gave"
        );
        if self.unread.start >= self.latest_at {
            self.older_ns = self.latest_ns;
        }
        self.latest_at = self.unread.end;
        self.latest_ns = stamp_ns;
        self.unread.end = self.buffer.len().min(self.unread.end.saturating_add(n));
    }

    /// Copies bytes that were read elsewhere (after the HTTP head), as one `filled`. Returns how
    /// many fitted; if not all, take the messages and pass the rest.
    #[must_use = "the bytes may not all fit"]
    pub fn fill_from(&mut self, bytes: &[u8], stamp_ns: u64) -> usize {
        let space = self.space();
        let n = bytes.len().min(space.len());
        space[..n].copy_from_slice(&bytes[..n]);
        self.filled(n, stamp_ns);
        n
    }

    /// The next whole message; `None` if more bytes are needed, and always after a close. An error
    /// is final and is returned again.
    #[expect(
        clippy::should_implement_trait,
        reason = "a lending iterator; std has no trait for it"
    )]
    pub fn next(&mut self) -> Result<Option<ReadOutcome<'_>>, FrameError> {
        match self.state {
            State::Open => {}
            State::Closed => return Ok(None),
            State::Failed(error) => return Err(error),
        }
        let whole = match self.take_message() {
            Ok(Some(whole)) => whole,
            Ok(None) => return Ok(None),
            Err(error) => {
                self.state = State::Failed(error);
                return Err(error);
            }
        };
        let payload = &self.buffer[whole.range];
        let message = match whole.opcode {
            Opcode::Binary => Message::Binary(payload),
            Opcode::Ping => Message::Ping(payload),
            Opcode::Pong => Message::Pong(payload),
            Opcode::Close => match close_parts(payload) {
                Ok((code, reason)) => {
                    self.state = State::Closed;
                    Message::Close { code, reason }
                }
                Err(error) => {
                    self.state = State::Failed(error);
                    return Err(error);
                }
            },
            // An assembly never has a continuation's opcode.
            Opcode::Text | Opcode::Continuation => Message::Text(payload),
        };
        Ok(Some(ReadOutcome { message, first_byte_ns: whole.first_byte_ns }))
    }

    /// Takes frames until a message is complete.
    fn take_message(&mut self) -> Result<Option<Assembly>, FrameError> {
        loop {
            let Some(header) = decode_header(&self.buffer[self.unread.clone()])? else {
                return Ok(None);
            };
            self.check(&header)?;
            let start = self.unread.start + header.header_bytes;
            // `check` has compared the length with the limit.
            let payload = start..start + header.payload_bytes as usize;
            if payload.end > self.unread.end {
                return Ok(None);
            }
            if let Some(key) = header.mask {
                mask_in_place(&mut self.buffer[payload.clone()], key);
            }
            let older = self.unread.start < self.latest_at;
            let first_byte_ns = if older { self.older_ns } else { self.latest_ns };
            self.unread.start = payload.end;
            let frame = Assembly { opcode: header.opcode, range: payload, first_byte_ns };
            if header.opcode.is_control() || (header.fin && self.assembly.is_none()) {
                return Ok(Some(frame));
            }
            match &mut self.assembly {
                None => self.assembly = Some(frame),
                Some(assembly) => {
                    let end = assembly.range.end + frame.range.len();
                    self.buffer.copy_within(frame.range, assembly.range.end);
                    assembly.range.end = end;
                }
            }
            if header.fin {
                return Ok(self.assembly.take());
            }
        }
    }

    /// Checks a header in the present state of the connection.
    fn check(&self, header: &FrameHeader) -> Result<(), FrameError> {
        match (self.role, header.mask) {
            (Role::Server, None) => return Err(FrameError::Unmasked),
            (Role::Client, Some(_)) => return Err(FrameError::Masked),
            _ => {}
        }
        if header.opcode.is_control() {
            return Ok(());
        }
        let assembled = match (&self.assembly, header.opcode) {
            (None, Opcode::Continuation) => return Err(FrameError::ContinuationWithoutStart),
            (None, _) => 0,
            (Some(assembly), Opcode::Continuation) => assembly.range.len(),
            (Some(_), _) => return Err(FrameError::MessageWithinMessage),
        };
        let room = self.message_bytes_max.saturating_sub(assembled);
        if header.payload_bytes > room as u64 {
            let message_bytes_max = self.message_bytes_max;
            return Err(FrameError::MessageTooBig { message_bytes_max });
        }
        Ok(())
    }

    /// Moves the unread bytes to the front. A message is moved at most once, because afterwards all
    /// of it has room.
    fn compact(&mut self) {
        let mut to = 0;
        if let Some(assembly) = &mut self.assembly {
            to = assembly.range.len();
            self.buffer.copy_within(assembly.range.clone(), 0);
            assembly.range = 0..to;
        }
        self.buffer.copy_within(self.unread.clone(), to);
        self.latest_at = to + self.latest_at.saturating_sub(self.unread.start);
        self.unread = to..to + self.unread.len();
    }
}

/// A close frame's code and reason, if valid (RFC 6455, section 7.4).
fn close_parts(payload: &[u8]) -> Result<(Option<u16>, &[u8]), FrameError> {
    let (code, reason) = match payload {
        [] => return Ok((None, payload)),
        [high, low, reason @ ..] => (u16::from_be_bytes([*high, *low]), reason),
        [_] => return Err(FrameError::CloseCode),
    };
    if !matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999) {
        return Err(FrameError::CloseCode);
    }
    if std::str::from_utf8(reason).is_err() {
        return Err(FrameError::CloseReason);
    }
    Ok((Some(code), reason))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::write_frame;

    /// After a reset, nothing of the previous connection is left, for any state of it.
    #[test]
    fn a_reset_reader_is_as_new() {
        let mut reader = MessageReader::new(Role::Server, FrameLimits::default());
        let mut text = Vec::new();
        write_frame(&mut text, true, Opcode::Text, Some([1, 2, 3, 4]), b"hello");
        let mut fragment = Vec::new();
        write_frame(&mut fragment, false, Opcode::Text, Some([1, 2, 3, 4]), b"half");
        for left_behind in [&b"\x88\x80\0\0\0\0"[..], b"\xff\xff", &text[..4], &fragment] {
            assert_eq!(reader.fill_from(left_behind, 1), left_behind.len());
            let _ = reader.next();
            reader.reset();
            assert!(!reader.is_within_message());
            assert_eq!(reader.fill_from(&text[..6], 2), 6);
            assert_eq!(reader.next(), Ok(None));
            assert!(reader.is_within_message());
            assert_eq!(reader.fill_from(&text[6..], 3), text.len() - 6);
            let received = reader.next().unwrap().unwrap();
            assert_eq!(
                received,
                ReadOutcome { message: Message::Text(b"hello"), first_byte_ns: 2 }
            );
            assert!(!reader.is_within_message());
        }
    }
}
