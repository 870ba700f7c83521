//! Zeros are skipped, by blocks and by holes, and nothing else is.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;

use engine::{Cancel, Command, EngineLimits, Input};
use proptest::prelude::*;

use super::*;
use crate::error::JournalError;
use crate::file::header::{FileKind, HEADER_BYTES, Header, Identity};
use crate::file::record::{RecordSlot, encode, is_torn, read};
use crate::file::segment::{byte_of, end_of};
use crate::read::segment::{Reader, read_up_to};

const FIRST: u64 = 7;
/// More than a reader's buffer, and many blocks of a file system.
const CAPACITY: u64 = 20_000;

fn header() -> Header {
    let identity = Identity { instruments: 1, limits: EngineLimits::matching_only(1, 1) };
    Header { kind: FileKind::Segment, log: 5, sequence: FIRST, records: CAPACITY, identity }
}

fn record(sequence: u64, durable: u64) -> [u8; RECORD_BYTES] {
    let cancel = Cancel { order_id: sequence, account: 7, tag: 8, instrument: 9 };
    let input = Input { time_ns: sequence, command: Command::Cancel(cancel) };
    encode(sequence, durable, &input.to_bytes())
}

fn at(number: u64) -> u64 {
    byte_of(&header(), FIRST + number)
}

/// A segment with `count` records and room for more, which is a hole, as after `fallocate`.
fn segment(path: &Path, count: u64) -> File {
    let file = File::create_new(path).unwrap();
    let length = byte_of(&header(), end_of(&header()));
    match rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, length) {
        Ok(()) => {}
        Err(_) => file.set_len(length).unwrap(),
    }
    file.write_all_at(&header().encode(), 0).unwrap();
    for number in 0..count {
        file.write_all_at(&record(FIRST + number, FIRST), at(number)).unwrap();
    }
    file
}

/// The number of records and the offset of the final zeros, or what is damaged.
fn judged(path: &Path) -> Result<(u64, u64), String> {
    let mut reader = Reader::open(path, None, FIRST).unwrap();
    let mut count = 0;
    while reader.next_content().unwrap().is_some() {
        count += 1;
    }
    reader.judge().map(|dirty_end| (count, dirty_end)).map_err(what)
}

fn what(error: JournalError) -> String {
    match error {
        JournalError::Damaged { what, .. } => what,
        other => panic!("{other}"),
    }
}

/// The same by looking at each record, as it was done before zeros were skipped.
fn judged_record_by_record(path: &Path) -> Result<(u64, u64), String> {
    let bytes = fs::read(path).unwrap();
    let mut source = &bytes[HEADER_BYTES..];
    let mut place = || {
        let mut bytes = [0; RECORD_BYTES];
        let length = read_up_to(&mut source, &mut bytes).unwrap();
        (bytes, length)
    };
    let mut count = 0;
    let (first, mut length) = loop {
        let (bytes, length) = place();
        match read(&bytes) {
            RecordSlot::Record { sequence, .. } if sequence == FIRST + count => count += 1,
            _ => break (bytes, length),
        }
        if count == CAPACITY {
            return Ok((count, bytes.len() as u64));
        }
    };
    if let RecordSlot::Record { sequence, .. } = read(&first) {
        return Err(format!("it has the record of input {sequence}"));
    }
    let may_be_torn = is_torn(&first, at(count));
    let (mut bytes, mut number, mut dirty_end) = (first, count, at(count));
    loop {
        if let Some(last) = bytes[..length].iter().rposition(|byte| *byte != 0) {
            dirty_end = at(number) + last as u64 + 1;
        }
        number += 1;
        if length < RECORD_BYTES || number == CAPACITY {
            return Ok((count, dirty_end));
        }
        (bytes, length) = place();
        let RecordSlot::Record { sequence, durable, .. } = read(&bytes) else { continue };
        let expected = FIRST + number;
        if sequence != expected {
            return Err(format!(
                "after it, the record of input {sequence} is in the place of {expected}"
            ));
        }
        if durable > FIRST + count {
            return Err(format!(
                "it is incomplete, but it was durable when input {sequence} was written"
            ));
        }
        if !may_be_torn {
            return Err(format!(
                "it is incomplete without a missing sector, and input {sequence} after it is complete"
            ));
        }
    }
}

