//! The datagrams. Numbers are little-endian, as in SBE.
//!
//! ```text
//!   handshake   0 CRC   4 kind   5 version   6 zeros   8 token   16 cookie, or the connection   48
//!   others      0 CRC   4 kind   5 flags     6 room    8 connection   16 sequence   24 ack   32 …
//! ```
//!
//! The CRC-32C is over all that follows it.

use crate::cookie::{COOKIE_BYTES, Cookie};

/// Limit on the length of a datagram, bytes. With the headers of IPv6 and UDP it fits into the
/// frames of an Ethernet, and leaves room for a tunnel's header.
pub const DATAGRAM_BYTES_MAX: usize = 1_400;
/// Bytes before the payload.
pub const HEADER_BYTES: usize = 32;
/// Limit on the payload of a datagram, bytes.
pub const PAYLOAD_BYTES_MAX: usize = DATAGRAM_BYTES_MAX - HEADER_BYTES;
/// Length of each datagram of the handshake, bytes: no answer is longer than its question.
pub const HANDSHAKE_BYTES: usize = 16 + COOKIE_BYTES;

const VERSION: u8 = 1;
const KIND_AT: usize = 4;
const CONNECTION_AT: usize = 8;
const SEQUENCE_AT: usize = 16;
const ACK_AT: usize = 24;
/// The payload is the last of its sender.
const ENDS: u8 = 1;
/// A datagram before others that arrived is missing.
const GAP: u8 = 2;

/// The kinds of datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DatagramKind {
    /// A client asks for a cookie.
    Hello = 1,
    /// The server gives one.
    Challenge = 2,
    /// The client returns it, and asks for a connection.
    Connect = 3,
    /// The server gives one.
    Accepted = 4,
    /// The server has no place for one.
    Full = 5,
    /// Bytes of the stream.
    Data = 6,
    /// Only what each datagram acknowledges.
    Ack = 7,
    /// The sender has ended the connection, and forgets it.
    Reset = 8,
}

impl DatagramKind {
    const ALL: [DatagramKind; 8] = [
        DatagramKind::Hello,
        DatagramKind::Challenge,
        DatagramKind::Connect,
        DatagramKind::Accepted,
        DatagramKind::Full,
        DatagramKind::Data,
        DatagramKind::Ack,
        DatagramKind::Reset,
    ];
}

/// A datagram of the handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handshake {
    /// Its kind: one of the first five.
    pub kind: DatagramKind,
    /// The client's own number, which each answer repeats: nobody who can't read the question can
    /// forge the answer.
    pub token: u64,
    /// The server's code for the client's address; zeros in the kinds that have none.
    pub cookie: Cookie,
    /// The connection's number, in `Accepted`; otherwise 0.
    pub connection: u64,
}

impl Handshake {
    /// A message with a cookie, or with zeros in its place.
    pub fn new(kind: DatagramKind, token: u64, cookie: Cookie) -> Handshake {
        Handshake { kind, token, cookie, connection: 0 }
    }

    /// Its bytes.
    pub fn encode(&self) -> [u8; HANDSHAKE_BYTES] {
        let mut bytes = [0; HANDSHAKE_BYTES];
        bytes[KIND_AT] = self.kind as u8;
        bytes[5] = VERSION;
        bytes[8..16].copy_from_slice(&self.token.to_le_bytes());
        match self.kind {
            DatagramKind::Accepted => bytes[16..24].copy_from_slice(&self.connection.to_le_bytes()),
            _ => bytes[16..].copy_from_slice(&self.cookie.0),
        }
        seal(&mut bytes);
        bytes
    }
}

/// The bytes before the payload of the other kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Its kind: one of the last three.
    pub kind: DatagramKind,
    /// The payload is the last of its sender. Only in `Data`.
    pub ends: bool,
    /// A datagram before others that arrived is missing.
    pub gap: bool,
    /// Datagrams from `ack` on that the sender of this one has room for.
    pub room: u16,
    /// The connection's number, which is its secret, too: only both ends know it.
    pub connection: u64,
    /// Number of the datagram among those with data, from 0; 0 in the other kinds.
    pub sequence: u64,
    /// All datagrams with data before this number have arrived.
    pub ack: u64,
}

impl Header {
    /// Writes it before the payload, which is there already.
    #[inline]
    pub fn seal(&self, datagram: &mut [u8]) {
        datagram[KIND_AT] = self.kind as u8;
        datagram[5] = (ENDS * u8::from(self.ends)) | (GAP * u8::from(self.gap));
        datagram[6..8].copy_from_slice(&self.room.to_le_bytes());
        datagram[CONNECTION_AT..SEQUENCE_AT].copy_from_slice(&self.connection.to_le_bytes());
        datagram[SEQUENCE_AT..ACK_AT].copy_from_slice(&self.sequence.to_le_bytes());
        datagram[ACK_AT..HEADER_BYTES].copy_from_slice(&self.ack.to_le_bytes());
        seal(datagram);
    }
}

#[inline]
fn seal(datagram: &mut [u8]) {
    let crc = crc32c::crc32c(&datagram[KIND_AT..]);
    datagram[..KIND_AT].copy_from_slice(&crc.to_le_bytes());
}

/// A datagram that was received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Datagram<'a> {
    /// A datagram of the handshake.
    Handshake(Handshake),
    /// A datagram of a connection, with its payload: empty but in `Data`.
    Connection(Header, &'a [u8]),
}

