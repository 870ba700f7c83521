//! Orders by the number of messages that were due in the millisecond before.

use crate::ends::echo;
use clock::Clock;
use clock::schedule::Arrival;
use plan::faults::Inject;
use plan::intensity::{INTENSITIES, WINDOW_NS, place_of};
use plan::process::orders::{OrdersPlan, Wire};
use plan::tables::load::Load;
use record::MessageBytes;
use record::hlog::Totals;
use std::sync::atomic::AtomicBool;

/// Lengths of warm-up and measured part, s.
const PHASES: (f64, f64) = (0.2, 1.5);
/// The latencies of that load, over the raw echo.
fn run(load: &Load, harm: Inject, seconds: f64) -> Totals {
    let (clock, directory) = (Clock::calibrate(), tempfile::tempdir().unwrap());
    let end = echo(clock, harm);
    let bytes = MessageBytes { order: 212, order_reply: 291, cancel: 111, cancel_reply: 272 };
    let plan = OrdersPlan {
        subject: "t".into(),
        target: end.target.clone(),
        wire: Wire::Raw(bytes),
        backend: "block".into(),
        queue: Default::default(),
        core: None,
        scheduling: host::Scheduling::Other,
        load: load.clone(),
        warm_up_seconds: PHASES.0,
        seconds,
        tls: None,
        inject: Inject::default(),
        bulk: None,
        exchange_process: None,
        silence_ms_max: None,
        hlog: directory.path().join("001.hlog").display().to_string(),
        progress: false,
    };
    let result = trader::run(&plan, &AtomicBool::new(false), &mut |_| ()).unwrap();
    assert!(result.complete, "{result:?}");
    record::hlog::totals(&std::fs::read(&plan.hlog).unwrap()[..]).unwrap()
}

fn messages(load: &Load) -> usize {
    (load.messages(PHASES.0) + load.messages(PHASES.1)) as usize
}

/// Measured orders of each intensity, by a search of all due times.
fn counted(load: &Load, recorded: &[f64]) -> [u64; INTENSITIES.len()] {
    let mut schedule = load.schedule(PHASES.0, PHASES.1, recorded);
    let warm_up = load.messages(PHASES.0) as usize;
    let all = messages(load);
    let times: Vec<u64> = (0..all)
        .map(|_| {
            let offset_ns = schedule.offset_ns();
            schedule.advance();
            offset_ns
        })
        .collect();
    let mut counts = [0; INTENSITIES.len()];
    let is_order = |at: &usize| (*at as u64) % (2 * load.cancel_after) < load.cancel_after;
    for at in (warm_up..all).filter(is_order) {
        let from_ns = times[at].saturating_sub(WINDOW_NS);
        let before = times[..at].iter().filter(|earlier| **earlier >= from_ns).count();
        counts[place_of(before as u64)] += 1;
    }
    counts
}

/// Whether a run has those orders in its series by intensity, and no others.
fn assert_counted(load: &Load, expected: [u64; INTENSITIES.len()]) {
    let totals = run(load, Inject::default(), PHASES.1);
    let of = |name: &str| totals.get(&format!("t.{name}.response")).map_or(0, |all| all.len());
    assert_eq!(INTENSITIES.map(of), expected, "{:?}", load.arrival);
    assert_eq!(expected.iter().sum::<u64>(), of("order"));
}

/// A load of 5 100 messages on two connections.
fn load(arrival: Arrival) -> Load {
    let sizes = Load { accounts: 4, connections: 2, cancel_after: 3, ..Load::default() };
    Load { arrival, rate_per_second: 3_000.0, branching: 0.9, ..sizes }
}

#[test]
fn every_order_is_in_the_series_that_its_schedule_says() {
    let poisson = load(Arrival::Poisson);
    assert_counted(&poisson, counted(&poisson, &[]));
    let bursts = load(Arrival::Hawkes);
    let expected = counted(&bursts, &[]);
    assert!(expected[place_of(16)] + expected[place_of(32)] > 100, "{expected:?}");
    assert_counted(&bursts, expected);
}

/// The distances of a recorded day, at the rate of the load.
#[test]
fn a_recorded_day_gives_the_due_times() {
    let Some(file) = testing::market_data("esh4-glbx-mdp3-20231225.mbo.dbn.zst") else { return };
    let load = Load { source: file.display().to_string(), ..load(Arrival::Recorded) };
    let times = flow::times_ns(&file).unwrap();
    let recorded: Vec<f64> =
        times[..=messages(&load)].iter().map(|ns| (ns - times[0]) as f64).collect();
    let expected = counted(&load, &recorded);
    // Messages of that day share instants, also at a rate of thousands a second.
    assert!(expected[place_of(16)..].iter().sum::<u64>() > 100, "{expected:?}");
    assert_counted(&load, expected);
}

/// Eight orders are due at once, and the other end takes some time for each, one after the other:
/// the fifth waits for four more than the first.
#[test]
fn orders_of_a_burst_wait_for_those_before_them() {
    let assumption = "in 18 bursts an order is once not 1 ms later than its delays say";
    testing::quiet::or_doubled(assumption, |factor| {
        let delay_us = 2_000 * u64::from(factor);
        let load = Load {
            arrival: Arrival::Burst,
            burst: 8,
            rate_per_second: 200.0 / f64::from(factor),
            accounts: 8,
            connections: 8,
            cancel_after: 8,
            ..Load::default()
        };
        let harm = Inject { delay_us, ..Inject::default() };
        let totals = run(&load, harm, PHASES.1 * f64::from(factor));
        let least_us = |name: &str| totals[&format!("t.{name}.response")].min() / 1_000;
        let (first, fifth) = (least_us("order@0"), least_us("order@4-7"));
        // The histogram keeps three digits.
        assert!(first >= delay_us * 99 / 100, "{first} us");
        assert!(fifth >= 5 * delay_us * 99 / 100, "{fifth} us");
        // The first order's own noise is in the difference.
        testing::unless!(fifth >= first + 4 * delay_us - delay_us / 2, "{first} us, {fifth} us");
        Ok(())
    });
}
