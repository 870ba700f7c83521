//! Properties of reading any bytes as a segment. The test makes its files from the tables in the
//! documentation alone, and so checks those too.

use std::path::Path;

use engine::{Cancel, Command, Input, NewOrder, Side};
use journal::{JournalError, RECORD_BYTES, SegmentRead, read_segment};

const HEADER_BYTES: usize = 128;
/// Capacity of these segments in records.
const RECORDS: u64 = 24;
const FIRST: u64 = 70;

/// CRC-32C, bit by bit.
fn crc32c(bytes: impl IntoIterator<Item = u8>) -> u32 {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0x82F6_3B78 } else { crc >> 1 };
        }
    }
    !crc
}

/// The examples of RFC 3720, appendix B.4, and the check value of the catalogues. Files with this
/// checksum are read by the crate's, so both are held to them.
#[test]
fn the_checksum_is_that_of_rfc_3720() {
    assert_eq!(crc32c([0; 32]), 0x8A91_36AA);
    assert_eq!(crc32c([0xFF; 32]), 0x62A8_AB43);
    assert_eq!(crc32c(0..32), 0x46DD_794E);
    assert_eq!(crc32c((0..32).rev()), 0x113F_DB5C);
    assert_eq!(crc32c(*b"123456789"), 0xE306_9283);
}

fn mend_header(bytes: &mut [u8]) {
    let rest = bytes[16..HEADER_BYTES].iter();
    let check = crc32c(bytes[..12].iter().chain(rest).copied());
    bytes[12..16].copy_from_slice(&check.to_le_bytes());
}

fn mend_record(bytes: &mut [u8]) {
    let check = crc32c(bytes[..92].iter().copied());
    bytes[92..].copy_from_slice(&check.to_le_bytes());
}

fn header() -> Vec<u8> {
    let mut bytes = b"tpathlog\x01\0\0\0\0\0\0\0".to_vec();
    for word in [5, FIRST, RECORDS] {
        bytes.extend(u64::to_le_bytes(word));
    }
    // The engine: kind 9, 2 instruments, 4 accounts; 100 orders, 10 prices, 3 stops, 2 dates.
    bytes.extend([0; 8]);
    bytes.extend([9, 0, 0, 0, 0, 0, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0]);
    for word in [100, 10, 3, 2] {
        bytes.extend(u64::to_le_bytes(word));
    }
    bytes.resize(HEADER_BYTES, 0);
    mend_header(&mut bytes);
    bytes
}

fn input(sequence: u64) -> Input {
    let cancel = Cancel { order_id: sequence, account: 1, tag: 2, instrument: 0 };
    let order = NewOrder { order_id: sequence, ..NewOrder::limit(Side::Sell, 5, 6) };
    let command =
        if sequence.is_multiple_of(2) { Command::New(order) } else { Command::Cancel(cancel) };
    Input { time_ns: sequence, command }
}

/// Offset of the kind in the content of a record, and the kind of a client id.
const KIND: usize = 8;
const CLIENT_ID: u8 = 128;

/// Every fifth record is a client id.
fn record(sequence: u64, durable: u64) -> Vec<u8> {
    let mut bytes = [sequence.to_le_bytes(), durable.to_le_bytes()].concat();
    let mut content = input(sequence).to_bytes();
    if sequence.is_multiple_of(5) {
        content = [0; 72];
        content[KIND] = CLIENT_ID;
        content[KIND + 1..KIND + 4].copy_from_slice(b"one");
    }
    bytes.extend(content);
    bytes.extend(72_u32.to_le_bytes());
    bytes.extend([0; 4]);
    mend_record(&mut bytes);
    bytes
}

/// A segment of groups of these sizes.
fn whole(groups: &[u8]) -> Vec<u8> {
    let mut bytes = header();
    let (mut sequence, end) = (FIRST, FIRST + RECORDS);
    for group in groups {
        let durable = sequence;
        for _ in 0..u64::from(*group).min(end - sequence) {
            bytes.extend(record(sequence, durable));
            sequence += 1;
        }
    }
    bytes.resize(HEADER_BYTES + RECORDS as usize * RECORD_BYTES, 0);
    bytes
}

