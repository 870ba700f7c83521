//! Recovery of a follower: its requests, when it repeats them, and when it gives up.

mod replays;
mod snapshots;

use crate::exchange::Exchange;
use engine::{Command, EngineLimits, Input, NewOrder, Side};
use feed::{Channel, Follower, FollowerSettings, PublisherSettings, RecoveryRequest, ReplayError};

const LIMITS: EngineLimits = EngineLimits {
    open_orders_max: 200,
    price_levels_max: 100,
    stop_levels_max: 0,
    expiring_orders_max: 0,
    accounts_max: 0,
};
const DATAGRAM_BYTES: usize = 200;
/// Equal to the constant in `feed::follower::asked`.
const ASK_AGAIN_DATAGRAMS: usize = 256;
const CHANNEL: Channel = Channel::Orders;

fn settings() -> PublisherSettings {
    Exchange::settings(LIMITS, 1, DATAGRAM_BYTES)
}

fn follower() -> Follower {
    Follower::new(FollowerSettings {
        buffered_datagrams_max: 64,
        datagram_bytes_max: DATAGRAM_BYTES,
        ..FollowerSettings::new(CHANNEL, 1, LIMITS.open_orders_max, LIMITS.price_levels_max)
    })
}

/// An exchange that publishes one message per datagram.
struct Feed {
    exchange: Exchange,
    orders: u64,
}

impl Feed {
    fn new(settings: &PublisherSettings) -> Feed {
        Feed { exchange: Exchange::new(LIMITS, settings), orders: 0 }
    }

    /// Adds `ticks` orders, with a datagram each.
    fn ticks(&mut self, ticks: usize) -> Vec<Vec<u8>> {
        let mut datagrams = Vec::new();
        for _ in 0..ticks {
            self.orders += 1;
            // Another price for each hundred orders, so that there is always room.
            let limit = NewOrder::limit(Side::Buy, 1 + self.orders as i64 % 100, self.orders);
            let command = Command::New(NewOrder { order_id: self.orders, ..limit });
            self.exchange.apply(&Input { time_ns: 0, command });
            datagrams.extend(self.exchange.datagrams(CHANNEL));
        }
        assert_eq!(datagrams.len(), ticks);
        datagrams
    }

    /// A snapshot with its heartbeats.
    fn snapshot(&mut self) -> Vec<Vec<u8>> {
        let sending = self.exchange.publisher.snapshot(CHANNEL).unwrap();
        self.exchange.sent(sending)
    }

    /// A snapshot without its heartbeats.
    fn parts(&mut self) -> Vec<Vec<u8>> {
        let mut snapshot = self.snapshot();
        snapshot.pop();
        snapshot.split_off(1)
    }

    fn replay(&mut self, from: u64, count: u32) -> Result<Vec<Vec<u8>>, ReplayError> {
        let sending = self.exchange.publisher.replay(CHANNEL, from, count)?;
        Ok(self.exchange.sent(sending))
    }

    fn heartbeat(&mut self) -> Vec<u8> {
        self.exchange.publisher.heartbeat(CHANNEL, 9).unwrap().to_vec()
    }

    fn is_followed_by(&self, follower: &Follower) -> bool {
        follower.is_in_sync() && follower.book_hash() == self.exchange.book_hash(CHANNEL)
    }
}

/// Answers the follower's requests until it is in sync, which takes at most a snapshot and a
/// replay.
fn recover(feed: &mut Feed, follower: &mut Follower, mut want: Option<RecoveryRequest>) {
    for _ in 0..2 {
        match want {
            Some(RecoveryRequest::Snapshot) => give(follower, &feed.snapshot()),
            Some(RecoveryRequest::Replay { from, count }) => {
                give(follower, &feed.replay(from, count).unwrap())
            }
            None => {}
        }
        want = follower.wants();
    }
    assert_eq!(want, None);
    assert!(feed.is_followed_by(follower));
}

fn give(follower: &mut Follower, datagrams: &[Vec<u8>]) {
    for datagram in datagrams {
        follower.datagram(datagram);
    }
}

/// An exchange with three orders, and a follower in sync.
fn in_sync() -> (Feed, Follower) {
    let mut feed = Feed::new(&settings());
    let mut follower = follower();
    feed.ticks(3);
    assert_eq!(follower.wants(), Some(RecoveryRequest::Snapshot));
    give(&mut follower, &feed.snapshot());
    assert!(feed.is_followed_by(&follower));
    assert_eq!(follower.wants(), None);
    (feed, follower)
}
