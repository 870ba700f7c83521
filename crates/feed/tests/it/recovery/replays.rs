//! Gaps: their requests, when those are repeated, and when a snapshot is needed instead.

use super::{
    ASK_AGAIN_DATAGRAMS, CHANNEL, DATAGRAM_BYTES, Feed, follower, give, in_sync, recover, settings,
};
use engine::{Command, Input, NewOrder, Side};
use feed::{Channel, Fault, Follower, FollowerSettings, RecoveryRequest, ReplayError};

#[test]
fn a_gap_is_filled_by_a_replay_and_what_came_meanwhile() {
    let (mut feed, mut follower) = in_sync();
    let ticks = feed.ticks(5);
    assert!(follower.datagram(&ticks[0]).is_live_tick);
    let early = follower.datagram(&ticks[3]);
    assert_eq!((early.applied, early.is_live_tick), (0, false));
    assert!(!follower.is_in_sync());
    assert_eq!(follower.wants(), Some(RecoveryRequest::Replay { from: 5, count: 2 }));
    assert_eq!(follower.wants(), None);
    assert_eq!(follower.datagram(&ticks[4]).applied, 0);
    let replay = feed.replay(5, 2).unwrap();
    assert_eq!(replay.len(), 2);
    let first = follower.datagram(&replay[0]);
    assert_eq!((first.applied, first.is_live_tick), (1, false));
    // The missing one, and the two that waited for it.
    assert_eq!(follower.datagram(&replay[1]).applied, 3);
    assert!(feed.is_followed_by(&follower));
    assert_eq!(follower.wants(), None);
    let counts = follower.counts();
    assert_eq!((counts.gaps, counts.early, counts.replayed, counts.replays_asked), (1, 2, 2, 1));
    assert_eq!((counts.messages, counts.snapshots, counts.faults.total()), (5, 1, 0));
}

/// A group gets snapshots at an interval, and what others asked for. Only a live datagram that
/// comes twice is a duplicate.
#[test]
fn what_others_needed_is_no_duplicate() {
    let (mut feed, mut follower) = in_sync();
    let ticks = feed.ticks(2);
    give(&mut follower, &ticks);
    let (parts, replay) = (feed.parts(), feed.replay(4, 2).unwrap());
    let others = (parts.len() + replay.len()) as u64;
    assert!(!parts.is_empty() && replay.len() == 2);
    give(&mut follower, &parts);
    give(&mut follower, &replay);
    let counts = *follower.counts();
    assert_eq!((counts.duplicates, counts.not_needed), (0, others));
    give(&mut follower, &ticks[1..]);
    let counts = *follower.counts();
    assert_eq!((counts.duplicates, counts.not_needed), (1, others));
    assert_eq!((counts.messages, counts.replayed, counts.faults.total()), (2, 0, 0));
    assert!(feed.is_followed_by(&follower));
}

#[test]
fn a_loss_at_the_tail_shows_in_a_heartbeat() {
    let (mut feed, mut follower) = in_sync();
    follower.datagram(&feed.heartbeat());
    assert!(follower.is_in_sync());
    feed.ticks(2);
    assert!(follower.is_in_sync());
    let heartbeat = follower.datagram(&feed.heartbeat());
    assert_eq!((heartbeat.applied, heartbeat.is_live_tick), (0, false));
    assert_eq!(follower.wants(), Some(RecoveryRequest::Replay { from: 4, count: 2 }));
    give(&mut follower, &feed.replay(4, 2).unwrap());
    assert!(feed.is_followed_by(&follower));
    // One heartbeat before the snapshot, one after it, and two more.
    assert_eq!((follower.counts().gaps, follower.counts().heartbeats), (1, 4));
}

