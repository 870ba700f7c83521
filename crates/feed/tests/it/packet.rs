//! Datagrams: golden bytes, round trips, and invalid ones.

use engine::{InstrumentState, PRICE_TICKS_MAX, QUANTITY_LOTS_MAX, Side};
use feed::{
    Channel, Fault, FeedMessage, PACKET_HEADER_BYTES, Packet, PacketHeader, PacketKind,
    SEQUENCE_MAX, encode_packet, patch_published,
};
use proptest::prelude::*;

macro_rules! vector {
    ($name:literal) => {
        (
            include_bytes!(concat!("../../../../clients/vectors/", $name, ".packet")).as_slice(),
            include_str!(concat!("../../../../clients/vectors/", $name, ".txt")),
        )
    };
}

/// A decimal in the notation of the golden texts.
fn scaled((mantissa, exponent): (i64, i8)) -> String {
    format!("{mantissa}e{exponent}")
}

fn side(side: Side) -> &'static str {
    if side == Side::Buy { "BUY" } else { "SELL" }
}

fn header_line(header: &PacketHeader) -> String {
    let PacketHeader { session, sequence, intended_ns, acknowledged_ns, published_ns, .. } = header;
    let PacketHeader { count, part, parts, channel, kind, .. } = header;
    let channel = format!("{channel:?}").to_uppercase();
    let kind = format!("{kind:?}").to_uppercase();
    format!(
        "Packet session={session} sequence={sequence} intendedNs={intended_ns} acknowledgedNs={acknowledged_ns} \
         publishedNs={published_ns} count={count} part={part} parts={parts} channel={channel} kind={kind}\n"
    )
}

fn line(message: &FeedMessage) -> String {
    match *message {
        FeedMessage::OrderAdded { instrument, order_id, side: s, price_ticks, quantity_lots } => {
            format!(
                "OrderAdded orderId={order_id} priceTicks={price_ticks} quantityLots={quantity_lots} \
                 instrument={instrument} side={}\n",
                side(s)
            )
        }
        FeedMessage::OrderReduced { instrument, order_id, quantity_lots } => format!(
            "OrderReduced orderId={order_id} quantityLots={quantity_lots} instrument={instrument}\n"
        ),
        FeedMessage::OrderDeleted { instrument, order_id } => {
            format!("OrderDeleted orderId={order_id} instrument={instrument}\n")
        }
        FeedMessage::Trade {
            instrument,
            trade_id,
            order_id,
            aggressor_side,
            price_ticks,
            quantity_lots,
        } => format!(
            "Trade tradeId={trade_id} orderId={order_id} priceTicks={price_ticks} \
             quantityLots={quantity_lots} instrument={instrument} aggressorSide={}\n",
            side(aggressor_side)
        ),
        FeedMessage::Level { instrument, side: s, price_ticks, quantity_lots, orders } => format!(
            "Level priceTicks={price_ticks} quantityLots={quantity_lots} orders={orders} \
             instrument={instrument} side={}\n",
            side(s)
        ),
        FeedMessage::State { instrument, state } => {
            let state = format!("{state:?}").to_uppercase();
            format!("State instrument={instrument} state={state}\n")
        }
        FeedMessage::Definition { instrument, code, tick, lot, entries, book_hash } => {
            let code = String::from_utf8_lossy(&code);
            format!(
                "Definition bookHash={book_hash} entries={entries} instrument={instrument} tick={} lot={} code={}\n",
                scaled(tick),
                scaled(lot),
                code.trim_end_matches('\0')
            )
        }
    }
}

fn messages(bytes: &[u8]) -> Result<Vec<FeedMessage>, Fault> {
    Packet::decode(bytes)?.messages().collect()
}

fn encoded(header: &PacketHeader, messages: &[FeedMessage]) -> Vec<u8> {
    let mut bytes = vec![0xEE; 65_507];
    let length = encode_packet(&mut bytes, header, messages).expect("there is room");
    bytes.truncate(length);
    bytes
}

#[test]
fn golden_datagrams_are_read_and_written() {
    for (bytes, text) in [
        vector!("feed_orders"),
        vector!("feed_levels"),
        vector!("feed_heartbeat"),
        vector!("feed_replay"),
        vector!("feed_snapshot"),
    ] {
        let packet = Packet::decode(bytes).unwrap();
        let messages = messages(bytes).unwrap();
        let lines: String = messages.iter().map(line).collect();
        assert_eq!(header_line(packet.header()) + &lines, text);
        assert_eq!(encoded(packet.header(), &messages), bytes);
    }
}

