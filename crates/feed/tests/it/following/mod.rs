//! A follower and an exchange connected by a network; for proptest and libFuzzer.

#![allow(dead_code, reason = "each test file uses its part")]

use std::collections::HashMap;

use engine::{EngineLimits, Input};
use feed::{Channel, Follower, FollowerSettings, PublisherSettings, RecoveryRequest};

use crate::exchange::{CHANNELS, Exchange};
use crate::network::Network;

pub const INSTRUMENTS: u16 = 3;
/// Most requests that a follower needs to get in sync over a network without loss: a rejected
/// replay, a snapshot, a replay; each twice, because earlier unanswered requests count too.
const QUESTIONS_MAX: usize = 16;

fn follower(channel: Channel, limits: &EngineLimits, datagram_bytes_max: usize) -> Follower {
    let EngineLimits { open_orders_max, price_levels_max, .. } = *limits;
    Follower::new(FollowerSettings {
        // Sometimes too few.
        buffered_datagrams_max: 8,
        datagram_bytes_max,
        ..FollowerSettings::new(channel, INSTRUMENTS, open_orders_max, price_levels_max)
    })
}

/// A follower, its network, and the history of the exchange's books.
pub struct Following {
    pub channel: Channel,
    pub follower: Follower,
    pub network: Network,
    /// By session and number of the last message.
    pub hashes: HashMap<(u64, u64), u64>,
}

impl Following {
    /// Stores the present hash of the exchange's books.
    pub fn remember(&mut self, exchange: &Exchange) {
        let sequence = exchange.publisher.sequence(self.channel);
        let hash = exchange.book_hash(self.channel);
        assert_eq!(exchange.publisher.book_hash(self.channel), hash);
        self.hashes.insert((exchange.session, sequence), hash);
    }

    pub fn carry(&mut self, datagrams: Vec<Vec<u8>>) {
        for datagram in datagrams {
            for arrived in self.network.carry(datagram) {
                self.follower.datagram(&arrived);
                self.check();
            }
        }
    }

    /// Checks that a follower in sync has the exchange's books of that number.
    pub fn check(&self) {
        if !self.follower.is_in_sync() {
            return;
        }
        let session = self.follower.session().expect("it is in sync with something");
        if let Some(hash) = self.hashes.get(&(session, self.follower.sequence())) {
            assert_eq!(self.follower.book_hash(), *hash);
        }
    }

    /// Sends the follower's request to the exchange, and the answer back.
    pub fn ask(&mut self, exchange: &mut Exchange) {
        let Some(want) = self.follower.wants() else { return };
        if !self.network.is_answered() {
            return;
        }
        let sending = match want {
            RecoveryRequest::Replay { from, count } => {
                exchange.publisher.replay(self.channel, from, count)
            }
            RecoveryRequest::Snapshot => Ok(exchange.publisher.snapshot(self.channel).unwrap()),
        };
        match sending {
            Ok(sending) => self.carry(exchange.sent(sending)),
            Err(_) => self.follower.request_rejected(),
        }
    }

    /// One step of the datagrams and the follower.
    fn step(&mut self, exchange: &mut Exchange, step: u8) {
        // Sometimes packets wait, so that inputs share one.
        if !step.is_multiple_of(3) {
            self.carry(exchange.datagrams(self.channel));
        }
        match step {
            0..10 => {
                let heartbeat = exchange.publisher.heartbeat(self.channel, 0).unwrap().to_vec();
                self.carry(vec![heartbeat]);
            }
            10..60 => self.follower.again(),
            250 => self.follower.begin_again(),
            251..253 => self.follower.request_rejected(),
            _ => {}
        }
        if !step.is_multiple_of(5) {
            self.ask(exchange);
        }
    }

    /// Over a perfect network, the follower gets in sync.
    pub fn settle(&mut self, exchange: &mut Exchange) {
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

pub fn following(
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

/// Runs a follower through inputs, network faults and actions, and then over a perfect network.
pub fn follows(
    limits: EngineLimits,
    settings: &PublisherSettings,
    inputs: &[Input],
    fates: &[u8],
    steps: &[u8],
) {
    let mut exchange = Exchange::new(limits, settings);
    let mut following = following(fates, &limits, settings);
    let mut steps = steps.iter().copied().cycle();
    for input in inputs {
        let step = steps.next().unwrap_or_default();
        if step == 255 {
            exchange.restart(settings);
        }
        exchange.apply(input);
        for following in &mut following {
            following.remember(&exchange);
            following.step(&mut exchange, step);
        }
    }
    for following in &mut following {
        following.carry(exchange.datagrams(following.channel));
        following.settle(&mut exchange);
    }
}
