//! Ethernet frames with IPv4, and UDP in them: bytes in, bytes out.
//!
//! Headers are read and written by `smoltcp`'s wire types; here is which frames are rejected and
//! why. IPv4 options are accepted and skipped. Fragments are rejected: the port leaves them to the
//! kernel, so none should arrive.

use smoltcp::phy::ChecksumCapabilities;
use smoltcp::wire::{
    EthernetAddress, EthernetFrame, EthernetProtocol, EthernetRepr, IpAddress, IpProtocol,
    Ipv4Packet, Ipv4Repr, UdpPacket, UdpRepr, checksum,
};
use std::net::{Ipv4Addr, SocketAddrV4};

/// Bytes of an Ethernet header.
pub const ETHERNET_BYTES: usize = 14;
/// Bytes of Ethernet, IPv4 and UDP headers without options.
pub const UDP_HEADERS_BYTES: usize = ETHERNET_BYTES + 20 + 8;
/// Bytes of the longest IPv4 packet; a limit of the protocol.
pub const PACKET_BYTES_MAX: usize = 65_535;
/// Hops that a packet may take, and one to a group; Linux's defaults.
const HOPS: u8 = 64;
const GROUP_HOPS: u8 = 1;
/// Offset of the checksum in a UDP header.
const UDP_CHECKSUM: usize = 6;
/// Offset of the checksum in a TCP header.
const TCP_CHECKSUM: usize = 16;
/// Bytes of the shortest TCP header.
const TCP_HEADER_BYTES: usize = 20;

/// A hardware address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mac(pub [u8; 6]);

impl Mac {
    /// Address of an IPv4 group: its last 23 bits after 01:00:5e (RFC 1112, section 6.4).
    pub fn of_group(group: Ipv4Addr) -> Mac {
        let [_, second, third, fourth] = group.octets();
        Mac([0x01, 0x00, 0x5e, second & 0x7f, third, fourth])
    }
}

/// Which checksums of UDP and TCP are right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checksums {
    /// Whole ones, as on every wire.
    Whole,
    /// Also the sum over the pseudo-header alone. The kernel leaves it so in a packet that never
    /// leaves the host (`CHECKSUM_PARTIAL`, Documentation/networking/checksum-offloads.rst), as
    /// over veth.
    OrPartial,
}

/// Why a frame is none for a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadFrame {
    /// It ends inside a header, or before the length that a header gives.
    #[error("the frame is cut")]
    Cut,
    /// Another protocol than IPv4, or than the one that was asked for.
    #[error("the frame carries another protocol")]
    OtherProtocol,
    /// A part of a packet.
    #[error("the frame carries a fragment")]
    Fragment,
    /// A checksum is wrong.
    #[error("a checksum is wrong")]
    Checksum,
}

/// An IPv4 packet in a frame, with its header checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// The sender of the frame.
    pub from: Mac,
    /// The sender of the packet.
    pub source: Ipv4Addr,
    /// Its receiver.
    pub destination: Ipv4Addr,
    /// Number of the protocol in it (RFC 790): 6 TCP, 17 UDP.
    pub protocol: u8,
    /// All of it without the frame's padding.
    pub bytes: &'a [u8],
    /// The part after its header.
    pub content: &'a [u8],
}

/// Ends of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Hardware address of the sender.
    pub from: Mac,
    /// Hardware address of the receiver, or of the router to it.
    pub to: Mac,
    /// Sender.
    pub source: SocketAddrV4,
    /// Receiver.
    pub destination: SocketAddrV4,
}

/// The IPv4 packet in a frame.
///
/// # Errors
/// If it is none, is cut, is a fragment, or if its header's checksum is wrong.
pub fn packet(frame: &[u8]) -> Result<Packet<'_>, BadFrame> {
    let ethernet = EthernetFrame::new_checked(frame).map_err(|_| BadFrame::Cut)?;
    if ethernet.ethertype() != EthernetProtocol::Ipv4 {
        return Err(BadFrame::OtherProtocol);
    }
    let from = Mac(ethernet.src_addr().0);
    Ok(Packet { from, ..ipv4(&frame[ETHERNET_BYTES..])? })
}

/// An IPv4 packet that is in no frame: its sender's hardware address is zero.
///
/// # Errors
/// As [`packet`].
pub fn ipv4(packet: &[u8]) -> Result<Packet<'_>, BadFrame> {
    let ip = Ipv4Packet::new_checked(packet).map_err(|_| BadFrame::Cut)?;
    if ip.version() != 4 {
        return Err(BadFrame::OtherProtocol);
    }
    let (header, total) = (usize::from(ip.header_len()), usize::from(ip.total_len()));
    if !ip.verify_checksum() {
        return Err(BadFrame::Checksum);
    }
    if ip.more_frags() || ip.frag_offset() != 0 {
        return Err(BadFrame::Fragment);
    }
    let bytes = &packet[..total];
    Ok(Packet {
        from: Mac([0; 6]),
        source: ip.src_addr(),
        destination: ip.dst_addr(),
        protocol: ip.next_header().into(),
        bytes,
        content: &bytes[header..],
    })
}

