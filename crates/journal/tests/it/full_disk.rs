//! On a full disk, orders are rejected, cancels are accepted as long as the reserve lasts, and all
//! accepted inputs are in the log. With room, it accepts orders again. On a tmpfs of a few pages,
//! in its own mount namespace.

use crate::flow::*;
use clock::Deadline;
use engine::{Cancel, Command, Input};
use journal::{AppendError, Appender, JournalError, JournalState, Options};
use testing::{small_disk, test_name};

const SEGMENT_BYTES: u64 = 64 << 10;
const RESERVE: u64 = 50;
/// Room for three segments, their names, and a part of a fourth; or, with the filler, for two.
const DISK_BYTES: u64 = 3 * SEGMENT_BYTES + SEGMENT_BYTES / 2;

fn small_options() -> Options {
    Options { segment_bytes: SEGMENT_BYTES, reserve_inputs: RESERVE, ..options() }
}

/// Inputs that add risk or don't, independent of the engine.
fn order(sequence: u64) -> Input {
    (sequence..).map(input).find(|input| matches!(input.command, Command::New(_))).unwrap()
}

fn cancel(order_id: u64) -> Input {
    let cancel = Cancel { order_id, account: 0, tag: 0, instrument: 0 };
    Input { time_ns: order_id, command: Command::Cancel(cancel) }
}

/// Appends until an input is rejected for a reason other than a slow disk. Counts the accepted
/// ones.
fn append_until_rejected(
    appender: &mut Appender,
    taken: &mut Vec<Input>,
    make: impl Fn(u64) -> Input,
) -> AppendError {
    loop {
        let input = make(appender.next_sequence());
        match append(appender, &input) {
            Ok(sequence) => {
                assert_eq!(sequence, taken.len() as u64);
                taken.push(input);
            }
            Err(error) => return error,
        }
    }
}

/// Appends, and waits while the ring is full, because the writer may be slow on a busy machine.
fn append(appender: &mut Appender, input: &Input) -> Result<u64, AppendError> {
    let deadline = Deadline::after(PATIENCE);
    loop {
        match appender.try_append(input) {
            Err(AppendError::Full { .. }) => {
                assert!(!deadline.left().is_zero(), "{:?}", appender.state());
                std::thread::yield_now();
            }
            other => return other,
        }
    }
}

fn wait_durable(appender: &Appender, inputs: u64) {
    let deadline = Deadline::after(PATIENCE);
    while appender.acknowledged() < inputs {
        assert!(!deadline.left().is_zero(), "{:?}", appender.state());
        std::thread::yield_now();
    }
}

#[test]
fn orders_are_rejected_cancels_are_accepted_and_with_room_it_continues() {
    let name = test_name!(orders_are_rejected_cancels_are_accepted_and_with_room_it_continues);
    small_disk::on(DISK_BYTES, &name, |place| {
        let filler = place.join("filler");
        std::fs::write(&filler, vec![1; SEGMENT_BYTES as usize]).unwrap();
        let log = place.join("log");
        let (mut appender, _) = journal::open(&log, identity(), small_options()).unwrap();
        let mut taken = Vec::new();

        assert_eq!(append_until_rejected(&mut appender, &mut taken, order), AppendError::NoRoom);
        let orders = taken.len() as u64;
        let records = (SEGMENT_BYTES - 128) / 96;
        assert_eq!(orders, 2 * records - RESERVE, "two segments, less the reserve");
        assert!(matches!(appender.state(), JournalState::NoRoom), "{:?}", appender.state());

        // Cancels still work and are durable; orders are rejected all the time.
        let some = RESERVE / 2;
        for number in 0..some {
            let cancel = cancel(appender.next_sequence());
            assert_eq!(append(&mut appender, &cancel), Ok(orders + number));
            taken.push(cancel);
            assert_eq!(append(&mut appender, &order(0)), Err(AppendError::NoRoom));
        }
        wait_durable(&appender, orders + some);

        // With room, orders are accepted again automatically.
        std::fs::remove_file(&filler).unwrap();
        let deadline = Deadline::after(PATIENCE);
        while let Err(error) = appender.try_append(&order(0)) {
            assert_eq!(error, AppendError::NoRoom);
            assert!(!deadline.left().is_zero(), "{:?}", appender.state());
            std::thread::yield_now();
        }
        taken.push(order(0));

        // Up to the end of the room, all accepted inputs are durable.
        assert_eq!(append_until_rejected(&mut appender, &mut taken, order), AppendError::NoRoom);
        assert_eq!(append_until_rejected(&mut appender, &mut taken, cancel), AppendError::NoRoom);
        assert_eq!(taken.len() as u64, 3 * records);
        wait_durable(&appender, 3 * records);
        assert_eq!(appender.close().unwrap(), 3 * records);
        let read: Vec<Input> =
            journal::Inputs::open(&log).unwrap().map(|input| input.unwrap().1).collect();
        assert!(read == taken);

        // A full log can't be opened for lack of room, and nothing is lost by trying.
        let error = journal::open(&log, identity(), small_options()).err().unwrap();
        assert!(matches!(error, JournalError::NoRoom { .. }), "{error}");
        assert_eq!(journal::replay(&log).unwrap().next_sequence, 3 * records);
    });
}

#[test]
fn a_disk_too_small_for_a_segment_is_an_error_of_open() {
    small_disk::on(
        DISK_BYTES,
        &test_name!(a_disk_too_small_for_a_segment_is_an_error_of_open),
        |place| {
            let options = Options { segment_bytes: 2 * DISK_BYTES, ..small_options() };
            let error = journal::open(&place.join("log"), identity(), options).err().unwrap();
            assert!(matches!(error, JournalError::NoRoom { .. }), "{error}");
            assert!(error.to_string().contains("no room for"), "{error}");
            // The incomplete files are removed: a smaller log fits.
            let (appender, _) =
                journal::open(&place.join("log"), identity(), small_options()).unwrap();
            appender.close().unwrap();
        },
    );
}

#[test]
fn a_snapshot_without_room_does_not_appear() {
    small_disk::on(DISK_BYTES, &test_name!(a_snapshot_without_room_does_not_appear), |place| {
        let log = place.join("log");
        let (mut appender, _) = journal::open(&log, identity(), small_options()).unwrap();
        append_to(&mut appender, 600);
        appender.close().unwrap();
        let filler = place.join("filler");
        let _ = std::fs::write(&filler, vec![1; DISK_BYTES as usize]);
        let error = journal::replay_and_save(&log).err().unwrap();
        assert!(matches!(error, JournalError::NoRoom { .. }), "{error}");
        assert!(files(&log, "snapshot").is_empty() && files(&log, "new").is_empty());
        std::fs::remove_file(&filler).unwrap();
        let (replayed, _) = journal::replay_and_save(&log).unwrap();
        assert_eq!(replayed.next_sequence, 600);
    });
}
