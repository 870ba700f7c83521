//! The raw echo: what a round trip of the same bytes costs without tickpath's codecs, book and
//! sessions. It runs under the same loop and backend as the exchange, so that its latency is the
//! floor below which no exchange on this machine gets.
//!
//! A message says how long it is and how long its reply shall be:
//!
//! | bytes | little endian |
//! |---|---|
//! | 0..2 | length of this message, at least [`HEADER_BYTES`] |
//! | 2..4 | length of the reply, at least [`HEADER_BYTES`]; 0 in a reply |
//! | 4..5 | kind, which comes back as it is |
//! | 5..8 | zero |
//! | 8..16 | sequence, which comes back as it is |
//! | 16.. | zero |
//!
//! Messages of the kind [`BULK`] are those of [`bulk`].

pub mod bare;
pub mod bulk;
pub mod datagrams;
mod stamps;
pub mod ticker;

use crate::echo::bulk::{BULK, Sink};
use crate::serve::{Full, Outbound, Service};
use crate::streams::StreamId;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;

/// Bytes of a message before its padding; the longest message.
pub use plan::tables::network::{HEADER_BYTES, MESSAGE_BYTES_MAX};

const BUFFER_BYTES: usize = 64 * 1024;

/// Whether a socket has nothing, or takes nothing, at the moment.
pub fn is_nothing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

/// A message or a reply, without its padding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EchoMessage {
    /// Its length, padding included.
    pub length_bytes: u16,
    /// The length asked of the reply; 0 in a reply.
    pub reply_bytes: u16,
    /// Comes back as it is.
    pub kind: u8,
    /// Comes back as it is.
    pub sequence: u64,
}

impl EchoMessage {
    /// Appends the message, padded to its length.
    #[inline]
    pub fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&self.length_bytes.to_le_bytes());
        out.extend_from_slice(&self.reply_bytes.to_le_bytes());
        out.extend_from_slice(&[self.kind, 0, 0, 0]);
        out.extend_from_slice(&self.sequence.to_le_bytes());
        out.resize(start + usize::from(self.length_bytes), 0);
    }

    /// The message at the start of `bytes`; `None` while it isn't whole.
    ///
    /// # Errors
    /// If its length is out of range.
    #[inline]
    pub fn decode(bytes: &[u8]) -> Result<Option<EchoMessage>, BadLength> {
        let Some(header) = bytes.first_chunk::<HEADER_BYTES>() else { return Ok(None) };
        let [l0, l1, r0, r1, kind, _, _, _, sequence @ ..] = *header;
        let length_bytes = u16::from_le_bytes([l0, l1]);
        let reply_bytes = u16::from_le_bytes([r0, r1]);
        let lengths = HEADER_BYTES..=MESSAGE_BYTES_MAX;
        if !lengths.contains(&usize::from(length_bytes)) {
            return Err(BadLength(length_bytes));
        }
        if reply_bytes != 0 && !lengths.contains(&usize::from(reply_bytes)) {
            return Err(BadLength(reply_bytes));
        }
        let sequence = u64::from_le_bytes(sequence);
        let whole = bytes.len() >= usize::from(length_bytes);
        Ok(whole.then_some(EchoMessage { length_bytes, reply_bytes, kind, sequence }))
    }

    /// The answer, as long as the message asks for; `None` if it asks for none.
    pub(crate) fn reply(self) -> Option<EchoMessage> {
        let length_bytes = self.reply_bytes;
        (length_bytes > 0).then_some(EchoMessage { length_bytes, reply_bytes: 0, ..self })
    }
}

/// A length that no message of the echo has.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("a message of the echo is {HEADER_BYTES} to {MESSAGE_BYTES_MAX} bytes long, not {0}")]
pub struct BadLength(u16);

/// A message, the stamp of the read that brought its first byte, and what follows its header.
pub type TakenMessage<'a> = (EchoMessage, u64, &'a [u8]);

/// Bytes of one connection that are not yet a whole message.
pub struct Inbound {
    bytes: Box<[u8]>,
    start: usize,
    end: usize,
    /// When the read returned that brought the first byte of the incomplete message.
    first_byte_ns: u64,
    /// The same of the latest read.
    last_read_ns: u64,
}

impl Default for Inbound {
    fn default() -> Inbound {
        let bytes = vec![0; BUFFER_BYTES].into_boxed_slice();
        Inbound { bytes, start: 0, end: 0, first_byte_ns: 0, last_read_ns: 0 }
    }
}

