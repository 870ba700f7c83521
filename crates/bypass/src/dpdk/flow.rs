//! The flow that a frame belongs to, by a glance at its headers. The stack above checks them.

use crate::frame::ETHERNET_BYTES;
use std::net::{Ipv4Addr, SocketAddrV4};

const IPV4: [u8; 2] = [0x08, 0x00];

/// Number of the protocol and the receiver of a frame with IPv4 and ports.
#[inline]
pub(super) fn flow(frame: &[u8]) -> Option<(u8, SocketAddrV4)> {
    if frame.get(12..14)? != IPV4 {
        return None;
    }
    let packet = frame.get(ETHERNET_BYTES..)?;
    let header_bytes = 4 * usize::from(packet.first()? & 0x0f);
    let address: [u8; 4] = packet.get(16..20)?.try_into().ok()?;
    let port: [u8; 2] = packet.get(header_bytes + 2..header_bytes + 4)?.try_into().ok()?;
    let to = SocketAddrV4::new(Ipv4Addr::from(address), u16::from_be_bytes(port));
    Some((*packet.get(9)?, to))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{Header, Mac, UDP_HEADERS_BYTES, write_datagram};
    use proptest::prelude::*;

    fn datagram(to: SocketAddrV4) -> Vec<u8> {
        let mut frame = vec![0; UDP_HEADERS_BYTES + 3];
        let source = SocketAddrV4::new(Ipv4Addr::new(192, 0, 2, 9), 9);
        let header = Header { from: Mac([2; 6]), to: Mac([4; 6]), source, destination: to };
        write_datagram(&mut frame, &header, b"abc");
        frame
    }

    #[test]
    fn a_datagram_has_its_receiver_and_ipv6_has_none() {
        let to = SocketAddrV4::new(Ipv4Addr::new(192, 0, 2, 1), 8_888);
        let mut frame = datagram(to);
        assert_eq!(flow(&frame), Some((17, to)));
        frame[13] = 0xdd;
        assert_eq!(flow(&frame), None);
    }

    proptest! {
        #[test]
        fn any_bytes_have_a_flow_or_none(mut frame: Vec<u8>, is_ipv4: bool) {
            if is_ipv4 && frame.len() >= ETHERNET_BYTES {
                frame[12..14].copy_from_slice(&IPV4);
            }
            let _ = flow(&frame);
        }

        #[test]
        fn a_cut_datagram_has_the_same_flow_or_none(length in 0..UDP_HEADERS_BYTES) {
            let to = SocketAddrV4::new(Ipv4Addr::new(192, 0, 2, 1), 8_888);
            let cut = flow(&datagram(to)[..length]);
            prop_assert!(cut.is_none_or(|found| found == (17, to)));
        }
    }
}
