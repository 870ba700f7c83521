//! The cost of publishing and following a feed: workload W1 through the engine, into datagrams,
//! into a book.
//!
//! `cargo bench -p feed` prints messages per second and nanoseconds per message, the median of
//! several passes, each with a fresh follower. `cargo test` runs a tenth of it once and checks that
//! the book is the engine's.

#[path = "../../engine/tests/it/workload/mod.rs"]
mod workload;

use std::hint::black_box;

use clock::Clock;
use engine::{Command, Engine, Event, Input};
use feed::{
    Channel, DATAGRAM_BYTES_DEFAULT, Definition, Follower, FollowerSettings, Packet, Publisher,
    PublisherSettings,
};
use stats::median;
use workload::{LIMITS, Shallow};

/// Inputs after those that fill the book.
const INPUTS: usize = 200_000;
/// Number of timed passes of each case.
const PASSES: usize = 11;
/// Inputs that share datagrams in the packed case, as when they come faster than they are sent.
const PACKED_INPUTS: usize = 100;

/// A feed of W1 to follow.
struct Feed {
    channel: Channel,
    /// The book at its start.
    snapshot: Vec<Vec<u8>>,
    datagrams: Vec<Vec<u8>>,
    messages: u64,
    /// Hash of the book at its end.
    book_hash: u64,
}

fn settings(channel: Channel) -> PublisherSettings {
    PublisherSettings {
        session: 1,
        datagram_bytes_max: DATAGRAM_BYTES_DEFAULT,
        replay_packets_max: 1024,
        definitions: vec![Definition { code: [0; 32], tick: (1, -2), lot: (1, -3) }],
        orders_max: LIMITS.open_orders_max,
        levels_max: LIMITS.price_levels_max,
        channels: vec![channel],
    }
}

/// The events of each input, by a fresh engine, and the number of inputs that only fill the book.
fn events(inputs: usize) -> (Vec<Vec<Event>>, usize) {
    let mut engine = Engine::new(1, LIMITS);
    let (flow, prefill) = Shallow::new();
    let filling = prefill.len();
    let events = |command: Command| {
        let mut events = Vec::new();
        engine.apply(&Input { time_ns: 0, command }, &mut |event| events.push(event));
        events
    };
    (prefill.into_iter().chain(flow.take(inputs)).map(events).collect(), filling)
}

fn published(events: &[Vec<Event>], filling: usize, channel: Channel, inputs: usize) -> Feed {
    let mut publisher = Publisher::new(&settings(channel)).expect("they are in range");
    let take = |publisher: &mut Publisher, events: &[Vec<Event>]| {
        events.iter().flatten().for_each(|event| publisher.event(event, 1));
        publisher.end_of_input(1, 2);
        let next = || publisher.next(channel).map(|datagram| datagram.to_vec());
        std::iter::from_fn(next).collect::<Vec<_>>()
    };
    events[..filling].chunks(inputs).for_each(|events| {
        take(&mut publisher, events);
    });
    let first = publisher.sequence(channel);
    let mut sending = publisher.snapshot(channel).expect("it is published");
    let next = || publisher.next_of(&mut sending).map(|datagram| datagram.to_vec());
    let snapshot = std::iter::from_fn(next).collect();
    let datagrams =
        events[filling..].chunks(inputs).flat_map(|events| take(&mut publisher, events)).collect();
    assert_eq!((publisher.faults(), publisher.overrun()), (0, 0));
    Feed {
        channel,
        snapshot,
        datagrams,
        messages: publisher.sequence(channel) - first,
        book_hash: publisher.book_hash(channel),
    }
}

impl Feed {
    fn follower(&self) -> Follower {
        let (orders_max, levels_max) = (LIMITS.open_orders_max, LIMITS.price_levels_max);
        let mut follower =
            Follower::new(FollowerSettings::new(self.channel, 1, orders_max, levels_max));
        self.snapshot.iter().for_each(|datagram| {
            follower.datagram(datagram);
        });
        follower
    }

    /// Time to follow it, ns.
    fn follow(&self, clock: Clock) -> u64 {
        let mut follower = self.follower();
        let start_ns = clock.now_ns();
        for datagram in &self.datagrams {
            black_box(follower.datagram(datagram));
        }
        let ns = clock.now_ns() - start_ns;
        assert!(follower.is_in_sync());
        assert_eq!(follower.book_hash(), self.book_hash);
        assert_eq!(follower.counts().messages, self.messages);
        ns
    }

    /// Time to decode it only, ns.
    fn decode(&self, clock: Clock) -> u64 {
        let mut messages = 0;
        let start_ns = clock.now_ns();
        for datagram in &self.datagrams {
            let packet = Packet::decode(datagram).expect("it was published");
            messages += packet.messages().map(black_box).filter(Result::is_ok).count() as u64;
        }
        let ns = clock.now_ns() - start_ns;
        assert_eq!(messages, self.messages);
        ns
    }
}

fn main() {
    // Cargo passes `--bench` if it wants times.
    let is_timed = std::env::args().any(|argument| argument == "--bench");
    let clock = Clock::calibrate();
    let (events, filling) = events(if is_timed { INPUTS } else { INPUTS / 10 });
    for (channel, channel_name) in [(Channel::Orders, "orders"), (Channel::Levels, "levels")] {
        for (inputs, how) in [(PACKED_INPUTS, "packed"), (1, "a datagram an input")] {
            let feed = published(&events, filling, channel, inputs);
            let bytes: usize = feed.datagrams.iter().map(Vec::len).sum();
            let cases =
                [("decode", Feed::decode as fn(&Feed, Clock) -> u64), ("follow", Feed::follow)];
            for (name, case) in cases {
                let mut passes: Vec<u64> =
                    (0..if is_timed { PASSES } else { 1 }).map(|_| case(&feed, clock)).collect();
                passes.sort_unstable();
                let ns = median(&passes).unwrap_or(0).max(1);
                if is_timed {
                    println!(
                        "{name} {channel_name}, {how:<20} {:>6.1} ns/message {:>12} messages/s, {:.1} bytes/message",
                        ns as f64 / feed.messages as f64,
                        u128::from(feed.messages) * 1_000_000_000 / u128::from(ns),
                        bytes as f64 / feed.messages as f64,
                    );
                }
            }
        }
    }
    if is_timed {
        publish(&events, filling, clock);
    }
}

/// The exchange's cost: both channels, a datagram per input.
fn publish(events: &[Vec<Event>], filling: usize, clock: Clock) {
    let both = vec![Channel::Orders, Channel::Levels];
    let settings = PublisherSettings { channels: both.clone(), ..settings(Channel::Orders) };
    let mut publisher = Publisher::new(&settings).expect("they are in range");
    let mut start_ns = 0;
    for (number, events) in events.iter().enumerate() {
        if number == filling {
            start_ns = clock.now_ns();
        }
        events.iter().for_each(|event| publisher.event(event, 1));
        publisher.end_of_input(1, 2);
        for channel in &both {
            while let Some(datagram) = publisher.next(*channel) {
                black_box(datagram);
            }
        }
    }
    let ns = clock.now_ns() - start_ns;
    println!("publish both, a datagram an input: {:.1} ns/input", ns as f64 / INPUTS as f64);
    let orders = publisher.book(0).map_or(1, feed::Book::orders_open);
    let start_ns = clock.now_ns();
    black_box(publisher.snapshot(Channel::Orders));
    let ns = clock.now_ns() - start_ns;
    println!("a snapshot of {orders} orders: {:.1} ns/order", ns as f64 / f64::from(orders));
}
