//! Properties of acknowledged datagrams for any bytes from a stranger or from a peer that lies.
//! Proptest and the fuzz target `acked` hold both.

use super::{
    DATAGRAM_BYTES_MAX, Datagram, DatagramKind, DatagramMeaning, Dial, DialStep, HEADER_BYTES,
    Header, PAYLOAD_BYTES_MAX, Peer, ReceivedBytes, Table, WINDOW_DATAGRAMS,
};
use std::net::SocketAddr;

const NOW_NS: u64 = 1_000_000_000;

fn address(last: u8) -> SocketAddr {
    ([192, 0, 2, last], 4_000).into()
}

/// `bytes` with the check sum that they need.
fn sealed(bytes: &[u8]) -> Vec<u8> {
    let mut sealed = bytes.to_vec();
    if let Some((crc, rest)) = sealed.split_first_chunk_mut::<4>() {
        *crc = crc32c::crc32c(rest).to_le_bytes();
    }
    sealed
}

/// Datagrams of strangers, also with the address of a peer, change nothing for that peer; and
/// nobody gets more bytes than it sent.
pub fn strangers(data: &[u8]) {
    let mut table = Table::new(true).expect("random numbers");
    let mut dial = Dial::new(7, NOW_NS);
    let (mut place, mut answer) = (None, Vec::new());
    while let Some(question) = dial.poll(NOW_NS) {
        let heard = table.receive(&question, address(1), NOW_NS, &mut |out, _| {
            answer = out.to_vec();
        });
        if let DatagramMeaning::New(new) = heard {
            place = Some(new);
        }
        if matches!(dial.receive(Some(&answer), NOW_NS), DialStep::Connected(_)) {
            break;
        }
    }
    let place = place.expect("a connection");
    let step = 1 + data.first().copied().unwrap_or(0) as usize;
    for (index, chunk) in data.chunks(step.max(HEADER_BYTES)).enumerate() {
        for bytes in [chunk.to_vec(), sealed(chunk)] {
            let mut answered = 0;
            let from = address(1 + (index % 2) as u8);
            let heard = table.receive(&bytes, from, NOW_NS + 1, &mut |out, to| {
                assert_eq!(to, from);
                answered += out.len();
            });
            assert_eq!(heard, DatagramMeaning::Nothing);
            assert!(answered <= bytes.len(), "{answered} bytes answer {}", bytes.len());
        }
    }
    let (peer, _) = table.peer(place).expect("it is there");
    assert!(peer.end().is_none() && !peer.is_readable() && peer.is_writable());
}

/// A peer that lies: each eight bytes are a datagram. It gets no more than the window holds, and
/// nothing panics.
pub fn liar(data: &[u8]) {
    let mut peer = Peer::new(1, NOW_NS);
    let (mut now_ns, mut out_bytes) = (NOW_NS, 0_usize);
    let mut send = |out: &[u8]| {
        assert!(matches!(Datagram::decode(out), Some(Datagram::Connection(..))));
        out_bytes += out.len();
    };
    let (mut buffer, mut read_bytes, mut came_bytes) = ([0; 333], 0, 0);
    for chunk in data.chunks_exact(8) {
        let [kind, flags, room, sequence, ack, length, time, act] = *chunk else { continue };
        let header = Header {
            kind: [DatagramKind::Data, DatagramKind::Ack, DatagramKind::Data, DatagramKind::Reset]
                [usize::from(kind % 4)],
            ends: flags & 1 == 1,
            gap: flags & 2 == 2,
            room: u16::from(room) << (flags >> 4),
            connection: 1,
            sequence: u64::from(sequence) << (flags & 4),
            ack: u64::from(ack) << (flags & 8),
        };
        let payload = vec![kind; PAYLOAD_BYTES_MAX.min(usize::from(length) * 5)];
        came_bytes += payload.len();
        peer.receive(&header, &payload, now_ns, &mut send);
        now_ns += u64::from(time) << ((act >> 2) & 31);
        peer.poll(now_ns, &mut send);
        match act % 4 {
            0 => {
                let n = peer.write(&[9; 3_000], now_ns, &mut send).unwrap_or(0);
                assert!(n <= WINDOW_DATAGRAMS * PAYLOAD_BYTES_MAX);
            }
            1 => peer.finish(now_ns, &mut send),
            _ => {
                if let ReceivedBytes::Bytes { n, .. } = peer.read(&mut buffer, now_ns, &mut send) {
                    read_bytes += n;
                }
            }
        }
        assert!(read_bytes <= came_bytes);
    }
    // A datagram makes it send again at most some others, and acknowledge.
    let rounds = data.len() / 8 + 1;
    assert!(out_bytes <= rounds * 16 * DATAGRAM_BYTES_MAX, "{out_bytes} bytes in {rounds} rounds");
}
