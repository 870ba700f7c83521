//! Compares a queue with a vector: lengths, blocks, readers that come and go, retention, successive
//! writers.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use clock::Deadline;
use clock::random::SplitMix64;
use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::wait::Wait;

const SMALL: Options = Options {
    block_bytes: BLOCK_BYTES_MIN,
    keep_blocks: 1000,
    checked: true,
    ahead: BlockMaker::Caller,
    may_sleep: false,
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
    let mut reader = Reader::open(place, start, BlockMaker::Caller).unwrap();
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
    let mut early = Reader::open(place.path(), Start::Newest, BlockMaker::Caller).unwrap();
    assert_eq!(read(&mut early, 10).unwrap(), []);
    for text in ["", "one", "two"] {
        writer.append(text.as_bytes()).unwrap();
    }
    assert_eq!(writer.append_batch([b"three".as_slice(), b"four"]).unwrap(), 2);
    let mut late = Reader::open(place.path(), Start::Newest, BlockMaker::Caller).unwrap();
    assert_eq!(writer.append(b"five").unwrap(), 5);

    assert_eq!(read(&mut early, 1).unwrap(), [(0, b"".to_vec())]);
    assert_eq!(read(&mut early, 2).unwrap(), [(1, b"one".to_vec()), (2, b"two".to_vec())]);
    assert_eq!(read(&mut late, 9).unwrap(), [(5, b"five".to_vec())]);
    assert_eq!(read_all(place.path(), Start::Oldest).len(), 6);
    assert_eq!(read_all(place.path(), Start::At(4))[0], (4, b"four".to_vec()));
    assert_eq!(read_all(place.path(), Start::At(6)), []);
    let too_early = Reader::open(place.path(), Start::At(7), BlockMaker::Caller);
    assert!(matches!(too_early, Err(QueueError::NotYet { sequence: 7, next: 6 })));
}

/// A record unique to its sequence: any two differ, in length too.
fn record(sequence: u64, length: usize) -> Vec<u8> {
    let mut random = SplitMix64::new(sequence);
    (0..length).map(|_| random.bits() as u8).collect()
}

#[derive(Clone, Debug)]
enum Step {
    Append { lengths: Vec<usize> },
    Read { reader: usize, max: usize },
    Come { start: u8, place: prop::sample::Index },
    Go { reader: usize },
    PrepareWriter,
    PrepareReader { reader: usize },
    NextWriter { block_pages: usize, checked: bool, ahead: BlockMaker },
}

fn step() -> impl Strategy<Value = Step> {
    let length = prop_oneof![6 => 0..300_usize, 2 => 4000..6000_usize, 1 => 15_000..16_113_usize];
    let ahead = prop_oneof![Just(BlockMaker::Caller), Just(BlockMaker::Thread)];
    prop_oneof![
        8 => prop::collection::vec(length, 1..12).prop_map(|lengths| Step::Append { lengths }),
        8 => (0..4_usize, 1..20_usize).prop_map(|(reader, max)| Step::Read { reader, max }),
        2 => (0..3_u8, any::<prop::sample::Index>())
            .prop_map(|(start, place)| Step::Come { start, place }),
        1 => (0..4_usize).prop_map(|reader| Step::Go { reader }),
        2 => Just(Step::PrepareWriter),
        1 => (0..4_usize).prop_map(|reader| Step::PrepareReader { reader }),
        1 => (4..9_usize, any::<bool>(), ahead)
            .prop_map(|(block_pages, checked, ahead)| Step::NextWriter { block_pages, checked, ahead }),
    ]
}

/// A reader and its expected next record.
struct Follower {
    reader: Reader,
    next: u64,
}

