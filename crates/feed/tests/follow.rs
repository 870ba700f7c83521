//! Whatever the engine does, and whatever the network does to what is said of it, the follower's books are the engine's.

#[path = "../../engine/tests/commands/mod.rs"]
mod commands;
mod exchange;
mod network;

use std::collections::HashMap;

use engine::{EngineLimits, Input};
use exchange::{CHANNELS, Exchange};
use feed::{
    Channel, DATAGRAM_BYTES_MIN, Fault, Follower, FollowerSettings, PublisherSettings, Want,
};
use network::Network;
use proptest::prelude::*;

const INSTRUMENTS: u16 = 3;
/// Questions that a follower may need until it is in sync over a network that loses nothing: a replay that is refused, a snapshot, a replay; each
/// twice, since what was lost before counts as asked.
const QUESTIONS_MAX: usize = 16;

fn follower(channel: Channel, limits: &EngineLimits, datagram_bytes_max: usize) -> Follower {
    let EngineLimits { open_orders_max, price_levels_max, .. } = *limits;
    Follower::new(FollowerSettings {
        // Small enough to be too small at times.
        buffered_datagrams_max: 8,
        datagram_bytes_max,
        ..FollowerSettings::new(channel, INSTRUMENTS, open_orders_max, price_levels_max)
    })
}

/// A follower, what is between it and the exchange, and what the books were.
struct Following {
    channel: Channel,
    follower: Follower,
    network: Network,
    /// By session and number of the last message.
    hashes: HashMap<(u64, u64), u64>,
}

impl Following {
    /// The books as they are now, which are to be found at the other end.
    fn remember(&mut self, exchange: &Exchange) {
        let sequence = exchange.publisher.sequence(self.channel);
        let hash = exchange.book_hash(self.channel);
        assert_eq!(exchange.publisher.book_hash(self.channel), hash);
        self.hashes.insert((exchange.session, sequence), hash);
    }

    fn carry(&mut self, datagrams: Vec<Vec<u8>>) {
        for datagram in datagrams {
            for arrived in self.network.carry(datagram) {
                self.follower.datagram(&arrived);
                self.check();
            }
        }
    }

    /// A follower that says that it is in sync shows the books as they were at that number.
    fn check(&self) {
        if !self.follower.is_in_sync() {
            return;
        }
        let session = self.follower.session().expect("it is in sync with something");
        if let Some(hash) = self.hashes.get(&(session, self.follower.sequence())) {
            assert_eq!(self.follower.book_hash(), *hash);
        }
    }

    /// What the follower wants is asked of the exchange, and sent.
    fn ask(&mut self, exchange: &mut Exchange) {
        let Some(want) = self.follower.wants() else { return };
        if !self.network.is_answered() {
            return;
        }
        let sending = match want {
            Want::Replay { from, count } => exchange.publisher.replay(self.channel, from, count),
            Want::Snapshot => Ok(exchange.publisher.snapshot(self.channel).unwrap()),
        };
        match sending {
            Ok(sending) => self.carry(exchange.sent(sending)),
            Err(_) => self.follower.refused(),
        }
    }

    /// Over a network that has become perfect it comes to be in sync.
    fn settle(&mut self, exchange: &mut Exchange) {
        self.network.become_perfect();
        for _ in 0..QUESTIONS_MAX {
            let heartbeat = exchange.publisher.heartbeat(self.channel, 0).unwrap().to_vec();
            self.carry(vec![heartbeat]);
            self.follower.again();
            self.ask(exchange);
        }
        assert!(self.follower.is_in_sync(), "{:#?}", self.follower.counts());
        assert_eq!(self.follower.session(), Some(exchange.session));
        assert_eq!(self.follower.sequence(), exchange.publisher.sequence(self.channel));
        assert_eq!(self.follower.book_hash(), exchange.book_hash(self.channel));
    }
}

fn following(
    fates: &[u8],
    limits: &EngineLimits,
    settings: &PublisherSettings,
) -> [Following; CHANNELS.len()] {
    CHANNELS.map(|channel| Following {
        channel,
        follower: follower(channel, limits, settings.datagram_bytes_max),
        network: Network::new(fates.to_vec()),
        hashes: HashMap::new(),
    })
}

fn datagram_bytes() -> impl Strategy<Value = usize> {
    DATAGRAM_BYTES_MIN..400
}

