//! Segments that were cut, torn and changed at every position.

use engine::{Cancel, Command, EngineLimits};
use proptest::prelude::*;

use super::*;
use crate::file::record::encode;

const FIRST: u64 = 1000;
const CAPACITY: u64 = 40;
const SECTOR: usize = 512;

fn input(sequence: u64) -> Input {
    let cancel = Cancel { order_id: sequence, account: 7, tag: 8, instrument: 9 };
    Input { time_ns: sequence * 1_000_003, command: Command::Cancel(cancel) }
}

/// A segment of records written in groups of these sizes, each durable before the next.
fn segment(groups: &[u64]) -> Vec<u8> {
    let identity = Identity { instruments: 1, limits: EngineLimits::matching_only(1, 1) };
    let kind = FileKind::Segment;
    let header = Header { kind, log: 5, sequence: FIRST, records: CAPACITY, identity };
    let mut bytes = header.encode().to_vec();
    let mut sequence = FIRST;
    for group in groups {
        let durable = sequence;
        for _ in 0..*group {
            bytes.extend(encode(sequence, durable, &input(sequence).to_bytes()));
            sequence += 1;
        }
    }
    bytes.resize(HEADER_BYTES + CAPACITY as usize * RECORD_BYTES, 0);
    bytes
}

/// Offset of the record of input `FIRST + number`.
fn at(number: usize) -> usize {
    HEADER_BYTES + number * RECORD_BYTES
}

/// Number of inputs, each checked, and the offset at which the final zeros begin.
fn scan(bytes: &[u8]) -> Result<(u64, u64), JournalError> {
    let mut reader = Reader::new(bytes, Path::new("segment"), None)?;
    let mut count = 0;
    while let Some(found) = reader.next_content()? {
        assert_eq!(found, Content::Input(input(FIRST + count)));
        count += 1;
    }
    Ok((count, reader.judge()?))
}

