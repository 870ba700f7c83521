//! What was written is what comes back: from the log, from snapshots, and from what is left of them.

mod flow;

use std::fs;
use std::path::Path;
use std::time::Duration;

use engine::EngineLimits;
use flow::*;
use journal::*;
use measure::clock::Deadline;
use proptest::prelude::*;

/// Inputs of a segment of `flow::options`.
const SEGMENT: u64 = 169;
/// Enough for three segments and a part of a fourth.
const MANY: u64 = 600;

#[track_caller]
fn assert_replays(place: &Path, inputs: u64) -> Replayed {
    let replayed = replay(place).unwrap();
    assert_eq!(replayed.next_sequence, inputs);
    assert_eq!(replayed.state_hash, engine_after(inputs).state_hash());
    assert_eq!(replayed.engine.state_hash(), replayed.state_hash);
    assert_eq!(replayed.inputs.total() + replayed.from_snapshot.unwrap_or(0), inputs);
    replayed
}

#[test]
fn a_log_comes_to_the_state_of_its_engine() {
    let place = tempfile::tempdir().unwrap();
    written(place.path(), MANY);
    let replayed = assert_replays(place.path(), MANY);
    assert_eq!((replayed.cut, replayed.from_snapshot), (None, None));
    assert!(replayed.inputs.by_name().all(|(_, count)| count > 0), "{:?}", replayed.inputs);
    let seen = ["booked", "trade", "replenished", "amended", "waiting", "triggered", "done"];
    for (name, count) in replayed.events.by_name().filter(|(name, _)| seen.contains(name)) {
        assert!(count > 0, "{name}");
    }
    let read: Vec<_> = Inputs::open(place.path()).unwrap().map(Result::unwrap).collect();
    assert_eq!(read.len() as u64, MANY);
    assert!(read.iter().enumerate().all(|(n, found)| *found == (n as u64, input(n as u64))));
    assert_eq!(files(place.path(), "segment").len(), 5, "four that were begun, and the next");
}

/// Each writer goes on where the one before it stopped; options may differ.
#[test]
fn writers_one_after_the_other_make_one_log() {
    let place = tempfile::tempdir().unwrap();
    let mut done = 0;
    for (segment_bytes, mode, zeroed) in [
        (16 << 10, Mode::Sync, false),
        (8 << 10, Mode::Async, true),
        (64 << 10, Mode::Sync, true),
        (4 << 10, Mode::Async, false),
    ] {
        let options = Options { segment_bytes, mode, zeroed, ..options() };
        let (mut appender, recovered) = open(place.path(), identity(), options).unwrap();
        assert_eq!((recovered.next_sequence, appender.next_sequence()), (done, done));
        assert_eq!(recovered.state_hash, engine_after(done).state_hash());
        assert!(recovered.cut.is_none());
        done += 311;
        append_to(&mut appender, done);
        assert!(mode == Mode::Sync || appender.acknowledged() == done);
        assert_eq!(appender.close().unwrap(), done);
    }
    assert_replays(place.path(), done);
}

#[test]
fn what_is_acknowledged_in_sync_is_durable() {
    let place = tempfile::tempdir().unwrap();
    let (mut appender, _) = open(place.path(), identity(), options()).unwrap();
    let watch = appender.watch();
    let deadline = Deadline::after(PATIENCE);
    for round in 1..20 {
        append_to(&mut appender, round * 50);
        while appender.acknowledged() < round * 50 {
            assert!(!deadline.left().is_zero());
            assert!(appender.acknowledged() <= watch.durable());
            std::thread::yield_now();
        }
        // A reader sees all that was acknowledged, while the writer goes on.
        let read = Inputs::open(place.path()).unwrap().take_while(Result::is_ok).count();
        assert!(read as u64 >= round * 50);
    }
}

#[test]
fn a_journal_that_keeps_nothing_takes_everything() {
    let mut appender = Appender::none();
    append_to(&mut appender, 1000);
    assert_eq!((appender.acknowledged(), appender.durable()), (1000, 0));
    assert!(matches!(appender.state(), JournalState::Running));
    assert_eq!(appender.close().unwrap(), 0);
}

