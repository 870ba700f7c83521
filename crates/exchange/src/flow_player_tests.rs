//! Due inputs of a flow and their outcomes.

use super::*;
use engine::EngineLimits;
use flow::{Pace, Settings, Source};
use journal::AppendError;

const FULL: AppendError = AppendError::Full { limit: "ring_slots", max: 1 };

/// A flow of a thousand inputs a second for 0.1 s.
fn player(played: usize) -> FlowPlayer {
    player_at(1000.0, played)
}

/// A flow of a hundred inputs.
fn player_at(rate_per_second: f64, played: usize) -> FlowPlayer {
    let pace =
        Pace::Fixed { rate_per_second, arrival: clock::schedule::Arrival::Uniform, burst: 1 };
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
        seconds: 100.0 / rate_per_second,
        lots_per_unit: 1,
        mid_ticks: 20_000,
        price_ticks_max: 1_000_000,
        quantity_lots_max: 1_000_000,
        limits,
    };
    FlowPlayer::new(Script::new(&settings).unwrap(), played, Clock::calibrate())
}

/// A running flow, and when its first input is due.
fn started() -> (FlowPlayer, u64) {
    let mut player = player(0);
    assert!(!player.is_under_way() && player.due(u64::MAX).is_none());
    player.start(Sender::NOBODY, FeedPosition { datagrams: 10, sequence: 30 }).unwrap();
    let (due_ns, _) = player.due(u64::MAX).unwrap();
    (player, due_ns)
}

#[test]
fn an_input_is_due_when_the_script_says_so() {
    let (mut player, first_ns) = started();
    for n in 0..100 {
        let due_ns = first_ns + n * 1_000_000;
        assert!(!player.is_through() && player.due(due_ns - 1).is_none());
        let (at_ns, command) = player.due(due_ns).unwrap();
        assert_eq!((at_ns, command), (due_ns, player.script.command(n as usize)));
        assert!(player.executed(due_ns, Ok(due_ns + n), n % 10 == 0));
    }
    assert!(player.is_through() && player.due(u64::MAX).is_none());
    let counts = player.counts();
    assert_eq!((counts.scheduled, counts.inputs, counts.rejected), (100, 100, 10));
    assert_eq!((counts.late_ns_p50, counts.late_ns_max), (Some(50), Some(99)));
}

#[test]
fn the_end_counts_from_the_start() {
    let (mut player, first_ns) = started();
    while let Some((due_ns, _)) = player.due(first_ns + 100_000_000) {
        player.executed(due_ns, Ok(due_ns), false);
    }
    let (by, ended) = player.end(FeedPosition { datagrams: 110, sequence: 230 }).unwrap();
    assert_eq!(by, Sender::NOBODY);
    let FlowEnded { inputs, datagrams, messages, feed_sequence, .. } = ended;
    assert_eq!((inputs, datagrams, messages, feed_sequence), (100, 100, 200, 230));
    assert!(!player.is_under_way() && player.end(FeedPosition::default()).is_none());
    let again = player.start(Sender::NOBODY, FeedPosition::default()).unwrap_err();
    assert_eq!(again, "the flow has begun already, and runs once");
}

#[test]
fn an_input_is_retried_while_the_journal_is_full() {
    let (mut player, first_ns) = started();
    let first = player.due(first_ns);
    assert!(!player.executed(first_ns, Err(FULL), false));
    assert_eq!(player.due(first_ns), first);
    assert!(player.executed(first_ns, Ok(first_ns), false));
    assert_ne!(player.due(u64::MAX), first);
    assert_eq!((player.counts().journal_full, player.counts().inputs), (1, 1));
}

#[test]
fn a_journal_that_has_failed_ends_the_flow() {
    for error in [AppendError::Failed, AppendError::NoRoom] {
        let (mut player, first_ns) = started();
        assert!(player.executed(first_ns, Ok(first_ns), false));
        assert!(!player.executed(first_ns + 1_000_000, Err(error), false));
        assert!(player.is_through() && player.due(u64::MAX).is_none());
        let (_, ended) = player.end(FeedPosition { datagrams: 11, sequence: 32 }).unwrap();
        assert_eq!((ended.inputs, ended.datagrams, ended.messages), (1, 1, 2));
        assert_eq!(player.counts().journal_full, 0);
    }
}

/// The rest of the flow keeps its distances, from the start on.
#[test]
fn it_goes_on_after_what_was_played() {
    let (mut rest, whole) = (player(40), player(0));
    rest.start(Sender::NOBODY, FeedPosition::default()).unwrap();
    let (first_ns, _) = rest.due(u64::MAX).unwrap();
    assert!(first_ns <= rest.clock.now_ns() + LEAD_NS);
    for n in 40..100 {
        let due_ns = first_ns + (n - 40) * 1_000_000;
        assert_eq!(rest.due(due_ns - 1), None);
        assert_eq!(rest.due(due_ns), Some((due_ns, whole.script.command(n as usize))));
        assert!(rest.executed(due_ns, Ok(due_ns), false));
    }
    let counts = rest.counts();
    assert_eq!((counts.scheduled, counts.recovered, counts.inputs), (100, 40, 60));
    assert_eq!(rest.end(FeedPosition::default()).unwrap().1.inputs, 60);
}

/// As after a reboot: what was played took longer than the clock has counted. (A flow has 11 days
/// at most, so a machine that is up for longer has no such flow, and the test no work.)
#[test]
fn it_goes_on_with_a_clock_that_is_younger_than_what_was_played() {
    let mut rest = player_at(1e-4, 99);
    if rest.played_ns <= rest.clock.now_ns() {
        return;
    }
    rest.start(Sender::NOBODY, FeedPosition::default()).unwrap();
    let (due_ns, _) = rest.due(u64::MAX).unwrap();
    assert!(due_ns <= rest.clock.now_ns() + LEAD_NS);
}

#[test]
fn a_flow_that_was_played_to_its_end_is_through_at_once() {
    let mut player = player(100);
    player.start(Sender::NOBODY, FeedPosition::default()).unwrap();
    assert!(player.is_through() && player.due(u64::MAX).is_none());
}

#[test]
fn the_journal_says_how_far_the_flow_is_and_whether_it_is_this_one() {
    let script = player(0).script;
    let start: Vec<Command> = script.start().iter().copied().map(Command::New).collect();
    let own = |start: &[Command], inputs: std::ops::Range<usize>| {
        let mut own = OwnCommands::default();
        start.iter().for_each(|command| own.add(command));
        inputs.for_each(|index| own.add(&script.command(index)));
        own
    };
    let played = |has_start, there| inputs_played(&script, (&start, has_start), there).ok();
    for inputs in [0, 1, 40, 100] {
        assert_eq!(played(true, own(&start, 0..inputs)), Some(inputs));
    }
    assert_eq!(played(false, OwnCommands::default()), Some(0), "a new journal");
    assert_eq!(played(false, own(&start[..5], 0..0)), Some(0), "killed at its first start");
    for other in [own(&[], 0..0), own(&[], 0..40), own(&start[1..], 0..40), own(&start, 1..40)] {
        assert_eq!(played(true, other), None, "{other:?}");
    }
    assert_eq!(
        played(true, {
            let mut more = own(&start, 0..100);
            more.add(&start[0]);
            more
        }),
        None
    );
}
