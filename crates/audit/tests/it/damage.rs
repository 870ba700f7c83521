//! A reader returns the written records, or the right fault: a torn tail is not damage, and damage
//! is not a torn tail.

use crate::properties::{any_bytes, log, read};
use audit::{HEADER_BYTES, LogTail, RECORD_BYTES, ReadError, Reader, Record};
use proptest::prelude::*;

#[test]
fn a_whole_log_is_read_to_its_end() {
    let (bytes, records) = log(5, true);
    assert_eq!(read(&bytes).unwrap(), (records, LogTail::Finished));
    let (bytes, records) = log(5, false);
    assert_eq!(read(&bytes).unwrap(), (records, LogTail::Unfinished));
    let (bytes, _) = log(0, false);
    assert_eq!(read(&bytes).unwrap(), (Vec::new(), LogTail::Unfinished));
}

/// Like a killed writer, or a full disk.
#[test]
fn cut_anywhere_it_is_a_beginning_and_a_torn_tail() {
    let (bytes, records) = log(4, true);
    for length in 0..bytes.len() {
        let Some(behind) = length.checked_sub(HEADER_BYTES) else {
            assert!(matches!(read(&bytes[..length]), Err(ReadError::Foreign(_))), "{length}");
            continue;
        };
        let (whole, rest) = (behind / RECORD_BYTES, behind % RECORD_BYTES);
        let tail =
            if rest == 0 { LogTail::Unfinished } else { LogTail::Torn { bytes: rest as u64 } };
        assert_eq!(read(&bytes[..length]).unwrap(), (records[..whole].to_vec(), tail), "{length}");
    }
}

#[test]
fn a_byte_that_was_changed_is_damage() {
    let (bytes, _) = log(4, true);
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 0x10;
        let found = read(&changed);
        let number = at.checked_sub(HEADER_BYTES).map(|behind| behind / RECORD_BYTES);
        match (number, found) {
            (None, Err(ReadError::Foreign(_) | ReadError::Version { .. })) => {}
            (Some(number), Err(ReadError::Damaged { number: told, .. })) => {
                assert_eq!(told, number as u64);
            }
            (_, found) => panic!("byte {at}: {found:?}"),
        }
    }
}

#[test]
fn records_that_are_missing_or_doubled_or_exchanged_are_damage() {
    let (bytes, _) = log(6, true);
    let at = |number: usize| HEADER_BYTES + number * RECORD_BYTES;
    let record = |number: usize| &bytes[at(number)..at(number + 1)];
    let missing = [&bytes[..at(2)], &bytes[at(3)..]].concat();
    let doubled = [&bytes[..at(3)], &bytes[at(2)..]].concat();
    let exchanged = [&bytes[..at(2)], record(3), record(2), &bytes[at(4)..]].concat();
    let zeroed = [&bytes[..at(2)], &[0; 2 * RECORD_BYTES], &bytes[at(4)..]].concat();
    let logs =
        [("missing", missing), ("doubled", doubled), ("exchanged", exchanged), ("zeroed", zeroed)];
    for (what, log) in logs {
        let Err(ReadError::Damaged { number, .. }) = read(&log) else { panic!("{what}") };
        assert_eq!(number, if what == "doubled" { 3 } else { 2 }, "{what}");
    }
}

/// A failed machine leaves unwritten pages after written ones.
#[test]
fn zeros_to_the_end_are_a_torn_tail() {
    let (bytes, records) = log(4, false);
    for zeros in [64, 100, 4096] {
        let longer = [&bytes[..], &vec![0; zeros]].concat();
        let tail = LogTail::Torn { bytes: zeros as u64 };
        assert_eq!(read(&longer).unwrap(), (records.clone(), tail), "{zeros}");
        let ends_in_something = [&longer[..], &[1]].concat();
        assert!(matches!(read(&ends_in_something), Err(ReadError::Damaged { number: 4, .. })));
    }
}

#[test]
fn what_stands_behind_the_end_is_damage() {
    let (bytes, _) = log(3, true);
    let longer = [&bytes[..], &[0]].concat();
    assert!(matches!(read(&longer), Err(ReadError::Damaged { number: 3, .. })));
    let (bytes, _) = log(3, false);
    let other = Record::End { records: 7, lost: 0, clock_ns: 0 }.to_bytes(3);
    let longer = [&bytes[..], &other].concat();
    assert!(matches!(read(&longer), Err(ReadError::Damaged { number: 3, .. })));
}

#[test]
fn another_version_and_another_file_are_rejected_by_name() {
    let (mut bytes, _) = log(1, true);
    bytes[8] = 3;
    let error = read(&bytes).unwrap_err();
    assert_eq!(error.to_string().matches("version 3").count(), 1, "{error}");
    let error = Reader::new(&b"{}"[..]).err().unwrap();
    assert!(error.to_string().contains("not an audit log"), "{error}");
}

/// Version 1 had the same records, except for sessions.
#[test]
fn a_log_of_the_first_version_is_read() {
    let (mut bytes, records) = log(3, true);
    bytes[8] = 1;
    let check = crc32c::crc32c_append(crc32c::crc32c(&bytes[..16]), &bytes[20..HEADER_BYTES]);
    bytes[16..20].copy_from_slice(&check.to_le_bytes());
    assert_eq!(read(&bytes).unwrap(), (records, LogTail::Finished));
}

proptest! {
    #[test]
    fn no_bytes_break_the_reader(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        any_bytes(&bytes);
    }

    /// Any part of a log is overwritten.
    #[test]
    fn what_is_read_is_a_beginning_of_what_was_written(
        count in 0_u64..20, finished: bool, at: prop::sample::Index, patch in proptest::collection::vec(any::<u8>(), 1..200),
    ) {
        let (mut bytes, records) = log(count, finished);
        let at = at.index(bytes.len());
        let end = bytes.len().min(at + patch.len());
        bytes[at..end].copy_from_slice(&patch[..end - at]);
        if let Ok((read, _)) = read(&bytes) {
            prop_assert!(records.starts_with(&read));
        }
    }
}