#[test]
fn a_full_ring_is_refused_by_its_limit() {
    let place = tempfile::tempdir().unwrap();
    let options = Options { ring_slots: 2, ..options() };
    let (mut appender, _) = open(place.path(), identity(), options).unwrap();
    let deadline = Deadline::after(PATIENCE);
    let refused = loop {
        if let Err(refused) = appender.try_append(&input(appender.next_sequence())) {
            break refused;
        }
        assert!(!deadline.left().is_zero(), "the disk is faster than this loop");
    };
    let expected = [
        Refused::Full { limit: "ring_slots", max: 2 },
        Refused::Full { limit: "segment_bytes", max: options.segment_bytes },
    ];
    assert!(expected.contains(&refused), "{refused}");
    // What was refused has no number: the log has no hole.
    let taken = appender.next_sequence();
    assert_eq!(appender.close().unwrap(), taken);
    assert_replays(place.path(), taken);
}

/// A snapshotter behind a writer that does not stop for it.
#[test]
fn snapshots_are_taken_while_the_engine_runs() {
    let place = tempfile::tempdir().unwrap();
    let (mut appender, _) = open(place.path(), identity(), options()).unwrap();
    append_to(&mut appender, 1);
    let watch = appender.watch();
    let path = place.path().to_owned();
    let taken = std::thread::scope(|scope| {
        let snapshots = scope.spawn(move || {
            let deadline = Deadline::after(PATIENCE);
            let mut snapshotter = Snapshotter::open(&path).unwrap();
            let mut taken = Vec::new();
            while snapshotter.next_sequence() < 4000 {
                assert!(!deadline.left().is_zero());
                let durable = watch.durable();
                if durable >= snapshotter.next_sequence() + 500 {
                    snapshotter.advance(durable).unwrap();
                    taken.push(snapshotter.save().unwrap());
                }
                std::thread::yield_now();
            }
            taken
        });
        append_to(&mut appender, 5000);
        snapshots.join().unwrap()
    });
    appender.close().unwrap();
    for snapshot in &taken {
        assert_eq!(snapshot.state_hash, engine_after(snapshot.sequence).state_hash());
    }
    let latest = taken.last().unwrap().sequence;
    assert_eq!(assert_replays(place.path(), 5000).from_snapshot, Some(latest));
    // To the same state without them.
    for snapshot in &taken {
        fs::remove_file(&snapshot.path).unwrap();
    }
    assert_eq!(assert_replays(place.path(), 5000).from_snapshot, None);
}

#[test]
fn a_snapshotter_is_told_what_is_not_there_yet() {
    let place = tempfile::tempdir().unwrap();
    written(place.path(), 100);
    let mut snapshotter = Snapshotter::open(place.path()).unwrap();
    let refused = snapshotter.advance(101).unwrap_err();
    assert!(matches!(refused, JournalError::NotYet { asked: 101, end: 100 }), "{refused}");
}

/// Two snapshots, the later of which is `latest`.
fn with_two_snapshots(place: &Path) -> Snapshot {
    written(place, 150);
    replay_and_save(place).unwrap();
    written(place, MANY);
    replay_and_save(place).unwrap().1
}

#[test]
fn a_snapshot_that_was_cut_off_or_changed_gives_way_to_the_one_before() {
    let place = in_memory();
    let latest = with_two_snapshots(place.path());
    assert_eq!(assert_replays(place.path(), MANY).from_snapshot, Some(MANY));
    let whole = fs::read(&latest.path).unwrap();
    let gives_way = |what: &str| {
        let replayed = assert_replays(place.path(), MANY);
        assert_eq!(replayed.from_snapshot, Some(150), "{what}");
        let [refused] = &replayed.snapshots_refused[..] else { panic!("{what}") };
        assert!(refused.to_string().contains(".snapshot"), "{refused}");
    };
    for length in (0..whole.len()).step_by(61) {
        fs::write(&latest.path, &whole[..length]).unwrap();
        gives_way("cut off");
    }
    for byte in (0..whole.len()).step_by(7) {
        let mut changed = whole.clone();
        changed[byte] ^= 1 << (byte % 8);
        fs::write(&latest.path, changed).unwrap();
        gives_way("changed");
    }
    fs::write(&latest.path, [whole, vec![0; 72]].concat()).unwrap();
    gives_way("longer");
    // With neither: from the beginning.
    for snapshot in files(place.path(), "snapshot") {
        fs::write(snapshot, "").unwrap();
    }
    let replayed = assert_replays(place.path(), MANY);
    assert_eq!((replayed.from_snapshot, replayed.snapshots_refused.len()), (None, 2));
}

