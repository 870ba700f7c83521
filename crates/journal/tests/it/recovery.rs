//! Recovery returns exactly the written inputs: from the log, from snapshots, and from damaged
//! remains of both.

use std::fs;
use std::io::ErrorKind;
use std::time::Duration;

use crate::flow::*;
use clock::Deadline;
use engine::{Command, EngineLimits, Input, Kill, NewOrder, Side};
use journal::*;

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

/// Each writer continues the previous one's log; options may differ.
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
        // A reader sees all acknowledged inputs while the writer continues.
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
fn a_full_ring_is_rejected_with_its_limit() {
    let place = tempfile::tempdir().unwrap();
    let options = Options { ring_slots: 2, ..options() };
    let (mut appender, _) = open(place.path(), identity(), options.clone()).unwrap();
    let deadline = Deadline::after(PATIENCE);
    let error = loop {
        if let Err(error) = appender.try_append(&input(appender.next_sequence())) {
            break error;
        }
        assert!(!deadline.left().is_zero(), "the disk is faster than this loop");
    };
    let expected = [
        AppendError::Full { limit: "ring_slots", max: 2 },
        AppendError::Full { limit: "segment_bytes", max: options.segment_bytes },
    ];
    assert!(expected.contains(&error), "{error}");
    // A rejected input has no sequence, so the log has no hole.
    let taken = appender.next_sequence();
    assert_eq!(appender.close().unwrap(), taken);
    assert_replays(place.path(), taken);
}

/// A snapshotter follows a writer that does not stop for it.
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
    // The same state without them.
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
    let error = snapshotter.advance(101).unwrap_err();
    assert!(matches!(error, JournalError::NotYet { asked: 101, end: 100 }), "{error}");
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
    let begun =
        ["499", "500"].map(|of| place.path().join(format!("00000000000000000{of}.snapshot.new")));
    begun.iter().for_each(|file| fs::write(file, "half").unwrap());
    let removed = remove_old(place.path()).unwrap();
    // The first snapshot, the two segments that end before input 500, and an incomplete file.
    assert_eq!(removed.len(), 4, "{removed:?}");
    assert!(!begun[0].exists() && begun[1].exists());
    assert_eq!(assert_replays(place.path(), MANY).from_snapshot, Some(MANY));
    fs::remove_file(&latest.path).unwrap();
    assert_eq!(assert_replays(place.path(), MANY).from_snapshot, Some(500));
    // Without the beginning of the log, a damaged snapshot is the reported error.
    let whole = fs::read(&second.path).unwrap();
    fs::write(&second.path, &whole[1..]).unwrap();
    let error = replay(place.path()).unwrap_err().to_string();
    assert!(error.contains("500.snapshot"), "{error}");
    // Without any snapshot, the missing beginning is reported.
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
fn options_out_of_range_are_rejected_by_name() {
    let place = tempfile::tempdir().unwrap();
    for (name, options) in [
        ("segment_bytes", Options { segment_bytes: 100, ..options() }),
        ("reserve_inputs", Options { reserve_inputs: 1000, ..options() }),
        ("ring_slots", Options { ring_slots: 1, ..options() }),
        ("number of slots", Options { ring_slots: 3, ..options() }),
        ("group_inputs_max", Options { group_inputs_max: 0, ..options() }),
        ("place or start", Options { cores: vec![100_000], ..options() }),
    ] {
        let error = open(place.path(), identity(), options).err().unwrap().to_string();
        assert!(error.contains(name), "{error}");
    }
    let limits = EngineLimits { open_orders_max: 0, ..identity().limits };
    let error = open(place.path(), Identity { limits, ..identity() }, options()).err().unwrap();
    assert!(error.to_string().contains("open_orders_max"), "{error}");
}

/// Closing waits for the writer's threads: none is left that could make a file.
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

/// Opening removes an incomplete segment of a dead writer, and incomplete snapshots.
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

/// The next segment can't be made: inputs accepted before that are still written.
#[test]
fn a_directory_that_is_removed_under_a_writer_is_a_failure() {
    let place = tempfile::tempdir().unwrap();
    let log = place.path().join("log");
    let (mut appender, _) = open(&log, identity(), options()).unwrap();
    let watch = appender.watch();
    append_to(&mut appender, 1);
    let deadline = Deadline::after(PATIENCE);
    // The writer prepares its next segment at the same time, and may add a file while the directory
    // is being emptied.
    while fs::remove_dir_all(&log).is_err_and(|why| why.kind() == ErrorKind::DirectoryNotEmpty) {
        assert!(!deadline.left().is_zero());
    }
    loop {
        match appender.try_append(&input(appender.next_sequence())) {
            Ok(_) | Err(AppendError::Full { .. }) => assert!(!deadline.left().is_zero()),
            Err(error) => break assert_eq!(error, AppendError::Failed),
        }
    }
    let JournalState::Failed { why } = appender.state() else { panic!("{:?}", appender.state()) };
    assert!(why.to_string().contains("log"), "{why}");
    let taken = appender.next_sequence();
    let why = appender.close().unwrap_err();
    assert!(matches!(*why, JournalError::System { .. }), "{why}");
    assert_eq!(watch.durable(), taken);
}

