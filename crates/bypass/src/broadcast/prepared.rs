//! The headers of a copy, prepared once for each receiver: a copy then costs its lengths and its
//! checksums.

use crate::frame::{Header, UDP_HEADERS_BYTES, write_datagram};
use smoltcp::wire::checksum::{combine, data};
use std::net::SocketAddrV4;

/// Offsets in a frame with IPv4 and UDP, without options.
const IP: usize = 14;
const IP_LENGTH: usize = 16;
const IP_CHECKSUM: usize = 24;
const UDP: usize = 34;
const UDP_LENGTH: usize = 38;
const UDP_CHECKSUM: usize = 40;
/// Bytes of the UDP header, and of that with the IPv4 header.
const UDP_BYTES: u16 = 8;
const PACKET_BYTES: u16 = 28;

/// A datagram's content, and its part of the checksum.
#[derive(Clone, Copy, Debug)]
pub struct Content<'a> {
    bytes: &'a [u8],
    sum: u16,
}

impl<'a> Content<'a> {
    /// Computes the checksum once, for all copies.
    pub fn new(bytes: &'a [u8]) -> Content<'a> {
        Content { bytes, sum: data(bytes) }
    }

    /// Its part of the checksum.
    pub fn sum(&self) -> u16 {
        self.sum
    }

    /// Bytes of a frame with it.
    pub fn frame_bytes(&self) -> usize {
        UDP_HEADERS_BYTES + self.bytes.len()
    }
}

/// The headers to one receiver.
#[derive(Clone, Debug)]
pub struct ReceiverHeaders {
    /// Headers of an empty datagram.
    headers: [u8; UDP_HEADERS_BYTES],
    /// Sums of its words, as far as a checksum covers them.
    ip_sum: u16,
    udp_sum: u16,
}

impl ReceiverHeaders {
    /// Prepares them.
    pub fn new(header: &Header) -> ReceiverHeaders {
        let mut headers = [0; UDP_HEADERS_BYTES];
        write_datagram(&mut headers, header, b"");
        let word = |at: usize| u16::from_be_bytes([headers[at], headers[at + 1]]);
        let (ip_sum, udp_sum) = (!word(IP_CHECKSUM), !word(UDP_CHECKSUM));
        ReceiverHeaders { headers, ip_sum, udp_sum }
    }

    /// Writes the frame of a copy: all of `frame`, which has [`Content::frame_bytes`].
    ///
    /// # Panics
    /// If it has not, or if the packet would be longer than IPv4 allows.
    pub fn write(&self, frame: &mut [u8], content: Content<'_>) {
        frame[UDP_HEADERS_BYTES..].copy_from_slice(content.bytes);
        self.write_headers(frame, content.sum);
    }

    /// Writes the headers of a copy in front of a content that is there already, and has this part
    /// of the checksum.
    ///
    /// # Panics
    /// If the frame has no place for them, or the packet would be longer than IPv4 allows.
    pub fn write_headers(&self, frame: &mut [u8], content_sum: u16) {
        let (headers, content) = frame.split_at_mut(UDP_HEADERS_BYTES);
        headers.copy_from_slice(&self.headers);
        let added = u16::try_from(content.len()).unwrap_or(u16::MAX);
        let whole = PACKET_BYTES.checked_add(added).expect("the packet is as IPv4 allows");
        let mut put =
            |at: usize, word: u16| headers[at..at + 2].copy_from_slice(&word.to_be_bytes());
        put(IP_LENGTH, whole);
        put(IP_CHECKSUM, !combine(&[self.ip_sum, added]));
        put(UDP_LENGTH, UDP_BYTES + added);
        // The length is in the header and in the pseudo-header.
        let sum = !combine(&[self.udp_sum, added, added, content_sum]);
        // Zero would say that there is none (RFC 768).
        put(UDP_CHECKSUM, if sum == 0 { !0 } else { sum });
    }