impl Follower {
    /// Reads as `Reader::read` promises: in order, complete, with missed records reported.
    fn read(&mut self, max: usize, model: &[Vec<u8>]) -> Result<(), TestCaseError> {
        match read(&mut self.reader, max) {
            Ok(records) => {
                let is_end = self.next as usize == model.len();
                prop_assert_eq!(records.is_empty(), is_end);
                for (sequence, bytes) in records {
                    prop_assert_eq!(sequence, self.next);
                    prop_assert!(bytes == model[sequence as usize]);
                    self.next += 1;
                }
            }
            Err(QueueError::FellBehind { missed }) => {
                prop_assert_eq!(missed.start, self.next);
                prop_assert!(missed.end > missed.start && missed.end <= model.len() as u64);
                self.next = missed.end;
            }
            Err(error) => prop_assert!(false, "{error}"),
        }
        prop_assert_eq!(self.reader.next_sequence(), self.next);
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testing::cases(96)))]

    /// Readers start, read, fall behind and stop; writers with other blocks follow each other.
    #[test]
    fn a_queue_is_a_vector_of_which_the_newest_is_kept(
        keep_blocks in 1..4_usize,
        steps in prop::collection::vec(step(), 1..60),
    ) {
        let place = queue();
        let mut options = Options { keep_blocks, ..SMALL };
        let mut writer = Writer::open(place.path(), options).unwrap();
        let mut model: Vec<Vec<u8>> = Vec::new();
        let mut followers: Vec<Follower> = Vec::new();
        for step in steps {
            match step {
                Step::Append { lengths } => for length in lengths {
                    let bytes = record(model.len() as u64, length);
                    prop_assert_eq!(writer.append(&bytes).unwrap(), model.len() as u64);
                    model.push(bytes);
                },
                Step::Read { reader, max } => {
                    if let Some(follower) = followers.get_mut(reader) {
                        follower.read(max, &model)?;
                    }
                }
                Step::Come { start, place: at } => if followers.len() < 4 {
                    let (start, next) = match start {
                        0 => (Start::Oldest, None),
                        1 => (Start::Newest, Some(model.len() as u64)),
                        _ => {
                            let sequence = at.index(model.len() + 1) as u64;
                            (Start::At(sequence), Some(sequence))
                        }
                    };
                    let reader = Reader::open(place.path(), start, BlockMaker::Caller).unwrap();
                    let next = next.unwrap_or(reader.next_sequence());
                    followers.push(Follower { reader, next });
                },
                Step::Go { reader } => if reader < followers.len() {
                    followers.remove(reader);
                },
                Step::PrepareWriter => drop(writer.prepare_next().unwrap()),
                Step::PrepareReader { reader } => {
                    if let Some(follower) = followers.get_mut(reader) {
                        follower.reader.prepare_next().unwrap();
                    }
                }
                Step::NextWriter { block_pages, checked, ahead } => {
                    drop(writer);
                    options = Options { block_bytes: block_pages << 12, checked, ahead, ..options };
                    writer = Writer::open(place.path(), options).unwrap();
                    prop_assert_eq!(writer.next_sequence(), model.len() as u64);
                    prop_assert_eq!(writer.wiped_bytes(), 0);
                }
            }
        }
        for follower in &mut followers {
            while follower.next < model.len() as u64 {
                follower.read(usize::MAX, &model)?;
            }
            follower.read(1, &model)?;
        }
    }
}

/// Names of the existing blocks.
fn blocks(place: &Path) -> Vec<String> {
    let names = std::fs::read_dir(place).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
    names.sort_unstable();
    names
}

