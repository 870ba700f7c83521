//! The cost of each of the engine's decisions, isolated as far as commands can: finding a price
//! level, queueing orders, looking up an id, checking risk.
//!
//! `cargo bench -p engine` prints nanoseconds per command; `cargo test --benches` only checks that
//! each command reaches its decision. The difference of two similar lines is the decision. Each
//! line also includes the way into the engine and out of it, some ten nanoseconds.

use clock::Clock;
use clock::random::SplitMix64;
use engine::{
    AccountSettings, Cancel, Command, DoneReason, Engine, EngineLimits, Event, Input, NewOrder,
    PositionSettings, Reject, Side, TimeInForce,
};
use stats::median;
use std::hint::black_box;

/// Approximate number of commands of a case.
const COMMANDS: u64 = 20_000;
/// Number of timed runs of each case, each with a fresh engine.
const REPEATS: usize = 15;

/// Commands that reach one decision.
struct Case {
    name: &'static str,
    limits: EngineLimits,
    /// Not timed.
    before: Vec<Command>,
    timed: Vec<Command>,
    /// Whether an event is expected from these commands.
    is_meant: fn(&Event) -> bool,
}

fn main() {
    // Cargo passes `--bench` if it wants times.
    let is_timed = std::env::args().any(|argument| argument == "--bench");
    let clock = Clock::calibrate();
    for case in levels().into_iter().chain(queue()).chain(ids()).chain(risk()) {
        look(&case);
        if is_timed {
            let mut picoseconds: Vec<u64> = (0..REPEATS).map(|_| time(&case, clock)).collect();
            picoseconds.sort_unstable();
            let middle = median(&picoseconds).unwrap_or(0);
            println!("{:<42} {:>7.1} ns", case.name, middle as f64 / 1e3);
        }
    }
}

fn prepared(case: &Case) -> Engine {
    let mut engine = Engine::new(1, case.limits);
    apply(&mut engine, &case.before, |_| ());
    engine
}

fn apply(engine: &mut Engine, commands: &[Command], mut hear: impl FnMut(Event)) {
    for command in commands {
        engine.apply(&Input { time_ns: 0, command: *command }, &mut hear);
    }
}

/// Checks that each command has the expected events and no others.
fn look(case: &Case) {
    let mut engine = prepared(case);
    let mut events = 0;
    apply(&mut engine, &case.timed, |event| {
        assert!((case.is_meant)(&event), "{}: {event:?}", case.name);
        events += 1;
    });
    assert!(events >= case.timed.len(), "{}: {events} events", case.name);
}

/// Picoseconds per command.
fn time(case: &Case, clock: Clock) -> u64 {
    let mut engine = prepared(case);
    let start_ns = clock.now_ns();
    apply(&mut engine, &case.timed, |event| {
        black_box(event);
    });
    (clock.now_ns() - start_ns) * 1_000 / case.timed.len() as u64
}

fn limits() -> EngineLimits {
    EngineLimits { accounts_max: 4, ..EngineLimits::matching_only(1 << 16, 1 << 15) }
}

fn buy(order_id: u64, price_ticks: i64) -> Command {
    let order = NewOrder::limit(Side::Buy, price_ticks, 10);
    Command::New(NewOrder { order_id, account: 1, ..order })
}

fn cancel(order_id: u64) -> Command {
    Command::Cancel(Cancel { order_id, account: 1, tag: 0, instrument: 0 })
}

fn is_booked_or_cancelled(event: &Event) -> bool {
    matches!(event, Event::Booked { .. } | Event::Done { reason: DoneReason::Cancelled, .. })
}

/// An order is entered and cancelled at the prices of `price`: its level is created and removed
/// each time.
fn comes_and_goes(name: &'static str, price: impl Fn(u64) -> i64) -> Case {
    let timed = (0..COMMANDS / 2).flat_map(|number| [buy(number, price(number)), cancel(number)]);
    Case {
        name,
        limits: limits(),
        before: Vec::new(),
        timed: timed.collect(),
        is_meant: is_booked_or_cancelled,
    }
}