/// The datagram in a packet: its ports, source first, and its content.
///
/// # Errors
/// If the packet has none, or if it is cut or harmed.
pub fn datagram(packet: Packet<'_>, sums: Checksums) -> Result<(u16, u16, &[u8]), BadFrame> {
    if packet.protocol != u8::from(IpProtocol::Udp) {
        return Err(BadFrame::OtherProtocol);
    }
    let udp = UdpPacket::new_checked(packet.content).map_err(|_| BadFrame::Cut)?;
    let length = usize::from(udp.len());
    // Without a checksum (RFC 768) it is zero.
    if udp.checksum() != 0 && !is_right(packet, &packet.content[..length], UDP_CHECKSUM, sums) {
        return Err(BadFrame::Checksum);
    }
    Ok((udp.src_port(), udp.dst_port(), &packet.content[8..length]))
}

/// Checks the length and the checksum of the TCP segment in a packet.
///
/// # Errors
/// If the packet has none, or if it is cut or harmed.
pub fn check_segment(packet: Packet<'_>, sums: Checksums) -> Result<(), BadFrame> {
    if packet.protocol != u8::from(IpProtocol::Tcp) {
        return Err(BadFrame::OtherProtocol);
    }
    if packet.content.len() < TCP_HEADER_BYTES {
        return Err(BadFrame::Cut);
    }
    match is_right(packet, packet.content, TCP_CHECKSUM, sums) {
        true => Ok(()),
        false => Err(BadFrame::Checksum),
    }
}

/// The sum of the words of some bytes (RFC 1071): all ones if a checksum in them is right.
pub fn sum(bytes: &[u8]) -> u16 {
    checksum::data(bytes)
}

/// Whether the checksum at `at` of a packet's content is right.
fn is_right(packet: Packet<'_>, content: &[u8], at: usize, sums: Checksums) -> bool {
    let pseudo = checksum::pseudo_header_v4(
        &packet.source,
        &packet.destination,
        IpProtocol::from(packet.protocol),
        content.len() as u32,
    );
    let field = u16::from_be_bytes([content[at], content[at + 1]]);
    let is_whole = || checksum::combine(&[pseudo, checksum::data(content)]) == !0;
    sums == Checksums::OrPartial && field == pseudo || is_whole()
}

/// Writes an Ethernet header for IPv4 to the beginning of `frame`.
///
/// # Panics
/// If there is no room for [`ETHERNET_BYTES`].
pub fn write_ethernet(frame: &mut [u8], from: Mac, to: Mac) {
    EthernetRepr {
        src_addr: EthernetAddress(from.0),
        dst_addr: EthernetAddress(to.0),
        ethertype: EthernetProtocol::Ipv4,
    }
    .emit(&mut EthernetFrame::new_unchecked(frame));
}

/// Writes a datagram into `frame`, which must be [`UDP_HEADERS_BYTES`] longer than `content`.
///
/// # Panics
/// If it is not, or if the packet would be longer than [`PACKET_BYTES_MAX`].
pub fn write_datagram(frame: &mut [u8], header: &Header, content: &[u8]) {
    assert_eq!(frame.len(), UDP_HEADERS_BYTES + content.len());
    assert!(frame.len() - ETHERNET_BYTES <= PACKET_BYTES_MAX);
    let (source, destination) = (*header.source.ip(), *header.destination.ip());
    let sums = ChecksumCapabilities::default();
    write_ethernet(frame, header.from, header.to);
    let mut ip = Ipv4Packet::new_unchecked(&mut frame[ETHERNET_BYTES..]);
    Ipv4Repr {
        src_addr: source,
        dst_addr: destination,
        next_header: IpProtocol::Udp,
        payload_len: 8 + content.len(),
        hop_limit: if destination.is_multicast() { GROUP_HOPS } else { HOPS },
    }
    .emit(&mut ip, &sums);
    UdpRepr { src_port: header.source.port(), dst_port: header.destination.port() }.emit(
        &mut UdpPacket::new_unchecked(ip.payload_mut()),
        &IpAddress::Ipv4(source),
        &IpAddress::Ipv4(destination),
        content.len(),
        |payload| payload.copy_from_slice(content),
        &sums,
    );
}

/// Ends and kind of a TCP segment that [`check_segment`] accepted: source, destination, and whether
/// it opens a connection (SYN without ACK).
pub(crate) fn opening(packet: Packet<'_>) -> Option<(SocketAddrV4, SocketAddrV4)> {
    const SYN_ACK: u8 = 0x12;
    const SYN: u8 = 0x02;
    let segment = packet.content;
    let port = |at: usize| u16::from_be_bytes([segment[at], segment[at + 1]]);
    let ends =
        (SocketAddrV4::new(packet.source, port(0)), SocketAddrV4::new(packet.destination, port(2)));
    (segment[13] & SYN_ACK == SYN).then_some(ends)
}
