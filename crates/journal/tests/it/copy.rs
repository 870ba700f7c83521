//! A copy of a log, made record by record, opens as a journal with the same state.

use std::path::Path;

use crate::flow::*;
use journal::*;

/// Copies the records from the copy's end up to `to` in groups of this size.
fn copy_to(from: &Path, copy: &mut LogCopy, to: u64, group: u64) {
    let mut tail = Tail::open(from, copy.next_sequence()).unwrap();
    let mut contents = Vec::new();
    while tail.next_sequence() < to {
        contents.clear();
        tail.read(to, group, &mut contents).unwrap();
        for content in contents.as_chunks::<CONTENT_BYTES>().0 {
            copy.append(content).unwrap();
        }
        assert_eq!(copy.commit(&mut |_| true).unwrap(), tail.next_sequence());
    }
}

/// In several parts, over segments of other sizes, with a torn tail in between.
#[test]
fn a_copy_continues_where_it_ended() {
    let (place, copy) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    written(place.path(), MANY);
    let name = LogName::of(place.path()).unwrap().unwrap();
    assert_eq!(LogName::from_bytes(&name.to_bytes()), Some(name));
    let options = Options { segment_bytes: 8 << 10, ..options() };
    for (to, group) in [(0, 1), (100, 7), (411, 500), (MANY, 64)] {
        let mut log = LogCopy::open(copy.path(), name, &options).unwrap();
        copy_to(place.path(), &mut log, to, group);
        assert_eq!(log.watch().durable(), to);
        drop(log);
        assert_replays(copy.path(), to);
        // The next record was being written when the power failed.
        let segments = files(copy.path(), "segment");
        let begun = to / 84 * 84;
        let segment = segments.iter().find(|file| file.ends_with(format!("{begun:020}.segment")));
        let file = std::fs::File::options().write(true).open(segment.unwrap()).unwrap();
        let end = 128 + (to - begun) * RECORD_BYTES as u64;
        std::os::unix::fs::FileExt::write_all_at(&file, &to.to_le_bytes(), end).unwrap();
    }
    // It is a journal like any other.
    let (mut appender, recovered) = open(copy.path(), identity(), options).unwrap();
    assert!(recovered.cut.is_some());
    append_to(&mut appender, MANY + 10);
    appender.close().unwrap();
    assert_replays(copy.path(), MANY + 10);
}

#[test]
fn a_copy_of_another_log_is_rejected() {
    let (place, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    written(place.path(), 10);
    written(other.path(), 10);
    let name = LogName::of(place.path()).unwrap().unwrap();
    let opened = LogCopy::open(other.path(), name, &options());
    assert!(matches!(opened, Err(JournalError::OtherLog(_))));
    let (_appender, _) = open(place.path(), identity(), options()).unwrap();
    let opened = LogCopy::open(place.path(), name, &options());
    assert!(matches!(opened, Err(JournalError::InUse(_))));
}

#[test]
fn a_tail_says_which_record_is_missing_or_damaged() {
    let place = tempfile::tempdir().unwrap();
    written(place.path(), MANY);
    let mut contents = Vec::new();
    let mut read = |from| {
        let mut tail = Tail::open(place.path(), from).unwrap();
        tail.read(MANY, 1, &mut contents)
    };
    assert_eq!(read(0).unwrap(), 1);
    let segments = files(place.path(), "segment");
    let mut bytes = std::fs::read(&segments[1]).unwrap();
    bytes[128 + 40] ^= 1;
    std::fs::write(&segments[1], bytes).unwrap();
    std::fs::remove_file(&segments[0]).unwrap();
    assert!(matches!(read(0), Err(JournalError::Missing { sequence: 0, .. })));
    assert!(matches!(read(SEGMENT), Err(JournalError::Damaged { sequence: SEGMENT, .. })));
    assert_eq!(read(SEGMENT + 1).unwrap(), 1);
}