#[test]
fn a_snapshot_of_no_number_is_one() {
    let mut feed = Feed::new(&settings());
    let mut parts = feed.parts();
    // Set `sequence` to 0; it counts from 1.
    parts.iter_mut().for_each(|part| part[16] = 0);
    let mut follower = follower();
    give(&mut follower, &parts);
    assert_eq!(follower.sequence(), 0);
    give(&mut follower, &feed.ticks(1));
    let count = 1;
    assert_eq!(follower.wants(), Some(RecoveryRequest::Replay { from: 0, count }));
    assert_eq!(feed.replay(0, count), Err(ReplayError::TooOld));
    follower.request_rejected();
    let want = follower.wants();
    recover(&mut feed, &mut follower, want);
}

#[test]
fn a_heartbeat_says_nothing_of_what_waits_to_be_sent() {
    let (mut feed, mut follower) = in_sync();
    let limit = NewOrder::limit(Side::Buy, 1, 1);
    let command = Command::New(NewOrder { order_id: 99, ..limit });
    feed.exchange.apply(&Input { time_ns: 0, command });
    follower.datagram(&feed.heartbeat());
    assert!(follower.is_in_sync());
    give(&mut follower, &feed.exchange.datagrams(CHANNEL));
    assert!(feed.is_followed_by(&follower));
}

#[test]
fn what_does_not_come_is_asked_for_again() {
    let (mut feed, mut follower) = in_sync();
    let ticks = feed.ticks(2);
    follower.datagram(&ticks[1]);
    let want = Some(RecoveryRequest::Replay { from: 4, count: 1 });
    assert_eq!(follower.wants(), want);
    for _ in 1..ASK_AGAIN_DATAGRAMS {
        follower.datagram(&ticks[1]);
        assert_eq!(follower.wants(), None);
    }
    follower.datagram(&ticks[1]);
    assert_eq!(follower.wants(), want);
    assert_eq!(follower.wants(), None);
    follower.again();
    assert_eq!(follower.wants(), want);
    // After three requests in vain, it wants a snapshot.
    follower.again();
    let want = follower.wants();
    assert_eq!(want, Some(RecoveryRequest::Snapshot));
    recover(&mut feed, &mut follower, want);
}

#[test]
fn another_gap_is_asked_for_at_once() {
    let (mut feed, mut follower) = in_sync();
    let ticks = feed.ticks(6);
    give(&mut follower, &[ticks[1].clone(), ticks[4].clone()]);
    assert_eq!(follower.wants(), Some(RecoveryRequest::Replay { from: 4, count: 1 }));
    give(&mut follower, &feed.replay(4, 1).unwrap());
    assert_eq!(follower.wants(), Some(RecoveryRequest::Replay { from: 6, count: 2 }));
    assert_eq!(follower.wants(), None);
    // A half of it comes; the rest is covered by the open request.
    follower.datagram(&feed.replay(6, 1).unwrap()[0]);
    assert_eq!(follower.wants(), None);
    follower.again();
    assert_eq!(follower.wants(), None);
    follower.again();
    assert_eq!(follower.wants(), Some(RecoveryRequest::Replay { from: 7, count: 1 }));
}

#[test]
fn what_is_not_kept_any_more_needs_a_snapshot() {
    let (mut feed, mut follower) = in_sync();
    let ticks = feed.ticks(100);
    follower.datagram(&ticks[98]);
    let Some(RecoveryRequest::Replay { from, count }) = follower.wants() else {
        panic!("it saw the gap")
    };
    assert_eq!(feed.replay(from, count), Err(ReplayError::TooOld));
    follower.request_rejected();
    let want = follower.wants();
    assert_eq!(want, Some(RecoveryRequest::Snapshot));
    recover(&mut feed, &mut follower, want);
    assert_eq!(follower.counts().snapshots, 2);
}

/// A datagram of this session with a number that was never sent.
fn from_the_future(tick: &[u8]) -> Vec<u8> {
    let mut tick = tick.to_vec();
    tick[8 + 8 + 4] ^= 1;
    tick
}

