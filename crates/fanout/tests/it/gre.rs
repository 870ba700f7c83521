//! Datagrams that come through a GRE tunnel; a socket that sends its packets needs root.

use crate::*;
use fanout::gre::PROTOCOL;
use fanout::replicate::Gre;
use rustix::net::{AddressFamily, Protocol, SocketType};
use std::num::NonZeroU32;

/// The receiver in the tunnel.
const TO: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(239, 34, 34, 34), 5_000);

/// A packet of GRE with a key: a datagram to [`TO`] without a checksum. The kernel puts the outer
/// IPv4 header in front.
fn packet(key: u32, content: &[u8]) -> Vec<u8> {
    let length = |more: usize| (content.len() as u16 + more as u16).to_be_bytes();
    let mut ip = vec![0x45, 0, 0, 0, 0, 0, 0, 0, 1, 17, 0, 0, 10, 0, 0, 1, 239, 34, 34, 34];
    ip[2..4].copy_from_slice(&length(28));
    let words = ip.chunks_exact(2).map(|two| u32::from(u16::from_be_bytes([two[0], two[1]])));
    let sum: u32 = words.sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    ip[10..12].copy_from_slice(&(!folded as u16).to_be_bytes());
    let [to_high, to_low] = TO.port().to_be_bytes();
    let [high, low] = length(8);
    let udp = [0, 9, to_high, to_low, high, low, 0, 0];
    [&[0x20, 0, 0x08, 0][..], &key.to_be_bytes(), &ip, &udp, content].concat()
}

#[test]
fn a_datagram_in_a_tunnel_is_copied() {
    let protocol = NonZeroU32::new(PROTOCOL.into()).map(Protocol::from_raw);
    let sender = match rustix::net::socket(AddressFamily::INET, SocketType::RAW, protocol) {
        Ok(socket) => UdpSocket::from(socket),
        Err(why) => testing::skip!(Root, "a raw socket: {why}"),
    };
    // Tests that run at the same time have addresses of their own on loopback.
    let at = Ipv4Addr::new(127, 34, 0, 1);
    let (receiver, address) = socket();
    let gre = Some(Gre { at, key: Some(7) });
    let running = Running::start(Settings { from: TO, gre, ..settings(&[address]) });
    let send = |packet: &[u8]| sender.send_to(packet, (at, 0)).unwrap();
    send(&packet(8, b"another key"));
    send(&packet(7, b"")[..20]);
    for size in [0, 4, 1_000] {
        let content: Vec<u8> = (0..size).map(|at| at as u8).collect();
        send(&packet(7, &content));
        assert_eq!(receive(&receiver), content);
    }
    gets_nothing(&receiver);
    let counts = running.end();
    assert_eq!((counts.received, counts.received_bytes), (3, 1_004));
    assert_eq!(counts.rejects.gre, 2);
}

#[test]
fn a_way_below_the_kernel_has_no_tunnel() {
    let gre = Some(Gre { at: Ipv4Addr::UNSPECIFIED, key: None });
    let settings = Settings { backend: plan::backend::XDP, gre, ..settings(&[]) };
    let why = Replicator::new(settings, Clock::calibrate()).err().unwrap().to_string();
    assert!(why.contains("receive GRE"), "{why}");
}
