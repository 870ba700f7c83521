//! In its own process, because it occupies a core, and cargo runs the tests of one process in
//! parallel.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread as std_thread;

use clock::Clock;
use host::thread::{allowed, pin, set_scheduling};
use host::{Scheduling, probe};

/// A real-time thread spins on one of the two cores, so that the probe's thread there never runs.
/// The probes must return without it.
#[test]
fn a_core_held_by_a_real_time_thread_does_not_hang_the_probes() {
    const HELD_AT_MOST_NS: u64 = 900_000_000;
    let [ours, held, ..] = allowed().unwrap()[..] else {
        testing::skip!(Cores, "needs two cores");
    };
    let clock = Clock::calibrate();
    let (holds, done) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let holder = std_thread::spawn({
        let (holds, done) = (Arc::clone(&holds), Arc::clone(&done));
        move || {
            pin(held).unwrap();
            let is_real_time = set_scheduling(Scheduling::Fifo(1)).is_ok();
            holds.store(true, Ordering::Release);
            let end_ns = clock.now_ns() + HELD_AT_MOST_NS;
            while is_real_time && !done.load(Ordering::Acquire) && clock.now_ns() < end_ns {}
            is_real_time
        }
    });
    // This thread must not wait for the held core itself.
    pin(ours).unwrap();
    while !holds.load(Ordering::Acquire) {
        std_thread::yield_now();
    }
    let probes = probe::run(&clock, Some((ours, held)));
    done.store(true, Ordering::Release);
    if !holder.join().unwrap() {
        testing::skip!(Root, "real-time scheduling needs CAP_SYS_NICE");
    }
    assert_eq!(probes.cache_line_round_trip_ns_p50, None);
    assert_eq!(probes.blocking_round_trip_ns_p50, None);
    assert_eq!(probes.missing_because.len(), 2, "{probes:?}");
}
