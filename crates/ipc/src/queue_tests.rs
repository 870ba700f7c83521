//! A queue against a vector: lengths, blocks, readers that come and go, retention, writers that
//! follow each other.

use std::path::Path;

use tempfile::TempDir;

use super::*;

const SMALL: Options = Options {
    block_bytes: BLOCK_BYTES_MIN,
    keep_blocks: 1000,
    checked: true,
    ahead: Ahead::Caller,
};

fn queue() -> TempDir {
    tempfile::tempdir().unwrap()
}

/// Up to `max` records.
fn read(reader: &mut Reader, max: usize) -> Result<Vec<(u64, Vec<u8>)>, QueueError> {
    let mut records = Vec::new();
    let n = reader.read(max, |sequence, bytes| records.push((sequence, bytes.to_vec())))?;
    assert_eq!(n, records.len());
    Ok(records)
}

fn read_all(place: &Path, start: Start) -> Vec<(u64, Vec<u8>)> {
    let mut reader = Reader::open(place, start, Ahead::Caller).unwrap();
    let mut records = Vec::new();
    loop {
        match read(&mut reader, 7) {
            Ok(more) if more.is_empty() => return records,
            more => records.extend(more.unwrap()),
        }
    }
}

#[test]
fn what_is_appended_is_read_by_everyone_from_where_they_start() {
    let place = queue();
    let mut writer = Writer::open(place.path(), SMALL).unwrap();
    let mut early = Reader::open(place.path(), Start::Newest, Ahead::Caller).unwrap();
    assert_eq!(read(&mut early, 10).unwrap(), []);
    for text in ["", "one", "two"] {
        writer.append(text.as_bytes()).unwrap();
    }
    assert_eq!(writer.append_batch([b"three".as_slice(), b"four"]).unwrap(), 2);
    let mut late = Reader::open(place.path(), Start::Newest, Ahead::Caller).unwrap();
    assert_eq!(writer.append(b"five").unwrap(), 5);

    assert_eq!(read(&mut early, 1).unwrap(), [(0, b"".to_vec())]);
    assert_eq!(read(&mut early, 2).unwrap(), [(1, b"one".to_vec()), (2, b"two".to_vec())]);
    assert_eq!(read(&mut late, 9).unwrap(), [(5, b"five".to_vec())]);
    assert_eq!(read_all(place.path(), Start::Oldest).len(), 6);
    assert_eq!(read_all(place.path(), Start::At(4))[0], (4, b"four".to_vec()));
    assert_eq!(read_all(place.path(), Start::At(6)), []);
    let too_early = Reader::open(place.path(), Start::At(7), Ahead::Caller);
    assert!(matches!(too_early, Err(QueueError::NotYet { sequence: 7, next: 6 })));
}
