//! A queue against a vector: lengths, blocks, readers that come and go, retention, writers that
//! follow each other.

use std::path::Path;

use measure::random::SplitMix64;
use proptest::prelude::*;
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

/// A record that says which it is: any two differ, in length too.
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
    NextWriter { block_pages: usize, checked: bool, ahead: Ahead },
}

fn step() -> impl Strategy<Value = Step> {
    let length = prop_oneof![6 => 0..300_usize, 2 => 4000..6000_usize, 1 => 15_000..16_113_usize];
    let ahead = prop_oneof![Just(Ahead::Caller), Just(Ahead::Thread)];
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

/// A reader and what it must be given next.
struct Follower {
    reader: Reader,
    next: u64,
}

impl Follower {
    /// Reads as `Reader::read` promises: in order, whole, and with what is missed said.
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
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Readers come, read, fall behind and go; writers follow each other with other blocks.
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
                    let reader = Reader::open(place.path(), start, Ahead::Caller).unwrap();
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