#[test]
fn the_newest_blocks_are_kept_and_what_is_missed_is_said_exactly() {
    let place = queue();
    let mut writer = Writer::open(place.path(), Options { keep_blocks: 2, ..SMALL }).unwrap();
    // A block of four pages has room for three of these records.
    let append = |writer: &mut Writer, records| {
        for _ in 0..records {
            let bytes = record(writer.next_sequence(), 5000);
            writer.append(&bytes).unwrap();
        }
    };
    append(&mut writer, 1);
    let mut reader = Reader::open(place.path(), Start::Oldest, BlockMaker::Caller).unwrap();
    let mut from_start = Reader::open(place.path(), Start::At(0), BlockMaker::Caller).unwrap();
    assert_eq!(read(&mut reader, 1).unwrap()[0].0, 0);
    append(&mut writer, 18);
    // The blocks begin with 0, 3, 6, 9, 12, 15, 18. When 6 was made, 5 was in use, and 4 was kept.
    assert_eq!(blocks(place.path()), ["00000004.block", "00000005.block", "00000006.block"]);
    writer.prepare_next().unwrap();
    assert_eq!(blocks(place.path()), ["00000005.block", "00000006.block", "00000007.block"]);

    // A reader can read its mapped block to the end.
    let left: Vec<u64> =
        read(&mut reader, 9).unwrap().iter().map(|(sequence, _)| *sequence).collect();
    assert_eq!(left, [1, 2]);
    let error = read(&mut reader, 9).unwrap_err();
    assert!(matches!(&error, QueueError::FellBehind { missed } if *missed == (3..15)), "{error}");
    assert!(error.to_string().starts_with("12 records, 3 to 14, were removed"), "{error}");
    let left: Vec<u64> =
        read(&mut reader, 9).unwrap().iter().map(|(sequence, _)| *sequence).collect();
    assert_eq!(left, [15, 16, 17]);
    assert_eq!(read(&mut reader, 9).unwrap(), [(18, record(18, 5000))]);
    assert_eq!(read(&mut from_start, 9).unwrap().len(), 3);

    let mut late = Reader::open(place.path(), Start::At(7), BlockMaker::Caller).unwrap();
    let error = read(&mut late, 9).unwrap_err();
    assert!(matches!(&error, QueueError::FellBehind { missed } if *missed == (7..15)), "{error}");
    assert_eq!(read(&mut late, 1).unwrap()[0].0, 15);
}

#[test]
fn values_out_of_range_are_rejected_by_name() {
    let place = queue();
    let wrong = [
        Options { block_bytes: BLOCK_BYTES_MIN - 1, ..SMALL },
        Options { block_bytes: BLOCK_BYTES_MAX + 1, ..SMALL },
        Options { keep_blocks: 0, ..SMALL },
    ];
    for options in wrong {
        let error = Writer::open(place.path(), options).err().unwrap();
        assert!(matches!(error, QueueError::Option { .. }), "{error}");
    }
    let mut writer = Writer::open(place.path(), SMALL).unwrap();
    let most = writer.record_bytes_max();
    let error = writer.append(&vec![1; most + 1]).unwrap_err();
    assert!(matches!(error, QueueError::RecordTooLong { most: 16_112, .. }), "{error}");
    assert_eq!(most, 16_112);
    // The longest record fills a block up to its end mark.
    for sequence in 0..3 {
        assert_eq!(writer.append(&record(sequence, most)).unwrap(), sequence);
    }
    let records = read_all(place.path(), Start::Oldest);
    assert_eq!(records, [0, 1, 2].map(|sequence| (sequence, record(sequence, most))));
}

#[test]
fn a_second_writer_is_rejected_while_the_first_lives() {
    let place = queue();
    let writer = Writer::open(place.path(), SMALL).unwrap();
    let error = Writer::open(place.path(), SMALL).err().unwrap();
    assert!(matches!(error, QueueError::SecondWriter(_)), "{error}");
    drop(writer);
    Writer::open(place.path(), SMALL).unwrap();
}

/// Prepared blocks are ready in time; others are counted as late.
#[test]
fn a_block_is_late_only_if_nobody_prepared_it() {
    let place = queue();
    let bytes = [1; 5000];
    let mut writer = Writer::open(place.path(), SMALL).unwrap();
    let mut reader = Reader::open(place.path(), Start::Oldest, BlockMaker::Caller).unwrap();
    assert!(!reader.prepare_next().unwrap(), "the writer has made none yet");
    for _ in 0..3 {
        assert!(writer.prepare_next().unwrap());
    }
    assert!(reader.prepare_next().unwrap());
    for _ in 0..12 {
        writer.append(&bytes).unwrap();
    }
    assert_eq!(writer.blocks_late(), 0);
    writer.append(&bytes).unwrap();
    assert_eq!(writer.blocks_late(), 1);
    while reader.read(5, |_, _| ()).unwrap() > 0 {}
    assert_eq!(reader.next_sequence(), 13);
    assert_eq!(reader.blocks_late(), 3);
    for _ in 0..AHEAD_BLOCKS_MAX {
        assert!(writer.prepare_next().unwrap());
    }
    assert!(!writer.prepare_next().unwrap());
}