    /// The receiver as a program in the kernel needs it, for datagrams that came to `flow`.
    pub(crate) fn slot(&self, flow: SocketAddrV4) -> [u8; SLOT_BYTES] {
        let word = |at: usize| u16::from_be_bytes([self.headers[at], self.headers[at + 1]]);
        let words = |from: usize, to: usize| (from..to).step_by(2).map(word);
        let [a, b, c, d] = flow.ip().octets();
        let old = [u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]), flow.port()];
        let new = words(26, IP + 20).chain(words(UDP, UDP + 4));
        let changes: Vec<u16> = new.chain(old.map(|word| !word)).collect();
        let mut slot = [0; SLOT_BYTES];
        slot[slot::MACS..slot::MACS + 12].copy_from_slice(&self.headers[..12]);
        slot[slot::ACTIVE] = 1;
        slot[slot::SOURCE..slot::SOURCE + 8].copy_from_slice(&self.headers[26..34]);
        slot[slot::PORTS..slot::PORTS + 4].copy_from_slice(&self.headers[UDP..UDP + 4]);
        let length = word(IP_LENGTH);
        put_sum(&mut slot, slot::IP_SUM, combine(&[self.ip_sum, !length]));
        put_sum(&mut slot, slot::UDP_CHANGE, combine(&changes));
        slot
    }
}

/// The program loads words as they are in memory, so it needs sums of such words (RFC 1071, 2 B).
fn put_sum(slot: &mut [u8; SLOT_BYTES], at: usize, sum: u16) {
    let as_loaded = u16::from_ne_bytes(sum.to_be_bytes());
    slot[at..at + 4].copy_from_slice(&u32::from(as_loaded).to_ne_bytes());
}

/// Bytes of a receiver in the kernel's map.
pub(crate) const SLOT_BYTES: usize = 36;

/// Offsets in a slot.
pub(crate) mod slot {
    /// Receiver and sender, as in a frame.
    pub(crate) const MACS: usize = 0;
    /// Not zero: it gets copies.
    pub(crate) const ACTIVE: usize = 12;
    /// Both addresses, as in a packet.
    pub(crate) const SOURCE: usize = 16;
    /// Both ports, as in a packet.
    pub(crate) const PORTS: usize = 24;
    /// The sum of the IPv4 header without its length.
    pub(crate) const IP_SUM: usize = 28;
    /// Added to the sum of a datagram, without the sender's part.
    pub(crate) const UDP_CHANGE: usize = 32;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Mac;
    use proptest::prelude::*;

    fn header(from: (u32, u16), to: (u32, u16)) -> Header {
        let address = |(ip, port): (u32, u16)| SocketAddrV4::new(ip.into(), port);
        let (source, destination) = (address(from), address(to));
        Header { from: Mac([2; 6]), to: Mac([4; 6]), source, destination }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(testing::cases(256)))]

        /// A prepared copy is the frame that would have been written from nothing.
        #[test]
        fn a_copy_is_a_whole_datagram(
            from: (u32, u16),
            to: (u32, u16),
            content in prop::collection::vec(any::<u8>(), 0..1_473),
        ) {
            let header = header(from, to);
            let content = Content::new(&content);
            let (mut whole, mut copy) = (vec![0; content.frame_bytes()], vec![1; content.frame_bytes()]);
            write_datagram(&mut whole, &header, content.bytes);
            ReceiverHeaders::new(&header).write(&mut copy, content);
            prop_assert_eq!(copy, whole);
        }
    }

    /// Sums of zero and of all ones are the same number, and a checksum of zero means none.
    #[test]
    fn a_checksum_is_never_zero() {
        let header = header((0x0A00_0001, 1), (0x0A00_0002, 2));
        let prepared = ReceiverHeaders::new(&header);
        for value in 0..=u16::MAX {
            let bytes = value.to_be_bytes();
            let content = Content::new(&bytes);
            let mut frame = [0; UDP_HEADERS_BYTES + 2];
            prepared.write(&mut frame, content);
            assert_ne!(frame[UDP_CHECKSUM..UDP_HEADERS_BYTES], [0, 0], "{value}");
            let packet = crate::frame::packet(&frame).unwrap();
            crate::frame::datagram(packet, crate::frame::Checksums::Whole).unwrap();
        }
    }
}
