//! Frames without an interface: what is written is read, by us and by another library; what is
//! harmed is rejected.

use bypass::frame::{
    BadFrame, Checksums, Header, Mac, UDP_HEADERS_BYTES, datagram, packet, write_datagram,
};
use etherparse::{NetSlice, SlicedPacket, TransportSlice};
use proptest::prelude::*;
use std::net::{Ipv4Addr, SocketAddrV4};

#[path = "properties/mod.rs"]
mod properties;

fn written(header: &Header, content: &[u8]) -> Vec<u8> {
    let mut frame = vec![0xaa; UDP_HEADERS_BYTES + content.len()];
    write_datagram(&mut frame, header, content);
    frame
}

fn headers() -> impl Strategy<Value = Header> {
    let end = || {
        let address = (any::<u32>(), 1u16..);
        (any::<[u8; 6]>(), address.prop_map(|(ip, port)| SocketAddrV4::new(ip.into(), port)))
    };
    (end(), end()).prop_map(|((from, source), (to, destination))| Header {
        from: Mac(from),
        to: Mac(to),
        source,
        destination,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testing::cases(400)))]

    /// With padding behind it, as a card adds it.
    #[test]
    fn a_datagram_is_read_as_it_was_written(
        header in headers(),
        content in proptest::collection::vec(any::<u8>(), 0..200),
        padding in 0..20usize,
    ) {
        let mut frame = written(&header, &content);
        frame.resize(frame.len() + padding, 0);
        let packet = packet(&frame).unwrap();
        let (source, destination) = (*header.source.ip(), *header.destination.ip());
        prop_assert_eq!(
            (packet.from, packet.source, packet.destination),
            (header.from, source, destination)
        );
        let read = datagram(packet, Checksums::Whole).unwrap();
        prop_assert_eq!(read, (header.source.port(), header.destination.port(), &content[..]));
    }

    /// The judge is a library that shares nothing with ours.
    #[test]
    fn another_library_reads_the_same(
        header in headers(),
        content in proptest::collection::vec(any::<u8>(), 0..200),
    ) {
        let frame = written(&header, &content);
        let seen = SlicedPacket::from_ethernet(&frame).unwrap();
        let (Some(NetSlice::Ipv4(ip)), Some(TransportSlice::Udp(udp))) = (&seen.net, &seen.transport)
        else {
            panic!("{seen:?}")
        };
        let ip = ip.header().to_header();
        prop_assert_eq!(ip.header_checksum, ip.calc_header_checksum());
        let sum = udp.to_header().calc_checksum_ipv4(&ip, &content).unwrap();
        prop_assert_eq!(udp.checksum(), sum);
        prop_assert_eq!(udp.payload(), &content[..]);
        prop_assert_eq!(ip.source, header.source.ip().octets());
    }

    /// A bit that flips behind the Ethernet header is seen: in the ones' complement sum one bit
    /// always shows.
    #[test]
    fn a_flipped_bit_is_rejected(
        header in headers(),
        content in proptest::collection::vec(any::<u8>(), 0..100),
        at in any::<proptest::sample::Index>(),
        bit in 0..8,
    ) {
        let mut frame = written(&header, &content);
        let place = 14 + at.index(frame.len() - 14);
        frame[place] ^= 1u8 << bit;
        let read = packet(&frame).and_then(|packet| datagram(packet, Checksums::Whole));
        // To a checksum of 0 it may flip: that says that there is none.
        let says_none = frame[40..42] == [0, 0];
        prop_assert!(read.is_err() || says_none, "{place} {bit}");
    }

    #[test]
    fn any_bytes_are_read_or_rejected(bytes in proptest::collection::vec(any::<u8>(), 0..120)) {
        properties::any_bytes(&bytes);
    }
}

fn example() -> Vec<u8> {
    let end = |n: u8| SocketAddrV4::new(Ipv4Addr::new(192, 0, 2, n), u16::from(n) * 1000);
    let (source, destination) = (end(1), end(2));
    written(&Header { from: Mac([1; 6]), to: Mac([2; 6]), source, destination }, b"tick")
}

fn read(frame: &[u8], sums: Checksums) -> Result<Vec<u8>, BadFrame> {
    datagram(packet(frame)?, sums).map(|(_, _, content)| content.to_vec())
}

/// The kernel leaves the sum over the pseudo-header in a packet that never leaves the host. Only
/// over veth is that right.
#[test]
fn a_partial_checksum_is_right_only_within_a_host() {
    let mut frame = example();
    // 192.0.2.1 and 192.0.2.2, protocol 17, length 12.
    let sum: u32 = 0xc000 + 0x0201 + 0xc000 + 0x0202 + 17 + 12;
    let folded = (sum & 0xffff) + (sum >> 16);
    frame[40..42].copy_from_slice(&(folded as u16).to_be_bytes());
    assert_eq!(read(&frame, Checksums::OrPartial), Ok(b"tick".to_vec()));
    assert_eq!(read(&frame, Checksums::Whole), Err(BadFrame::Checksum));
    frame[45] ^= 1;
    // Nothing covers the content then: the kernel trusts its own memory.
    assert_eq!(
        read(&frame, Checksums::OrPartial),
        Ok(b"tick".map(|c| c ^ u8::from(c == b'k')).to_vec())
    );
}

#[test]
fn each_reason_has_its_name() {
    let whole = example();
    for cut in 0..whole.len() {
        assert_eq!(read(&whole[..cut], Checksums::Whole), Err(BadFrame::Cut), "{cut}");
    }
    let mut arp = whole.clone();
    arp[13] = 6;
    assert_eq!(read(&arp, Checksums::Whole), Err(BadFrame::OtherProtocol));
    let fix = |mut frame: Vec<u8>| {
        frame[24..26].fill(0);
        let words = frame[14..34].chunks(2).map(|two| u32::from(two[0]) << 8 | u32::from(two[1]));
        let sum: u32 = words.sum();
        let folded = !((sum & 0xffff) + (sum >> 16)) as u16;
        frame[24..26].copy_from_slice(&folded.to_be_bytes());
        frame
    };
    let mut tcp = whole.clone();
    tcp[23] = 6;
    assert_eq!(read(&fix(tcp), Checksums::Whole), Err(BadFrame::OtherProtocol));
    let mut fragment = whole.clone();
    fragment[20] = 0x20;
    assert_eq!(read(&fix(fragment), Checksums::Whole), Err(BadFrame::Fragment));
    let mut long = whole;
    long[39] += 1;
    assert_eq!(read(&long, Checksums::Whole), Err(BadFrame::Cut));
}
