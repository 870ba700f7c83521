//! Two peers over a link that does harm.

mod handshake;
mod link;
mod over_sockets;

use super::*;
use link::{Harm, Link};
use proptest::prelude::*;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;

fn cases() -> u32 {
    let percent = std::env::var("TICKPATH_CASES_PERCENT").ok().and_then(|text| text.parse().ok());
    (200 * percent.unwrap_or(100) / 100).max(20)
}

/// Up to `lost_max` datagrams of a hundred are lost; half as many are damaged, and so lost too.
fn harm(lost_max: u32) -> impl Strategy<Value = Harm> {
    (0..=lost_max, 0..30_u32, 0..=lost_max / 2, 0..30_u32, 0..3 * MS).prop_map(
        |(lost, twice, damaged, late, delay_ns)| Harm { lost, twice, damaged, late, delay_ns },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    /// On a link that loses less than a datagram in six, both directions' bytes arrive in order and
    /// exactly once, then the end.
    #[test]
    fn all_bytes_arrive_in_order_and_once(
        harm in harm(10), seed: u64, bytes in (0..40_000_usize, 0..40_000_usize), pauses: bool,
    ) {
        let mut link = Link::new(harm, seed, [bytes.0, bytes.1], pauses);
        link.run_until(600 * SECOND, Link::is_over);
        prop_assert!(link.is_over(), "{:?}", link.state());
    }

    /// On any link the same, or a side says why not; the application checks each byte.
    #[test]
    fn a_side_without_its_bytes_has_a_reason(
        harm in harm(80), seed: u64, bytes in (0..40_000_usize, 0..40_000_usize), pauses: bool,
    ) {
        let mut link = Link::new(harm, seed, [bytes.0, bytes.1], pauses);
        link.run_until(3_600 * SECOND, Link::has_ended);
        prop_assert!(link.has_ended(), "{:?}", link.state());
    }

    /// If nothing passes any more, both sides say so within their limits, and what had arrived is
    /// the beginning of what was sent.
    #[test]
    fn a_dead_link_ends_both_sides_with_a_reason(harm in harm(10), seed: u64, after_ns in 0..20 * MS) {
        let mut link = Link::new(harm, seed, [400_000, 400_000], false);
        link.run_until(after_ns, |_| false);
        link.harm = Harm { lost: 100, ..harm };
        link.run_until(after_ns + SILENCE_NS + 2 * SECOND, |_| false);
        for end in &link.ends {
            let reason = end.peer.end();
            prop_assert!(
                matches!(reason, Some(EndReason::Silent | EndReason::Unacknowledged)), "{reason:?}"
            );
        }
    }
}

proptest! {
    #[test]
    fn strangers_change_nothing(data in prop::collection::vec(any::<u8>(), 0..2_000)) {
        properties::strangers(&data);
    }

    #[test]
    fn a_peer_that_lies_gets_no_more_than_its_window(
        data in prop::collection::vec(any::<u8>(), 0..2_000),
    ) {
        properties::liar(&data);
    }
}

/// In a link without harm an order and its reply are two datagrams.
#[test]
fn an_answer_carries_the_acknowledgement_of_its_question() {
    let (mut trader, mut exchange) = (Peer::new(7, 0), Peer::new(7, 0));
    let (mut datagrams, mut buffer) = (Vec::<Vec<u8>>::new(), [0; 2_000]);
    let mut now_ns = 0;
    for _ in 0..1_000 {
        trader.write(b"order", now_ns, &mut |out| datagrams.push(out.to_vec())).unwrap();
        let order = datagrams.last().unwrap().clone();
        deliver(&mut exchange, &order, now_ns + 10_000, &mut datagrams);
        let mut send = |out: &[u8]| datagrams.push(out.to_vec());
        let read = exchange.read(&mut buffer, now_ns + 10_000, &mut send);
        assert_eq!(read, ReceivedBytes::Bytes { n: 5, stamp_ns: now_ns + 10_000 });
        exchange.write(b"report", now_ns + 11_000, &mut send).unwrap();
        let report = datagrams.last().unwrap().clone();
        deliver(&mut trader, &report, now_ns + 20_000, &mut datagrams);
        let mut send = |out: &[u8]| datagrams.push(out.to_vec());
        trader.read(&mut buffer, now_ns + 20_000, &mut send);
        now_ns += MS;
        for peer in [&mut trader, &mut exchange] {
            peer.poll(now_ns, &mut send);
        }
    }
    assert_eq!(datagrams.len(), 2_000);
    assert_eq!(trader.retransmitted() + exchange.retransmitted(), 0);
}

fn deliver(to: &mut Peer, datagram: &[u8], now_ns: u64, out: &mut Vec<Vec<u8>>) {
    let Some(Datagram::Connection(header, payload)) = Datagram::decode(datagram) else {
        panic!("{datagram:?}");
    };
    assert!(to.receive(&header, payload, now_ns, &mut |bytes| out.push(bytes.to_vec())));
}

/// The window is the limit of what one side holds for the other.
#[test]
fn a_sender_is_told_when_the_window_is_full_and_goes_on_when_it_is_read() {
    let (mut sender, mut reader) = (Peer::new(1, 0), Peer::new(1, 0));
    let mut datagrams = Vec::new();
    let much = vec![5; 2 * WINDOW_DATAGRAMS * PAYLOAD_BYTES_MAX];
    let n = sender.write(&much, 0, &mut |out| datagrams.push(out.to_vec())).unwrap();
    assert_eq!(n, WINDOW_DATAGRAMS * PAYLOAD_BYTES_MAX);
    assert!(!sender.is_writable());
    let mut acks = Vec::new();
    for datagram in std::mem::take(&mut datagrams) {
        deliver(&mut reader, &datagram, 1, &mut acks);
    }
    for ack in std::mem::take(&mut acks) {
        deliver(&mut sender, &ack, 2, &mut datagrams);
    }
    // All arrived, and nothing was read: there is no room.
    assert!(!sender.is_writable() && datagrams.is_empty());
    let mut buffer = vec![0; PAYLOAD_BYTES_MAX];
    let mut n_read = 0;
    while let ReceivedBytes::Bytes { n, .. } =
        reader.read(&mut buffer, 3, &mut |out| acks.push(out.to_vec()))
    {
        n_read += n;
    }
    assert_eq!(n_read, n);
    assert_eq!(acks.len(), 1, "the reader says once that there is room again");
    deliver(&mut sender, &acks[0], 4, &mut datagrams);
    assert!(sender.is_writable());
}

/// It acknowledges what was never sent: it is dropped whole.
#[test]
fn a_datagram_that_makes_no_sense_changes_nothing() {
    let mut peer = Peer::new(3, 0);
    let header = Header {
        kind: DatagramKind::Data,
        ends: false,
        gap: true,
        room: u16::MAX,
        connection: 3,
        sequence: 0,
        ack: 1,
    };
    let mut sent = 0;
    assert!(!peer.receive(&header, b"x", 5, &mut |_| sent += 1));
    let far = Header { ack: 0, sequence: u64::MAX, ..header };
    assert!(peer.receive(&far, b"x", 5, &mut |_| sent += 1));
    assert!(!peer.is_readable());
    // An acknowledgement of nothing, which says where it stands.
    assert_eq!(sent, 1);
}

#[test]
fn a_quiet_connection_lives_by_its_keep_alives() {
    let mut link = Link::new(Harm::default(), 1, [10, 10], false);
    link.finishes = false;
    link.run_until(60 * SECOND, |_| false);
    for end in &link.ends {
        assert_eq!((end.peer.end(), end.received.len()), (None, 10));
        // About one a second.
        assert!((50..70).contains(&end.sent), "{}", end.sent);
    }
}
