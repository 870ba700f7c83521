//! Messages between the exchange's thread and a gateway, one per ring slot: a head of 16 bytes, and
//! a stream's bytes where the kind has any.
//!
//! | bytes | little endian |
//! |---|---|
//! | 0..8 | value, see [`LinkKind`] |
//! | 8..12 | stream, as the gateway numbers it |
//! | 12 | kind |
//! | 13..16 | zero |
//! | 16.. | bytes |

use crate::streams::StreamId;

/// Bytes of a message before the stream's.
pub(crate) const HEAD_BYTES: usize = 16;
/// Most bytes of a stream in one message. With the head and the ring's own word a slot is 17 cache
/// lines. The number is odd so that the slots' first lines, which are used most, spread over all
/// sets of the caches.
pub(crate) const BYTES_MAX: usize = MESSAGE_BYTES_MAX - HEAD_BYTES;
/// The longest message.
pub(crate) const MESSAGE_BYTES_MAX: usize = 17 * 64 - 8;

/// Bytes of answers to one client that its gateway holds while the client does not read.
pub const WINDOW_BYTES: usize = 64 * 1024;

/// The kind of a message. After `Remove` the gateway says nothing more about that stream, and only
/// then reuses its number. So everything before the next `Opened` belongs to the removed stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LinkKind {
    /// Gateway: a connection was accepted.
    Opened = 1,
    /// Gateway: bytes came; the value is the read's stamp, ns.
    Received = 2,
    /// Gateway: no more comes. The value is the error's number, 0 for an orderly end.
    Ended = 3,
    /// Gateway: more bytes of answers have been written to the socket; the value is their number.
    Written = 4,
    /// Gateway: a connection could not be accepted; the value is the error's number.
    NotAccepted = 5,
    /// Exchange: bytes to write.
    Write = 6,
    /// Exchange: end our side when all is written.
    Shutdown = 7,
    /// Exchange: end the stream.
    Remove = 8,
}

const KINDS: [LinkKind; 8] = [
    LinkKind::Opened,
    LinkKind::Received,
    LinkKind::Ended,
    LinkKind::Written,
    LinkKind::NotAccepted,
    LinkKind::Write,
    LinkKind::Shutdown,
    LinkKind::Remove,
];

/// The head before the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub kind: LinkKind,
    pub stream: StreamId,
    pub value: u64,
}

impl Head {
    #[inline]
    pub(crate) fn encode(self) -> [u8; HEAD_BYTES] {
        let mut bytes = [0; HEAD_BYTES];
        bytes[..8].copy_from_slice(&self.value.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.stream.0.to_le_bytes());
        bytes[12] = self.kind as u8;
        bytes
    }

    /// The head of a message and the bytes behind it; `None` if it makes no sense.
    #[inline]
    pub(crate) fn decode(message: &[u8]) -> Option<(Head, &[u8])> {
        let (head, bytes) = message.split_first_chunk::<HEAD_BYTES>()?;
        let [v0, v1, v2, v3, v4, v5, v6, v7, s0, s1, s2, s3, kind, ..] = *head;
        let kind = *KINDS.get(usize::from(kind).checked_sub(1)?)?;
        let stream = StreamId(u32::from_le_bytes([s0, s1, s2, s3]));
        let value = u64::from_le_bytes([v0, v1, v2, v3, v4, v5, v6, v7]);
        Some((Head { kind, stream, value }, bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn comes_back_as_it_went_in(
            kind in 0..KINDS.len(),
            stream: u32,
            value: u64,
            bytes in prop::collection::vec(any::<u8>(), 0..BYTES_MAX),
        ) {
            let head = Head { kind: KINDS[kind], stream: StreamId(stream), value };
            let message = [&head.encode()[..], &bytes].concat();
            prop_assert_eq!(Head::decode(&message), Some((head, &bytes[..])));
        }

        #[test]
        fn any_bytes_are_read_or_rejected(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            if let Some((head, rest)) = Head::decode(&bytes) {
                prop_assert_eq!(rest, &bytes[HEAD_BYTES..]);
                prop_assert_eq!(&head.encode()[..13], &bytes[..13]);
            } else {
                prop_assert!(bytes.len() < HEAD_BYTES || !(1..=8).contains(&bytes[12]));
            }
        }
    }
}
