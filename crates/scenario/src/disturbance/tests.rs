//! Shares that can be calculated by hand.

use super::*;
use clock::recorder::histogram;

fn seen(cores: Vec<CoreSeen>) -> EntrantDisturbance {
    EntrantDisturbance { seconds: 10.0, cores, ..EntrantDisturbance::default() }
}

/// 100 windows of 1 ms in 10 s.
fn taken(paces: bool) -> CoreSeen {
    CoreSeen { core: 1, paces, windows: 100, away_seconds: 0.1, ..CoreSeen::default() }
}

/// 10 000 messages/s of 10 us: a tenth of a message is under way.
fn sample<'a>(seen: &'a EntrantDisturbance, lateness: Option<&'a Histogram<u64>>) -> Sample<'a> {
    Sample {
        seen,
        idle: &[],
        flow: Flow::Scheduled { per_second: 10_000.0 },
        kind: Kind::Response,
        count: 100_000,
        service_seconds: 10e-6,
        late_from_ns: 1_001,
        exact: None,
        lateness,
    }
}

fn near(a: Option<f64>, b: f64) -> bool {
    a.is_some_and(|a| (a - b).abs() < 1e-9)
}

#[test]
fn a_window_disturbs_what_is_due_in_it_behind_it_and_under_way() {
    let seen = seen(vec![taken(false)]);
    // 1 % is due, a tenth of that waits behind, and 0.1 messages are under way as each window
    // begins.
    let found = sample(&seen, None).disturbed();
    assert!(near(found.preempted, 0.01 * 1.1 + 100.0 * 0.1 / 100_000.0), "{found:?}");
    assert_eq!(found.share, found.preempted);
    // The log has no lateness, so what was late is not known.
    assert_eq!(found.late, None);
}

/// Where every message is known, the formula by time has no say.
#[test]
fn what_is_known_message_by_message_counts() {
    let seen = seen(vec![taken(false)]);
    let exact = Some(DisturbedShares { preempted: 0.02, faulted: 0.001 });
    let found = Sample { exact, ..sample(&seen, None) }.disturbed();
    assert!(near(found.preempted, 0.02) && near(found.faulted, 0.001), "{found:?}");
    assert!(near(found.share, 0.021), "{found:?}");
}

#[test]
fn what_was_due_while_the_pacer_was_away_is_late_and_counted_once() {
    let seen = seen(vec![taken(true)]);
    let mut lateness = histogram();
    lateness.record_n(10, 99_000).unwrap();
    lateness.record_n(500_000, 1_000).unwrap();
    let found = sample(&seen, Some(&lateness)).disturbed();
    assert!(near(found.late, 0.01), "{found:?}");
    assert!(near(found.preempted, 100.0 * 0.1 / 100_000.0), "{found:?}");
}

#[test]
fn one_by_one_a_window_hits_those_under_way() {
    let seen = seen(vec![taken(false)]);
    let flow = Flow::OneByOne { under_way: 4.0 };
    let found = Sample { flow, ..sample(&seen, None) }.disturbed();
    assert!(near(found.share, 400.0 / 100_000.0), "{found:?}");
}

#[test]
fn a_throughput_loses_the_time_that_is_taken() {
    let seen = seen(vec![taken(false)]);
    let found = Sample { kind: Kind::Throughput, ..sample(&seen, None) }.disturbed();
    assert!(near(found.share, 0.01), "{found:?}");
}

#[test]
fn steal_counts_where_idle_looks_saw_less() {
    let stolen = CoreSeen { core: 0, stolen_share: 0.02, ..CoreSeen::default() };
    let found = sample(&seen(vec![stolen]), None).disturbed();
    assert!(found.share >= Some(0.02 * 1.1), "{found:?}");
    let quiet = [Idle::quiet(0)];
    let seen = seen(vec![CoreSeen { core: 0, stolen_share: 0.02, ..CoreSeen::default() }]);
    let looked = Sample { idle: &quiet, ..sample(&seen, None) }.disturbed();
    assert_eq!((looked.interrupted, looked.share), (found.share, found.share));
}

/// `hiccup_seconds = 0` gave an `interrupted` of 0, as if somebody had looked and found nothing.
#[test]
fn without_an_idle_look_interrupts_are_not_known() {
    let seen = seen(vec![CoreSeen::default(), CoreSeen { core: 1, ..CoreSeen::default() }]);
    for (looks, interrupted) in [
        (vec![], None),
        (vec![Idle::quiet(0)], None),
        (vec![Idle::quiet(0), Idle::quiet(1)], Some(0.0)),
    ] {
        let found = Sample { idle: &looks, ..sample(&seen, None) }.disturbed();
        assert_eq!((found.interrupted, found.share), (interrupted, Some(0.0)), "{found:?}");
    }
}

/// Without a schedule nothing can be late, which is known.
#[test]
fn one_by_one_nothing_is_late() {
    let seen = seen(vec![CoreSeen::default()]);
    let flow = Flow::OneByOne { under_way: 1.0 };
    assert_eq!(Sample { flow, ..sample(&seen, None) }.disturbed().late, Some(0.0));
}

#[test]
fn faults_have_a_length_of_their_own() {
    let faulted = CoreSeen { faults: 1_000, ..CoreSeen::default() };
    let found = sample(&seen(vec![faulted]), None).disturbed();
    assert!(near(found.faulted, 1_000.0 * 5e-6 / 10.0 * 1.1 + 1_000.0 * 0.1 / 100_000.0));
}

#[test]
fn what_nobody_watched_is_not_known() {
    let found =
        sample(&EntrantDisturbance::unknown("the other end is another's"), None).disturbed();
    assert_eq!(found.unknown, "the other end is another's");
    assert_eq!((found.share, found.preempted, found.known()), (None, None, None));
}

#[test]
fn late_is_a_tenth_of_the_median_and_no_less_than_the_clock_can_tell() {
    assert_eq!(late_from_ns(20_000, 20), 2_001);
    assert_eq!(late_from_ns(300, 20), 81);
}