fn levels() -> Vec<Case> {
    let ladder = |name, distance_ticks: i64| {
        let before: Vec<Command> =
            (0..1_000).map(|n| buy(1_000_000 + n, 1_000_000 - n as i64 * distance_ticks)).collect();
        // Between existing levels or on them, near the best and far from it.
        let price = move |n: u64| 1_000_000 - (n * 7 % 1_000) as i64 * distance_ticks - 1;
        Case { before, ..comes_and_goes(name, price) }
    };
    vec![
        comes_and_goes("levels: one, in an empty book", |_| 1_000),
        ladder("levels: among 1 000, two ticks apart", 2),
        ladder("levels: among 1 000, 64 ticks apart", 64),
    ]
}

fn queue() -> Vec<Case> {
    let resting: Vec<Command> = (0..COMMANDS).map(|number| buy(number, 1_000)).collect();
    let mut shuffled: Vec<u64> = (0..COMMANDS).collect();
    let mut random = SplitMix64::new(1);
    for index in (1..shuffled.len()).rev() {
        shuffled.swap(index, random.below(index as u32 + 1) as usize);
    }
    let take = |number: u64| {
        let order = NewOrder::limit(Side::Sell, 1_000, 10);
        let time_in_force = TimeInForce::ImmediateOrCancel;
        Command::New(NewOrder { order_id: COMMANDS + number, account: 2, time_in_force, ..order })
    };
    vec![
        Case {
            name: "queue: orders join at one price",
            limits: limits(),
            before: Vec::new(),
            timed: resting.clone(),
            is_meant: is_booked_or_cancelled,
        },
        Case {
            name: "queue: orders leave from anywhere in it",
            limits: limits(),
            before: resting.clone(),
            timed: shuffled.into_iter().map(cancel).collect(),
            is_meant: is_booked_or_cancelled,
        },
        Case {
            name: "queue: the first is taken by an order",
            limits: limits(),
            before: resting,
            timed: (0..COMMANDS).map(take).collect(),
            is_meant: |event| {
                matches!(
                    event,
                    Event::Trade { .. } | Event::Done { reason: DoneReason::Filled, .. }
                )
            },
        },
    ]
}

fn ids() -> Vec<Case> {
    let open = 30_000;
    let unknown = |name, ids: fn(u64) -> u64| Case {
        name,
        limits: limits(),
        before: (0..open).map(|number| buy(ids(number), 1_000 + number as i64 % 100)).collect(),
        timed: (0..COMMANDS).map(|number| cancel(ids(open + number))).collect(),
        is_meant: |event| matches!(event, Event::Rejected { reason: Reject::UnknownOrder, .. }),
    };
    vec![
        unknown("ids: unknown, consecutive, 30 000 open", |number| number),
        unknown("ids: unknown, scattered, 30 000 open", |number| SplitMix64::new(number).bits()),
    ]
}

fn risk() -> Vec<Case> {
    let account = Command::Account(AccountSettings {
        quantity_lots_max: 100,
        notional_max: 1 << 40,
        collar_ticks: 1 << 20,
        open_orders_max: 1 << 20,
        messages_per_second_max: 1 << 30,
        ..AccountSettings::unlimited(1)
    });
    let position = Command::Position(PositionSettings {
        account: 1,
        tag: 0,
        instrument: 0,
        long_lots_max: 15,
        short_lots_max: 15,
        change_lots: 0,
    });
    let rejected = |name, quantity_lots, is_meant| Case {
        name,
        limits: limits(),
        before: vec![account, position],
        timed: (0..COMMANDS)
            .map(|order_id| match buy(order_id, 1_000) {
                Command::New(order) => Command::New(NewOrder { quantity_lots, ..order }),
                other => other,
            })
            .collect(),
        is_meant,
    };
    vec![
        rejected("risk: rejected by its first check", 101, |event| {
            matches!(event, Event::Rejected { reason: Reject::RiskQuantity, .. })
        }),
        rejected("risk: rejected by its last check", 16, |event| {
            matches!(event, Event::Rejected { reason: Reject::RiskPosition, .. })
        }),
    ]
}