#[test]
fn what_a_later_version_adds_is_passed_over() {
    let (bytes, text) = vector!("feed_later");
    let packet = Packet::decode(bytes).unwrap();
    let lines: String = packet
        .messages()
        .map(|message| match message {
            Ok(message) => line(&message),
            Err(fault) => {
                assert_eq!(fault, Fault::UnknownTemplate);
                "unknown template=900 version=1 bytes=5\n".into()
            }
        })
        .collect();
    assert_eq!(header_line(packet.header()) + &lines, text);
}

#[test]
fn a_packet_of_a_later_version_is_rejected() {
    let mut bytes = vector!("feed_orders").0.to_vec();
    bytes[6] = 1;
    assert_eq!(Packet::decode(&bytes).err(), Some(Fault::FutureVersion));
}

#[test]
fn a_datagram_that_ends_too_early_is_truncated() {
    let (bytes, _) = vector!("feed_orders");
    for length in 0..bytes.len() {
        assert_eq!(messages(&bytes[..length]), Err(Fault::Truncated), "{length} bytes");
    }
    let mut longer = bytes.to_vec();
    longer.push(0);
    let mut messages = Packet::decode(&longer).unwrap().messages();
    assert_eq!(messages.by_ref().take(6).filter(Result::is_ok).count(), 6);
    assert_eq!(messages.next(), Some(Err(Fault::TrailingBytes)));
    assert_eq!(messages.next(), None);
}

/// Each field that can be wrong by itself: its offset, its value, and the expected fault.
#[test]
fn each_wrong_field_has_its_fault() {
    let (bytes, _) = vector!("feed_orders");
    let first = PACKET_HEADER_BYTES;
    let price = i64::to_le_bytes;
    let lots = u64::to_le_bytes;
    for (at, value, fault) in [
        (2, [9, 9].as_slice(), Fault::Garbage),
        (4, &[0, 0], Fault::Garbage),
        (0, &[47, 0], Fault::ShortBlock),
        (0, &[255, 255], Fault::Truncated),
        (16, &(SEQUENCE_MAX + 1).to_le_bytes(), Fault::BadValue),
        (50, &[1, 0], Fault::BadValue),
        (54, &[2], Fault::BadValue),
        (55, &[3], Fault::BadValue),
        (first, &[26, 0], Fault::ShortBlock),
        (first, &[255, 255], Fault::Truncated),
        (first + 4, &[0, 0], Fault::Garbage),
        (first + 16, &price(0), Fault::BadValue),
        (first + 16, &price(-1), Fault::BadValue),
        (first + 16, &price(PRICE_TICKS_MAX + 1), Fault::BadValue),
        (first + 24, &lots(0), Fault::BadValue),
        (first + 24, &lots(QUANTITY_LOTS_MAX + 1), Fault::BadValue),
        (first + 34, &[2], Fault::BadValue),
        (bytes.len() - 1, &[3], Fault::BadValue),
    ] {
        let mut wrong = bytes.to_vec();
        wrong[at..at + value.len()].copy_from_slice(value);
        assert_eq!(messages(&wrong), Err(fault), "{value:?} at {at}");
    }
    let mut wrong = vector!("feed_levels").0.to_vec();
    let orders_at = wrong.len() - (8 + 3) - 7;
    wrong[orders_at] = 1;
    assert_eq!(messages(&wrong), Err(Fault::BadValue), "orders without lots");
}

#[test]
fn only_the_published_stamp_is_patched() {
    let (bytes, _) = vector!("feed_orders");
    let mut patched = bytes.to_vec();
    patch_published(&mut patched, u64::MAX - 7);
    let header = *Packet::decode(&patched).unwrap().header();
    assert_eq!(header.published_ns, u64::MAX - 7);
    let as_before = PacketHeader {
        published_ns: Packet::decode(bytes).unwrap().header().published_ns,
        ..header
    };
    assert_eq!(encoded(&as_before, &messages(&patched).unwrap()), bytes);
    patch_published(&mut patched[..PACKET_HEADER_BYTES - 1], 0);
    assert_eq!(Packet::decode(&patched).unwrap().header().published_ns, u64::MAX - 7);
}

#[test]
fn what_does_not_fit_is_not_written() {
    let (bytes, _) = vector!("feed_orders");
    let header = *Packet::decode(bytes).unwrap().header();
    let mut into = vec![0; bytes.len()];
    let messages = messages(bytes).unwrap();
    assert_eq!(encode_packet(&mut into[1..], &header, &messages), None);
    assert_eq!(into, vec![0; bytes.len()]);
    assert_eq!(encode_packet(&mut into, &header, &messages), Some(bytes.len()));
}

fn any_side() -> impl Strategy<Value = Side> {
    prop_oneof![Just(Side::Buy), Just(Side::Sell)]
}