proptest! {
    /// Nothing is lost: the books are equal after each input, and each input that changed them is a tick.
    #[test]
    fn over_a_perfect_network(
        limits in commands::limits(),
        inputs in commands::inputs(300),
        datagram_bytes in datagram_bytes(),
    ) {
        let settings = Exchange::settings(limits, INSTRUMENTS, datagram_bytes);
        for Following { channel, mut follower, .. } in following(&[], &limits, &settings) {
            let settings = PublisherSettings { channels: vec![channel], ..settings.clone() };
            let mut exchange = Exchange::new(limits, &settings);
            prop_assert_eq!(follower.wants(), Some(Want::Snapshot));
            prop_assert_eq!(follower.wants(), None);
            let snapshot = exchange.publisher.snapshot(channel).unwrap();
            exchange.sent(snapshot).iter().for_each(|datagram| { follower.datagram(datagram); });
            prop_assert!(follower.is_in_sync());
            for Input { time_ns, command } in &inputs {
                let before = exchange.book_hash(channel);
                exchange.apply(&Input { time_ns: *time_ns, command: *command });
                prop_assert_eq!((exchange.publisher.faults(), exchange.publisher.overrun()), (0, 0));
                let datagrams = exchange.datagrams(channel);
                prop_assert!(!datagrams.is_empty() || before == exchange.book_hash(channel));
                for datagram in datagrams {
                    prop_assert!(datagram.len() <= datagram_bytes);
                    prop_assert!(follower.datagram(&datagram).is_live_tick);
                }
                prop_assert!(follower.is_in_sync());
                prop_assert_eq!(follower.wants(), None);
                prop_assert_eq!(follower.sequence(), exchange.publisher.sequence(channel));
                prop_assert_eq!(exchange.publisher.book_hash(channel), exchange.book_hash(channel));
                prop_assert_eq!(follower.book_hash(), exchange.book_hash(channel));
            }
            prop_assert_eq!(follower.counts().faults.total(), 0);
        }
    }

    /// Datagrams are lost, doubled, late, cut and among rubbish, those that were asked for too; now and then the exchange begins anew.
    #[test]
    fn over_a_network_that_loses(
        limits in commands::limits(),
        inputs in commands::inputs(200),
        datagram_bytes in datagram_bytes(),
        replay_packets_max in 2_usize..40,
        fates in prop::collection::vec(any::<u8>(), 1..100),
        restart_at in prop::option::of(0_usize..200),
        impatience in 1_usize..30,
    ) {
        let settings = PublisherSettings {
            replay_packets_max,
            ..Exchange::settings(limits, INSTRUMENTS, datagram_bytes)
        };
        let mut exchange = Exchange::new(limits, &settings);
        let mut following = following(&fates, &limits, &settings);
        for (number, input) in inputs.iter().enumerate() {
            if restart_at == Some(number) {
                exchange.restart(&settings);
            }
            exchange.apply(input);
            for following in &mut following {
                following.remember(&exchange);
                // Packets wait at times, and inputs share one.
                if number % 3 != 0 {
                    following.carry(exchange.datagrams(following.channel));
                }
                following.ask(&mut exchange);
                if number % impatience == 0 {
                    following.follower.again();
                }
            }
        }
        for following in &mut following {
            following.carry(exchange.datagrams(following.channel));
            following.settle(&mut exchange);
        }
    }

    /// Bits flip, and nobody notices before the datagram is read, as if UDP had no checksum: whatever the follower makes of it, told that its books
    /// are others it comes to be in sync again.
    #[test]
    fn with_bits_flipped(
        limits in commands::limits(),
        inputs in commands::inputs(60),
        flips in prop::collection::vec((any::<u16>(), 0_u8..8), 1..20),
    ) {
        let settings = Exchange::settings(limits, INSTRUMENTS, 200);
        let mut exchange = Exchange::new(limits, &settings);
        for mut following in following(&[], &limits, &settings) {
            let mut flips = flips.iter().cycle();
            for input in &inputs {
                exchange.apply(input);
                for mut datagram in exchange.datagrams(following.channel) {
                    let (at, bit) = flips.next().copied().unwrap_or_default();
                    let at = usize::from(at) % datagram.len();
                    datagram[at] ^= 1 << bit;
                    following.follower.datagram(&datagram);
                }
                if let Some(Want::Snapshot) = following.follower.wants() {
                    let snapshot = exchange.publisher.snapshot(following.channel).unwrap();
                    for datagram in exchange.sent(snapshot) {
                        following.follower.datagram(&datagram);
                    }
                }
            }
            following.follower.begin_again();
            following.settle(&mut exchange);
        }
    }

    /// Rubbish changes nothing, and is counted.
    #[test]
    fn garbage_changes_nothing(
        inputs in commands::inputs(60),
        garbage in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 1..50),
    ) {
        let limits = EngineLimits::matching_only(20, 8);
        let settings = Exchange::settings(limits, INSTRUMENTS, 200);
        let mut exchange = Exchange::new(limits, &settings);
        let [mut following, _] = following(&[], &limits, &settings);
        following.settle(&mut exchange);
        let mut garbage = garbage.iter().cycle();
        let mut thrown = 0;
        for input in &inputs {
            exchange.apply(input);
            following.remember(&exchange);
            for datagram in exchange.datagrams(following.channel) {
                thrown += 1;
                let rubbish = following.follower.datagram(garbage.next().unwrap());
                prop_assert_eq!((rubbish.header, rubbish.applied), (None, 0));
                prop_assert!(following.follower.datagram(&datagram).is_live_tick);
                following.check();
            }
        }
        let faults = following.follower.counts().faults;
        prop_assert_eq!(faults.of(Fault::Garbage) + faults.of(Fault::Truncated), thrown);
        prop_assert_eq!(faults.total(), thrown);
    }
}