#[test]
fn a_number_from_the_future_is_forgotten() {
    for is_rejected in [true, false] {
        let (mut feed, mut follower) = in_sync();
        let ticks = feed.ticks(1);
        give(&mut follower, &[from_the_future(&ticks[0]), ticks[0].clone()]);
        assert!(!follower.is_in_sync());
        let count = u32::MAX;
        assert_eq!(follower.wants(), Some(RecoveryRequest::Replay { from: 5, count }));
        assert_eq!(feed.replay(5, count), Err(ReplayError::NotYet));
        if is_rejected {
            follower.request_rejected();
        } else {
            // No answer comes.
            for _ in 0..2 {
                follower.again();
                assert_eq!(follower.wants(), Some(RecoveryRequest::Replay { from: 5, count }));
            }
            follower.again();
        }
        let want = follower.wants();
        assert_eq!(want, Some(RecoveryRequest::Snapshot));
        recover(&mut feed, &mut follower, want);
        assert!(follower.datagram(&feed.ticks(1)[0]).is_live_tick);
        assert!(feed.is_followed_by(&follower));
    }
}

#[test]
fn a_late_rejection_changes_nothing() {
    let (feed, mut follower) = in_sync();
    follower.request_rejected();
    assert!(feed.is_followed_by(&follower));
}

#[test]
fn another_session_begins_after_three_datagrams_in_a_row() {
    let (mut feed, mut follower) = in_sync();
    let old = feed.ticks(2);
    feed.exchange.restart(&settings());
    let new = feed.heartbeat();
    give(&mut follower, &[new.clone(), new.clone(), old[0].clone(), new.clone(), new.clone()]);
    assert_eq!((follower.session(), follower.is_in_sync()), (Some(1_000), true));
    follower.datagram(&new);
    assert_eq!((follower.session(), follower.is_in_sync()), (Some(1_001), false));
    assert_eq!(follower.wants(), Some(RecoveryRequest::Snapshot));
    // The rest of the old one is useless.
    give(&mut follower, &old);
    give(&mut follower, &feed.snapshot());
    assert!(feed.is_followed_by(&follower));
    assert_eq!(follower.wants(), None);
    let counts = follower.counts();
    assert_eq!((counts.sessions, counts.faults.of(Fault::OtherSession)), (1, 7));
    assert_eq!(counts.replays_asked, 0);
}

#[test]
fn a_follower_that_changes_exchanges_takes_the_next_session_at_once() {
    let (mut feed, mut follower) = in_sync();
    give(&mut follower, &feed.ticks(5));
    feed.exchange.restart(&settings());
    follower.change_exchange();
    assert_eq!((follower.is_in_sync(), follower.session()), (false, None));
    assert_eq!(follower.wants(), Some(RecoveryRequest::Snapshot));
    give(&mut follower, &feed.snapshot());
    give(&mut follower, &feed.ticks(1));
    assert!(feed.is_followed_by(&follower));
    let counts = follower.counts();
    assert_eq!((counts.sessions, counts.faults.of(Fault::OtherSession)), (1, 0));
}

#[test]
fn what_belongs_to_the_other_channel_changes_nothing() {
    let (mut feed, mut follower) = in_sync();
    feed.ticks(1);
    let levels = feed.exchange.datagrams(Channel::Levels);
    assert!(!levels.is_empty());
    give(&mut follower, &levels);
    assert_eq!(follower.counts().faults.of(Fault::OtherChannel), levels.len() as u64);
    assert!(follower.is_in_sync());
}

#[test]
fn a_message_that_does_not_go_with_the_book_ends_it() {
    let (mut feed, mut follower) = in_sync();
    let mut tick = feed.ticks(1)[0].clone();
    // Replace the order's id by that of a resting one.
    tick[56 + 8] = 1;
    follower.datagram(&tick);
    assert_eq!(follower.counts().faults.of(Fault::DuplicateOrder), 1);
    assert!(!follower.is_in_sync());
    let want = follower.wants();
    assert_eq!(want, Some(RecoveryRequest::Snapshot));
    recover(&mut feed, &mut follower, want);
}