#[test]
fn what_is_removed_is_not_needed() {
    let place = tempfile::tempdir().unwrap();
    written(place.path(), 150);
    assert!(remove_old(place.path()).unwrap().is_empty());
    replay_and_save(place.path()).unwrap();
    written(place.path(), 500);
    let (_, second) = replay_and_save(place.path()).unwrap();
    written(place.path(), MANY);
    let (_, latest) = replay_and_save(place.path()).unwrap();
    let removed = remove_old(place.path()).unwrap();
    // The first snapshot, and the two segments that end before input 500.
    assert_eq!(removed.len(), 3, "{removed:?}");
    assert_eq!(assert_replays(place.path(), MANY).from_snapshot, Some(MANY));
    fs::remove_file(&latest.path).unwrap();
    assert_eq!(assert_replays(place.path(), MANY).from_snapshot, Some(500));
    // Without any snapshot the beginning is missing, and that is said.
    fs::remove_file(&second.path).unwrap();
    let error = replay(place.path()).unwrap_err();
    assert!(matches!(error, JournalError::Missing { sequence: 0, .. }), "{error}");
    assert!(open(place.path(), identity(), options()).is_err());
    let first = Inputs::open(place.path()).unwrap().next().unwrap().unwrap().0;
    assert_eq!(first, 2 * SEGMENT);
}

#[test]
fn one_writer_at_a_time() {
    let place = tempfile::tempdir().unwrap();
    let (appender, _) = open(place.path(), identity(), options()).unwrap();
    let second = open(place.path(), identity(), options()).err().unwrap();
    assert!(matches!(second, JournalError::InUse(_)), "{second}");
    assert!(matches!(replay(place.path()), Err(JournalError::InUse(_))));
    drop(appender);
    open(place.path(), identity(), options()).unwrap();
}

#[test]
fn another_engines_log_is_refused() {
    let place = tempfile::tempdir().unwrap();
    written(place.path(), 10);
    let mut other = identity();
    other.limits.open_orders_max += 1;
    let refused = open(place.path(), other, options()).err().unwrap();
    assert!(matches!(refused, JournalError::OtherEngine { .. }), "{refused}");
    let other = Identity { instruments: 3, ..identity() };
    let refused = open(place.path(), other, options()).err().unwrap().to_string();
    assert!(refused.contains("it has 2 instruments") && refused.contains("has 3"), "{refused}");
}

