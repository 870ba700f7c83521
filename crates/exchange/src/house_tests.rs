//! Due inputs of a flow and their outcomes.

use super::*;
use engine::EngineLimits;
use flow::{Pace, Settings, Source};
use journal::AppendError;

const FULL: AppendError = AppendError::Full { limit: "ring_slots", max: 1 };

/// A thousand inputs a second, for a tenth of one.
fn house() -> House {
    let pace = Pace::Fixed {
        rate_per_second: 1000.0,
        arrival: clock::schedule::Arrival::Uniform,
        burst: 1,
    };
    let limits = EngineLimits {
        open_orders_max: 20_000,
        price_levels_max: 1_000,
        stop_levels_max: 0,
        expiring_orders_max: 0,
        accounts_max: 1,
    };
    let settings = Settings {
        source: Source::Synthetic,
        pace,
        seconds: 0.1,
        lots_per_unit: 1,
        mid_ticks: 20_000,
        price_ticks_max: 1_000_000,
        quantity_lots_max: 1_000_000,
        limits,
    };
    House::new(Script::new(&settings).unwrap(), Clock::calibrate())
}

/// Under way, and when its first input is due.
fn started() -> (House, u64) {
    let mut house = house();
    assert!(!house.is_under_way() && house.due(u64::MAX).is_none());
    house.start(Sender::NOBODY, FeedPosition { datagrams: 10, sequence: 30 }).unwrap();
    let (due_ns, _) = house.due(u64::MAX).unwrap();
    (house, due_ns)
}

#[test]
fn an_input_is_due_when_the_script_says_so() {
    let (mut house, first_ns) = started();
    for n in 0..100 {
        let due_ns = first_ns + n * 1_000_000;
        assert!(!house.is_through() && house.due(due_ns - 1).is_none());
        let (at_ns, command) = house.due(due_ns).unwrap();
        assert_eq!((at_ns, command), (due_ns, house.script.command(n as usize)));
        assert!(house.executed(due_ns, Ok(due_ns + n), n % 10 == 0));
    }
    assert!(house.is_through() && house.due(u64::MAX).is_none());
    let counts = house.counts();
    assert_eq!((counts.scheduled, counts.inputs, counts.refused), (100, 100, 10));
    assert_eq!((counts.late_ns_p50, counts.late_ns_max), (Some(50), Some(99)));
}

#[test]
fn the_end_says_what_came_since_the_start() {
    let (mut house, first_ns) = started();
    while let Some((due_ns, _)) = house.due(first_ns + 100_000_000) {
        house.executed(due_ns, Ok(due_ns), false);
    }
    let (by, ended) = house.end(FeedPosition { datagrams: 110, sequence: 230 }).unwrap();
    assert_eq!(by, Sender::NOBODY);
    let FlowEnded { inputs, datagrams, messages, feed_sequence } = ended;
    assert_eq!((inputs, datagrams, messages, feed_sequence), (100, 100, 200, 230));
    assert!(!house.is_under_way() && house.end(FeedPosition::default()).is_none());
    let again = house.start(Sender::NOBODY, FeedPosition::default()).unwrap_err();
    assert_eq!(again, "the flow has begun already, and runs once");
}

#[test]
fn an_input_that_the_journal_has_no_room_for_is_tried_again() {
    let (mut house, first_ns) = started();
    let first = house.due(first_ns);
    assert!(!house.executed(first_ns, Err(FULL), false));
    assert_eq!(house.due(first_ns), first);
    assert!(house.executed(first_ns, Ok(first_ns), false));
    assert_ne!(house.due(u64::MAX), first);
    assert_eq!((house.counts().journal_full, house.counts().inputs), (1, 1));
}

#[test]
fn a_journal_that_has_failed_ends_the_flow() {
    for refused in [AppendError::Failed, AppendError::NoRoom] {
        let (mut house, first_ns) = started();
        assert!(house.executed(first_ns, Ok(first_ns), false));
        assert!(!house.executed(first_ns + 1_000_000, Err(refused), false));
        assert!(house.is_through() && house.due(u64::MAX).is_none());
        let (_, ended) = house.end(FeedPosition { datagrams: 11, sequence: 32 }).unwrap();
        assert_eq!((ended.inputs, ended.datagrams, ended.messages), (1, 1, 2));
        assert_eq!(house.counts().journal_full, 0);
    }
}
