use super::*;
use proptest::prelude::*;

/// Records of every kind.
fn records() -> impl Strategy<Value = Record> {
    (any::<[u64; 7]>(), any::<i64>(), any::<u16>(), 0_usize..4, any::<bool>(), 0..9).prop_map(
        |(words, price_ticks, short, choice, yes, kind)| {
            let [a, b, c, d, e, f, g] = words;
            let side = if yes { Side::Sell } else { Side::Buy };
            let action = [Action::New, Action::Cancel, Action::Amend][choice % 3];
            match kind {
                0 => Record::Tick {
                    number: a,
                    kind: KINDS_OF_TICK[choice],
                    messages: short,
                    intended_ns: b,
                    acknowledged_ns: c,
                    published_ns: d,
                    kernel_ns: e,
                    read_ns: f,
                    normalised_ns: g,
                },
                1 => Record::Decision {
                    tick: a,
                    instrument: short,
                    side,
                    decided_ns: b,
                    checked_ns: c,
                    price_ticks,
                    quantity_lots: d,
                    refused: (choice > 0).then_some(short),
                },
                2 => Record::Order {
                    order: a,
                    tick: b,
                    action,
                    instrument: short,
                    side,
                    sent_ns: c,
                    price_ticks,
                    quantity_lots: d,
                },
                3 => Record::Ack {
                    order: a,
                    order_id: b,
                    accepted: yes,
                    replied_ns: c,
                    stamps: [d, e, f, g],
                },
                4 => Record::Fill {
                    order: a,
                    order_id: b,
                    instrument: short,
                    side,
                    read_ns: c,
                    price_ticks,
                    quantity_lots: d,
                    trade_id: e,
                },
                5 => Record::Wall { clock_ns: a, wall_ns: b, bound_ns: c, steps: d },
                6 => Record::Lost { noticed_ns: a, count: b },
                7 => Record::Session { feed: a, run: b },
                _ => Record::End { records: a, lost: b, clock_ns: c },
            }
        },
    )
}

const KINDS_OF_TICK: [TickKind; 4] =
    [TickKind::Live, TickKind::Replay, TickKind::Snapshot, TickKind::Heartbeat];

proptest! {
    #[test]
    fn what_was_written_is_read(record in records(), number: u64) {
        let bytes = record.to_bytes(number);
        prop_assert_eq!(Record::from_bytes(&bytes, number), Some(record));
        prop_assert_eq!(usize::from(bytes[0]), record.kind() + 1);
    }

    /// Also for bytes of another record or another position.
    #[test]
    fn no_bytes_break_it(bytes: [u8; 32], number: u64, other: u64, record in records()) {
        let mut whole = [0; RECORD_BYTES];
        whole[..32].copy_from_slice(&bytes);
        prop_assert_eq!(Record::from_bytes(&whole, number), None);
        let found = Record::from_bytes(&record.to_bytes(number), other);
        prop_assert_eq!(found.is_some(), number == other);
    }

    /// Only the check is right.
    #[test]
    fn what_means_nothing_is_no_record(kind: u8, flags: u8, rest: [u8; 16], number: u64) {
        let mut bytes = [0; RECORD_BYTES];
        (bytes[0], bytes[1]) = (kind, flags);
        bytes[48..].copy_from_slice(&rest);
        let check = check(&bytes, number).to_le_bytes();
        bytes[4..8].copy_from_slice(&check);
        if let Some(record) = Record::from_bytes(&bytes, number) {
            prop_assert_eq!(record.to_bytes(number), bytes);
        }
    }
}

