//! Files that differ from a writer's: every byte of a block changed, every length cut, blocks
//! missing, renamed and foreign. Never a panic, never a record that was not written.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::*;
use crate::IpcError;

const OPTIONS: Options = Options {
    block_bytes: BLOCK_BYTES_MIN,
    keep_blocks: 1000,
    checked: true,
    ahead: BlockMaker::Caller,
    may_sleep: false,
};

/// Lengths with which the smallest block ends after the last but one. They include remainders of a
/// line and of a word, and an empty record.
const LENGTHS: [usize; 7] = [0, 48, 49, 1000, 8000, 4500, 3000];

fn bytes(sequence: usize) -> Vec<u8> {
    (0..LENGTHS[sequence]).map(|i| (i * 31 + sequence + 1) as u8).collect()
}

/// A queue of two blocks from a writer that ended normally.
struct Undamaged {
    place: TempDir,
    blocks: [Vec<u8>; 2],
}

impl Undamaged {
    fn new(options: Options) -> Undamaged {
        // On tmpfs if possible, because the tests write tens of thousands of files.
        let shared = Path::new("/dev/shm");
        let place =
            if shared.is_dir() { tempfile::tempdir_in(shared) } else { tempfile::tempdir() };
        let place = place.unwrap();
        let mut writer = Writer::open(place.path(), options).unwrap();
        for sequence in 0..LENGTHS.len() {
            writer.append(&bytes(sequence)).unwrap();
        }
        drop(writer);
        let blocks = [0, 1].map(|number| fs::read(file(place.path(), number)).unwrap());
        assert!(!file(place.path(), 2).exists());
        Undamaged { place, blocks }
    }

    fn path(&self) -> &Path {
        self.place.path()
    }

    fn restore(&self) {
        for number in 0..2 {
            fs::write(file(self.path(), number), &self.blocks[number]).unwrap();
        }
        for number in 2..9 {
            let _ = fs::remove_file(file(self.path(), number));
        }
    }

    fn reads(&self) -> (usize, Result<(), QueueError>) {
        let mut reader = match Reader::open(self.path(), Start::Oldest, BlockMaker::Caller) {
            Ok(reader) => reader,
            Err(error) => return (0, Err(error)),
        };
        let mut n = 0;
        loop {
            let check = |sequence: u64, found: &[u8]| {
                assert_eq!(sequence, n as u64);
                assert!(found == bytes(n), "record {n} is not what was written");
                n += 1;
            };
            match reader.read(usize::MAX, check) {
                Ok(0) => return (n, Ok(())),
                Ok(_) => {}
                Err(error) => {
                    // The error repeats, so that a caller can't continue after it.
                    assert!(reader.read(1, |_, _| ()).is_err());
                    return (n, Err(error));
                }
            }
        }
    }
}

fn file(place: &Path, number: usize) -> PathBuf {
    place.join(format!("{number:08}.block"))
}

/// The use of a byte of a block.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Byte {
    /// In the header: a change makes the whole block unreadable.
    Header,
    /// In a mark or a record: this many records before it stay readable.
    Of(usize),
    /// Between records or after the end, where it is never read.
    Between,
    /// In the next record's word: a change looks like one.
    NextWord,
    /// After the last record: the writer zeroes it.
    Free,
    /// In the last line, which can't hold a record.
    LastLine,
}

/// The use of each byte of a block.
fn map(block: usize, blocks: &Undamaged) -> Vec<Byte> {
    let records = if block == 0 { 0..6 } else { 6..7 };
    let mut map = vec![Byte::Header; 128];
    map.extend([Byte::Of(records.start); 16]);
    for sequence in records.clone() {
        map.resize(map.len().next_multiple_of(64), Byte::Between);
        map.resize(map.len() + 16 + LENGTHS[sequence], Byte::Of(sequence));
    }
    map.resize(map.len().next_multiple_of(64), Byte::Between);
    let bytes = blocks.blocks[block].len();
    if block == 0 {
        map.extend([Byte::Of(records.end); 16]);
        map.resize(bytes, Byte::Between);
    } else {
        map.extend([Byte::NextWord; 8]);
        map.resize(bytes - 64, Byte::Free);
        map.resize(bytes, Byte::LastLine);
    }
    map
}