#[test]
fn the_writer_runs_where_it_is_told() {
    let Ok(cores) = rustix::thread::sched_getaffinity(None) else {
        testing::skip!(Kernel, "cores can't be asked for here");
    };
    let core = (0..rustix::thread::CpuSet::MAX_CPU).find(|core| cores.is_set(*core)).unwrap();
    let place = tempfile::tempdir().unwrap();
    let options = Options { cores: vec![core], ..options() };
    let (_appender, _) = open(place.path(), identity(), options).unwrap();
    let mut lists = Vec::new();
    for thread in fs::read_dir("/proc/self/task").into_iter().flatten().flatten() {
        let read = |name| fs::read_to_string(thread.path().join(name)).unwrap_or_default();
        if read("comm").starts_with("journal") {
            let status = read("status");
            let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
            lists.extend(list.map(|list| list.trim().to_owned()));
        }
    }
    if lists.is_empty() {
        testing::skip!(Kernel, "threads can't be seen here");
    }
    // Other tests have journals too: at least two threads belong to this one.
    let pinned = lists.iter().filter(|list| **list == core.to_string()).count();
    assert!(pinned >= 2, "{lists:?}");
}

/// Inputs with room in the ring and in the segments are accepted.
#[test]
fn what_has_room_is_taken() {
    let place = tempfile::tempdir().unwrap();
    let (segment_bytes, ring_slots) = (4 << 10, 8);
    let options = Options { segment_bytes, ring_slots, ..options() };
    let (mut appender, _) = open(place.path(), identity(), options).unwrap();
    assert_eq!(appender.check_room(9), Err(AppendError::Full { limit: "ring_slots", max: 8 }));
    let kill = Command::Kill(Kill { account: None, tag: 0, on: false, cancel: false });
    let setting = Input { time_ns: 0, command: kill };
    let deadline = Deadline::after(Duration::from_secs(10));
    while appender.next_sequence() < 400 {
        assert!(!deadline.left().is_zero(), "{:?}", appender.state());
        if appender.check_room(8).is_ok() {
            for _ in 0..8 {
                appender.try_append(&setting).unwrap();
            }
        }
    }
    assert_eq!(Appender::none().check_room(u64::MAX), Ok(()));
}

/// From the log, from a snapshot, and from both. A client id has a sequence of its own, and its
/// order is durable with it.
#[test]
fn client_ids_come_back() {
    let place = tempfile::tempdir().unwrap();
    let (mut appender, recovered) = open(place.path(), identity(), options()).unwrap();
    assert_eq!(recovered.client_ids.count(), 0);
    let order = |order_id| {
        let order = NewOrder { order_id, account: 1, ..NewOrder::limit(Side::Buy, 90, 1) };
        Input { time_ns: 0, command: Command::New(order) }
    };
    let text = |of: &str| std::array::from_fn(|at| of.as_bytes().get(at).copied().unwrap_or(0));
    assert_eq!(appender.try_append_named(&text("one"), &order(1)), Ok(1));
    assert_eq!(appender.try_append(&order(2)), Ok(2));
    assert_eq!(appender.try_append_named(&text("three"), &order(3)), Ok(4));
    assert_eq!(appender.close().unwrap(), 5);
    let (replayed, snapshot) = replay_and_save(place.path()).unwrap();
    let ids = |replayed: &ReplayedJournal| {
        [1, 2, 3, 4].map(|order_id| replayed.client_ids.get(order_id).map(str::to_owned))
    };
    let [one, three] = ["one", "three"].map(|id| Some(id.to_owned()));
    assert_eq!(ids(&replayed), [one.clone(), None, three.clone(), None]);
    assert_eq!((replayed.inputs.total(), snapshot.sequence), (3, 5));

    let (mut appender, recovered) = open(place.path(), identity(), options()).unwrap();
    assert_eq!((recovered.from_snapshot, ids(&recovered)), (Some(5), ids(&replayed)));
    assert_eq!(appender.try_append_named(&text("four"), &order(4)), Ok(6));
    let cancel = engine::Cancel { order_id: 1, account: 1, tag: 0, instrument: 0 };
    let cancel = Input { time_ns: 0, command: Command::Cancel(cancel) };
    assert_eq!(appender.try_append(&cancel), Ok(7));
    assert_eq!(appender.close().unwrap(), 8);
    let replayed = replay(place.path()).unwrap();
    assert_eq!(ids(&replayed), [None, None, three, Some("four".to_owned())]);
}
