//! Writers and readers of a queue are killed (SIGKILL) at any moment, many times. Readers in this
//! process continue, and must read the written records in order, complete and without a gap.

use std::io::{BufRead, BufReader};
use std::ops::Range;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use clock::Deadline;
use clock::random::SplitMix64;
use ipc::queue::{BLOCK_BYTES_MIN, BlockMaker, Options, QueueError, Reader, Start, Writer};

const ROLE: &str = "TICKPATH_TEST_ROLE";
const PLACE: &str = "TICKPATH_TEST_PLACE";
const BLOCK_BYTES: &str = "TICKPATH_TEST_BLOCK_BYTES";
const KEEP_BLOCKS: &str = "TICKPATH_TEST_KEEP_BLOCKS";

/// Time limit of a step on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// Longest life of a child, even if its parent died.
const CHILD_LIFE: Duration = Duration::from_secs(120);

/// Source of all records.
struct Content(Vec<u8>);

const CONTENT_BYTES: u64 = 1 << 16;
const RECORD_BYTES_MAX: u64 = 5000;

impl Content {
    fn new() -> Content {
        let mut random = SplitMix64::new(4);
        Content((0..CONTENT_BYTES).map(|_| random.bits() as u8).collect())
    }

    /// The record of a sequence: neighbours differ in length and bytes.
    fn record(&self, sequence: u64) -> &[u8] {
        let start = sequence.wrapping_mul(7919) % (CONTENT_BYTES - RECORD_BYTES_MAX);
        let length = sequence.wrapping_mul(389) % RECORD_BYTES_MAX;
        &self.0[start as usize..][..length as usize]
    }
}

/// Not a test: the work of the child processes.
#[test]
fn child() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let place = std::env::var_os(PLACE).unwrap();
    match role.as_str() {
        "writer" => write_until_killed(Path::new(&place)),
        _ => read_until_killed(Path::new(&place)),
    }
}

fn write_until_killed(place: &Path) {
    let content = Content::new();
    let number = |name| std::env::var(name).unwrap().parse().unwrap();
    let (block_bytes, keep_blocks) = (number(BLOCK_BYTES), number(KEEP_BLOCKS));
    // Half of them have a thread that makes blocks, which can be killed too.
    let ahead =
        if std::process::id().is_multiple_of(2) { BlockMaker::Thread } else { BlockMaker::Caller };
    let options = Options { block_bytes, keep_blocks, checked: true, ahead, may_sleep: false };
    let mut writer = Writer::open(place, options).unwrap();
    println!("wiped {} of {}", writer.wiped_bytes(), writer.next_sequence());
    let deadline = Deadline::after(CHILD_LIFE);
    while !deadline.left().is_zero() {
        for _ in 0..1000 {
            writer.append(content.record(writer.next_sequence())).unwrap();
        }
    }
}

fn read_until_killed(place: &Path) {
    let content = Content::new();
    let mut follower = Follower::new(place, Start::Newest);
    let deadline = Deadline::after(CHILD_LIFE);
    while !deadline.left().is_zero() {
        follower.read(&content);
    }
}

/// A reader that checks its records.
struct Follower {
    reader: Reader,
    read: u64,
    missed: u64,
}

impl Follower {
    fn new(place: &Path, start: Start) -> Follower {
        let reader = Reader::open(place, start, BlockMaker::Caller).unwrap();
        Follower { reader, read: 0, missed: 0 }
    }

    /// Reads present records, up to a limit; returns their number.
    fn read(&mut self, content: &Content) -> usize {
        let mut expected = self.reader.next_sequence();
        let each = |sequence, bytes: &[u8]| {
            assert_eq!(sequence, expected);
            assert!(bytes == content.record(sequence), "record {sequence} is another");
            expected += 1;
        };
        match self.reader.read(1000, each) {
            Ok(n) => {
                self.read += n as u64;
                n
            }
            Err(QueueError::FellBehind { missed: Range { start, end } }) => {
                self.missed += end - start;
                1
            }
            Err(error) => panic!("after {} records: {error}", self.read),
        }
    }

    fn read_all(&mut self, content: &Content) {
        while self.read(content) > 0 {}
    }
}