/// Threads need no calls; a block requested in time is not late.
#[test]
fn threads_prepare_blocks_by_themselves() {
    let place = queue();
    let options = Options { ahead: BlockMaker::Thread, ..SMALL };
    let mut writer = Writer::open(place.path(), options).unwrap();
    let mut reader = Reader::open(place.path(), Start::Oldest, BlockMaker::Thread).unwrap();
    let deadline = Deadline::after(Duration::from_secs(60));
    let fill = |writer: &mut Writer, reader: &mut Reader| {
        for _ in 0..3 {
            writer.append(&[1; 5000]).unwrap();
        }
        assert_eq!(reader.read(3, |_, _| ()).unwrap(), 3);
    };
    fill(&mut writer, &mut reader);
    for number in 1..20 {
        // The next block exists before it is needed.
        while !place.path().join(format!("{number:08}.block")).exists() {
            assert!(!deadline.left().is_zero(), "block {number} was never made");
            std::thread::yield_now();
        }
        fill(&mut writer, &mut reader);
    }
    let mut records = 0;
    while reader.read(100, |_, _| records += 1).unwrap() > 0 {}
    assert_eq!((records, reader.next_sequence()), (0, 60));
    assert!(!writer.prepare_next().unwrap(), "it is the thread's work");
}

/// A waiting reader gets the records in every way of waiting, also across blocks.
#[test]
fn readers_wait_by_spinning_yielding_or_sleeping() {
    let waits = [Wait::Spin, Wait::SpinThenYield { spins: 10 }, Wait::Futex { spins: 10 }];
    for wait in waits {
        let place = queue();
        let options = Options { may_sleep: true, ..SMALL };
        let mut writer = Writer::open(place.path(), options).unwrap();
        let mut reader = Reader::open(place.path(), Start::Oldest, BlockMaker::Caller).unwrap();
        let patience = Duration::from_millis(1);
        assert_eq!(reader.read_within(wait, patience, 1, |_, _| ()).unwrap(), 0);
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let mut next = 0;
                while next < 200 {
                    let each = |sequence, bytes: &[u8]| {
                        assert_eq!((sequence, bytes), (next, &record(sequence, 700)[..]));
                        next += 1;
                    };
                    let patience = Duration::from_secs(60);
                    assert!(reader.read_within(wait, patience, 3, each).unwrap() > 0);
                }
            });
            for sequence in 0..200 {
                if sequence % 8 == 0 {
                    std::thread::sleep(Duration::from_millis(1));
                }
                writer.append(&record(sequence, 700)).unwrap();
            }
        });
    }
}

/// Read permission is enough to read.
#[test]
fn a_queue_without_permission_to_write_is_read() {
    let place = queue();
    let mut writer = Writer::open(place.path(), SMALL).unwrap();
    writer.append(b"one").unwrap();
    let block = place.path().join("00000000.block");
    std::fs::set_permissions(&block, Permissions::from_mode(0o400)).unwrap();
    assert_eq!(read_all(place.path(), Start::Oldest), [(0, b"one".to_vec())]);
}

/// The next writer removes an incomplete file of a killed writer.
#[test]
fn a_block_that_was_begun_is_removed() {
    let place = queue();
    std::fs::write(place.path().join(".00000000.block.17-0.new"), "").unwrap();
    std::fs::write(place.path().join("notes"), "").unwrap();
    let writer = Writer::open(place.path(), SMALL).unwrap();
    drop(writer);
    assert_eq!(blocks(place.path()), ["00000000.block", "notes"]);
}