impl Datagram<'_> {
    /// Reads a datagram; `None` if it is none of ours, or damaged.
    #[inline]
    pub fn decode(bytes: &[u8]) -> Option<Datagram<'_>> {
        if bytes.len() < HEADER_BYTES || bytes.len() > DATAGRAM_BYTES_MAX {
            return None;
        }
        let crc = u32::from_le_bytes(*bytes.first_chunk()?);
        if crc != crc32c::crc32c(&bytes[KIND_AT..]) {
            return None;
        }
        let kind = DatagramKind::ALL.into_iter().find(|kind| *kind as u8 == bytes[KIND_AT])?;
        match kind {
            DatagramKind::Data | DatagramKind::Ack | DatagramKind::Reset => {
                decode_connection(kind, bytes)
            }
            _ => decode_handshake(kind, bytes),
        }
    }
}

#[inline]
fn number(bytes: &[u8], at: usize) -> Option<u64> {
    bytes[at..].first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
}

#[inline]
fn decode_connection(kind: DatagramKind, bytes: &[u8]) -> Option<Datagram<'_>> {
    let (flags, payload) = (bytes[5], &bytes[HEADER_BYTES..]);
    let (ends, gap) = (flags & ENDS != 0, flags & GAP != 0);
    let header = Header {
        kind,
        ends,
        gap,
        room: u16::from_le_bytes(*bytes[6..].first_chunk()?),
        connection: number(bytes, CONNECTION_AT)?,
        sequence: number(bytes, SEQUENCE_AT)?,
        ack: number(bytes, ACK_AT)?,
    };
    let fits = match kind {
        DatagramKind::Data => ends || !payload.is_empty(),
        _ => !ends && payload.is_empty() && header.sequence == 0,
    };
    (fits && flags & !(ENDS | GAP) == 0).then_some(Datagram::Connection(header, payload))
}

fn decode_handshake(kind: DatagramKind, bytes: &[u8]) -> Option<Datagram<'_>> {
    if bytes.len() != HANDSHAKE_BYTES || bytes[5..8] != [VERSION, 0, 0] {
        return None;
    }
    let token = number(bytes, 8)?;
    let rest: [u8; COOKIE_BYTES] = *bytes[16..].first_chunk()?;
    let handshake = match kind {
        DatagramKind::Accepted if rest[8..].iter().all(|byte| *byte == 0) => Handshake {
            connection: number(&rest, 0)?,
            ..Handshake::new(kind, token, Cookie::default())
        },
        DatagramKind::Challenge | DatagramKind::Connect => {
            Handshake::new(kind, token, Cookie(rest))
        }
        DatagramKind::Hello | DatagramKind::Full if rest == [0; COOKIE_BYTES] => {
            Handshake::new(kind, token, Cookie::default())
        }
        _ => return None,
    };
    Some(Datagram::Handshake(handshake))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_golden_bytes_are_read_and_written() {
        let mut golden = Vec::from([0; 4]);
        golden.extend([6, 3, 64, 0]);
        golden.extend([1, 2, 3, 4, 5, 6, 7, 8]);
        golden.extend([9, 0, 0, 0, 0, 0, 0, 0]);
        golden.extend([10, 0, 0, 0, 0, 0, 0, 0]);
        golden.extend(b"abc");
        let crc = crc32c::crc32c(&golden[4..]);
        golden[..4].copy_from_slice(&crc.to_le_bytes());
        let header = Header {
            kind: DatagramKind::Data,
            ends: true,
            gap: true,
            room: 64,
            connection: 0x0807_0605_0403_0201,
            sequence: 9,
            ack: 10,
        };
        let mut written = [[0; HEADER_BYTES].as_slice(), b"abc"].concat();
        header.seal(&mut written);
        assert_eq!(written, golden);
        assert_eq!(Datagram::decode(&golden), Some(Datagram::Connection(header, b"abc")));
    }

    #[test]
    fn each_handshake_survives_its_bytes() {
        for kind in &DatagramKind::ALL[..5] {
            let mut one = Handshake::new(*kind, 7, Cookie::default());
            match kind {
                DatagramKind::Challenge | DatagramKind::Connect => {
                    one.cookie = Cookie([0xC0; COOKIE_BYTES])
                }
                DatagramKind::Accepted => one.connection = 0xABCD,
                _ => {}
            }
            assert_eq!(Datagram::decode(&one.encode()), Some(Datagram::Handshake(one)));
            assert_eq!(Datagram::decode(&one.encode()[..HANDSHAKE_BYTES - 1]), None);
        }
    }

    proptest! {
        /// A damaged datagram counts as lost.
        #[test]
        fn one_flipped_bit_is_noticed(
            payload in prop::collection::vec(any::<u8>(), 1..100), at in any::<prop::sample::Index>(),
        ) {
            let header = Header {
                kind: DatagramKind::Data, ends: false, gap: false, room: 1, connection: 2, sequence: 3, ack: 4,
            };
            let mut datagram = [[0; HEADER_BYTES].as_slice(), &payload].concat();
            header.seal(&mut datagram);
            let bit = at.index(datagram.len() * 8);
            datagram[bit / 8] ^= 1 << (bit % 8);
            prop_assert_eq!(Datagram::decode(&datagram), None);
        }
    }
}