#[test]
fn a_book_that_is_too_small_is_told_so() {
    let mut feed = Feed::new(&settings());
    let snapshot = feed.snapshot();
    let mut follower = Follower::new(FollowerSettings {
        datagram_bytes_max: DATAGRAM_BYTES,
        ..FollowerSettings::new(CHANNEL, 1, 2, 100)
    });
    give(&mut follower, &snapshot);
    give(&mut follower, &feed.ticks(3));
    assert_eq!(follower.counts().faults.of(Fault::BookFull), 1);
    give(&mut follower, &feed.snapshot());
    assert_eq!(follower.counts().faults.of(Fault::BookFull), 2);
    assert!(!follower.is_in_sync());
}

#[test]
fn what_can_not_be_kept_is_counted_and_asked_for() {
    let mut feed = Feed::new(&settings());
    let mut follower = Follower::new(FollowerSettings {
        buffered_datagrams_max: 2,
        datagram_bytes_max: DATAGRAM_BYTES,
        ..FollowerSettings::new(CHANNEL, 1, 200, 100)
    });
    give(&mut follower, &feed.snapshot());
    let ticks = feed.ticks(5);
    give(&mut follower, &ticks[1..]);
    assert_eq!(follower.counts().not_kept, 2);
    assert_eq!(follower.wants(), Some(RecoveryRequest::Replay { from: 1, count: 1 }));
    give(&mut follower, &feed.replay(1, 1).unwrap());
    assert_eq!(follower.wants(), Some(RecoveryRequest::Replay { from: 4, count: 2 }));
    give(&mut follower, &feed.replay(4, 2).unwrap());
    assert!(feed.is_followed_by(&follower));
}

#[test]
fn what_comes_twice_before_its_turn_is_kept_once() {
    let (mut feed, mut follower) = in_sync();
    let ticks = feed.ticks(4);
    for _ in 0..100 {
        follower.datagram(&ticks[1]);
    }
    give(&mut follower, &ticks[2..]);
    assert_eq!(follower.counts().not_kept, 0);
    assert_eq!(follower.datagram(&ticks[0]).applied, 4);
    assert!(feed.is_followed_by(&follower));
}

#[test]
fn a_replay_ends_with_what_was_sent_and_with_what_is_kept() {
    let mut feed = Feed::new(&settings());
    feed.ticks(3);
    let limit = NewOrder::limit(Side::Buy, 1, 1);
    let command = Command::New(NewOrder { order_id: 99, ..limit });
    feed.exchange.apply(&Input { time_ns: 0, command });
    assert_eq!(feed.exchange.publisher.sequence(CHANNEL), 4);
    assert_eq!(feed.replay(2, u32::MAX).map(|datagrams| datagrams.len()), Ok(2));
    assert_eq!(feed.replay(4, 1), Err(ReplayError::NotYet));
    let mut sending = feed.exchange.publisher.replay(CHANNEL, 1, u32::MAX).unwrap();
    assert!(feed.exchange.publisher.next_of(&mut sending).is_some());
    feed.exchange.datagrams(CHANNEL);
    feed.ticks(70);
    assert_eq!(feed.exchange.publisher.next_of(&mut sending), None);
    assert_eq!(feed.replay(1, 1), Err(ReplayError::TooOld));
}

#[test]
fn messages_after_a_rejection_are_kept() {
    let (mut feed, mut follower) = in_sync();
    let ticks = feed.ticks(3);
    give(&mut follower, &ticks[2..]);
    follower.request_rejected();
    assert_eq!(follower.wants(), Some(RecoveryRequest::Snapshot));
    let parts = feed.parts();
    give(&mut follower, &feed.ticks(2));
    give(&mut follower, &parts);
    // The older snapshot.
    assert_eq!(follower.wants(), Some(RecoveryRequest::Replay { from: 4, count: 3 }));
    give(&mut follower, &feed.replay(4, 3).unwrap());
    assert!(feed.is_followed_by(&follower));
}
