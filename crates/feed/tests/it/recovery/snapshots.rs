//! Snapshots: parts in any order, lost, damaged, old.

use super::{CHANNEL, Feed, follower, give, settings};
use feed::{Fault, RecoveryRequest};

#[test]
fn parts_of_a_snapshot_come_in_any_order() {
    let mut feed = Feed::new(&settings());
    feed.ticks(40);
    let snapshot = feed.parts();
    assert!(snapshot.len() > 9);
    let mut follower = follower();
    assert_eq!(follower.wants(), Some(RecoveryRequest::Snapshot));
    let (first, others) = snapshot.split_first().unwrap();
    give(&mut follower, &others.iter().rev().cloned().collect::<Vec<_>>());
    give(&mut follower, others);
    assert!(!follower.is_in_sync());
    follower.datagram(first);
    assert!(feed.is_followed_by(&follower));
    assert_eq!(follower.definition(0), Some(&crate::exchange::definitions(1)[0]));
}

#[test]
fn a_part_that_was_lost_comes_with_the_next_sending() {
    let mut feed = Feed::new(&settings());
    feed.ticks(40);
    let snapshot = feed.parts();
    let mut follower = follower();
    assert_eq!(follower.wants(), Some(RecoveryRequest::Snapshot));
    let but = |lost: usize| {
        let mut parts = snapshot.clone();
        parts.remove(lost);
        parts
    };
    give(&mut follower, &but(2));
    // A part of it came in that time; in the next, none.
    follower.again();
    assert_eq!(follower.wants(), None);
    follower.again();
    assert_eq!(follower.wants(), Some(RecoveryRequest::Snapshot));
    // Another part is lost, which came before.
    give(&mut follower, &but(7));
    assert!(feed.is_followed_by(&follower));
}

#[test]
fn messages_that_come_during_a_snapshot_follow_it() {
    let mut feed = Feed::new(&settings());
    feed.ticks(40);
    let mut follower = follower();
    let (before, snapshot, after) = (feed.ticks(2), feed.parts(), feed.ticks(3));
    give(&mut follower, &before);
    give(&mut follower, &snapshot[..2]);
    give(&mut follower, &after);
    give(&mut follower, &snapshot[2..snapshot.len() - 1]);
    assert!(!follower.is_in_sync());
    assert_eq!(follower.datagram(&snapshot[snapshot.len() - 1]).applied, 3);
    assert!(feed.is_followed_by(&follower));
    assert_eq!(follower.counts().replays_asked, 0);
}

#[test]
fn a_snapshot_that_does_not_match_its_hash_is_rejected() {
    let mut feed = Feed::new(&settings());
    feed.ticks(10);
    let snapshot = feed.parts();
    let mut damaged = snapshot.clone();
    // The lowest byte of an order's lots.
    let orders = damaged[1].len() - 11;
    damaged[1][orders] ^= 2;
    let mut follower = follower();
    give(&mut follower, &damaged);
    assert_eq!(follower.counts().faults.of(Fault::BookHash), 1);
    assert_eq!((follower.is_in_sync(), follower.counts().snapshots), (false, 0));
    assert_eq!(follower.wants(), Some(RecoveryRequest::Snapshot));
    give(&mut follower, &snapshot);
    assert!(feed.is_followed_by(&follower));
}

#[test]
fn a_snapshot_without_its_last_entry_is_rejected() {
    let mut feed = Feed::new(&settings());
    feed.ticks(3);
    let snapshot = feed.parts();
    let mut short = snapshot.clone();
    let last = short.last_mut().unwrap();
    last.truncate(last.len() - 35);
    // The packet's count.
    last[8 + 40] -= 1;
    let mut follower = follower();
    give(&mut follower, &short);
    assert_eq!(follower.counts().faults.of(Fault::BookHash), 1);
    assert!(!follower.is_in_sync());
}

#[test]
fn two_followers_share_a_snapshot() {
    let mut feed = Feed::new(&settings());
    feed.ticks(40);
    let mut followers = [follower(), follower()];
    let publisher = &mut feed.exchange.publisher;
    let mut first = publisher.snapshot(CHANNEL).unwrap();
    followers[0].datagram(publisher.next_of(&mut first).unwrap());
    feed.ticks(3);
    let mut second = feed.exchange.publisher.snapshot(CHANNEL).unwrap();
    for (follower, sending) in followers.iter_mut().zip([&mut first, &mut second]) {
        while let Some(datagram) = feed.exchange.publisher.next_of(sending) {
            follower.datagram(datagram);
        }
        assert_eq!(follower.sequence(), 40);
        // The heartbeat after the snapshot told it.
        assert_eq!(follower.wants(), Some(RecoveryRequest::Replay { from: 41, count: 3 }));
        give(follower, &feed.replay(41, 3).unwrap());
        assert!(feed.is_followed_by(follower));
    }
}

/// An older snapshot, taken for another follower. The follower must detect missing messages, even
/// if the next heartbeat is lost.
#[test]
fn a_snapshot_of_before_is_not_taken_for_the_book_of_now() {
    for loses_books in [false, true] {
        let mut feed = Feed::new(&settings());
        let mut follower = follower();
        feed.ticks(20);
        feed.parts();
        if loses_books {
            give(&mut follower, &feed.snapshot());
            follower.begin_again();
        }
        assert_eq!(follower.wants(), Some(RecoveryRequest::Snapshot));
        feed.ticks(3);
        let mut snapshot = feed.snapshot();
        snapshot.pop();
        give(&mut follower, &snapshot);
        assert_eq!((follower.sequence(), follower.is_in_sync()), (20, false));
        assert_eq!(follower.wants(), Some(RecoveryRequest::Replay { from: 21, count: 3 }));
        // It keeps live messages in the meantime.
        give(&mut follower, &feed.ticks(1));
        give(&mut follower, &feed.replay(21, 3).unwrap());
        assert!(feed.is_followed_by(&follower));
        assert_eq!((follower.counts().gaps, follower.counts().replayed), (0, 3));
    }
}

/// Messages that come while lost books are requested are kept.
#[test]
fn a_snapshot_is_taken_anew_when_what_came_since_is_soon_forgotten() {
    let mut feed = Feed::new(&settings());
    feed.ticks(40);
    let mut given_up = feed.exchange.publisher.snapshot(CHANNEL).unwrap();
    assert!(feed.exchange.publisher.next_of(&mut given_up).is_some());
    feed.ticks(60);
    let mut follower = follower();
    give(&mut follower, &feed.snapshot());
    assert!(feed.is_followed_by(&follower));
    assert_eq!(feed.exchange.publisher.next_of(&mut given_up), None);
}