#[test]
fn a_change_of_any_byte_is_noticed_or_changes_nothing() {
    let undamaged = Undamaged::new(OPTIONS);
    for block in 0..2 {
        let path = file(undamaged.path(), block);
        for (place, byte) in map(block, &undamaged).into_iter().enumerate() {
            let mut changed = undamaged.blocks[block].clone();
            changed[place] ^= 1 << (place * 5 % 8);
            fs::write(&path, &changed).unwrap();
            let (n, end) = undamaged.reads();
            let first = if block == 0 { 0 } else { 6 };
            let expected = match byte {
                Byte::Header => first,
                Byte::Of(before) => before,
                _ => 7,
            };
            let is_noticed = matches!(byte, Byte::Header | Byte::Of(_) | Byte::NextWord);
            assert_eq!((n, end.is_err()), (expected, is_noticed), "{byte:?} {place}: {end:?}");

            // A writer only reads the last block, so one byte per line of the other is enough.
            if block == 0 && place % 64 != 0 {
                continue;
            }
            let writer = Writer::open(undamaged.path(), OPTIONS);
            let is_noticed = !matches!(byte, Byte::Between | Byte::Free);
            let is_rejected = block == 1 && is_noticed;
            assert_eq!(writer.is_err(), is_rejected, "{byte:?} {place}: {:?}", writer.err());
            if let Ok(writer) = writer {
                assert_eq!(writer.next_sequence(), 7);
                let wiped = (byte == Byte::Free) as usize * 8;
                assert_eq!(writer.wiped_bytes(), wiped, "{byte:?} {place}");
            }
            undamaged.restore();
        }
        undamaged.restore();
    }
}

#[test]
fn a_block_cut_off_anywhere_is_rejected() {
    let undamaged = Undamaged::new(OPTIONS);
    for block in [1, 0] {
        for length in (0..BLOCK_BYTES_MIN).rev() {
            let path = file(undamaged.path(), block);
            fs::File::options().write(true).open(path).unwrap().set_len(length as u64).unwrap();
            let (n, end) = undamaged.reads();
            assert_eq!(n, if block == 0 { 0 } else { 6 });
            let error = end.unwrap_err();
            let is_clear = matches!(
                error,
                QueueError::Block(IpcError::Length { .. } | IpcError::Foreign { .. })
            );
            assert!(is_clear, "{error}");
            if block == 1 {
                assert!(Writer::open(undamaged.path(), OPTIONS).is_err());
            }
        }
        undamaged.restore();
    }
}

#[test]
fn without_a_check_over_the_bytes_a_change_of_them_is_not_noticed() {
    let undamaged = Undamaged::new(Options { checked: false, ..OPTIONS });
    let map = map(0, &undamaged);
    // A byte in the body of the record with sequence 3.
    let place = map.iter().position(|byte| *byte == Byte::Of(3)).unwrap() + 500;
    let mut changed = undamaged.blocks[0].clone();
    changed[place] ^= 1;
    fs::write(file(undamaged.path(), 0), changed).unwrap();
    let mut reader = Reader::open(undamaged.path(), Start::At(3), BlockMaker::Caller).unwrap();
    let n = reader.read(1, |_, found| assert!(found != bytes(3))).unwrap();
    assert_eq!(n, 1);
}

/// Everything that a killed writer can leave of a record, store by store, in the order of
/// `Block::put`. The next writer finds the same end, and nothing disturbs its records.
#[test]
fn a_record_that_was_begun_leaves_nothing() {
    let undamaged = Undamaged::new(OPTIONS);
    let path = file(undamaged.path(), 1);
    let head = 192 + (16 + LENGTHS[6]).next_multiple_of(64);
    for length in [0, 5, 48, 49, 300] {
        let begun = vec![0xAA; length];
        let order: Vec<usize> = (48.min(length)..length).chain(0..48.min(length)).collect();
        for stored in 0..=length + 1 {
            let mut block = undamaged.blocks[1].clone();
            for byte in &order[..stored.min(length)] {
                block[head + 16 + byte] = begun[*byte];
            }
            if stored > length {
                block[head + 8..head + 16].copy_from_slice(&7_u64.to_ne_bytes());
            }
            fs::write(&path, &block).unwrap();
            let mut follower =
                Reader::open(undamaged.path(), Start::At(7), BlockMaker::Caller).unwrap();
            assert_eq!(follower.read(1, |_, _| ()).unwrap(), 0);

            let mut writer = Writer::open(undamaged.path(), OPTIONS).unwrap();
            assert_eq!(writer.next_sequence(), 7);
            assert_eq!(writer.wiped_bytes() > 0, stored > 0);
            for sequence in 7..12 {
                writer.append(b"next").unwrap();
                let each = |found, bytes: &[u8]| {
                    assert_eq!((found, bytes), (sequence, &b"next"[..]));
                };
                assert_eq!(follower.read(1, each).unwrap(), 1);
                // No remains at the next record's word look like one.
                assert_eq!(follower.read(1, |_, _| ()).unwrap(), 0);
            }
        }
    }
}