impl Inbound {
    /// Forgets everything.
    pub fn reset(&mut self) {
        (self.start, self.end) = (0, 0);
    }

    /// Whether nothing is left.
    pub fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Drops what is left; gives the stamp of its first byte, or `None` if nothing is.
    pub fn discard(&mut self) -> Option<u64> {
        let is_empty = self.start == self.end;
        self.reset();
        (!is_empty).then_some(self.first_byte_ns)
    }

    /// Drops up to `bytes` of what was read; gives how many.
    pub(crate) fn skip(&mut self, bytes: u64) -> usize {
        let here = (self.end - self.start).min(usize::try_from(bytes).unwrap_or(usize::MAX));
        self.start += here;
        if self.start == self.end {
            self.reset();
        }
        here
    }

    /// Where a read puts its bytes.
    pub fn space(&mut self) -> &mut [u8] {
        if self.start > 0 && self.bytes.len() - self.end < MESSAGE_BYTES_MAX {
            self.bytes.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        &mut self.bytes[self.end..]
    }

    /// `n` bytes were read at `stamp_ns`.
    pub fn filled(&mut self, n: usize, stamp_ns: u64) {
        if self.start == self.end {
            self.first_byte_ns = stamp_ns;
        }
        self.last_read_ns = stamp_ns;
        self.end += n;
    }

    /// The next whole message, with the stamp of the read that brought its first byte.
    ///
    /// # Errors
    /// As [`EchoMessage::decode`].
    #[inline]
    pub fn take(&mut self) -> Result<Option<(EchoMessage, u64)>, BadLength> {
        Ok(self.take_with_body()?.map(|(message, first_byte_ns, _)| (message, first_byte_ns)))
    }

    /// As [`Inbound::take`], with what follows the message's header.
    ///
    /// # Errors
    /// As [`EchoMessage::decode`].
    #[inline]
    pub fn take_with_body(&mut self) -> Result<Option<TakenMessage<'_>>, BadLength> {
        let mut message = None;
        let taken = self.take_by(|bytes| -> Result<_, BadLength> {
            message = EchoMessage::decode(bytes)?;
            Ok(message.map(|message| usize::from(message.length_bytes)))
        })?;
        Ok(message.zip(taken).map(|(message, (bytes, first_byte_ns))| {
            (message, first_byte_ns, &bytes[HEADER_BYTES..])
        }))
    }

    /// The next message, whole, of a protocol of which `length` tells the length of the first
    /// message once it is whole; and the stamp of the read that brought its first byte.
    ///
    /// # Errors
    /// As `length`.
    #[inline]
    pub fn take_by<E>(
        &mut self,
        length: impl FnOnce(&[u8]) -> Result<Option<usize>, E>,
    ) -> Result<Option<(&[u8], u64)>, E> {
        let Some(length) = length(&self.bytes[self.start..self.end])? else { return Ok(None) };
        let first_byte_ns = self.first_byte_ns;
        let message = self.start..self.start + length;
        self.start = message.end;
        // The rest of the buffer came with the latest read.
        self.first_byte_ns = self.last_read_ns;
        if self.start == self.end {
            self.reset();
        }
        Ok(Some((&self.bytes[message], first_byte_ns)))
    }
}

/// The connections of a server of such messages.
#[derive(Default)]
pub(crate) struct Connections {
    inbound: Vec<Inbound>,
}

impl Connections {
    pub(crate) fn opened(&mut self, id: StreamId) {
        while self.inbound.len() <= id.index() {
            self.inbound.push(Inbound::default());
        }
        self.inbound[id.index()].reset();
    }

    pub(crate) fn space(&mut self, id: StreamId) -> &mut [u8] {
        self.inbound[id.index()].space()
    }

    pub(crate) fn filled(&mut self, id: StreamId, n: usize, stamp_ns: u64) {
        self.inbound[id.index()].filled(n, stamp_ns);
    }

    /// The next whole message of a stream, which is closed if its bytes are none.
    #[inline]
    pub(crate) fn next(&mut self, id: StreamId, outbound: &mut Outbound) -> Option<EchoMessage> {
        match self.inbound[id.index()].take() {
            Ok(taken) => taken.map(|(message, _)| message),
            Err(_) => {
                outbound.close(id);
                None
            }
        }
    }
}

/// The server: answers each message with one of the length that it asks for, and swallows blocks.
#[derive(Default)]
pub struct Echo {
    connections: Connections,
    sink: Sink,
}

