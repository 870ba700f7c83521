//! The tunnel header: a multicast group inside a unicast datagram, for networks without multicast.
//!
//! ```text
//!   0   magic 0x4D324355     4   group, IPv4     8   payload
//!   payload of a measurement: 8 sequence, 16 sent, 24 received and 32 resent by the replicator
//! ```
//!
//! All numbers are big-endian, stamps are ns of `CLOCK_REALTIME`. The layout is the one of the
//! multicast tools that AWS publishes for its networks, so that their sources and receivers fit
//! this replicator. Those programs were not tried: `crates/tickpath/tests/it/stranger.py` stands
//! for them.

use std::net::Ipv4Addr;

/// Bytes of the header.
pub const HEADER_BYTES: usize = 8;
/// The first four bytes, `M2CU`.
pub const MAGIC: [u8; 4] = 0x4D32_4355_u32.to_be_bytes();
/// Bytes of the shortest datagram that has all four numbers of a measurement.
pub const STAMPED_BYTES: usize = 40;
/// Places of a measurement's numbers in the datagram.
const SEQUENCE: usize = 8;
const SENT: usize = 16;
const RECEIVED: usize = 24;
const RESENT: usize = 32;

/// The group of a tunnelled datagram; `None` if it has no such header.
pub fn group(datagram: &[u8]) -> Option<Ipv4Addr> {
    let (header, _) = datagram.split_first_chunk::<HEADER_BYTES>()?;
    let (magic, group) = header.split_first_chunk::<4>()?;
    let octets: [u8; 4] = group.try_into().ok()?;
    (*magic == MAGIC).then(|| Ipv4Addr::from(octets))
}

/// The header for that group.
pub fn header(group: Ipv4Addr) -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    header[..4].copy_from_slice(&MAGIC);
    header[4..].copy_from_slice(&group.octets());
    header
}

/// The numbers of a measurement's datagram.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamps {
    /// The source's number of the datagram.
    pub sequence: u64,
    /// When the source sent it, ns of `CLOCK_REALTIME`.
    pub sent_ns: u64,
    /// When the last replicator had received it; 0: it passed none.
    pub received_ns: u64,
    /// Just before that replicator sent the copies; 0: it passed none.
    pub resent_ns: u64,
}

impl Stamps {
    /// Reads them; `None` if the datagram is too short, or has no header.
    pub fn decode(datagram: &[u8]) -> Option<Stamps> {
        group(datagram)?;
        let word = |at: usize| Some(u64::from_be_bytes(*datagram.get(at..)?.first_chunk()?));
        Some(Stamps {
            sequence: word(SEQUENCE)?,
            sent_ns: word(SENT)?,
            received_ns: word(RECEIVED)?,
            resent_ns: word(RESENT)?,
        })
    }

    /// Writes header and numbers to the start of `datagram`.
    ///
    /// # Panics
    /// If it is shorter than [`STAMPED_BYTES`].
    pub fn encode(&self, group: Ipv4Addr, datagram: &mut [u8]) {
        datagram[..HEADER_BYTES].copy_from_slice(&header(group));
        put(datagram, SEQUENCE, self.sequence);
        put(datagram, SENT, self.sent_ns);
        put(datagram, RECEIVED, self.received_ns);
        put(datagram, RESENT, self.resent_ns);
    }
}

/// Writes a replicator's receive stamp, if the datagram has a place for it.
pub fn stamp_received(datagram: &mut [u8], wall_ns: u64) {
    if datagram.len() >= STAMPED_BYTES {
        put(datagram, RECEIVED, wall_ns);
    }
}

/// Writes a replicator's send stamp, if the datagram has a place for it.
pub fn stamp_resent(datagram: &mut [u8], wall_ns: u64) {
    if datagram.len() >= STAMPED_BYTES {
        put(datagram, RESENT, wall_ns);
    }
}

fn put(datagram: &mut [u8], at: usize, word: u64) {
    datagram[at..at + 8].copy_from_slice(&word.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A datagram as its published layout has it, written out by hand: group 224.0.31.50, number
    /// 7, and the stamps of the source and of a replicator.
    const GOLDEN: [u8; 44] = [
        0x4D, 0x32, 0x43, 0x55, 224, 0, 31, 50, //
        0, 0, 0, 0, 0, 0, 0, 7, //
        0x18, 0x7A, 0, 0, 0, 0, 0, 1, //
        0x18, 0x7A, 0, 0, 0, 0, 1, 2, //
        0x18, 0x7A, 0, 0, 0, 0, 1, 3, //
        b'r', b'e', b's', b't',
    ];
    const STAMPS: Stamps = Stamps {
        sequence: 7,
        sent_ns: 0x187A_0000_0000_0001,
        received_ns: 0x187A_0000_0000_0102,
        resent_ns: 0x187A_0000_0000_0103,
    };

    #[test]
    fn the_golden_bytes_are_read_and_written() {
        let group_of = Ipv4Addr::new(224, 0, 31, 50);
        assert_eq!(group(&GOLDEN), Some(group_of));
        assert_eq!(Stamps::decode(&GOLDEN), Some(STAMPS));
        let mut written = [0; 44];
        written[40..].copy_from_slice(b"rest");
        STAMPS.encode(group_of, &mut written);
        assert_eq!(written, GOLDEN);
        let vector = include_bytes!("../../../clients/vectors/fan_out_tunnel.packet");
        assert_eq!(GOLDEN, *vector, "fuzzing begins with it");
        // A replicator changes its own two stamps and nothing else.
        let mut sent = GOLDEN;
        sent[24..40].fill(0);
        stamp_received(&mut sent, STAMPS.received_ns);
        stamp_resent(&mut sent, STAMPS.resent_ns);
        assert_eq!(sent, GOLDEN);
    }

    #[test]
    fn a_short_or_foreign_datagram_is_not_taken_for_one() {
        for length in 0..STAMPED_BYTES {
            assert_eq!(Stamps::decode(&GOLDEN[..length]), None, "{length}");
            let mut short = GOLDEN[..length].to_vec();
            stamp_received(&mut short, 1);
            stamp_resent(&mut short, 1);
            assert_eq!(short, GOLDEN[..length], "nothing but a whole datagram is stamped");
        }
        let mut foreign = GOLDEN;
        foreign[0] ^= 1;
        assert_eq!((group(&foreign), Stamps::decode(&foreign)), (None, None));
    }
}
