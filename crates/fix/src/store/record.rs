//! A record of a store's file: what is written at once.

use super::Kept;

/// Length of the payload and its CRC-32C, 4 bytes each, little endian.
const HEAD_BYTES: usize = 8;
/// Kind and number.
const PAYLOAD_BYTES_MIN: usize = 9;
/// A sent message is at most a received one, and what a header adds.
const PAYLOAD_BYTES_MAX: usize = 2 * crate::frame::MESSAGE_BYTES_MAX;

/// The longest message of a record.
pub(super) const MESSAGE_BYTES_MAX: usize = PAYLOAD_BYTES_MAX - PAYLOAD_BYTES_MIN;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum RecordKind {
    /// A sent message and its number.
    Sent = 1,
    /// The next number from the peer. With a message it is a note of the caller.
    NextIn = 2,
    /// The next number to send, where no message says it: messages before it are in another file,
    /// or forgotten.
    NextOut = 3,
}

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Record<'a> {
    pub kind: RecordKind,
    pub number: u64,
    pub message: &'a [u8],
}

impl<'a> Record<'a> {
    pub fn bytes(&self) -> usize {
        HEAD_BYTES + PAYLOAD_BYTES_MIN + self.message.len()
    }

    /// The message or note of it; `None` if it is a number.
    pub fn kept(&self) -> Option<Kept<'a>> {
        match self.kind {
            _ if self.message.is_empty() => None,
            RecordKind::Sent => Some(Kept::Message(self.message)),
            RecordKind::NextIn => Some(Kept::Note(self.message)),
            RecordKind::NextOut => None,
        }
    }

    /// Writes it into as many bytes, the head last: without that there is no record.
    pub fn put(&self, place: &mut [u8]) {
        let (head, payload) = place.split_at_mut(HEAD_BYTES);
        payload[0] = self.kind as u8;
        payload[1..PAYLOAD_BYTES_MIN].copy_from_slice(&self.number.to_le_bytes());
        payload[PAYLOAD_BYTES_MIN..].copy_from_slice(self.message);
        let sum = crc32c::crc32c(payload);
        head[4..].copy_from_slice(&sum.to_le_bytes());
        head[..4].copy_from_slice(&(payload.len() as u32).to_le_bytes());
    }

    /// The record at the start of `bytes`; `None` if it is cut or changed, or none of this version.
    pub fn first(bytes: &'a [u8]) -> Option<Record<'a>> {
        let (head, rest) = bytes.split_first_chunk::<HEAD_BYTES>()?;
        let [a, b, c, d, sum @ ..] = *head;
        let length = u32::from_le_bytes([a, b, c, d]) as usize;
        if !(PAYLOAD_BYTES_MIN..=PAYLOAD_BYTES_MAX).contains(&length) {
            return None;
        }
        let payload = rest.get(..length)?;
        if crc32c::crc32c(payload) != u32::from_le_bytes(sum) {
            return None;
        }
        let (number, message) = payload[1..].split_first_chunk()?;
        let kind = match payload[0] {
            1 => RecordKind::Sent,
            2 => RecordKind::NextIn,
            3 => RecordKind::NextOut,
            _ => return None,
        };
        Some(Record { kind, number: u64::from_le_bytes(*number), message })
    }
}
