//! ARP (RFC 826) for one interface: questions and answers, bytes in and bytes out.

use crate::frame::{ETHERNET_BYTES, Mac};
use smoltcp::wire::{
    ArpOperation, ArpPacket, ArpRepr, EthernetAddress, EthernetFrame, EthernetProtocol,
    EthernetRepr,
};
use std::net::Ipv4Addr;

/// Bytes of a frame with an ARP packet.
pub(super) const ARP_BYTES: usize = ETHERNET_BYTES + 28;
/// Hardware address of all.
const ALL: Mac = Mac([0xff; 6]);

/// A packet of ARP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Arp {
    /// Whether it asks; otherwise it answers.
    pub(super) asks: bool,
    /// Its sender.
    pub(super) from: (Mac, Ipv4Addr),
    /// The address that it asks for, or to which it answers.
    pub(super) to: Ipv4Addr,
}

/// The ARP packet in a frame; `None` if it has another protocol or is harmed.
pub(super) fn read(frame: &[u8]) -> Option<Arp> {
    let ethernet = EthernetFrame::new_checked(frame).ok()?;
    if ethernet.ethertype() != EthernetProtocol::Arp {
        return None;
    }
    let packet = ArpPacket::new_checked(ethernet.payload()).ok()?;
    let ArpRepr::EthernetIpv4 {
        operation,
        source_hardware_addr,
        source_protocol_addr,
        target_protocol_addr,
        ..
    } = ArpRepr::parse(&packet).ok()?
    else {
        return None;
    };
    Some(Arp {
        asks: operation == ArpOperation::Request,
        from: (Mac(source_hardware_addr.0), source_protocol_addr),
        to: target_protocol_addr,
    })
}

/// Writes a question of `from` into a frame of [`ARP_BYTES`].
pub(super) fn ask(frame: &mut [u8], from: (Mac, Ipv4Addr), to: Ipv4Addr) {
    write(frame, ArpOperation::Request, from, (ALL, to));
}

/// Writes the answer of `from` into a frame of [`ARP_BYTES`].
pub(super) fn answer(frame: &mut [u8], from: (Mac, Ipv4Addr), to: (Mac, Ipv4Addr)) {
    write(frame, ArpOperation::Reply, from, to);
}

fn write(frame: &mut [u8], operation: ArpOperation, from: (Mac, Ipv4Addr), to: (Mac, Ipv4Addr)) {
    let (sender, receiver) = (EthernetAddress(from.0.0), EthernetAddress(to.0.0));
    let header =
        EthernetRepr { src_addr: sender, dst_addr: receiver, ethertype: EthernetProtocol::Arp };
    let mut ethernet = EthernetFrame::new_unchecked(frame);
    header.emit(&mut ethernet);
    ArpRepr::EthernetIpv4 {
        operation,
        source_hardware_addr: sender,
        source_protocol_addr: from.1,
        target_hardware_addr: receiver,
        target_protocol_addr: to.1,
    }
    .emit(&mut ArpPacket::new_unchecked(ethernet.payload_mut()));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const US: (Mac, Ipv4Addr) = (Mac([2, 0, 0, 0, 0, 1]), Ipv4Addr::new(192, 0, 2, 1));
    const PEER: (Mac, Ipv4Addr) = (Mac([2, 0, 0, 0, 0, 2]), Ipv4Addr::new(192, 0, 2, 2));

    /// The golden bytes are those of RFC 826, field by field.
    #[test]
    fn a_question_goes_to_all_and_an_answer_to_who_asked() {
        let mut frame = [0; ARP_BYTES];
        ask(&mut frame, US, PEER.1);
        assert_eq!(frame[..6], [0xff; 6]);
        assert_eq!(frame[6..12], US.0.0);
        assert_eq!(frame[12..22], [8, 6, 0, 1, 8, 0, 6, 4, 0, 1]);
        assert_eq!(frame[28..32], US.1.octets());
        assert_eq!(frame[38..42], PEER.1.octets());
        assert_eq!(read(&frame), Some(Arp { asks: true, from: US, to: PEER.1 }));
        answer(&mut frame, PEER, US);
        assert_eq!(frame[..6], US.0.0);
        assert_eq!(frame[20..22], [0, 2]);
        assert_eq!(read(&frame), Some(Arp { asks: false, from: PEER, to: US.1 }));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_left(mut frame: Vec<u8>, is_arp: bool) {
            if is_arp && frame.len() >= ETHERNET_BYTES {
                frame[12..14].copy_from_slice(&[8, 6]);
            }
            let _ = read(&frame);
        }
    }
}
