//! A journal with a follower in one process: it catches up, keeps up, is lost and comes back; a
//! primary of an earlier term is fenced.

use crate::ends::{
    Follower, HEAD, input, inputs, listener, options, primary, primary_of_term, primary_with,
};
use engine::{Command, Input};
use journal::{AppendError, JournalState, Mode, Options, Replication};
use replica::follow::FollowSettings;
use replica::term;
use std::time::{Duration, Instant};

/// Over several segments, with an account that comes between, and a follower that goes away and
/// comes back.
#[test]
fn a_follower_catches_up_and_keeps_up() {
    let place = tempfile::tempdir().unwrap();
    let (ours, theirs) = (place.path().join("a"), place.path().join("b"));
    let (listener, address) = listener();
    let mut primary = primary(&ours, address, Mode::Sync);
    primary.append(300);
    assert_eq!(primary.appender.acknowledged(), 0, "no follower has them");
    let follower = Follower::start(&theirs, &listener);
    primary.wait("the follower", |appender| appender.acknowledged() == 300);
    assert_eq!(follower.end().connections, 1);

    let register = format!("{HEAD}{{\"account\":\"a\",\"first_input\":300,\"inputs\":1}}\n");
    std::fs::write(ours.join("register"), &register).unwrap();
    primary.append(200);
    let follower = Follower::start(&theirs, &listener);
    primary.wait("the follower", |appender| appender.acknowledged() == 500);
    primary.append(1);
    primary.wait("the follower", |appender| appender.acknowledged() == 501);
    assert_eq!(primary.end(), (501, 501));
    follower.end();
    assert_eq!(inputs(&theirs), (0..501).collect::<Vec<u64>>());
    assert_eq!(std::fs::read_to_string(theirs.join("register")).unwrap(), register);
    assert_eq!(term::read(&ours).unwrap(), term::read(&theirs).unwrap());
}

#[test]
fn a_lost_follower_stops_everything_until_it_is_back() {
    let place = tempfile::tempdir().unwrap();
    let (listener, address) = listener();
    let mut primary = primary(&place.path().join("a"), address, Mode::Sync);
    let theirs = place.path().join("b");
    let follower = Follower::start(&theirs, &listener);
    primary.append(5);
    primary.wait("the follower", |appender| appender.acknowledged() == 5);
    follower.end();
    primary.append(1);
    primary.wait("the loss", |appender| appender.check_reserve().is_err());
    let rejected = primary.appender.try_append(&input(6));
    assert_eq!(rejected, Err(AppendError::NoFollower));
    assert_eq!(primary.appender.acknowledged(), 5);
    let follower = Follower::start(&theirs, &listener);
    primary.wait("the follower", |appender| appender.check_reserve().is_ok());
    primary.append(1);
    primary.wait("the follower", |appender| appender.acknowledged() == 7);
    assert_eq!(primary.end(), (7, 7));
    follower.end();
}

#[test]
fn an_asynchronous_follower_may_lag_up_to_its_limit() {
    let place = tempfile::tempdir().unwrap();
    let (listener, address) = listener();
    let path = place.path().join("a");
    let mut primary = primary(&path, address, Mode::Async);
    primary.append(9_999);
    assert_eq!(primary.appender.acknowledged(), 9_999);
    let order =
        engine::NewOrder { order_id: 1, ..engine::NewOrder::limit(engine::Side::Buy, 9, 5) };
    let order = Input { time_ns: 0, command: Command::New(order) };
    primary.append(1);
    let full = AppendError::Full { limit: "follower_lag_max", max: 10_000 };
    assert_eq!(primary.appender.try_append(&order), Err(full));
    primary.append(1);
    let follower = Follower::start(&place.path().join("b"), &listener);
    let shipping = primary.appender.shipping().unwrap();
    primary.wait("the follower", |_| shipping.replicated() == 10_001);
    primary.appender.try_append(&order).unwrap();
    primary.end();
    follower.end();
}

/// How long a follower takes that lacks this many.
fn catch_up(mode: Mode, lacks: u64) -> Duration {
    let place = tempfile::tempdir().unwrap();
    let [a, b] = ["a", "b"].map(|name| place.path().join(name));
    let (listener, address) = listener();
    let replication = Some(Replication { mode, lag_max: 10 * lacks });
    let options = Options { segment_bytes: 1 << 24, replication, ..options(mode) };
    let mut primary = primary_with(&a, address, &options);
    primary.append(lacks);
    let shipping = primary.appender.shipping().unwrap();
    primary.wait("the journal", |_| shipping.written() == lacks);
    let begin = Instant::now();
    let follower = Follower::start_with(&b, &listener, options, FollowSettings::default());
    primary.wait("the follower", |_| shipping.replicated() == lacks);
    let took = begin.elapsed();
    primary.end();
    follower.end();
    took
}