#[track_caller]
fn rejected(bytes: &[u8], number: u64, expected: &str) {
    match scan(bytes) {
        Err(JournalError::Damaged { sequence, byte, what, .. }) => {
            assert_eq!(sequence, FIRST + number, "{what}");
            assert_eq!(byte, at(number as usize) as u64);
            assert!(what.contains(expected), "{what}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_segment_is_read_to_its_clean_end() {
    let bytes = segment(&[3, 4]);
    assert_eq!(scan(&bytes).unwrap(), (7, at(7) as u64));
    let full = segment(&[CAPACITY]);
    assert_eq!(scan(&full).unwrap(), (CAPACITY, full.len() as u64));
    assert_eq!(scan(&segment(&[])).unwrap().0, 0);
}

#[test]
fn cut_off_at_every_byte_it_ends_with_the_last_whole_record() {
    let bytes = segment(&[2, 1, 3]);
    for length in HEADER_BYTES..bytes.len() {
        let (count, dirty_end) = scan(&bytes[..length]).unwrap();
        let whole = ((length - HEADER_BYTES) / RECORD_BYTES).min(6);
        assert_eq!(count, whole as u64, "{length}");
        // The incomplete record ends with the file, except for its own zeros.
        let last = bytes[..length].iter().rposition(|byte| *byte != 0).unwrap() as u64 + 1;
        assert_eq!(dirty_end, last.max(at(whole) as u64), "{length}");
    }
    for length in 0..HEADER_BYTES {
        assert!(scan(&bytes[..length]).unwrap_err().is_damage(), "{length}");
    }
}

#[test]
fn every_bit_of_the_last_record_is_cut_with_it() {
    let bytes = segment(&[2, 1, 3]);
    for bit in at(5) * 8..at(6) * 8 {
        let mut changed = bytes.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        let (count, dirty_end) = scan(&changed).unwrap();
        assert_eq!(count, 5, "bit {bit}");
        assert_eq!(dirty_end, at(6) as u64);
    }
    // After it, as if a write had begun.
    for bit in at(6) * 8..at(8) * 8 {
        let mut changed = bytes.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        let (count, dirty_end) = scan(&changed).unwrap();
        assert_eq!((count, dirty_end), (6, bit as u64 / 8 + 1));
    }
}

#[test]
fn every_bit_of_a_record_before_is_damage() {
    let bytes = segment(&[2, 1, 3]);
    for number in 0..5 {
        for bit in at(number) * 8..at(number + 1) * 8 {
            let mut changed = bytes.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            // The next record begins a group, or it is of the same group; then no sector is
            // missing.
            let expected = if [1, 2].contains(&number) {
                "it was durable"
            } else {
                "without a missing sector"
            };
            rejected(&changed, number as u64, expected);
        }
    }
}

/// After a power failure, any sectors of the last group may be missing, but none of earlier groups.
#[test]
fn a_sector_that_is_missing_is_a_torn_tail_only_in_the_last_group() {
    let groups = [7, 26];
    let bytes = segment(&groups);
    let sectors = at(33).div_ceil(SECTOR);
    for missing in 0_u32..1 << (sectors - 1) {
        // Too many to try all: patterns of few sectors, and some of many.
        if missing.count_ones() > 2 && !missing.is_multiple_of(31) {
            continue;
        }
        let mut torn = bytes.clone();
        for sector in 1..sectors {
            if missing >> (sector - 1) & 1 == 1 {
                let (from, to) = (sector * SECTOR, ((sector + 1) * SECTOR).min(bytes.len()));
                // The content before the group was written.
                let before = segment(&groups[..1]);
                torn[from..to].copy_from_slice(&before[from..to]);
            }
        }
        let whole = (7..33).take_while(|number| {
            torn[at(*number)..at(number + 1)] == bytes[at(*number)..at(number + 1)]
        });
        assert_eq!(scan(&torn).unwrap().0, 7 + whole.count() as u64, "{missing:b}");
    }
    let mut lost = bytes.clone();
    lost[SECTOR..2 * SECTOR].fill(0);
    rejected(&lost, 4, "it was durable");
}

#[test]
fn a_whole_record_of_another_place_is_damage() {
    let bytes = segment(&[6]);
    let mut moved = bytes.clone();
    moved.copy_within(at(2)..at(3), at(5));
    rejected(&moved, 5, "record of input 1002");
    let mut moved = bytes.clone();
    moved.copy_within(at(2)..at(3), at(8));
    rejected(&moved, 6, "the record of input 1002 is in the place of 1008");
}

#[test]
fn what_this_version_cannot_read_is_never_cut() {
    let mut bytes = segment(&[3]);
    let mut unknown = input(FIRST + 2).to_bytes();
    unknown[8] = 200;
    bytes[at(2)..at(3)].copy_from_slice(&encode(FIRST + 2, FIRST, &unknown));
    let error = scan(&bytes).unwrap_err();
    assert!(matches!(error, JournalError::Unreadable { sequence: 1002, .. }), "{error}");
}

proptest! {
    /// For any groups and any changes after a byte, the inputs before it are read, or the segment
    /// is rejected.
    #[test]
    fn no_change_gives_another_input(
        groups in proptest::collection::vec(1_u64..6, 0..6),
        changes in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 0..4),
        zeros in proptest::option::of((any::<proptest::sample::Index>(), 1_usize..3000)),
        length in any::<proptest::sample::Index>(),
        is_cut in any::<bool>(),
    ) {
        let mut bytes = segment(&groups);
        let body = bytes.len() - HEADER_BYTES;
        let written = groups.iter().sum();
        let whole = bytes.clone();
        if let Some((from, count)) = zeros {
            let from = HEADER_BYTES + from.index(body);
            let to = (from + count).min(bytes.len());
            bytes[from..to].fill(0);
        }
        for (place, byte) in changes {
            bytes[HEADER_BYTES + place.index(body)] = byte;
        }
        if is_cut {
            bytes.truncate(HEADER_BYTES + length.index(body + 1));
        }
        // `scan` checks each input.
        if let Ok((count, dirty_end)) = scan(&bytes) {
            prop_assert!(count <= written);
            prop_assert!(bytes[dirty_end as usize..].iter().all(|byte| *byte == 0));
            prop_assert!(bytes[..at(count as usize)] == whole[..at(count as usize)]);
        }
    }
}
