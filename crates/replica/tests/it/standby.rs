//! A follower that takes over when its primary is silent, and what the old primary learns then.

use crate::ends::{Follower, input, inputs, listener, primary, primary_of_term};
use journal::{AppendError, JournalState, Mode};
use replica::fence::Fence;
use replica::lease::Promotion;
use replica::term;
use std::time::Duration;

/// Long, because tests share their cores with whatever else runs.
const LEASE: Duration = Duration::from_millis(1500);

#[test]
fn a_standby_takes_over_when_its_primary_is_silent() {
    let place = tempfile::tempdir().unwrap();
    let [a, b] = ["a", "b"].map(|name| place.path().join(name));
    let (door, address) = listener();
    let mut old = primary(&a, address, Mode::Sync);
    let standby = Follower::start_standby(&b, &door, LEASE);
    old.append(50);
    old.wait("the follower", |appender| appender.acknowledged() == 50);
    // An idle primary sends heartbeats.
    std::thread::sleep(2 * LEASE);
    assert!(!standby.thread.is_finished(), "the primary is alive");
    drop(old);
    assert_eq!(standby.join().promotion, Some(Promotion::Silence));
    assert_eq!(inputs(&b), (0..50).collect::<Vec<u64>>());

    // The old primary comes back while the new one leads.
    term::begin(&b, 50, false).unwrap();
    let fence = Fence::start(door, &b, None, || ()).unwrap();
    let mut old = primary_of_term(&a, address, 1);
    old.wait("the end", |appender| matches!(appender.state(), JournalState::Failed { .. }));
    let JournalState::Failed { why } = old.appender.state() else { panic!("it has failed") };
    assert!(why.to_string().contains("term 2"), "{why}");
    assert_eq!(old.appender.try_append(&input(50)), Err(AppendError::Failed));
    drop(fence);
}

/// The lease would last longer than the test waits.
#[test]
fn a_standby_takes_over_at_once_when_its_primary_has_ended() {
    let place = tempfile::tempdir().unwrap();
    let [a, b] = ["a", "b"].map(|name| place.path().join(name));
    let (door, address) = listener();
    let mut old = primary(&a, address, Mode::Sync);
    let standby = Follower::start_standby(&b, &door, Duration::from_secs(3600));
    old.append(50);
    old.wait("the follower", |appender| appender.acknowledged() == 50);
    assert_eq!(old.end(), (50, 50));
    let deadline = clock::Deadline::after(Duration::from_secs(60));
    while !standby.thread.is_finished() {
        assert!(!deadline.left().is_zero(), "it does not take over");
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(standby.join().promotion, Some(Promotion::Farewell));
    assert_eq!(inputs(&b), (0..50).collect::<Vec<u64>>());
}

/// A copy of an asynchronous primary may lack acknowledged orders: a person has to decide.
#[test]
fn a_standby_of_an_asynchronous_primary_does_not_take_over() {
    let place = tempfile::tempdir().unwrap();
    let [a, b] = ["a", "b"].map(|name| place.path().join(name));
    let (door, address) = listener();
    let mut old = primary(&a, address, Mode::Async);
    let standby = Follower::start_standby(&b, &door, LEASE);
    old.append(50);
    let shipping = old.appender.shipping().unwrap();
    old.wait("the follower", |_| shipping.replicated() == 50);
    drop(old);
    std::thread::sleep(2 * LEASE);
    assert_eq!(standby.end().promotion, None);
}
