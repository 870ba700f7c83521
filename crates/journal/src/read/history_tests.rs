use std::time::Duration;

use engine::{Cancel, Command, EngineLimits, NewOrder, Side};

use super::*;
use crate::{Options, remove_old, replay, replay_and_save};

fn identity() -> Identity {
    Identity { instruments: 1, limits: EngineLimits::matching_only(100, 20) }
}

fn order(order_id: u64) -> Input {
    let order = NewOrder { order_id, ..NewOrder::limit(Side::Buy, 50, 2) };
    Input { time_ns: order_id, command: Command::New(order) }
}

fn text(of: &str) -> ClientIdText {
    std::array::from_fn(|byte| of.as_bytes().get(byte).copied().unwrap_or(0))
}

/// Appends orders `from` to `to`, the even ones with a client id, each with its cancel, and ends
/// the journal.
fn write(place: &Path, from: u64, to: u64) {
    let options = Options { segment_bytes: 1 << 16, reserve_inputs: 100, ..Options::default() };
    let (mut appender, _) = crate::open(place, identity(), options).unwrap();
    // A segment may not be ready at once.
    let mut append = |client_id: Option<ClientIdText>, input: Input| {
        let mut again = || match &client_id {
            Some(text) => appender.try_append_named(text, &input),
            None => appender.try_append(&input),
        };
        while again().is_err() {
            std::thread::sleep(Duration::from_millis(1));
        }
    };
    for id in from..to {
        append(id.is_multiple_of(2).then(|| text(&format!("o{id}"))), order(id));
        let cancel = Cancel { order_id: id, account: 0, tag: 0, instrument: 0 };
        append(None, Input { time_ns: id, command: Command::Cancel(cancel) });
    }
    appender.close().unwrap();
}

/// All inputs, and the state hash after them.
fn read(place: &Path) -> (Vec<RecordedInput>, u64) {
    let mut history = History::open(place).unwrap();
    assert_eq!(history.identity(), identity());
    let (mut engine, mut all) = (history.engine().unwrap(), Vec::new());
    while let Some(recorded) = history.next_input().unwrap() {
        engine.apply(&recorded.input, &mut |_| {});
        all.push(recorded);
    }
    assert_eq!(history.end().unwrap(), None);
    (all, engine.state_hash())
}

#[test]
fn every_input_comes_with_its_place_and_the_client_id_of_its_order() {
    let place = tempfile::tempdir().unwrap();
    write(place.path(), 1, 5);
    let (all, hash) = read(place.path());
    let told: Vec<(u64, Option<&str>)> =
        all.iter().map(|one| (one.sequence, one.client_id())).collect();
    let (two, four) = (Some("o2"), Some("o4"));
    // A client id takes a place of its own, before its input.
    let expected =
        [(0, None), (1, None), (3, two), (4, None), (5, None), (6, None), (8, four), (9, None)];
    assert_eq!(told, expected);
    assert_eq!(hash, replay(place.path()).unwrap().state_hash);
}

/// A snapshot at the end, which a replay begins with, hides nothing; one before which segments were
/// removed is the start.
#[test]
fn it_begins_with_the_oldest_state_that_is_left() {
    let place = tempfile::tempdir().unwrap();
    write(place.path(), 1, 1_000);
    replay_and_save(place.path()).unwrap();
    assert_eq!(read(place.path()).0.len(), 2 * 999);
    write(place.path(), 1_000, 1_010);
    replay_and_save(place.path()).unwrap();
    let before = read(place.path());
    assert!(!remove_old(place.path()).unwrap().is_empty());
    assert!(History::open(place.path()).unwrap().first_sequence() > 0);
    let after = read(place.path());
    assert_eq!((after.0.len(), after.1), (2 * 10, before.1));
    assert!(before.0.ends_with(&after.0));
    for snapshot in Directory::new(place.path()).snapshots().unwrap() {
        std::fs::write(Directory::new(place.path()).snapshot(snapshot), "").unwrap();
    }
    assert!(History::open(place.path()).unwrap_err().is_damage());
}

#[test]
fn a_journal_with_a_writer_is_rejected() {
    let place = tempfile::tempdir().unwrap();
    let options = Options { segment_bytes: 1 << 16, reserve_inputs: 100, ..Options::default() };
    let (_appender, _) = crate::open(place.path(), identity(), options).unwrap();
    assert!(matches!(History::open(place.path()), Err(JournalError::InUse(_))));
    let nowhere = place.path().join("nowhere");
    assert!(matches!(History::open(&nowhere), Err(JournalError::NoJournal(_))));
}