fn read(bytes: &[u8]) -> (Result<SegmentRead, JournalError>, Vec<(u64, Input)>) {
    let mut inputs = Vec::new();
    let show = |sequence, input| inputs.push((sequence, input));
    (read_segment(bytes, Path::new("segment"), show), inputs)
}

/// Any bytes can be read to an end, twice with the same result, in order; and a writer can continue
/// after a cut.
fn holds(bytes: &[u8]) {
    let (found, inputs) = read(bytes);
    let (again, same) = read(bytes);
    assert_eq!(format!("{found:?}"), format!("{again:?}"));
    assert_eq!(inputs, same);
    let Ok(found) = found else { return };
    let places = bytes[HEADER_BYTES..].chunks(RECORD_BYTES);
    let mut shown = inputs.iter();
    for (sequence, place) in (found.first_sequence..found.next_sequence).zip(places) {
        if place[16 + KIND] == CLIENT_ID {
            continue;
        }
        let (shown, input) = shown.next().unwrap();
        assert_eq!((*shown, &input.to_bytes()[..]), (sequence, &place[16..88]));
    }
    assert_eq!(shown.next(), None);
    assert!(found.end <= found.dirty_end);
    assert!(found.dirty_end <= (bytes.len() as u64).max(found.end));
    // A writer zeroes the cut bytes.
    let mut cut = bytes.to_vec();
    if let Some(dirty) = cut.get_mut(found.end as usize..) {
        dirty.fill(0);
    }
    let (clean, left) = read(&cut);
    assert_eq!(clean.unwrap(), SegmentRead { dirty_end: found.end, ..found });
    assert_eq!(left, inputs);
}

/// The first byte chooses the meaning of the others: raw bytes; bytes with valid checksums, so that
/// the checks behind them are tested; or changes of a valid segment.
pub fn segment(data: &[u8]) {
    let Some((way, rest)) = data.split_first() else { return };
    match way % 3 {
        0 => holds(rest),
        1 => {
            let mut bytes = rest.to_vec();
            if bytes.len() >= HEADER_BYTES {
                mend_header(&mut bytes);
                bytes[HEADER_BYTES..].chunks_exact_mut(RECORD_BYTES).for_each(mend_record);
            }
            holds(&bytes);
        }
        _ => changed(rest),
    }
}

/// Groups, then changes: offset (2 bytes) and value.
fn changed(data: &[u8]) {
    let (groups, changes) = data.split_at(data.len().min(3));
    let groups: Vec<u8> = groups.iter().map(|group| group % 12).collect();
    let original = whole(&groups);
    let mut bytes = original.clone();
    for change in changes.chunks_exact(3) {
        let place = usize::from(change[0]) << 8 | usize::from(change[1]);
        match change[2] {
            // A cut; a lost sector; a change with a valid checksum.
            0 => bytes.truncate(place),
            1 => {
                let from = place / 512 * 512;
                let to = (from + 512).min(bytes.len());
                bytes.get_mut(from..to).unwrap_or_default().fill(0);
            }
            2 => {
                let from = HEADER_BYTES + place / RECORD_BYTES * RECORD_BYTES;
                if let Some(record) = bytes.get_mut(from..from + RECORD_BYTES) {
                    mend_record(record);
                }
            }
            3 if bytes.len() >= HEADER_BYTES => mend_header(&mut bytes),
            byte => bytes.get_mut(place).into_iter().for_each(|there| *there ^= byte),
        }
    }
    holds(&bytes);
    if bytes == original {
        let (found, inputs) = read(&bytes);
        let written: u64 = groups.iter().map(|group| u64::from(*group)).sum();
        assert_eq!(found.unwrap().next_sequence, FIRST + written.min(RECORDS));
        assert!(inputs.iter().all(|(sequence, found)| *found == input(*sequence)));
    }
}