fn start_child(role: &str, place: &Path, block_bytes: usize, keep_blocks: usize) -> Child {
    testing::child::again(&testing::test_name!(child))
        .env(ROLE, role)
        .env(PLACE, place)
        .env(BLOCK_BYTES, block_bytes.to_string())
        .env(KEEP_BLOCKS, keep_blocks.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Kills a child. A child that has ended by itself has found an error.
fn kill(mut child: Child) {
    assert_eq!(child.try_wait().unwrap(), None, "a child ended by itself");
    child.kill().unwrap();
    child.wait().unwrap();
}

/// The state that a writer found: the sequence of the next record, and the number of its bytes that
/// the previous writer had written.
fn found_by_writer(child: &mut Child) -> (u64, usize) {
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let said = lines.map(|line| line.unwrap()).find_map(|line| {
        let (wiped, next) = line.split_once("wiped ")?.1.split_once(" of ")?;
        Some((next.parse().unwrap(), wiped.parse().unwrap()))
    });
    said.expect("a writer says what it found before it writes")
}

#[derive(Default)]
struct Seen {
    read: u64,
    missed: u64,
    /// Rounds in which the writer was killed within a record.
    torn: u32,
}

fn kill_writers(rounds: u32, block_bytes: usize, keep_blocks: usize) -> Seen {
    let place = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let content = Content::new();
    let mut random = SplitMix64::new(u64::from(rounds));
    let mut seen = Seen::default();
    let mut follower: Option<Follower> = None;
    let mut other_reader: Option<Child> = None;
    for round in 0..rounds {
        let mut writer = start_child("writer", place.path(), block_bytes, keep_blocks);
        if round % 4 != 3 {
            let (next, wiped) = found_by_writer(&mut writer);
            // It continues exactly where the previous one was killed: after the read records.
            let read_to = follower.as_ref().map_or(0, |follower| follower.reader.next_sequence());
            assert_eq!(next, read_to, "round {round}");
            seen.torn += u32::from(wiped > 0);
        }
        // Every fourth may be killed while it starts.
        let life = Duration::from_micros(u64::from(random.below(20_000)));
        let end = Deadline::after(life);
        while !end.left().is_zero() {
            if let Some(follower) = &mut follower {
                follower.read(&content);
            }
        }
        kill(writer);
        match &mut follower {
            Some(follower) => follower.read_all(&content),
            None if round == 0 => {
                let mut first = Follower::new(place.path(), Start::Oldest);
                first.read_all(&content);
                follower = Some(first);
            }
            None => unreachable!("made in the first round"),
        }
        // Start another reader in its own process; it is killed in the next round.
        let reader = start_child("reader", place.path(), block_bytes, keep_blocks);
        if let Some(reader) = other_reader.replace(reader) {
            kill(reader);
        }
    }
    kill(other_reader.unwrap());
    let follower = follower.unwrap();
    (seen.read, seen.missed) = (follower.read, follower.missed);

    // A new reader reads the same again.
    let mut late = Follower::new(place.path(), Start::Oldest);
    let oldest = late.reader.next_sequence();
    late.read_all(&content);
    assert_eq!(late.reader.next_sequence(), follower.reader.next_sequence());
    assert_eq!(late.missed, 0);
    assert_eq!(late.read, late.reader.next_sequence() - oldest);
    seen
}

/// All blocks are kept: readers miss nothing. The blocks are small, so most kills hit the making of
/// one.
#[test]
fn killed_writers_leave_whole_records_without_a_gap() {
    if !testing::child::is_possible() {
        return;
    }
    let seen = kill_writers(60, 2 * BLOCK_BYTES_MIN, 1_000_000);
    assert_eq!(seen.missed, 0);
    assert!(seen.read > 0);
    eprintln!("{} records read, {} writers killed in the midst of one", seen.read, seen.torn);
}

/// Few blocks are kept, so readers fall behind. The blocks are larger, so most kills hit the
/// writing of records.
#[test]
fn killed_writers_that_keep_little_leave_a_queue_that_can_be_read() {
    if !testing::child::is_possible() {
        return;
    }
    let seen = kill_writers(40, 128 * BLOCK_BYTES_MIN, 1);
    assert!(seen.read > 0);
    eprintln!(
        "{} records read, {} missed, {} writers killed in the midst of one",
        seen.read, seen.missed, seen.torn
    );
}

#[test]
fn a_writer_that_was_killed_holds_nobody_up() {
    if !testing::child::is_possible() {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let mut writer = start_child("writer", place.path(), BLOCK_BYTES_MIN, 2);
    found_by_writer(&mut writer);
    let options = Options { block_bytes: BLOCK_BYTES_MIN, ..Options::default() };
    assert!(matches!(Writer::open(place.path(), options), Err(QueueError::SecondWriter(_))));
    kill(writer);
    let deadline = Deadline::after(PATIENCE);
    while Writer::open(place.path(), options).is_err() {
        assert!(!deadline.left().is_zero(), "the lock of a process that is gone is held");
    }
}