#[test]
fn every_bit_counts() {
    let record = Record::Lost { noticed_ns: 0, count: 0 };
    let bytes = record.to_bytes(0);
    for bit in 0..RECORD_BYTES * 8 {
        let mut changed = bytes;
        changed[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(Record::from_bytes(&changed, 0), None, "bit {bit}");
    }
    assert_eq!(Record::from_bytes(&[0; RECORD_BYTES], 0), None);
}

/// Golden bytes: the layout matches the table, for readers in other languages.
#[test]
fn the_layout_is_the_documented_one() {
    let record = Record::Decision {
        tick: 0x0102,
        instrument: 0x0304,
        side: Side::Sell,
        decided_ns: 5,
        checked_ns: 6,
        price_ticks: -2,
        quantity_lots: 7,
        refused: Some(0),
    };
    let bytes = record.to_bytes(9);
    assert_eq!(bytes[..4], [2, 1, 0x04, 0x03]);
    let words: Vec<u64> =
        bytes[8..].as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
    assert_eq!(words, [0x0102, 5, 6, u64::MAX - 1, 7, 1, 0]);
    let head: Vec<u8> = [&9_u64.to_le_bytes()[..], &bytes[..4], &bytes[8..]].concat();
    assert_eq!(bytes[4..8], crc32c(&head).to_le_bytes());
}

/// One record of every kind, with a different number in every field.
#[test]
fn every_kind_stands_as_the_table_says() {
    let (side, instrument, price_ticks, quantity_lots) = (Side::Sell, 9, -2, 7);
    let (number, intended_ns, acknowledged_ns, published_ns) = (1, 2, 3, 4);
    let (kind, messages, kernel_ns, read_ns, normalised_ns) = (TickKind::Snapshot, 8, 5, 6, 7);
    let records = [
        Record::Tick {
            number,
            kind,
            messages,
            intended_ns,
            acknowledged_ns,
            published_ns,
            kernel_ns,
            read_ns,
            normalised_ns,
        },
        Record::Decision {
            tick: 1,
            instrument,
            side,
            decided_ns: 2,
            checked_ns: 3,
            price_ticks,
            quantity_lots,
            refused: Some(4),
        },
        Record::Order {
            order: 1,
            tick: 2,
            action: Action::Amend,
            instrument,
            side,
            sent_ns: 3,
            price_ticks,
            quantity_lots,
        },
        Record::Ack { order: 1, order_id: 2, accepted: true, replied_ns: 3, stamps: [4, 5, 6, 7] },
        Record::Fill {
            order: 1,
            order_id: 2,
            instrument,
            side,
            read_ns: 3,
            price_ticks,
            quantity_lots,
            trade_id: 8,
        },
        Record::Wall { clock_ns: 1, wall_ns: 2, bound_ns: 3, steps: 4 },
        Record::Lost { noticed_ns: 1, count: 2 },
        Record::End { records: 1, lost: 2, clock_ns: 3 },
        Record::Session { feed: 1, run: 2 },
    ];
    let line = |record: &Record| {
        let bytes = record.to_bytes(0);
        let words = bytes[8..].as_chunks().0.iter().map(|word| i64::from_le_bytes(*word));
        format!("{:?} {:?}", &bytes[..4], words.collect::<Vec<_>>())
    };
    let lines: Vec<String> = records.iter().map(line).collect();
    let expected = [
        "[1, 4, 8, 0] [1, 2, 3, 4, 5, 6, 7]",
        "[2, 1, 9, 0] [1, 2, 3, -2, 7, 5, 0]",
        "[3, 5, 9, 0] [1, 2, 3, -2, 7, 0, 0]",
        "[4, 8, 0, 0] [1, 2, 3, 4, 5, 6, 7]",
        "[5, 1, 9, 0] [1, 2, 3, -2, 7, 8, 0]",
        "[6, 0, 0, 0] [1, 2, 3, 4, 0, 0, 0]",
        "[7, 0, 0, 0] [1, 2, 0, 0, 0, 0, 0]",
        "[8, 0, 0, 0] [1, 2, 3, 0, 0, 0, 0]",
        "[9, 0, 0, 0] [1, 2, 0, 0, 0, 0, 0]",
    ];
    assert_eq!(lines, expected);
}