fn any_message() -> impl Strategy<Value = FeedMessage> {
    let price = 1..=PRICE_TICKS_MAX;
    let lots = 1..=QUANTITY_LOTS_MAX;
    let states = [InstrumentState::Open, InstrumentState::Halted, InstrumentState::Closed];
    prop_oneof![
        (any::<u16>(), any::<u64>(), any_side(), price.clone(), lots.clone()).prop_map(
            |(instrument, order_id, side, price_ticks, quantity_lots)| FeedMessage::OrderAdded {
                instrument,
                order_id,
                side,
                price_ticks,
                quantity_lots
            }
        ),
        (any::<u16>(), any::<u64>(), lots.clone()).prop_map(
            |(instrument, order_id, quantity_lots)| FeedMessage::OrderReduced {
                instrument,
                order_id,
                quantity_lots
            }
        ),
        (any::<u16>(), any::<u64>())
            .prop_map(|(instrument, order_id)| FeedMessage::OrderDeleted { instrument, order_id }),
        (any::<u16>(), any::<u64>(), any::<u64>(), any_side(), price.clone(), lots).prop_map(
            |(instrument, trade_id, order_id, aggressor_side, price_ticks, quantity_lots)| {
                FeedMessage::Trade {
                    instrument,
                    trade_id,
                    order_id,
                    aggressor_side,
                    price_ticks,
                    quantity_lots,
                }
            }
        ),
        (any::<u16>(), any_side(), price, any::<u64>(), 1..u32::MAX).prop_map(
            |(instrument, side, price_ticks, quantity_lots, orders)| FeedMessage::Level {
                instrument,
                side,
                price_ticks,
                quantity_lots,
                orders: if quantity_lots == 0 { 0 } else { orders },
            }
        ),
        (any::<u16>(), prop::sample::select(states.to_vec()))
            .prop_map(|(instrument, state)| FeedMessage::State { instrument, state }),
        (
            any::<u16>(),
            any::<[u8; 32]>(),
            any::<(i64, i8)>(),
            any::<(i64, i8)>(),
            any::<(u32, u64)>()
        )
            .prop_map(|(instrument, code, tick, lot, (entries, book_hash))| {
                FeedMessage::Definition { instrument, code, tick, lot, entries, book_hash }
            }),
    ]
}

fn any_header() -> impl Strategy<Value = PacketHeader> {
    let channels = vec![Channel::Orders, Channel::Levels];
    let kinds = vec![PacketKind::Live, PacketKind::Replay, PacketKind::Snapshot];
    let numbers = (any::<u64>(), 0..=SEQUENCE_MAX, any::<(u64, u64, u64)>());
    let parts = (any::<u16>(), 1_u16..);
    (numbers, parts, prop::sample::select(channels), prop::sample::select(kinds)).prop_map(
        |((session, sequence, stamps), (part, parts), channel, kind)| PacketHeader {
            session,
            sequence,
            count: 0,
            part: part % parts,
            parts,
            channel,
            kind,
            intended_ns: stamps.0,
            acknowledged_ns: stamps.1,
            published_ns: stamps.2,
        },
    )
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        header in any_header(),
        sent in prop::collection::vec(any_message(), 0..40),
    ) {
        let header = PacketHeader { count: sent.len() as u16, ..header };
        let bytes = encoded(&header, &sent);
        let packet = Packet::decode(&bytes).unwrap();
        prop_assert_eq!(packet.header(), &header);
        prop_assert_eq!(messages(&bytes), Ok(sent));
    }

    #[test]
    fn any_bytes_are_read_or_rejected(
        mut bytes in prop::collection::vec(any::<u8>(), 0..300),
        is_near in any::<bool>(),
    ) {
        // Mostly bytes that pass the first checks.
        if is_near && bytes.len() >= 8 {
            bytes[..8].copy_from_slice(&vector!("feed_orders").0[..8]);
        }
        if let Ok(packet) = Packet::decode(&bytes) {
            prop_assert!(packet.messages().count() <= usize::from(packet.header().count) + 1);
        }
    }

    /// With one flipped bit, the datagram is rejected, or its values are valid. Nothing panics or
    /// loops.
    #[test]
    fn any_bit_may_flip(at in any::<usize>(), bit in 0..8_u32) {
        for (golden, _) in [vector!("feed_orders"), vector!("feed_levels"), vector!("feed_snapshot")] {
            let mut bytes = golden.to_vec();
            let at = at % bytes.len();
            bytes[at] ^= 1_u8 << bit;
            if let Ok(packet) = Packet::decode(&bytes) {
                prop_assert!(packet.messages().count() <= usize::from(packet.header().count) + 1);
            }
        }
    }
}
