//! Damaged journals: a torn tail is cut with a report, everything else is rejected.

use std::fs;
use std::path::Path;

use crate::flow::*;
use journal::*;
use proptest::prelude::*;

/// Two snapshots; returns the later one.
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
        let [error] = &replayed.snapshots_rejected[..] else { panic!("{what}") };
        assert!(error.to_string().contains(".snapshot"), "{error}");
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
    // Without either, from the beginning.
    for snapshot in files(place.path(), "snapshot") {
        fs::write(snapshot, "").unwrap();
    }
    let replayed = assert_replays(place.path(), MANY);
    assert_eq!((replayed.from_snapshot, replayed.snapshots_rejected.len()), (None, 2));
}

#[test]
fn another_engines_log_is_rejected() {
    let place = tempfile::tempdir().unwrap();
    written(place.path(), 10);
    let mut other = identity();
    other.limits.open_orders_max += 1;
    let error = open(place.path(), other, options()).err().unwrap();
    assert!(matches!(error, JournalError::OtherEngine { .. }), "{error}");
    let other = Identity { instruments: 3, ..identity() };
    let error = open(place.path(), other, options()).err().unwrap().to_string();
    assert!(error.contains("it has 2 instruments") && error.contains("has 3"), "{error}");
}

/// Files of another log of the same kind of engine, with the same names.
#[test]
fn another_logs_files_are_rejected() {
    let (place, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    written(place.path(), MANY);
    written(other.path(), MANY);
    let (_, theirs) = replay_and_save(other.path()).unwrap();
    let name = theirs.path.file_name().unwrap();
    fs::copy(&theirs.path, place.path().join(name)).unwrap();
    let replayed = assert_replays(place.path(), MANY);
    assert_eq!(replayed.from_snapshot, None);
    assert!(matches!(replayed.snapshots_rejected[..], [JournalError::OtherLog(_)]));
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
    for (segment, first) in segments.iter().zip([0, SEGMENT, 2 * SEGMENT, 3 * SEGMENT]) {
        fs::rename(segment, &aside).unwrap();
        let error = replay(place.path()).unwrap_err();
        let is_named = matches!(error, JournalError::Missing { sequence, .. } if sequence == first);
        assert!(is_named, "{first}: {error}");
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

/// The last segment's file, and the end of its last record.
fn tail(place: &Path) -> (std::path::PathBuf, Vec<u8>, usize) {
    let segments = files(place, "segment");
    let path = segments[segments.len() - 2].clone();
    let bytes = fs::read(&path).unwrap();
    let end = bytes.iter().rposition(|byte| *byte != 0).unwrap() + 1;
    (path, bytes, end)
}

/// A power failure anywhere in the last two records, before the mark of them was on the disk: the
/// next writer warns and continues after the complete ones.
#[test]
fn a_torn_tail_is_cut_and_written_over() {
    let place = in_memory();
    written(place.path(), 180);
    remove_mark(place.path());
    let (path, bytes, end) = tail(place.path());
    for kept in end - 2 * RECORD_BYTES..=end {
        let mut torn = bytes.clone();
        torn[kept..].fill(0);
        fs::write(&path, &torn).unwrap();
        let whole = 180 - (end - kept).div_ceil(RECORD_BYTES) as u64;
        let replayed = assert_replays(place.path(), whole);
        let is_torn = (end - kept) % RECORD_BYTES > 0;
        assert_eq!(replayed.cut.is_some(), is_torn);
        if let Some(cut) = &replayed.cut {
            assert_eq!((cut.sequence, &cut.segment), (whole, &path));
            assert!(cut.bytes < RECORD_BYTES as u64, "{cut}");
            assert!(cut.to_string().contains(&format!("input {whole}")), "{cut}");
        }

        let (mut appender, recovered) = open(place.path(), identity(), options()).unwrap();
        assert_eq!((recovered.next_sequence, recovered.cut), (whole, replayed.cut));
        append_to(&mut appender, 200);
        appender.close().unwrap();
        assert_eq!(assert_replays(place.path(), 200).cut, None);
        fs::write(&path, &bytes).unwrap();
        remove_mark(place.path());
    }
}

/// The last record of each is changed, and then one that others follow.
#[test]
fn a_changed_tail_is_cut_and_damage_is_rejected() {
    let place = in_memory();
    written(place.path(), 180);
    remove_mark(place.path());
    let (path, bytes, end) = tail(place.path());
    for byte in end - RECORD_BYTES..end {
        let mut changed = bytes.clone();
        changed[byte] ^= 1 << (byte % 8);
        fs::write(&path, &changed).unwrap();
        let cut = assert_replays(place.path(), 179).cut.unwrap();
        assert_eq!(cut.bytes as usize, RECORD_BYTES);
    }
    let (mut changed, place_of_change) = (bytes.clone(), end - 3 * RECORD_BYTES + 40);
    changed[place_of_change] ^= 1;
    fs::write(&path, &changed).unwrap();
    for error in errors(place.path()) {
        assert!(matches!(error, JournalError::Damaged { sequence: 177, .. }), "{error}");
        assert!(error.is_damage());
    }
    assert_eq!(fs::read(&path).unwrap(), changed, "a rejected file is unchanged");
}

/// Zeros over the last acknowledged records were once accepted with a warning.
#[test]
fn a_cut_of_durable_inputs_is_rejected() {
    let place = in_memory();
    written(place.path(), 180);
    let (path, bytes, end) = tail(place.path());
    for lost in [1, 2, 3, 11] {
        let from = end - lost * RECORD_BYTES;
        let (mut zeroed, mut changed, mut torn) = (bytes.clone(), bytes.clone(), bytes.clone());
        zeroed[from..].fill(0);
        changed[end - 1] ^= 1;
        torn[from + 50..].fill(0);
        for (damage, next) in
            [(zeroed, 180 - lost as u64), (changed, 179), (torn, 180 - lost as u64)]
        {
            fs::write(&path, &damage).unwrap();
            for error in errors(place.path()) {
                assert!(error.is_damage());
                let JournalError::CutShort { next: found, durable: 180, .. } = error else {
                    panic!("{error}");
                };
                assert_eq!(found, next, "{error}");
            }
            assert_eq!(fs::read(&path).unwrap(), damage, "a rejected file is unchanged");
        }
    }
    // The operator accepts the loss.
    remove_mark(place.path());
    let (appender, recovered) = open(place.path(), identity(), options()).unwrap();
    assert_eq!(recovered.next_sequence, 169);
    appender.close().unwrap();
    assert_replays(place.path(), 169);
}

/// All files except the mark are missing.
#[test]
fn a_missing_log_is_rejected() {
    let place = tempfile::tempdir().unwrap();
    written(place.path(), MANY);
    for segment in files(place.path(), "segment") {
        fs::remove_file(segment).unwrap();
    }
    let error = open(place.path(), identity(), options()).err().unwrap();
    assert!(matches!(error, JournalError::CutShort { next: 0, durable: MANY, .. }), "{error}");
}

/// A power failure may leave an older mark: durable inputs after it are kept.
#[test]
fn an_older_mark_does_no_harm() {
    let place = tempfile::tempdir().unwrap();
    let mark = place.path().join("durable.mark");
    written(place.path(), 100);
    let old = fs::read(&mark).unwrap();
    written(place.path(), 180);
    fs::write(&mark, old).unwrap();
    assert_replays(place.path(), 180);
    written(place.path(), 200);
    assert_replays(place.path(), 200);
}

/// The mark of another log, and a damaged one.
#[test]
fn a_mark_of_another_log_is_rejected() {
    let (place, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    written(place.path(), 100);
    written(other.path(), 100);
    fs::copy(other.path().join("durable.mark"), place.path().join("durable.mark")).unwrap();
    for error in errors(place.path()) {
        assert!(matches!(error, JournalError::OtherLog(_)), "{error}");
    }
    fs::write(place.path().join("durable.mark"), "x").unwrap();
    for error in errors(place.path()) {
        assert!(matches!(error, JournalError::Mark { .. }), "{error}");
    }
}

/// A truncated segment was once extended with a warning, and its inputs were lost.
#[test]
fn a_truncated_segment_is_rejected() {
    let place = in_memory();
    written(place.path(), 180);
    remove_mark(place.path());
    let (path, bytes, end) = tail(place.path());
    for length in [128, end - 1, end, bytes.len() - 1] {
        fs::write(&path, &bytes[..length]).unwrap();
        for error in errors(place.path()) {
            let JournalError::Shrunken { found, made, .. } = error else { panic!("{error}") };
            assert_eq!((found as usize, made as usize), (length, bytes.len()));
        }
        assert_eq!(fs::read(&path).unwrap().len(), length, "a rejected file is unchanged");
    }
}

/// The errors of reading and of writing.
fn errors(place: &Path) -> [JournalError; 2] {
    [replay(place).unwrap_err(), open(place, identity(), options()).err().unwrap()]
}

/// A later segment has content although one before it is not full: inputs are missing.
#[test]
fn a_hole_between_segments_is_rejected() {
    let place = tempfile::tempdir().unwrap();
    written(place.path(), 180);
    let segments = files(place.path(), "segment");
    remove_mark(place.path());
    let mut first = fs::read(&segments[0]).unwrap();
    let end = first.len() - RECORD_BYTES * 3;
    first[end..].fill(0);
    fs::write(&segments[0], first).unwrap();
    let error = replay(place.path()).unwrap_err();
    assert!(matches!(error, JournalError::Missing { sequence: 166, .. }), "{error}");
    assert!(open(place.path(), identity(), options()).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(testing::cases(40)) })]

    /// For any number of inputs, writers and snapshots, and a cut anywhere after the last snapshot,
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
            let (mut appender, recovered) = open(place.path(), identity(), options.clone()).unwrap();
            prop_assert_eq!(recovered.next_sequence, done);
            done += inputs;
            append_to(&mut appender, done);
            prop_assert_eq!(appender.close().unwrap(), done);
            if is_saved {
                saved = replay_and_save(place.path()).unwrap().1.sequence;
            }
        }
        // Cut in the last used segment, after the snapshot.
        let segments = files(place.path(), "segment");
        let path = segments.iter().rev().find(|path| first_of(path) < done).unwrap();
        let first = first_of(path);
        let keep = first.max(saved) + cut.index((done - first.max(saved)) as usize + 1) as u64;
        let at = 128 + (keep - first) as usize * RECORD_BYTES;
        let mut bytes = fs::read(path).unwrap();
        bytes[at..].fill(0);
        fs::write(path, &bytes).unwrap();
        // Only a power failure may cut, and it leaves an older mark.
        prop_assert_eq!(replay(place.path()).is_err(), keep < done);
        remove_mark(place.path());
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
