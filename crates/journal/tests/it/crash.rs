//! Writers are killed (SIGKILL) at any moment, many times. No acknowledged input may be lost, and
//! the log must be a prefix of the sent inputs, with the same state.
//!
//! This binary starts itself again for each writer, which runs [`child`]. Number of kills:
//! `TICKPATH_JOURNAL_KILLS`, 25 by default.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use crate::flow::*;
use clock::Deadline;
use clock::random::SplitMix64;
use engine::Engine;
use journal::{AppendError, Mode, Options, Snapshotter, remove_old};

const PLACE: &str = "TICKPATH_TEST_PLACE";
const MODE: &str = "TICKPATH_TEST_MODE";

/// A mode of a child: sync, with only the log.
const WITHOUT_SNAPSHOTS: &str = "sync-without-snapshots";
/// Longest life of a child, even if its parent died.
const CHILD_LIFE: Duration = Duration::from_secs(60);

/// Not a test: the work of the child processes.
#[test]
fn child() {
    let Some(place) = std::env::var_os(PLACE) else { return };
    let mode = match std::env::var(MODE).unwrap().as_str() {
        "async" => Mode::Async,
        _ => Mode::Sync,
    };
    write_until_killed(Path::new(&place), mode);
}

fn options_of(mode: Mode) -> Options {
    Options { mode, ..options() }
}

/// Appends, and notes the acknowledged sequence in shared memory, which survives a kill.
fn write_until_killed(place: &Path, mode: Mode) {
    let log = place.join("log");
    let (mut appender, recovered) = journal::open(&log, identity(), options_of(mode)).unwrap();
    assert_eq!(recovered.next_sequence, appender.next_sequence());
    let notes = File::options().write(true).open(place.join("notes")).unwrap();
    // Recovered inputs are durable, or at least survive a kill.
    let mut noted = recovered.next_sequence;
    notes.write_all_at(&noted.to_le_bytes(), 0).unwrap();
    notes.write_all_at(&1_u64.to_le_bytes(), 8).unwrap();
    let watch = appender.watch();
    if std::env::var(MODE).unwrap() != WITHOUT_SNAPSHOTS {
        std::thread::spawn(move || snapshots_until_killed(&log, &watch));
    }
    let deadline = Deadline::after(CHILD_LIFE);
    while !deadline.left().is_zero() {
        match appender.try_append(&input(appender.next_sequence())) {
            Ok(_) => {}
            Err(AppendError::Full { .. }) => std::thread::yield_now(),
            Err(error) => panic!("{error}: {:?}", appender.state()),
        }
        let acknowledged = appender.acknowledged();
        if acknowledged > noted {
            // In `async` mode, note only written inputs: a kill may lose those in the ring.
            noted = if mode == Mode::Sync { acknowledged } else { appender.durable() };
            notes.write_all_at(&noted.to_le_bytes(), 0).unwrap();
        }
    }
}