impl Echo {
    /// A block begins, of which the buffer may hold a part. Returns whether it is whole.
    #[cold]
    fn begin_block(
        &mut self,
        id: StreamId,
        header: EchoMessage,
        stamp_ns: u64,
        outbound: &mut Outbound,
    ) -> bool {
        if self.sink.begin(id, header).is_err() {
            outbound.close(id);
            return false;
        }
        let here = self.connections.inbound[id.index()].skip(self.sink.left(id));
        self.sink.took(id, here, stamp_ns, outbound.to(id));
        !self.sink.is_in_block(id)
    }
}

impl Service for Echo {
    fn opened(&mut self, id: StreamId, _: Option<SocketAddr>, _: u64) {
        self.connections.opened(id);
        self.sink.opened(id);
    }

    fn space(&mut self, id: StreamId) -> &mut [u8] {
        match self.sink.is_in_block(id) {
            false => self.connections.space(id),
            true => self.sink.space(id),
        }
    }

    fn received(&mut self, id: StreamId, n: usize, stamp_ns: u64, outbound: &mut Outbound) {
        if self.sink.is_in_block(id) {
            return self.sink.took(id, n, stamp_ns, outbound.to(id));
        }
        self.connections.filled(id, n, stamp_ns);
        while let Some(message) = self.connections.next(id, outbound) {
            if message.kind == BULK {
                match self.begin_block(id, message, stamp_ns, outbound) {
                    true => continue,
                    false => break,
                }
            }
            if let Some(reply) = message.reply() {
                reply.encode(outbound.to(id));
            }
        }
    }

    fn closed(&mut self, _: StreamId, _: &mut Outbound) {}

    fn sweep(&mut self, _: u64, _: &mut Outbound) {}

    fn rejection(&self, _: Full) -> &[u8] {
        &[]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORDER: EchoMessage =
        EchoMessage { length_bytes: 212, reply_bytes: 291, kind: b'O', sequence: u64::MAX - 1 };

    #[test]
    fn comes_back_as_it_went_in() {
        let mut bytes = Vec::new();
        ORDER.encode(&mut bytes);
        assert_eq!(bytes.len(), 212);
        assert_eq!(EchoMessage::decode(&bytes), Ok(Some(ORDER)));
        assert_eq!(EchoMessage::decode(&bytes[..211]), Ok(None));
        assert_eq!(EchoMessage::decode(&bytes[..15]), Ok(None));
    }

    #[test]
    fn lengths_out_of_range_are_rejected() {
        assert_eq!(EchoMessage::decode(&[0; 16]), Err(BadLength(0)));
        let mut bytes = Vec::new();
        EchoMessage { reply_bytes: 15, ..ORDER }.encode(&mut bytes);
        assert_eq!(EchoMessage::decode(&bytes), Err(BadLength(15)));
    }

    /// A reply that spans two reads is stamped by the first, the next one by the read that brought
    /// its own first byte.
    #[test]
    fn a_message_is_stamped_by_the_read_of_its_first_byte() {
        let mut bytes = Vec::new();
        (0..3).for_each(|sequence| EchoMessage { sequence, ..ORDER }.encode(&mut bytes));
        let mut inbound = Inbound::default();
        let mut feed = |range: std::ops::Range<usize>, stamp_ns| {
            let part = &bytes[range];
            inbound.space()[..part.len()].copy_from_slice(part);
            inbound.filled(part.len(), stamp_ns);
            std::iter::from_fn(|| inbound.take().unwrap().map(|(_, stamp)| stamp)).collect()
        };
        let first: Vec<u64> = feed(0..100, 1);
        assert!(first.is_empty());
        assert_eq!(feed(100..300, 2), [1]);
        assert_eq!(feed(300..636, 3), [2, 3]);
    }

    #[test]
    fn the_buffer_makes_room_for_the_longest_message() {
        let mut bytes = Vec::new();
        EchoMessage { length_bytes: 4096, reply_bytes: 0, kind: 0, sequence: 0 }.encode(&mut bytes);
        let mut inbound = Inbound::default();
        let mut received = 0;
        for chunk in bytes.repeat(100).chunks(1000) {
            inbound.space()[..chunk.len()].copy_from_slice(chunk);
            inbound.filled(chunk.len(), 0);
            while inbound.take().unwrap().is_some() {
                received += 1;
            }
        }
        assert_eq!(received, 100);
    }
}
