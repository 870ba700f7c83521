//! `tickpath replay` of journals that are whole, cut off, damaged, or none.

use crate::support::*;
use engine::{Cancel, Command, Engine, EngineLimits, Input, NewOrder, Side};
use journal::{AppendError, Identity, Options, RECORD_BYTES};
use record::replay::{Replay, SCHEMA};
use std::path::{Path, PathBuf};

const INPUTS: u64 = 60;

/// Two orders that trade, then one that is cancelled, and so on.
fn input(sequence: u64) -> Input {
    let order = |side| NewOrder { order_id: sequence, ..NewOrder::limit(side, 100, 5) };
    let command = match sequence % 4 {
        0 | 2 => Command::New(order(Side::Buy)),
        1 => Command::New(order(Side::Sell)),
        _ => Command::Cancel(Cancel { order_id: sequence - 1, account: 0, tag: 0, instrument: 0 }),
    };
    Input { time_ns: sequence, command }
}

fn identity() -> Identity {
    Identity { instruments: 1, limits: EngineLimits::matching_only(10, 10) }
}

/// Writes the inputs up to `to`, exclusive, behind those that are there.
fn write(log: &Path, to: u64) {
    let options = Options { segment_bytes: 4096, reserve_inputs: 0, ..Options::default() };
    let (mut appender, _) = journal::open(log, identity(), options).unwrap();
    wait_for("the disk", || {
        while appender.next_sequence() < to {
            match appender.try_append(&input(appender.next_sequence())) {
                Err(AppendError::Full { .. }) => return None,
                taken => taken.unwrap(),
            };
        }
        Some(())
    });
    appender.close().unwrap();
}

fn state_hash(inputs: u64) -> String {
    let mut engine = Engine::new(1, identity().limits);
    (0..inputs).for_each(|sequence| engine.apply(&input(sequence), &mut |_| {}));
    format!("{:016x}", engine.state_hash())
}

fn replay(log: &Path, arguments: &[&str]) -> std::process::Output {
    tickpath().arg("replay").arg(log).args(arguments).output().unwrap()
}

#[track_caller]
fn replayed(log: &Path, arguments: &[&str]) -> Replay {
    let done = replay(log, &[&["--json"], arguments].concat());
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    let found: Replay = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!((found.schema, found.instruments), (SCHEMA, 1));
    assert_eq!(found.state_hash, state_hash(found.next_sequence));
    found
}

/// The segment with the last input, of those that hold 41 each.
fn last_segment(log: &Path) -> PathBuf {
    log.join("00000000000000000041.segment")
}

#[test]
fn a_journal_is_replayed_to_its_state() {
    let place = tempfile::tempdir().unwrap();
    let log = place.path().join("log");
    write(&log, INPUTS);
    let found = replayed(&log, &[]);
    assert_eq!((found.next_sequence, found.from_snapshot), (INPUTS, None));
    assert_eq!((found.inputs["new"], found.inputs["cancel"], found.inputs["kill"]), (45, 15, 0));
    assert_eq!((found.events["trade"], found.events["booked"]), (15, 30));
    assert_eq!((found.cut, found.snapshot), (None, None));

    let said = text(&replay(&log, &[]).stdout);
    assert!(said.starts_with(&format!("replay · {} · state ", log.display())), "{said}");
    assert!(said.contains(&state_hash(INPUTS)) && said.contains("60 inputs"), "{said}");
    assert!(said.contains("cancel 15, new 45") && !said.contains("CUT"), "{said}");
}

#[test]
fn the_next_replay_begins_at_the_snapshot() {
    let place = tempfile::tempdir().unwrap();
    write(place.path(), 20);
    let found = replayed(place.path(), &["--snapshot"]);
    let snapshot = PathBuf::from(found.snapshot.unwrap());
    assert!(snapshot.is_file());
    write(place.path(), INPUTS);
    let found = replayed(place.path(), &[]);
    assert_eq!((found.from_snapshot, found.next_sequence), (Some(20), INPUTS));
    assert_eq!(found.inputs.values().sum::<u64>(), INPUTS - 20);

    // A snapshot that is not used is told; the state is the same.
    std::fs::write(&snapshot, "x").unwrap();
    let found = replayed(place.path(), &[]);
    assert_eq!((found.from_snapshot, found.next_sequence), (None, INPUTS));
    assert!(found.snapshots_refused[0].contains(".snapshot"), "{found:?}");
    let said = text(&replay(place.path(), &[]).stdout);
    assert!(said.contains("NOT USED"), "{said}");
}

#[test]
fn a_torn_tail_is_cut_and_said() {
    let place = tempfile::tempdir().unwrap();
    write(place.path(), INPUTS);
    let segment = last_segment(place.path());
    let bytes = std::fs::read(&segment).unwrap();
    let mut torn = bytes.clone();
    torn[128 + 18 * RECORD_BYTES + 50..].fill(0);
    std::fs::write(&segment, &torn).unwrap();
    // The mark says that the record had been durable.
    let done = replay(place.path(), &[]);
    let said = text(&done.stderr);
    assert_eq!(done.status.code(), Some(3), "{said}");
    assert!(said.contains("ends before input 59") && said.contains("durable.mark"), "{said}");
    // Without it, as after a power failure before the mark was on the disk, a torn tail is cut.
    std::fs::remove_file(place.path().join("durable.mark")).unwrap();
    let cut = replayed(place.path(), &[]).cut.unwrap();
    // Its last bytes may have been zeros before: a record holds what was durable when it was
    // written.
    assert_eq!(cut.sequence, INPUTS - 1);
    assert!((1..=50).contains(&cut.bytes), "{}", cut.bytes);
    let said = text(&replay(place.path(), &[]).stdout);
    assert!(said.contains("CUT"), "{said}");
    assert!(said.contains("the log ends before input 59"), "{said}");
    assert!(std::fs::read(&segment).unwrap() == torn, "nothing was changed");
}

#[test]
fn damage_is_rejected_with_its_place() {
    let place = tempfile::tempdir().unwrap();
    write(place.path(), INPUTS);
    let segment = last_segment(place.path());
    let mut bytes = std::fs::read(&segment).unwrap();
    bytes[128 + 5 * RECORD_BYTES + 30] ^= 1;
    std::fs::write(&segment, &bytes).unwrap();
    let done = replay(place.path(), &["--json"]);
    let said = text(&done.stderr);
    assert_eq!(done.status.code(), Some(3), "{said}");
    assert!(done.stdout.is_empty());
    assert!(said.contains("is damaged at byte 608, input 46"), "{said}");
}

#[test]
fn the_command_explains_itself() {
    let done = output(&["replay", "--help"]);
    let said = text(&done.stdout);
    assert!(done.status.success() && said.contains("Usage: tickpath replay"), "{said}");
    assert_eq!(output(&["replay"]).status.code(), Some(2), "which log?");
}

#[test]
fn what_is_no_journal_is_rejected() {
    let place = tempfile::tempdir().unwrap();
    for log in [place.path(), &place.path().join("nowhere"), Path::new("/dev/null")] {
        let done = replay(log, &[]);
        let said = text(&done.stderr);
        assert_eq!(done.status.code(), Some(2), "{said}");
        assert!(said.contains("no journal"), "{said}");
    }
    let options = Options { segment_bytes: 4096, reserve_inputs: 0, ..Options::default() };
    let (_writer, _) = journal::open(place.path(), identity(), options).unwrap();
    let done = replay(place.path(), &[]);
    assert_eq!(done.status.code(), Some(2));
    assert!(text(&done.stderr).contains("is in use"), "{}", text(&done.stderr));
}
