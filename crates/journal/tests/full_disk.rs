//! On a disk without room orders are refused, cancels are taken as long as the reserve lasts, and all that was taken is there; with room again
//! it goes on. On a tmpfs of a few pages, in a mount namespace of its own.

mod flow;

use std::path::Path;
use std::process::Command as Process;

use engine::{Cancel, Command, Input};
use flow::*;
use journal::{Appender, JournalError, JournalState, Options, Refused};
use measure::clock::Deadline;

const PLACE: &str = "TICKPATH_TEST_SMALL_DISK";

const SEGMENT_BYTES: u64 = 64 << 10;
const RESERVE: u64 = 50;
/// Room for three segments, their names, and a part of a fourth; or with the filler for two.
const DISK_BYTES: u64 = 3 * SEGMENT_BYTES + SEGMENT_BYTES / 2;

/// Runs one of the tests below again where the disk is small.
fn run_on_small_disk(test: &str) {
    let place = tempfile::tempdir().unwrap();
    let run =
        r#"mount -t tmpfs -o "size=$1" tmpfs "$2" || exit 77; exec "$3" --exact "$4" --nocapture"#;
    let tried = Process::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", run, "sh"])
        .arg(DISK_BYTES.to_string())
        .arg(place.path())
        .arg(std::env::current_exe().unwrap())
        .arg(test)
        .env(PLACE, place.path())
        .output();
    let output = match tried {
        Ok(output) => output,
        Err(error) => return eprintln!("skipped: no unshare(1) here: {error}"),
    };
    let said = String::from_utf8_lossy(&output.stdout);
    // The test itself says so when it has run: a shell that was refused does not.
    if said.contains("on the small disk") {
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}\n{said}\n{errors}", output.status);
        return;
    }
    eprintln!("skipped: a mount namespace is not permitted here: {output:?}");
}

/// Runs `check` on the small disk: in the process that is started there, or by starting it.
fn on_small_disk(test: &str, check: impl FnOnce(&Path)) {
    match std::env::var_os(PLACE) {
        Some(place) => {
            println!("on the small disk");
            check(Path::new(&place));
        }
        None => run_on_small_disk(test),
    }
}

fn small_options() -> Options {
    Options { segment_bytes: SEGMENT_BYTES, reserve_inputs: RESERVE, ..options() }
}

/// Inputs that add risk, or don't, whatever the engine makes of them.
fn order(sequence: u64) -> Input {
    (sequence..).map(input).find(|input| matches!(input.command, Command::New(_))).unwrap()
}

fn cancel(order_id: u64) -> Input {
    let cancel = Cancel { order_id, account: 0, tag: 0, instrument: 0 };
    Input { time_ns: order_id, command: Command::Cancel(cancel) }
}

/// Appends until it is refused for another reason than a slow disk; what was taken.
fn append_until_refused(
    appender: &mut Appender,
    taken: &mut Vec<Input>,
    make: impl Fn(u64) -> Input,
) -> Refused {
    let deadline = Deadline::after(PATIENCE);
    loop {
        let input = make(appender.next_sequence());
        match appender.try_append(&input) {
            Ok(sequence) => {
                assert_eq!(sequence, taken.len() as u64);
                taken.push(input);
            }
            Err(Refused::Full { .. }) => {
                assert!(!deadline.left().is_zero(), "{:?}", appender.state());
                std::thread::yield_now();
            }
            Err(refused) => return refused,
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
fn orders_are_refused_cancels_are_taken_and_with_room_it_goes_on() {
    let test = "orders_are_refused_cancels_are_taken_and_with_room_it_goes_on";
    on_small_disk(test, |place| {
        let filler = place.join("filler");
        std::fs::write(&filler, vec![1; SEGMENT_BYTES as usize]).unwrap();
        let log = place.join("log");
        let (mut appender, _) = journal::open(&log, identity(), small_options()).unwrap();
        let mut taken = Vec::new();

        assert_eq!(append_until_refused(&mut appender, &mut taken, order), Refused::NoRoom);
        let orders = taken.len() as u64;
        let records = (SEGMENT_BYTES - 128) / 96;
        assert_eq!(orders, 2 * records - RESERVE, "two segments but for the reserve");
        assert!(matches!(appender.state(), JournalState::NoRoom), "{:?}", appender.state());

        // Cancels still work, and are durable; orders are refused all the while.
        let some = RESERVE / 2;
        for _ in 0..some {
            let cancel = cancel(appender.next_sequence());
            appender.try_append(&cancel).unwrap();
            taken.push(cancel);
            assert_eq!(appender.try_append(&order(0)), Err(Refused::NoRoom));
        }
        wait_durable(&appender, orders + some);

        // With room again orders are taken, without anybody's help.
        std::fs::remove_file(&filler).unwrap();
        let deadline = Deadline::after(PATIENCE);
        while let Err(refused) = appender.try_append(&order(0)) {
            assert_eq!(refused, Refused::NoRoom);
            assert!(!deadline.left().is_zero(), "{:?}", appender.state());
            std::thread::yield_now();
        }
        taken.push(order(0));

        // To the very end of the room: all that was taken is durable.
        assert_eq!(append_until_refused(&mut appender, &mut taken, order), Refused::NoRoom);
        assert_eq!(append_until_refused(&mut appender, &mut taken, cancel), Refused::NoRoom);
        assert_eq!(taken.len() as u64, 3 * records);
        wait_durable(&appender, 3 * records);
        assert_eq!(appender.close().unwrap(), 3 * records);
        let read: Vec<Input> =
            journal::Inputs::open(&log).unwrap().map(|input| input.unwrap().1).collect();
        assert!(read == taken);

        // A log that ended full: whoever opens it now finds no room, and nothing is lost by that.
        let error = journal::open(&log, identity(), small_options()).err().unwrap();
        assert!(matches!(error, JournalError::NoRoom { .. }), "{error}");
        assert_eq!(journal::replay(&log).unwrap().next_sequence, 3 * records);
    });
}

#[test]
fn a_disk_too_small_for_a_segment_is_an_error_of_open() {
    on_small_disk("a_disk_too_small_for_a_segment_is_an_error_of_open", |place| {
        let options = Options { segment_bytes: 2 * DISK_BYTES, ..small_options() };
        let error = journal::open(&place.join("log"), identity(), options).err().unwrap();
        assert!(matches!(error, JournalError::NoRoom { .. }), "{error}");
        assert!(error.to_string().contains("no room for"), "{error}");
        // What was begun is gone: a smaller one fits.
        let (appender, _) = journal::open(&place.join("log"), identity(), small_options()).unwrap();
        appender.close().unwrap();
    });
}

#[test]
fn a_snapshot_without_room_does_not_appear() {
    on_small_disk("a_snapshot_without_room_does_not_appear", |place| {
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