fn snapshots_until_killed(log: &Path, watch: &journal::Watch) {
    let mut snapshotter = Snapshotter::open(log).unwrap();
    let deadline = Deadline::after(CHILD_LIFE);
    while !deadline.left().is_zero() {
        snapshotter.advance(watch.durable()).unwrap();
        snapshotter.save().unwrap();
        remove_old(log).unwrap();
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn start_child(place: &Path, mode: &str) -> Child {
    testing::child::again(&testing::test_name!(child))
        .env(PLACE, place)
        .env(MODE, mode)
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

fn kills() -> u64 {
    std::env::var("TICKPATH_JOURNAL_KILLS").map_or(25, |kills| kills.parse().unwrap())
}

fn kill_writers(mode: &str) {
    if !testing::child::is_possible() {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let (log, notes) = (place.path().join("log"), place.path().join("notes"));
    std::fs::write(&notes, [0; 16]).unwrap();
    let mut random = SplitMix64::new(kills());
    // The reference: an engine that applies the sent inputs, without a journal.
    let mut judge = Judge { engine: engine_after(0), next: 0 };
    let (mut torn, mut from_snapshot, mut rejected) = (0, 0, 0);
    for round in 0..kills() {
        let mut writer = start_child(place.path(), mode);
        let deadline = Deadline::after(PATIENCE);
        // Every fourth may be killed during recovery.
        while round % 4 != 3 && note(&notes, 8) == 0 {
            assert!(!deadline.left().is_zero(), "a writer does not begin");
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_micros(u64::from(random.below(60_000))));
        // It ends by itself only after an error.
        assert_eq!(writer.try_wait().unwrap(), None, "a writer ended by itself");
        writer.kill().unwrap();
        writer.wait().unwrap();
        let acknowledged = note(&notes, 0);
        std::fs::write(&notes, [acknowledged.to_le_bytes(), [0; 8]].concat()).unwrap();
        if !log.exists() {
            continue;
        }
        let replayed = match journal::replay(&log) {
            Ok(replayed) => replayed,
            // Killed before there was a segment.
            Err(journal::JournalError::NoJournal(_)) if acknowledged == 0 => continue,
            Err(error) => panic!("round {round}: {error}"),
        };
        let next = replayed.next_sequence;
        assert!(next >= acknowledged, "round {round}: {next} of {acknowledged} are left");
        assert_eq!(replayed.state_hash, judge.state_hash(next), "round {round}");
        torn += u64::from(replayed.cut.is_some());
        from_snapshot += u64::from(replayed.from_snapshot.is_some());
        rejected += replayed.snapshots_rejected.len();
    }
    assert!(judge.next > 0, "nothing was written");
    assert_eq!(rejected, 0, "a snapshot appears complete");
    eprintln!(
        "{mode}: {} inputs, {torn} tails cut, {from_snapshot} recoveries from a snapshot",
        judge.next
    );
}

fn note(notes: &Path, at: usize) -> u64 {
    let bytes = std::fs::read(notes).unwrap();
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

struct Judge {
    engine: Engine,
    next: u64,
}

impl Judge {
    /// The state after this number of inputs, which never decreases between calls.
    fn state_hash(&mut self, inputs: u64) -> u64 {
        assert!(inputs >= self.next, "what was there is gone");
        apply(&mut self.engine, self.next, inputs);
        self.next = inputs;
        self.engine.state_hash()
    }
}

#[test]
fn killed_writers_lose_nothing_that_was_acknowledged() {
    kill_writers("sync");
}

/// Acknowledged records of a killed writer's log were zeroed; once, the next writer continued
/// without them.
#[test]
fn a_killed_writers_log_is_rejected_when_it_was_cut() {
    if !testing::child::is_possible() {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let (log, notes) = (place.path().join("log"), place.path().join("notes"));
    std::fs::write(&notes, [0; 16]).unwrap();
    let mut writer = start_child(place.path(), WITHOUT_SNAPSHOTS);
    let deadline = Deadline::after(PATIENCE);
    while note(&notes, 0) < 1000 {
        assert!(!deadline.left().is_zero(), "a writer does not write");
        std::thread::sleep(Duration::from_millis(1));
    }
    writer.kill().unwrap();
    writer.wait().unwrap();
    let acknowledged = note(&notes, 0);
    // From the last acknowledged input on.
    let is_begun = |path: &&std::path::PathBuf| {
        let first: u64 = path.file_stem().unwrap().to_str().unwrap().parse().unwrap();
        first < acknowledged
    };
    let segments = files(&log, "segment");
    let path = segments.iter().rev().find(is_begun).unwrap();
    let first: u64 = path.file_stem().unwrap().to_str().unwrap().parse().unwrap();
    let mut bytes = std::fs::read(path).unwrap();
    bytes[128 + (acknowledged - 1 - first) as usize * journal::RECORD_BYTES..].fill(0);
    std::fs::write(path, bytes).unwrap();
    for later in segments.iter().filter(|later| *later > path) {
        std::fs::remove_file(later).unwrap();
    }
    match journal::replay(&log) {
        Err(journal::JournalError::CutShort { next, durable, .. }) => {
            assert_eq!(next, acknowledged - 1);
            assert!(durable >= acknowledged, "{durable} of {acknowledged}");
        }
        other => panic!("{:?}", other.map(|replayed| replayed.next_sequence)),
    }
}

#[test]
fn killed_writers_in_async_leave_a_prefix() {
    kill_writers("async");
}
