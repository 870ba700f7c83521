//! Datagrams: a packet's header and its messages, by the generated codecs. Lengths are checked
//! before fields are read.

use sbe::packet_codec::{self, PacketDecoder, PacketEncoder};
use sbe::{Encoder, ReadBuf, SBE_SCHEMA_ID, SBE_SCHEMA_VERSION, WriteBuf};

use crate::fault::Fault;
use crate::format::codec::{self, MESSAGE_HEADER_BYTES, MessageHeader};
use crate::format::message::{Channel, FeedMessage, PacketHeader, PacketKind};

/// Length of a packet's header, bytes.
pub const PACKET_HEADER_BYTES: usize =
    MESSAGE_HEADER_BYTES + packet_codec::SBE_BLOCK_LENGTH as usize;

/// A datagram with a valid header.
#[derive(Debug, Clone, Copy)]
pub struct Packet<'a> {
    header: PacketHeader,
    bytes: &'a [u8],
    /// Offset of the first message.
    messages_at: usize,
}

impl<'a> Packet<'a> {
    /// Reads the header.
    ///
    /// # Errors
    /// [`Fault::Truncated`], [`Fault::Garbage`], [`Fault::FutureVersion`], [`Fault::ShortBlock`],
    /// [`Fault::BadValue`].
    #[inline]
    pub fn decode(bytes: &'a [u8]) -> Result<Packet<'a>, Fault> {
        let head = MessageHeader::decode(bytes, 0)?;
        if head.schema != SBE_SCHEMA_ID || head.template != packet_codec::SBE_TEMPLATE_ID {
            return Err(Fault::Garbage);
        }
        if head.version > SBE_SCHEMA_VERSION {
            return Err(Fault::FutureVersion);
        }
        if head.block_bytes < usize::from(packet_codec::SBE_BLOCK_LENGTH) {
            return Err(Fault::ShortBlock);
        }
        let messages_at = MESSAGE_HEADER_BYTES + head.block_bytes;
        if bytes.len() < messages_at {
            return Err(Fault::Truncated);
        }
        let block = PacketDecoder::default().wrap(
            ReadBuf::new(bytes),
            MESSAGE_HEADER_BYTES,
            packet_codec::SBE_BLOCK_LENGTH,
            head.version,
        );
        let header = PacketHeader {
            session: block.session(),
            sequence: block.sequence(),
            count: block.count(),
            part: block.part(),
            parts: block.parts(),
            channel: codec::channel(block.channel())?,
            kind: codec::kind(block.kind())?,
            intended_ns: block.intended_ns(),
            acknowledged_ns: block.acknowledged_ns(),
            published_ns: block.published_ns(),
        };
        match header.part < header.parts && header.sequence <= SEQUENCE_MAX {
            true => Ok(Packet { header, bytes, messages_at }),
            false => Err(Fault::BadValue),
        }
    }

    /// Its header.
    #[must_use]
    pub fn header(&self) -> &PacketHeader {
        &self.header
    }

    /// Its messages, in order. An error other than [`Fault::UnknownTemplate`] is the last item.
    /// Bytes after the last message give [`Fault::TrailingBytes`].
    #[inline]
    pub fn messages(&self) -> Messages<'a> {
        Messages { bytes: self.bytes, at: self.messages_at, left: self.header.count }
    }
}

/// Largest message number: 2^62, so that the sum with a count can't overflow.
pub const SEQUENCE_MAX: u64 = 1 << 62;

/// See [`Packet::messages`].
#[derive(Debug, Clone)]
pub struct Messages<'a> {
    bytes: &'a [u8],
    at: usize,
    left: u16,
}

