//! GRE (RFC 2784, RFC 2890): datagrams that a router or a cloud carries through a tunnel.
//!
//! ```text
//!   IPv4, protocol 47 │ flags, 0x0800 │ checksum? │ key? │ sequence? │ IPv4 │ UDP │ content
//! ```
//!
//! Bytes in, bytes out. Whatever is not a whole UDP datagram to the wanted address is rejected with
//! its reason; nothing is assembled from fragments of the packet inside.

use bypass::frame::{BadFrame, Checksums, datagram, ipv4, sum};
use std::net::{Ipv4Addr, SocketAddrV4};

/// Number of the protocol in IPv4.
pub const PROTOCOL: u8 = 47;
/// Most bytes in front of the content: IPv4 with options twice, GRE, UDP.
pub const HEADERS_BYTES_MAX: usize = 60 + 16 + 60 + 8;
/// The type of IPv4 in GRE.
const IPV4: u16 = 0x0800;
/// Flags: a checksum, a key and a sequence number follow.
const CHECKSUM: u16 = 0x8000;
const KEY: u16 = 0x2000;
const SEQUENCE: u16 = 0x1000;
/// Bits that must be zero (RFC 2784 2.2 and 2.3): routing, strict source route, the version.
const RESERVED: u16 = 0x4c07;

/// The tunnel whose datagrams are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tunnel {
    /// The receiver in the tunnel: a host or a group, and its port.
    pub to: SocketAddrV4,
    /// The key that packets must have; `None`: any, or none.
    pub key: Option<u32>,
}

/// Why a packet is none of the tunnel's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotTaken {
    /// The packet, the one inside or the datagram is cut, harmed, or of another protocol.
    #[error("{0}")]
    Bad(#[from] BadFrame),
    /// The header of GRE has another version, or fields that this one lacks.
    #[error("the GRE header has unknown fields")]
    UnknownFields,
    /// The key is another one, or there is none.
    #[error("it has another key")]
    OtherKey,
    /// The datagram goes to another address or port.
    #[error("it goes to another address")]
    OtherReceiver,
}

/// The datagram in an IPv4 packet: the tunnel's sender, and the content's place in `packet`.
///
/// # Errors
/// If it is none of the tunnel's; [`NotTaken`] says why.
pub fn decode(
    packet: &[u8],
    tunnel: Tunnel,
) -> Result<(Ipv4Addr, std::ops::Range<usize>), NotTaken> {
    let outer = ipv4(packet)?;
    if outer.protocol != PROTOCOL {
        return Err(BadFrame::OtherProtocol.into());
    }
    let inside = ipv4(payload(outer.content, tunnel.key)?)?;
    // A tunnel over a cable that never leaves the host may leave the checksum to the receiver.
    let (_, port, content) = datagram(inside, Checksums::OrPartial)?;
    if SocketAddrV4::new(inside.destination, port) != tunnel.to {
        return Err(NotTaken::OtherReceiver);
    }
    let start = content.as_ptr() as usize - packet.as_ptr() as usize;
    Ok((outer.source, start..start + content.len()))
}