/// Files of another log of the same engine, at the same places.
#[test]
fn another_logs_files_are_refused() {
    let (place, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    written(place.path(), MANY);
    written(other.path(), MANY);
    let (_, theirs) = replay_and_save(other.path()).unwrap();
    let name = theirs.path.file_name().unwrap();
    fs::copy(&theirs.path, place.path().join(name)).unwrap();
    let replayed = assert_replays(place.path(), MANY);
    assert_eq!(replayed.from_snapshot, None);
    assert!(matches!(replayed.snapshots_refused[..], [JournalError::OtherLog(_)]));
    let second = &files(other.path(), "segment")[1];
    fs::copy(second, place.path().join(second.file_name().unwrap())).unwrap();
    assert!(matches!(replay(place.path()), Err(JournalError::OtherLog(_))));
}

#[test]
fn segments_that_are_gone_or_renamed_are_named() {
    let place = tempfile::tempdir().unwrap();
    written(place.path(), MANY);
    let segments = files(place.path(), "segment");
    let aside = place.path().join("aside");
    for (segment, expected) in
        segments.iter().zip([Some(0), Some(SEGMENT), Some(2 * SEGMENT), None])
    {
        fs::rename(segment, &aside).unwrap();
        match (replay(place.path()), expected) {
            (Err(JournalError::Missing { sequence, .. }), Some(first)) => {
                assert_eq!(sequence, first);
            }
            // Of the last that was begun nothing tells that it was there, but that the next one is empty.
            (Ok(replayed), None) => assert_eq!(replayed.next_sequence, 3 * SEGMENT),
            (other, _) => panic!("{expected:?}: {:?}", other.map(|replayed| replayed.inputs)),
        }
        fs::rename(&aside, segment).unwrap();
    }
    fs::rename(&segments[1], place.path().join("00000000000000000171.segment")).unwrap();
    let error = replay(place.path()).unwrap_err();
    assert!(matches!(error, JournalError::Missing { sequence: SEGMENT, .. }), "{error}");
    let nowhere = replay(&place.path().join("nowhere")).unwrap_err();
    assert!(matches!(nowhere, JournalError::NoJournal(_)), "{nowhere}");
    let nothing = tempfile::tempdir().unwrap();
    assert!(matches!(replay(nothing.path()), Err(JournalError::NoJournal(_))));
    assert!(matches!(Inputs::open(nothing.path()), Err(JournalError::NoJournal(_))));
}

#[test]
fn options_out_of_range_are_refused_by_name() {
    let place = tempfile::tempdir().unwrap();
    for (name, options) in [
        ("segment_bytes", Options { segment_bytes: 100, ..options() }),
        ("reserve_inputs", Options { reserve_inputs: 1000, ..options() }),
        ("ring_slots", Options { ring_slots: 1, ..options() }),
        ("number of slots", Options { ring_slots: 3, ..options() }),
        ("group_inputs_max", Options { group_inputs_max: 0, ..options() }),
        ("pin or start", Options { core: Some(100_000), ..options() }),
    ] {
        let refused = open(place.path(), identity(), options).err().unwrap().to_string();
        assert!(refused.contains(name), "{refused}");
    }
    let limits = EngineLimits { open_orders_max: 0, ..identity().limits };
    let refused = open(place.path(), Identity { limits, ..identity() }, options()).err().unwrap();
    assert!(refused.to_string().contains("open_orders_max"), "{refused}");
}

/// The last segment's file, and where its last record ends.
fn tail(place: &Path) -> (std::path::PathBuf, Vec<u8>, usize) {
    let segments = files(place, "segment");
    let path = segments[segments.len() - 2].clone();
    let bytes = fs::read(&path).unwrap();
    let end = bytes.iter().rposition(|byte| *byte != 0).unwrap() + 1;
    (path, bytes, end)
}

/// A log that was cut off anywhere in its last two records: the next writer says so, and goes on behind what is whole.
#[test]
fn a_torn_tail_is_cut_and_written_over() {
    let place = in_memory();
    written(place.path(), 180);
    let (path, bytes, end) = tail(place.path());
    for length in end - 2 * RECORD_BYTES..=end {
        fs::write(&path, &bytes[..length]).unwrap();
        let whole = 180 - (end - length).div_ceil(RECORD_BYTES) as u64;
        let replayed = assert_replays(place.path(), whole);
        let cut = replayed.cut.unwrap();
        assert_eq!((cut.sequence, cut.missing_bytes as usize), (whole, bytes.len() - length));
        assert!(cut.bytes < RECORD_BYTES as u64 && cut.segment == path);
        assert!(cut.to_string().contains(&format!("input {whole}")), "{cut}");

        let (mut appender, recovered) = open(place.path(), identity(), options()).unwrap();
        assert_eq!((recovered.next_sequence, recovered.cut), (whole, Some(cut)));
        append_to(&mut appender, 200);
        appender.close().unwrap();
        assert_eq!(assert_replays(place.path(), 200).cut, None);
        fs::write(&path, &bytes).unwrap();
    }
}

/// The last record of each of these is changed; then one that others follow.
#[test]
fn a_changed_tail_is_cut_and_damage_is_refused() {
    let place = in_memory();
    written(place.path(), 180);
    let (path, bytes, end) = tail(place.path());
    for byte in end - RECORD_BYTES..end {
        let mut changed = bytes.clone();
        changed[byte] ^= 1 << (byte % 8);
        fs::write(&path, &changed).unwrap();
        let cut = assert_replays(place.path(), 179).cut.unwrap();
        assert_eq!((cut.bytes as usize, cut.missing_bytes), (RECORD_BYTES, 0));
    }
    let (mut changed, place_of_change) = (bytes.clone(), end - 3 * RECORD_BYTES + 40);
    changed[place_of_change] ^= 1;
    fs::write(&path, &changed).unwrap();
    for error in [
        replay(place.path()).unwrap_err(),
        open(place.path(), identity(), options()).err().unwrap(),
    ] {
        assert!(matches!(error, JournalError::Damaged { sequence: 177, .. }), "{error}");
        assert!(error.is_damage());
    }
    assert_eq!(fs::read(&path).unwrap(), changed, "what is refused is left as it is");
}

/// Something stands in a segment behind one that is not full: what was before it is lost.
#[test]
fn a_hole_between_segments_is_refused() {
    let place = tempfile::tempdir().unwrap();
    written(place.path(), 180);
    let segments = files(place.path(), "segment");
    let mut first = fs::read(&segments[0]).unwrap();
    let end = first.len() - RECORD_BYTES * 3;
    first[end..].fill(0);
    fs::write(&segments[0], first).unwrap();
    let error = replay(place.path()).unwrap_err();
    assert!(matches!(error, JournalError::Missing { sequence: 166, .. }), "{error}");
    assert!(open(place.path(), identity(), options()).is_err());
}

/// Whoever opens gets rid of what a writer left that died while it made a segment; a snapshot that was begun is nobody's.
#[test]
fn unfinished_files_are_no_segments() {
    let place = tempfile::tempdir().unwrap();
    written(place.path(), 10);
    let unfinished = place.path().join("00000000000000000340.segment.new");
    fs::write(&unfinished, "half").unwrap();
    fs::write(place.path().join("00000000000000000010.snapshot.new"), "half").unwrap();
    assert_replays(place.path(), 10);
    drop(open(place.path(), identity(), options()).unwrap());
    assert!(!unfinished.exists());
    assert_replays(place.path(), 10);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Any number of inputs, in any runs of writers, snapshots between them, and a cut anywhere behind the last snapshot:
    /// recovery is the replay of a prefix.
    #[test]
    fn recovery_is_the_replay_of_a_prefix(
        runs in proptest::collection::vec((1_u64..120, any::<bool>()), 1..5),
        is_async in any::<bool>(),
        cut in any::<proptest::sample::Index>(),
        garbage in proptest::collection::vec(any::<u8>(), 0..200),
    ) {
        let place = in_memory();
        let mode = if is_async { Mode::Async } else { Mode::Sync };
        let options = Options { mode, segment_bytes: 4 << 10, reserve_inputs: 0, ..options() };
        let (mut done, mut saved) = (0, 0);
        for (inputs, is_saved) in runs {
            let (mut appender, recovered) = open(place.path(), identity(), options).unwrap();
            prop_assert_eq!(recovered.next_sequence, done);
            done += inputs;
            append_to(&mut appender, done);
            prop_assert_eq!(appender.close().unwrap(), done);
            if is_saved {
                saved = replay_and_save(place.path()).unwrap().1.sequence;
            }
        }
        // Cut in the last segment that was begun, behind the snapshot.
        let segments = files(place.path(), "segment");
        let path = segments.iter().rev().find(|path| first_of(path) < done).unwrap();
        let first = first_of(path);
        let keep = first.max(saved) + cut.index((done - first.max(saved)) as usize + 1) as u64;
        let at = 128 + (keep - first) as usize * RECORD_BYTES;
        let mut bytes = fs::read(path).unwrap();
        bytes[at..].fill(0);
        let torn = garbage.len().min(bytes.len() - at);
        bytes[at..at + torn].copy_from_slice(&garbage[..torn]);
        fs::write(path, &bytes).unwrap();

        let (appender, recovered) = open(place.path(), identity(), options).unwrap();
        prop_assert_eq!(recovered.next_sequence, keep);
        prop_assert_eq!(recovered.state_hash, engine_after(keep).state_hash());
        let is_torn = garbage[..torn].iter().any(|byte| *byte != 0);
        prop_assert_eq!(recovered.cut.is_some(), is_torn);
        drop(appender);
        let again = replay(place.path()).unwrap();
        prop_assert_eq!((again.state_hash, again.cut), (recovered.state_hash, None));
    }
}

fn first_of(segment: &Path) -> u64 {
    segment.file_stem().unwrap().to_str().unwrap().parse().unwrap()
}

/// The ends of writers are waited for: no thread is left that could still make a file.
#[test]
fn after_the_end_nothing_is_made() {
    let place = tempfile::tempdir().unwrap();
    for _ in 0..20 {
        drop(open(place.path(), identity(), options()).unwrap());
        let before = files(place.path(), "segment");
        std::thread::sleep(Duration::from_millis(1));
        assert_eq!(files(place.path(), "segment"), before);
    }
}