impl Messages<'_> {
    #[inline]
    fn message(&mut self) -> Result<FeedMessage, Fault> {
        let head = MessageHeader::decode(self.bytes, self.at)?;
        let block_at = self.at + MESSAGE_HEADER_BYTES;
        let end = block_at + head.block_bytes;
        if self.bytes.len() < end {
            return Err(Fault::Truncated);
        }
        if head.schema != SBE_SCHEMA_ID {
            return Err(Fault::Garbage);
        }
        self.at = end;
        codec::decode(self.bytes, block_at, &head)
    }
}

impl Iterator for Messages<'_> {
    type Item = Result<FeedMessage, Fault>;

    #[inline]
    fn next(&mut self) -> Option<Result<FeedMessage, Fault>> {
        if self.left == 0 {
            let trailing = self.at < self.bytes.len();
            self.at = self.bytes.len();
            return trailing.then_some(Err(Fault::TrailingBytes));
        }
        self.left -= 1;
        let message = self.message();
        if matches!(message, Err(fault) if fault != Fault::UnknownTemplate) {
            (self.left, self.at) = (0, self.bytes.len());
        }
        Some(message)
    }
}

/// Writes a datagram: a header, and these messages. Returns its length, or `None` if `into` is too
/// small. For single datagrams; [`crate::Publisher`] makes a feed.
///
/// Writes `header.count` as given.
pub fn encode_packet(
    into: &mut [u8],
    header: &PacketHeader,
    messages: &[FeedMessage],
) -> Option<usize> {
    let messages_bytes: usize = messages.iter().map(codec::message_bytes).sum();
    let into = into.get_mut(..PACKET_HEADER_BYTES + messages_bytes)?;
    put_header(into, header);
    let mut at = PACKET_HEADER_BYTES;
    for message in messages {
        codec::encode(into, at, message);
        at += codec::message_bytes(message);
    }
    Some(at)
}

/// Writes a packet's header at the start of `into`, which must have room for
/// [`PACKET_HEADER_BYTES`].
pub(crate) fn put_header(into: &mut [u8], header: &PacketHeader) {
    let encoder = PacketEncoder::default().wrap(WriteBuf::new(into), MESSAGE_HEADER_BYTES);
    let Ok(mut block) = encoder.header(0).parent() else { return };
    block.session(header.session);
    block.sequence(header.sequence);
    block.intended_ns(header.intended_ns);
    block.acknowledged_ns(header.acknowledged_ns);
    block.published_ns(header.published_ns);
    block.count(header.count);
    block.part(header.part);
    block.parts(header.parts);
    block.channel(match header.channel {
        Channel::Orders => sbe::channel::Channel::ORDERS,
        Channel::Levels => sbe::channel::Channel::LEVELS,
    });
    block.kind(match header.kind {
        PacketKind::Live => sbe::kind::Kind::LIVE,
        PacketKind::Replay => sbe::kind::Kind::REPLAY,
        PacketKind::Snapshot => sbe::kind::Kind::SNAPSHOT,
    });
    debug_assert_eq!(block.get_limit(), PACKET_HEADER_BYTES);
}

/// Gives a datagram, of a feed that is sent again and again, its place in it: the number of its
/// first message, and when it is due.
///
/// Does not change bytes that are not a packet of this feed.
#[inline]
pub fn patch_place(datagram: &mut [u8], sequence: u64, due_ns: u64) {
    if datagram.len() >= PACKET_HEADER_BYTES {
        let mut block =
            PacketEncoder::default().wrap(WriteBuf::new(datagram), MESSAGE_HEADER_BYTES);
        block.sequence(sequence);
        block.intended_ns(due_ns);
        block.acknowledged_ns(due_ns);
    }
}

/// Writes the time of sending into a datagram's header. The sender calls it just before sending.
///
/// Does not change bytes that are not a packet of this feed.
#[inline]
pub fn patch_published(datagram: &mut [u8], published_ns: u64) {
    if datagram.len() >= PACKET_HEADER_BYTES {
        let mut block =
            PacketEncoder::default().wrap(WriteBuf::new(datagram), MESSAGE_HEADER_BYTES);
        block.published_ns(published_ns);
    }
}
