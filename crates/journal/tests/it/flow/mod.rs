//! Inputs of every kind, each derived from its sequence, which change an engine.

#![allow(dead_code, reason = "each test file uses its part")]

use std::path::Path;
use std::time::Duration;

use clock::Deadline;
use clock::random::SplitMix64;
use engine::*;
use journal::{AppendError, Appender, Identity, Options, ReplayedJournal};

/// Time limit of a step on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Inputs of a segment of [`options`].
pub const SEGMENT: u64 = 169;
/// Enough for three segments and a part of a fourth.
pub const MANY: u64 = 600;

const ACCOUNTS: u32 = 4;
const INSTRUMENTS: u16 = 2;
/// Cancelled orders are among this number of last inputs.
const WINDOW: u64 = 200;

pub fn identity() -> Identity {
    let limits = EngineLimits {
        open_orders_max: 500,
        price_levels_max: 60,
        stop_levels_max: 20,
        expiring_orders_max: 50,
        accounts_max: ACCOUNTS,
    };
    Identity { instruments: INSTRUMENTS, limits }
}

/// Small files, to test their ends often.
pub fn options() -> Options {
    Options {
        segment_bytes: 16 << 10,
        reserve_inputs: 20,
        ring_slots: 256,
        group_inputs_max: 64,
        ..Options::default()
    }
}

/// The sender and the instrument of the input with this sequence.
fn sender(sequence: u64) -> (u32, u16) {
    let mut random = SplitMix64::new(!sequence);
    (random.below(ACCOUNTS), random.below(INSTRUMENTS.into()) as u16)
}

/// The input of this sequence.
pub fn input(sequence: u64) -> Input {
    let mut random = SplitMix64::new(sequence);
    let random = &mut random;
    let tag = sequence as u32;
    let order_id = sequence.saturating_sub(1 + u64::from(random.below(WINDOW as u32)));
    let kind = random.below(100);
    // Mostly the owner of an order cancels or amends it.
    let of = if (5..50).contains(&kind) && !kind.is_multiple_of(10) { order_id } else { sequence };
    let (account, instrument) = sender(of);
    let command = match kind {
        0 => Command::MassCancel(MassCancel {
            account: (random.below(2) == 0).then_some(account),
            instrument: Some(instrument),
            side: (random.below(2) == 0).then_some(Side::Buy),
            tag,
        }),
        1 => Command::Position(PositionSettings {
            account,
            tag,
            instrument,
            long_lots_max: 1 << 20,
            short_lots_max: 1 << 20,
            change_lots: i64::from(random.below(100)) - 50,
        }),
        2 => Command::Account(AccountSettings {
            tag,
            messages_per_second_max: 1000 + random.below(1000),
            self_trade: SelfTrade::CancelOldest,
            ..AccountSettings::unlimited(account)
        }),
        3 => Command::Instrument(InstrumentSettings {
            instrument,
            tag,
            state: InstrumentState::Open,
            band_low_ticks: 1 + i64::from(random.below(10)),
            band_high_ticks: PRICE_TICKS_MAX,
            reference_ticks: 100,
        }),
        4 => {
            let (on, cancel) = (random.below(4) == 0, random.below(8) == 0);
            Command::Kill(Kill { account: Some(account), tag, on, cancel })
        }
        5..40 => Command::Cancel(Cancel { order_id, account, tag, instrument }),
        40..50 => Command::Amend(Amend {
            order_id,
            account,
            tag,
            instrument,
            price_ticks: 90 + i64::from(random.below(20)),
            remaining_lots: 1 + u64::from(random.below(50)),
        }),
        _ => Command::New(order(sequence, account, instrument, random)),
    };
    Input { time_ns: sequence * 10_000_000, command }
}

fn order(id: u64, account: u32, instrument: u16, random: &mut SplitMix64) -> NewOrder {
    let side = if random.below(2) == 0 { Side::Buy } else { Side::Sell };
    let lots = 1 + u64::from(random.below(50));
    let ticks = 90 + i64::from(random.below(20));
    let limit = NewOrder {
        order_id: id,
        account,
        tag: id as u32,
        instrument,
        ..NewOrder::limit(side, ticks, lots)
    };
    match random.below(10) {
        0 => NewOrder { display_lots: 1 + lots / 4, ..limit },
        1 => NewOrder { stop_ticks: 95 + i64::from(random.below(10)), ..limit },
        2 => NewOrder {
            time_in_force: TimeInForce::GoodTillDate,
            expires_ns: (id + 100) * 10_000_000,
            ..limit
        },
        3 => NewOrder { time_in_force: TimeInForce::ImmediateOrCancel, ..limit },
        4 => NewOrder { post_only: PostOnly::Reprice, ..limit },
        _ => limit,
    }
}

/// An engine after this number of inputs.
pub fn engine_after(inputs: u64) -> Engine {
    let Identity { instruments, limits } = identity();
    let mut engine = Engine::new(instruments, limits);
    apply(&mut engine, 0, inputs);
    engine
}

/// Applies the inputs `from..to`.
pub fn apply(engine: &mut Engine, from: u64, to: u64) {
    for sequence in from..to {
        engine.apply(&input(sequence), &mut |_| {});
    }
}

/// Appends the inputs up to `to`, exclusive, waiting for the writer.
pub fn append_to(appender: &mut Appender, to: u64) {
    let deadline = Deadline::after(PATIENCE);
    while appender.next_sequence() < to {
        match appender.try_append(&input(appender.next_sequence())) {
            Ok(_) => {}
            Err(AppendError::Full { .. }) => {
                assert!(!deadline.left().is_zero(), "{:?}", appender.state());
                std::thread::yield_now();
            }
            Err(error) => panic!("{error}: {:?}", appender.state()),
        }
    }
}

/// A closed journal with this number of inputs.
pub fn written(place: &Path, inputs: u64) {
    let (mut appender, _) = journal::open(place, identity(), options()).unwrap();
    append_to(&mut appender, inputs);
    assert_eq!(appender.close().unwrap(), inputs);
}

/// Removes the mark, which disables its check, as after a power failure before the mark was on the
/// disk.
pub fn remove_mark(place: &Path) {
    std::fs::remove_file(place.join("durable.mark")).unwrap();
}

/// A directory for frequent writes: on tmpfs if possible.
pub fn in_memory() -> tempfile::TempDir {
    let shared = Path::new("/dev/shm");
    let place = if shared.is_dir() { tempfile::tempdir_in(shared) } else { tempfile::tempdir() };
    place.unwrap()
}

/// Replays, and compares the result with an engine without a journal.
#[track_caller]
pub fn assert_replays(place: &Path, inputs: u64) -> ReplayedJournal {
    let replayed = journal::replay(place).unwrap();
    assert_eq!(replayed.next_sequence, inputs);
    assert_eq!(replayed.state_hash, engine_after(inputs).state_hash());
    assert_eq!(replayed.engine.state_hash(), replayed.state_hash);
    assert_eq!(replayed.inputs.total() + replayed.from_snapshot.unwrap_or(0), inputs);
    replayed
}

/// The directory's files with this extension, ascending.
pub fn files(place: &Path, extension: &str) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(place).unwrap();
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|found| found == extension));
    files.sort();
    files
}
