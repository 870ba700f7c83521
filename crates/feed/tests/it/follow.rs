//! For any inputs of the engine and any faults of the network, the follower's books become the
//! engine's.

use crate::exchange::Exchange;
use crate::following::{Following, INSTRUMENTS, following};
use engine::{EngineLimits, Input};
use feed::{
    Channel, DATAGRAM_BYTES_MIN, Fault, FeedMessage, PacketHeader, PacketKind, PublisherSettings,
    RecoveryRequest, SEQUENCE_MAX, encode_packet,
};
use proptest::prelude::*;

fn datagram_bytes() -> impl Strategy<Value = usize> {
    DATAGRAM_BYTES_MIN..400
}

proptest! {
    /// Without loss, the books are equal after each input, and each input that changes them is a
    /// tick.
    #[test]
    fn over_a_perfect_network(
        limits in crate::commands::limits(),
        inputs in crate::commands::inputs(300),
        datagram_bytes in datagram_bytes(),
    ) {
        let settings = Exchange::settings(limits, INSTRUMENTS, datagram_bytes);
        for Following { channel, mut follower, .. } in following(&[], &limits, &settings) {
            let settings = PublisherSettings { channels: vec![channel], ..settings.clone() };
            let mut exchange = Exchange::new(limits, &settings);
            prop_assert_eq!(follower.wants(), Some(RecoveryRequest::Snapshot));
            prop_assert_eq!(follower.wants(), None);
            let snapshot = exchange.publisher.snapshot(channel).unwrap();
            exchange.sent(snapshot).iter().for_each(|datagram| { follower.datagram(datagram); });
            prop_assert!(follower.is_in_sync());
            for Input { time_ns, command } in &inputs {
                let before = exchange.book_hash(channel);
                exchange.apply(&Input { time_ns: *time_ns, command: *command });
                prop_assert_eq!((exchange.publisher.faults(), exchange.publisher.overrun()), (0, 0));
                let datagrams = exchange.datagrams(channel);
                prop_assert!(!datagrams.is_empty() || before == exchange.book_hash(channel));
                for datagram in datagrams {
                    prop_assert!(datagram.len() <= datagram_bytes);
                    prop_assert!(follower.datagram(&datagram).is_live_tick);
                }
                prop_assert!(follower.is_in_sync());
                prop_assert_eq!(follower.wants(), None);
                prop_assert_eq!(follower.sequence(), exchange.publisher.sequence(channel));
                prop_assert_eq!(exchange.publisher.book_hash(channel), exchange.book_hash(channel));
                prop_assert_eq!(follower.book_hash(), exchange.book_hash(channel));
            }
            prop_assert_eq!(follower.counts().faults.total(), 0);
        }
    }

    /// Datagrams, including answers, are lost, doubled, late, cut and mixed with garbage; sometimes
    /// the exchange restarts.
    #[test]
    fn over_a_network_that_loses(
        limits in crate::commands::limits(),
        inputs in crate::commands::inputs(200),
        datagram_bytes in datagram_bytes(),
        replay_packets_max in 2_usize..40,
        fates in prop::collection::vec(any::<u8>(), 1..100),
        steps in prop::collection::vec(any::<u8>(), 1..100),
    ) {
        let settings = PublisherSettings {
            replay_packets_max,
            ..Exchange::settings(limits, INSTRUMENTS, datagram_bytes)
        };
        crate::following::follows(limits, &settings, &inputs, &fates, &steps);
    }

    /// Bits flip undetected, as if UDP had no checksum. Told that its books are wrong, the follower
    /// always gets in sync again.
    #[test]
    fn with_bits_flipped(
        limits in crate::commands::limits(),
        inputs in crate::commands::inputs(60),
        flips in prop::collection::vec((any::<u16>(), 0_u8..8), 1..20),
    ) {
        let settings = Exchange::settings(limits, INSTRUMENTS, 200);
        let mut exchange = Exchange::new(limits, &settings);
        for mut following in following(&[], &limits, &settings) {
            let mut flips = flips.iter().cycle();
            for input in &inputs {
                exchange.apply(input);
                for mut datagram in exchange.datagrams(following.channel) {
                    let (at, bit) = flips.next().copied().unwrap_or_default();
                    let at = usize::from(at) % datagram.len();
                    datagram[at] ^= 1 << bit;
                    following.follower.datagram(&datagram);
                }
                if let Some(RecoveryRequest::Snapshot) = following.follower.wants() {
                    let snapshot = exchange.publisher.snapshot(following.channel).unwrap();
                    for datagram in exchange.sent(snapshot) {
                        following.follower.datagram(&datagram);
                    }
                }
            }
            following.follower.begin_again();
            following.settle(&mut exchange);
        }
    }

    /// Well-formed datagrams with any content. Told that its books are wrong, the follower gets in
    /// sync.
    #[test]
    fn among_datagrams_of_somebody_else(
        inputs in crate::commands::inputs(20),
        others in prop::collection::vec((0_usize..4, any::<u8>(), 0_usize..3, 0_u16..4, 0_u16..4, 0_u64..4), 1..60),
    ) {
        let limits = EngineLimits::matching_only(20, 8);
        let settings = Exchange::settings(limits, INSTRUMENTS, 200);
        let mut exchange = Exchange::new(limits, &settings);
        let [mut following, _] = following(&[], &limits, &settings);
        let mut others = others.iter();
        let mut bytes = [0; 200];
        for input in &inputs {
            exchange.apply(input);
            for (session, sequence, kind, part, count, order_id) in others.by_ref().take(4) {
                let header = PacketHeader {
                    session: [1_000, 1_000, 1_001, u64::MAX][*session],
                    // Near the next number, or near the largest one.
                    sequence: match sequence {
                        250.. => SEQUENCE_MAX - u64::from(255 - sequence),
                        _ => u64::from(sequence % 32),
                    },
                    count: *count,
                    part: *part,
                    parts: 4,
                    channel: Channel::Orders,
                    kind: [PacketKind::Live, PacketKind::Replay, PacketKind::Snapshot][*kind],
                    intended_ns: 0,
                    acknowledged_ns: 0,
                    published_ns: 0,
                };
                let order = FeedMessage::OrderAdded {
                    instrument: 0,
                    order_id: *order_id,
                    side: engine::Side::Buy,
                    price_ticks: 90,
                    quantity_lots: 1,
                };
                // Some announce more messages than they contain.
                let messages = vec![order; usize::from(*count).min(2)];
                let length = encode_packet(&mut bytes, &header, &messages).unwrap();
                following.follower.datagram(&bytes[..length]);
                following.follower.wants();
            }
            for datagram in exchange.datagrams(following.channel) {
                following.follower.datagram(&datagram);
            }
        }
        following.follower.begin_again();
        following.settle(&mut exchange);
    }

    /// Garbage changes nothing and is counted.
    #[test]
    fn garbage_changes_nothing(
        inputs in crate::commands::inputs(60),
        garbage in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 1..50),
    ) {
        let limits = EngineLimits::matching_only(20, 8);
        let settings = Exchange::settings(limits, INSTRUMENTS, 200);
        let mut exchange = Exchange::new(limits, &settings);
        let [mut following, _] = following(&[], &limits, &settings);
        following.settle(&mut exchange);
        let mut garbage = garbage.iter().cycle();
        let mut thrown = 0;
        for input in &inputs {
            exchange.apply(input);
            following.remember(&exchange);
            for datagram in exchange.datagrams(following.channel) {
                thrown += 1;
                let rubbish = following.follower.datagram(garbage.next().unwrap());
                prop_assert_eq!((rubbish.header, rubbish.applied), (None, 0));
                prop_assert!(following.follower.datagram(&datagram).is_live_tick);
                following.check();
            }
        }
        let faults = following.follower.counts().faults;
        prop_assert_eq!(faults.of(Fault::Garbage) + faults.of(Fault::Truncated), thrown);
        prop_assert_eq!(faults.total(), thrown);
    }
}