/// The packet in GRE.
fn payload(gre: &[u8], key: Option<u32>) -> Result<&[u8], NotTaken> {
    let word = |at: usize| gre.get(at..at + 2).map(|two| u16::from_be_bytes([two[0], two[1]]));
    let (Some(flags), Some(kind)) = (word(0), word(2)) else { return Err(BadFrame::Cut.into()) };
    if flags & RESERVED != 0 {
        return Err(NotTaken::UnknownFields);
    }
    if kind != IPV4 {
        return Err(BadFrame::OtherProtocol.into());
    }
    let mut at = 4;
    if flags & CHECKSUM != 0 {
        if sum(gre) != !0 {
            return Err(BadFrame::Checksum.into());
        }
        at += 4;
    }
    let mut found = None;
    if flags & KEY != 0 {
        let field = gre.get(at..at + 4).ok_or(BadFrame::Cut)?;
        found = field.try_into().ok().map(u32::from_be_bytes);
        at += 4;
    }
    if key.is_some() && key != found {
        return Err(NotTaken::OtherKey);
    }
    if flags & SEQUENCE != 0 {
        at += 4;
    }
    Ok(gre.get(at..).ok_or(BadFrame::Cut)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TO: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(239, 1, 2, 3), 5_000);
    const ANY_KEY: Tunnel = Tunnel { to: TO, key: None };

    /// A packet from 192.0.2.1 to 192.0.2.2 with a key of 7 and no other option, written by hand
    /// from the RFCs. The datagram in it goes from 10.0.0.1:9 to 239.1.2.3:5000 and has no
    /// checksum.
    const GOLDEN: [u8; 60] = [
        0x45, 0, 0, 60, 0, 0, 0, 0, 64, 47, 0xf6, 0x8f, 192, 0, 2, 1, 192, 0, 2, 2, // IPv4
        0x20, 0, 0x08, 0, 0, 0, 0, 7, // GRE with a key
        0x45, 0, 0, 32, 0, 0, 0, 0, 1, 17, 0xbe, 0xc8, 10, 0, 0, 1, 239, 1, 2, 3, // IPv4
        0, 9, 0x13, 0x88, 0, 12, 0, 0, b't', b'i', b'c', b'k', // UDP
    ];

    /// The same with its checksums set right after a change.
    fn changed(change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        let mut packet = GOLDEN.to_vec();
        change(&mut packet);
        let length = packet.len() as u16;
        packet[2..4].copy_from_slice(&length.to_be_bytes());
        packet[10..12].fill(0);
        let outer = !sum(&packet[..20]);
        packet[10..12].copy_from_slice(&outer.to_be_bytes());
        packet
    }

    /// The header of GRE with these flags and fields.
    fn with_gre(flags: u16, fields: &[u8]) -> Vec<u8> {
        changed(|packet| {
            let gre = [&flags.to_be_bytes()[..], &IPV4.to_be_bytes(), fields].concat();
            packet.splice(20..28, gre);
        })
    }

    #[test]
    fn the_content_of_a_datagram_in_a_tunnel_is_found() {
        let (from, content) = decode(&changed(|_| ()), ANY_KEY).unwrap();
        assert_eq!((from, content), (Ipv4Addr::new(192, 0, 2, 1), 56..60));
        assert_eq!(changed(|_| ()), GOLDEN, "its checksums are right as written");
        let vector = include_bytes!("../../../clients/vectors/fan_out_gre.packet");
        assert_eq!(GOLDEN, *vector, "fuzzing begins with it");
        let keyed = |key| decode(&GOLDEN, Tunnel { to: TO, key: Some(key) }).map(|_| ());
        assert_eq!((keyed(7), keyed(8)), (Ok(()), Err(NotTaken::OtherKey)));
        for (flags, fields) in [(0, 0), (SEQUENCE, 4), (KEY | SEQUENCE, 8)] {
            let packet = with_gre(flags, &vec![0; fields]);
            let (_, content) = decode(&packet, ANY_KEY).unwrap();
            assert_eq!(&packet[content], b"tick", "{flags:#x}");
        }
    }

    #[test]
    fn a_checksum_of_gre_is_checked() {
        let mut packet = with_gre(CHECKSUM, &[0; 4]);
        assert_eq!(decode(&packet, ANY_KEY), Err(BadFrame::Checksum.into()));
        let whole = !sum(&packet[20..]);
        packet[24..26].copy_from_slice(&whole.to_be_bytes());
        assert_eq!(decode(&packet, ANY_KEY).map(|(_, content)| content), Ok(56..60));
    }

    #[test]
    fn everything_else_is_rejected_with_its_reason() {
        for flags in [0x4000, 0x0800, 0x0400, 1] {
            let packet = with_gre(flags, &[0; 12]);
            assert_eq!(decode(&packet, ANY_KEY), Err(NotTaken::UnknownFields), "{flags:#x}");
        }
        let other = SocketAddrV4::new(*TO.ip(), 5_001);
        let elsewhere = Tunnel { to: other, key: None };
        assert_eq!(decode(&GOLDEN, elsewhere), Err(NotTaken::OtherReceiver));
        let wrong_type = changed(|packet| packet[22] = 0x86);
        assert_eq!(decode(&wrong_type, ANY_KEY), Err(BadFrame::OtherProtocol.into()));
        let no_gre = changed(|packet| packet[9] = 17);
        assert_eq!(decode(&no_gre, ANY_KEY), Err(BadFrame::OtherProtocol.into()));
        let harmed_inside = changed(|packet| packet[45] ^= 1);
        assert_eq!(decode(&harmed_inside, ANY_KEY), Err(BadFrame::Checksum.into()));
    }

    /// Cut anywhere, it is rejected; no bytes make it panic.
    #[test]
    fn any_prefix_is_rejected() {
        for length in 0..GOLDEN.len() {
            assert!(decode(&GOLDEN[..length], ANY_KEY).is_err(), "{length}");
            if length >= 20 {
                let cut = changed(|packet| packet.truncate(length));
                assert!(decode(&cut, ANY_KEY).is_err(), "{length}");
            }
        }
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(testing::cases(2_000)))]

        /// Any change of some bytes is decoded or rejected, and a content lies in the packet.
        #[test]
        fn any_bytes_are_decoded_or_rejected(
            changes in proptest::collection::vec((0..GOLDEN.len(), proptest::prelude::any::<u8>()), 0..6),
            is_whole in proptest::prelude::any::<bool>(),
        ) {
            let change = |packet: &mut Vec<u8>| {
                changes.iter().for_each(|(at, byte)| packet[*at] = *byte);
            };
            let mut raw = GOLDEN.to_vec();
            change(&mut raw);
            let packet = if is_whole { changed(change) } else { raw };
            if let Ok((_, content)) = decode(&packet, ANY_KEY) {
                proptest::prop_assert!(content.end <= packet.len());
            }
        }
    }
}