/// The end mark of a completely full block is in its last line.
#[test]
fn an_end_that_was_begun_leaves_nothing() {
    let place = tempfile::tempdir().unwrap();
    let mut writer = Writer::open(place.path(), OPTIONS).unwrap();
    let longest = vec![1; writer.record_bytes_max()];
    writer.append(&longest).unwrap();
    drop(writer);
    let mut block = fs::read(file(place.path(), 0)).unwrap();
    block[BLOCK_BYTES_MIN - 56] = 1;
    fs::write(file(place.path(), 0), block).unwrap();
    let mut writer = Writer::open(place.path(), OPTIONS).unwrap();
    assert_eq!((writer.next_sequence(), writer.wiped_bytes()), (1, 8));
    assert_eq!(writer.append(&longest).unwrap(), 1);
    let mut reader = Reader::open(place.path(), Start::At(1), BlockMaker::Caller).unwrap();
    assert_eq!(reader.read(9, |_, found| assert!(found == longest)).unwrap(), 1);
}

/// A writer killed between two blocks has ended one and not started the next.
#[test]
fn a_block_that_was_ended_and_none_started_is_gone_on_behind() {
    let undamaged = Undamaged::new(OPTIONS);
    let mut next = undamaged.blocks[1].clone();
    for sequence_of_start in [0, 6_u64] {
        next[128..].fill(0);
        next[136..144].copy_from_slice(&sequence_of_start.to_ne_bytes());
        fs::write(file(undamaged.path(), 1), &next).unwrap();
        let (n, end) = undamaged.reads();
        assert_eq!((n, end.is_ok()), (6, true));
        let mut reader = Reader::open(undamaged.path(), Start::Newest, BlockMaker::Caller).unwrap();
        let mut writer = Writer::open(undamaged.path(), OPTIONS).unwrap();
        assert_eq!(writer.append(&bytes(6)).unwrap(), 6);
        assert_eq!(reader.read(9, |_, found| assert!(found == bytes(6))).unwrap(), 1);
        drop(writer);
        undamaged.restore();
    }
}

/// A disk may keep parts of a block in any order, unlike a killed process.
#[test]
fn a_record_lost_from_the_middle_is_not_wiped_away_with_those_behind_it() {
    let undamaged = Undamaged::new(OPTIONS);
    // The second block has one record. Append another one, then lose the first one's head.
    let mut writer = Writer::open(undamaged.path(), OPTIONS).unwrap();
    writer.append(&[1; 100]).unwrap();
    writer.append(&[2; 100]).unwrap();
    drop(writer);
    let path = file(undamaged.path(), 1);
    let mut torn = fs::read(&path).unwrap();
    let head = 192 + (16 + LENGTHS[6]).next_multiple_of(64);
    torn[head..head + 64].fill(0);
    fs::write(&path, &torn).unwrap();
    let error = Writer::open(undamaged.path(), OPTIONS).err().unwrap().to_string();
    assert!(error.contains("nothing is before it"), "{error}");
    assert_eq!(fs::read(&path).unwrap(), torn, "a rejected file is unchanged");
    // The records before it can be read.
    let (n, end) = undamaged.reads();
    assert_eq!((n, end.is_ok()), (7, true));
}

#[test]
fn a_block_that_is_missing_renamed_or_foreign_is_named() {
    let undamaged = Undamaged::new(OPTIONS);
    let place = undamaged.path();
    let open = || Reader::open(place, Start::Oldest, BlockMaker::Caller).err().unwrap().to_string();
    let write = || Writer::open(place, OPTIONS).err().unwrap().to_string();

    fs::rename(file(place, 1), file(place, 2)).unwrap();
    for error in [open(), write()] {
        assert!(error.contains("00000001.block is missing"), "{error}");
    }
    fs::rename(file(place, 2), file(place, 1)).unwrap();
    fs::copy(file(place, 0), file(place, 1)).unwrap();
    let error = write();
    assert!(error.contains("00000001.block is damaged") && error.contains("renamed"), "{error}");
    fs::write(file(place, 1), [b'x'; BLOCK_BYTES_MIN]).unwrap();
    let error = write();
    assert!(error.contains("00000001.block is not tickpath's"), "{error}");
    fs::remove_file(file(place, 1)).unwrap();
    fs::create_dir(file(place, 1)).unwrap();
    assert!(write().contains("00000001.block"));
    let nowhere = Reader::open(&place.join("nowhere"), Start::Oldest, BlockMaker::Caller);
    assert!(matches!(nowhere, Err(QueueError::NoQueue(_))));
}

/// A reader reaches the end of its block, and no later block exists.
#[test]
fn a_queue_that_was_removed_under_a_reader_is_missed() {
    let undamaged = Undamaged::new(OPTIONS);
    let mut reader = Reader::open(undamaged.path(), Start::Oldest, BlockMaker::Caller).unwrap();
    fs::remove_file(file(undamaged.path(), 1)).unwrap();
    assert_eq!(reader.read(100, |_, _| ()).unwrap(), 6);
    let error = reader.read(100, |_, _| ()).unwrap_err();
    assert!(matches!(error, QueueError::MissingBlock(_)), "{error}");
}
