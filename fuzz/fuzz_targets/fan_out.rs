//! Packets of GRE, tunnel headers and registration: a replicator gets them from strangers. A part
//! that is decoded lies in the bytes, and is encoded to the same again.
#![no_main]

use fanout::gre::{Tunnel, decode};
use fanout::register::message::Message;
use fanout::tunnel::{Stamps, group, stamp_received, stamp_resent};
use std::net::{Ipv4Addr, SocketAddrV4};

/// The receiver of the datagram in `clients/vectors/fan_out_gre.packet`.
const TO: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(239, 1, 2, 3), 5_000);

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    gre(data);
    tunnel(data);
    if let Some(message) = Message::decode(data) {
        assert_eq!(message.encode(), data);
    }
});

fn gre(packet: &[u8]) {
    let any = Tunnel { to: TO, key: None };
    if let Ok((from, content)) = decode(packet, any) {
        // The outer header has four bytes of the sender at 12, and the content is the last thing.
        assert_eq!(from.octets(), packet[12..16]);
        assert!(content.start >= 20 + 4 + 20 + 8 && content.end <= packet.len());
    }
    // A wanted key only takes less.
    if let Ok(keyed) = decode(packet, Tunnel { key: Some(7), ..any }) {
        assert_eq!(decode(packet, any), Ok(keyed));
    }
}

fn tunnel(datagram: &[u8]) {
    let stamps = Stamps::decode(datagram);
    let mut copy = datagram.to_vec();
    if let (Some(stamps), Some(group)) = (stamps, group(datagram)) {
        stamps.encode(group, &mut copy);
        assert_eq!(copy, datagram);
    }
    stamp_received(&mut copy, 1);
    stamp_resent(&mut copy, 2);
    assert_eq!(copy.len(), datagram.len());
    if let Some(stamps) = stamps {
        let stamped = Stamps { received_ns: 1, resent_ns: 2, ..stamps };
        assert_eq!(Stamps::decode(&copy), Some(stamped));
    }
}
