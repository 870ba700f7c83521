//! Snapshots that take longer than a follower waits before it repeats its request, with more parts
//! than it takes for lost.

use crate::exchange::Exchange;
use engine::{Command, EngineLimits, Input, NewOrder, Side};
use feed::{Channel, Follower, FollowerSettings, PublisherSettings, RecoveryRequest, Sending};

const LIMITS: EngineLimits = EngineLimits {
    open_orders_max: 12_000,
    price_levels_max: 100,
    stop_levels_max: 0,
    expiring_orders_max: 0,
    accounts_max: 0,
};
/// Room for four orders per part.
const DATAGRAM_BYTES: usize = 200;
const PARTS: usize = 3_000;
const CHANNEL: Channel = Channel::Orders;

/// An exchange whose snapshots have [`PARTS`]. It sends a follower one datagram per step, for any
/// number of requests.
struct Feed {
    exchange: Exchange,
    sending: Option<Sending>,
    asked: u32,
}

impl Feed {
    fn new() -> Feed {
        let settings = PublisherSettings {
            replay_packets_max: 2 * LIMITS.open_orders_max as usize,
            ..Exchange::settings(LIMITS, 1, DATAGRAM_BYTES)
        };
        let mut feed = Feed { exchange: Exchange::new(LIMITS, &settings), sending: None, asked: 0 };
        (1..LIMITS.open_orders_max.into()).for_each(|order_id| feed.order(order_id));
        feed
    }

    fn order(&mut self, order_id: u64) {
        let limit = NewOrder::limit(Side::Buy, 1 + order_id as i64 % 100, 1);
        let command = Command::New(NewOrder { order_id, ..limit });
        self.exchange.apply(&Input { time_ns: 0, command });
        self.exchange.datagrams(CHANNEL);
    }

    /// One step: sends the follower's request, and the next datagram, which may be lost.
    fn step(&mut self, follower: &mut Follower, is_lost: bool) {
        let publisher = &mut self.exchange.publisher;
        let sending = follower.wants().map(|want| match want {
            RecoveryRequest::Snapshot => publisher.snapshot(CHANNEL).unwrap(),
            RecoveryRequest::Replay { from, count } => {
                publisher.replay(CHANNEL, from, count).unwrap()
            }
        });
        if let Some(asked) = sending {
            self.asked += 1;
            self.sending = Some(self.sending.map_or(asked, |under_way| under_way.joined_by(asked)));
        }
        let Some(sending) = &mut self.sending else { return };
        match publisher.next_of(sending) {
            Some(datagram) if !is_lost => drop(follower.datagram(datagram)),
            Some(_) => {}
            None => self.sending = None,
        }
    }

    fn is_followed_by(&self, follower: &Follower) -> bool {
        follower.is_in_sync() && follower.book_hash() == self.exchange.book_hash(CHANNEL)
    }
}

fn follower() -> Follower {
    Follower::new(FollowerSettings {
        datagram_bytes_max: DATAGRAM_BYTES,
        ..FollowerSettings::new(CHANNEL, 1, LIMITS.open_orders_max, LIMITS.price_levels_max)
    })
}

/// The time-out comes before all parts can have come, many times, and once per look at the clock.
#[test]
fn one_that_takes_longer_than_the_follower_waits_arrives() {
    for (wait, looks) in [(2_000, 1), (2_000, 2), (700, 3)] {
        let (mut feed, mut follower) = (Feed::new(), follower());
        let mut steps = 0;
        while !follower.is_in_sync() {
            // A heartbeat precedes the answer to each request.
            assert!(steps <= PARTS + 1 + PARTS / wait, "{looks} looks each {wait} steps");
            feed.step(&mut follower, false);
            steps += 1;
            if steps.is_multiple_of(wait) {
                (0..looks).for_each(|_| follower.again());
            }
        }
        assert!(feed.is_followed_by(&follower));
        assert_eq!((follower.counts().not_needed, follower.counts().snapshots), (0, 1));
    }
}

/// A follower that repeats its request before each datagram alternately gets a heartbeat and a
/// part.
#[test]
fn one_that_is_asked_for_all_the_time_arrives() {
    let (mut feed, mut follower) = (Feed::new(), follower());
    let publisher = &mut feed.exchange.publisher;
    let mut sending = publisher.snapshot(CHANNEL).unwrap();
    for _ in 0..2 * (PARTS + 5) {
        sending = sending.joined_by(publisher.snapshot(CHANNEL).unwrap());
        follower.datagram(publisher.next_of(&mut sending).unwrap());
        if follower.is_in_sync() {
            break;
        }
    }
    assert!(feed.is_followed_by(&follower), "{:#?}", follower.counts());
}

/// A lost part comes with the next sending, and no received part is discarded.
#[test]
fn a_part_that_was_lost_early_or_late_comes_with_the_next_sending() {
    for lost in [1, 2, 700, PARTS - 1, PARTS] {
        let (mut feed, mut follower) = (Feed::new(), follower());
        let mut steps = 0;
        while !follower.is_in_sync() {
            assert!(steps <= 3 * PARTS, "{lost}: {:#?}", follower.counts());
            feed.step(&mut follower, steps == lost);
            steps += 1;
            if steps.is_multiple_of(1_000) {
                follower.again();
            }
        }
        assert!(feed.is_followed_by(&follower), "{lost}");
        assert_eq!(feed.asked, 2);
    }
}

/// With another message every few parts, the follower requests nothing that it has and gets
/// everything.
#[test]
fn messages_come_meanwhile() {
    let (mut feed, mut follower) = (Feed::new(), follower());
    let sell = NewOrder::limit(Side::Sell, 200, 1);
    for step in 0..2 * PARTS as u64 {
        feed.step(&mut follower, false);
        if step % 50 == 0 && step < PARTS as u64 {
            let order_id = 1 + (1 << 30) + step;
            let command = match step % 100 {
                0 => Command::New(NewOrder { order_id, ..sell }),
                _ => Command::Cancel(engine::Cancel {
                    order_id: order_id - 50,
                    account: 0,
                    tag: 0,
                    instrument: 0,
                }),
            };
            feed.exchange.apply(&Input { time_ns: 0, command });
            for datagram in feed.exchange.datagrams(CHANNEL) {
                follower.datagram(&datagram);
            }
        }
    }
    assert!(feed.is_followed_by(&follower), "{:#?}", follower.counts());
    let counts = follower.counts();
    assert_eq!((counts.snapshots_asked, counts.replays_asked, counts.gaps), (1, 0, 0));
}