#[test]
fn a_record_far_after_the_end_is_found_behind_a_hole() {
    let place = tempfile::tempdir().unwrap();
    for number in [11, 500, CAPACITY / 2, CAPACITY - 1] {
        let path = place.path().join(number.to_string());
        let file = segment(&path, 10);
        assert_eq!(judged(&path), Ok((10, at(10))), "clean");
        file.write_all_at(&record(FIRST + number, FIRST + 11), at(number)).unwrap();
        let found = judged(&path).unwrap_err();
        assert!(found.contains("it was durable"), "{number}: {found}");
        // A single bit is the remains of a write, up to which the end is zeroed.
        file.write_all_at(&[0; RECORD_BYTES], at(number)).unwrap();
        file.write_all_at(&[1], at(number) + 40).unwrap();
        assert_eq!(judged(&path), Ok((10, at(number) + 41)), "{number}");
    }
}

#[test]
fn a_hole_is_skipped_up_to_the_record_before_what_is_stored() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("segment");
    let stored = CAPACITY - 100;
    segment(&path, 10).write_all_at(&[1], at(stored)).unwrap();
    let mut source = BufReader::new(File::open(&path).unwrap());
    // Part of a file system's block is stored with the records.
    let from = at(1_000);
    source.seek(SeekFrom::Start(from)).unwrap();
    if rustix::fs::seek(source.get_ref(), rustix::fs::SeekFrom::Data(from)) == Ok(from) {
        return testing::skipped(testing::Need::Kernel, "the file system stores zeros");
    }
    source.seek(SeekFrom::Start(from)).unwrap();
    assert_eq!(skip_hole(&mut source, 3).unwrap(), 3, "not more than asked for");
    let skipped = 3 + skip_hole(&mut source, u64::MAX).unwrap();
    assert_eq!(source.stream_position().unwrap(), from + skipped * RECORD_BYTES as u64);
    let left = at(stored) - source.stream_position().unwrap();
    assert!(skipped > 0 && left <= 64 << 10, "{left} bytes before the stored one");
    assert_eq!(source.fill_buf().unwrap()[..left as usize], vec![0; left as usize]);
    assert_eq!(source.buffer()[left as usize], 1);
    assert_eq!(skip_hole(&mut source, u64::MAX).unwrap(), 0);
    assert_eq!(source.buffer()[left as usize], 1, "the buffer stays good");
}

proptest! {
    /// Holes, stored zeros, records and other bytes in any order: the verdict is that of a look at
    /// each record.
    #[test]
    fn skipping_changes_no_verdict(
        count in 0_u64..300,
        records in proptest::collection::vec((0..CAPACITY, 0..3_u64, any::<bool>()), 0..3),
        bytes in proptest::collection::vec((0..CAPACITY * RECORD_BYTES as u64, any::<u8>()), 0..4),
        zeros in proptest::collection::vec((0..CAPACITY, 0..2_000_u64), 0..4),
    ) {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("segment");
        let file = segment(&path, count);
        for (number, later, is_moved) in records {
            let sequence = FIRST + number + u64::from(is_moved);
            file.write_all_at(&record(sequence, FIRST + count + later), at(number)).unwrap();
        }
        for (byte, value) in bytes {
            file.write_all_at(&[value], HEADER_BYTES as u64 + byte).unwrap();
        }
        for (number, records) in zeros {
            let records = records.min(CAPACITY - number);
            let bytes = vec![0; records as usize * RECORD_BYTES];
            file.write_all_at(&bytes, at(number)).unwrap();
        }
        prop_assert_eq!(judged(&path), judged_record_by_record(&path));
    }

    #[test]
    fn only_leading_zeros_are_counted(length in 0_usize..9_000, at in any::<prop::sample::Index>()) {
        let mut bytes = vec![0; length];
        prop_assert_eq!(zero_records(&bytes), length / RECORD_BYTES);
        if length > 0 {
            let at = at.index(length);
            bytes[at] = 1;
            prop_assert_eq!(zero_records(&bytes), at / RECORD_BYTES);
        }
    }
}