#[test]
fn an_asynchronous_follower_catches_up_at_a_pace() {
    // All but the last 8 192, at 100 000 a second.
    let least = Duration::from_millis(200);
    let took = catch_up(Mode::Async, 30_000);
    assert!(took >= least, "{took:?}");
}

/// Orders wait for it.
#[test]
fn a_synchronous_follower_catches_up_as_fast_as_it_goes() {
    testing::quiet::or_doubled("200 000 records a second are shipped", |factor| {
        let took = catch_up(Mode::Sync, 30_000 * u64::from(factor));
        testing::unless!(took < Duration::from_millis(150) * factor, "{took:?}");
        Ok(())
    });
}

/// The follower is promoted and gets a follower of its own; then the old primary meets that one.
#[test]
fn an_old_primary_is_fenced() {
    let place = tempfile::tempdir().unwrap();
    let [a, b, c] = ["a", "b", "c"].map(|name| place.path().join(name));
    let (door, address) = listener();
    let mut old = primary(&a, address, Mode::Sync);
    let follower = Follower::start(&b, &door);
    old.append(50);
    old.wait("the follower", |appender| appender.acknowledged() == 50);
    follower.end();
    old.append(3);

    let (its_listener, its_address) = listener();
    let mut promoted = primary(&b, its_address, Mode::Sync);
    assert_eq!(promoted.appender.next_sequence(), 50);
    let third = Follower::start(&c, &its_listener);
    promoted.append(10);
    promoted.wait("the follower", |appender| appender.acknowledged() == 60);
    promoted.end();
    third.end();

    let third = Follower::start(&c, &door);
    old.wait("the end", |appender| matches!(appender.state(), JournalState::Failed { .. }));
    let JournalState::Failed { why } = old.appender.state() else { panic!("it has failed") };
    assert!(why.to_string().contains("term 2"), "{why}");
    // On a slow machine it has lost its follower as well, which is looked at first.
    let rejected = old.appender.try_append(&input(53));
    assert!(matches!(rejected, Err(AppendError::Failed | AppendError::NoFollower)), "{rejected:?}");
    assert_eq!(old.appender.acknowledged(), 50);
    assert_eq!(third.end().rejected, 1);
    assert_eq!(inputs(&c), (0..60).collect::<Vec<u64>>());
    drop(old);

    // Its directory has records that nobody else has.
    let follower = Follower::start(&a, &its_listener);
    let rejected = primary(&b, its_address, Mode::Sync);
    let counts = loop {
        std::thread::sleep(Duration::from_millis(20));
        if follower.thread.is_finished() || rejected.shipper.connections() > 0 {
            panic!("it was taken");
        }
        if matches!(rejected.appender.check_reserve(), Err(AppendError::NoFollower)) {
            break follower.end();
        }
    };
    assert!(counts.rejected > 0);
    assert_eq!(inputs(&a).len(), 53);
}

/// The delay stands for a distance: an acknowledgement comes no earlier.
#[test]
fn a_follower_far_away_acknowledges_later() {
    const DELAY: Duration = Duration::from_millis(100);
    let place = tempfile::tempdir().unwrap();
    let (listener, address) = listener();
    let mut primary = primary(&place.path().join("a"), address, Mode::Sync);
    let follower = Follower::start_away(&place.path().join("b"), &listener, DELAY);
    primary.append(1);
    primary.wait("the follower", |appender| appender.acknowledged() == 1);
    let begin_ns = clock::monotonic_ns();
    primary.append(10);
    primary.wait("the follower", |appender| appender.acknowledged() == 11);
    let took = Duration::from_nanos(clock::monotonic_ns() - begin_ns);
    assert!(took >= DELAY, "{took:?}");
    primary.end();
    follower.end();
}

/// A follower answers an old primary also while it follows the new one, which is not disturbed.
#[test]
fn an_old_primary_is_answered_while_a_new_one_is_followed() {
    let place = tempfile::tempdir().unwrap();
    let [a, b, c] = ["a", "b", "c"].map(|name| place.path().join(name));
    let (door, address) = listener();
    let mut old = primary(&a, address, Mode::Sync);
    let follower = Follower::start(&b, &door);
    old.append(5);
    old.wait("the follower", |appender| appender.acknowledged() == 5);
    follower.end();

    let (its_door, its_address) = listener();
    let mut new = primary(&b, its_address, Mode::Sync);
    let third = Follower::start(&c, &its_door);
    new.append(5);
    new.wait("the follower", |appender| appender.acknowledged() == 10);
    drop(old);
    let old = primary_of_term(&a, its_address, 1);
    old.wait("the end", |appender| matches!(appender.state(), JournalState::Failed { .. }));
    new.append(5);
    new.wait("the follower", |appender| appender.acknowledged() == 15);
    assert_eq!(new.shipper.connections(), 1);
    assert_eq!(new.end(), (15, 15));
    assert_eq!(third.end().rejected, 1);
}
