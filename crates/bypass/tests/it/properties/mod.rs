//! A property that the fuzzer also holds.

use bypass::frame::{
    BadFrame, Checksums, Header, Mac, UDP_HEADERS_BYTES, check_segment, datagram, packet,
    write_datagram,
};
use std::net::SocketAddrV4;

/// Any bytes are rejected or read, within their bounds; a datagram that was read and is written
/// again says the same.
pub fn any_bytes(bytes: &[u8]) {
    let Ok(packet) = packet(bytes) else { return };
    assert!(packet.content.len() < packet.bytes.len() && packet.bytes.len() + 14 <= bytes.len());
    let is_tcp = check_segment(packet, Checksums::OrPartial) != Err(BadFrame::OtherProtocol);
    let Ok((source, destination, content)) = datagram(packet, Checksums::OrPartial) else { return };
    assert!(!is_tcp);
    let header = Header {
        from: packet.from,
        to: Mac([2; 6]),
        source: SocketAddrV4::new(packet.source, source),
        destination: SocketAddrV4::new(packet.destination, destination),
    };
    let mut again = vec![0; UDP_HEADERS_BYTES + content.len()];
    write_datagram(&mut again, &header, content);
    let packet = bypass::frame::packet(&again).expect("a packet that we wrote");
    assert_eq!(datagram(packet, Checksums::Whole), Ok((source, destination, content)));
}
