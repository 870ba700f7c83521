//! A subscriber of the feed: a connection, a UDP socket, and a follower that requests what it
//! misses.

#![allow(dead_code, reason = "each test file uses its part")]

use crate::running::{Client, Running};
use clock::{Clock, Deadline};
use exchange::{Config, Feed, FlowConfig};
use feed::{Follower, FollowerSettings, PacketHeader, PacketKind, RecoveryRequest};
use serde_json::Value;
use std::net::SocketAddr;
use std::time::Duration;
use transport::datagram::{Datagram, DatagramReceiver, ReceiveOptions};

/// Room for a snapshot while the test's thread does not read.
pub const RECEIVE: ReceiveOptions =
    ReceiveOptions { receive_buffer_bytes: 4 << 20, kernel_stamps: false, multicast: None };
const PATIENCE: Duration = Duration::from_millis(500);

/// As [`crate::running::config`], with a feed.
pub fn config() -> Config {
    Config {
        feed: Some(Feed::default()),
        clock: Some(Clock::calibrate()),
        ..crate::running::config()
    }
}

/// As [`config`], with room for a flow, and the flow.
pub fn config_with_flow(flow: FlowConfig) -> Config {
    let mut config = config();
    config.limits.open_orders_max = 40_000;
    config.limits.price_levels_max = 4_000;
    config.flow = Some(flow);
    config
}

pub struct Following {
    pub client: Client,
    pub receiver: DatagramReceiver,
    pub follower: Follower,
    /// Headers of all new datagrams in the order of arrival.
    pub live: Vec<PacketHeader>,
    /// Whether it requests missing messages.
    pub can_ask: bool,
    depth: String,
    /// When to repeat a request, because its reply was lost.
    patience: Deadline,
    datagram: Vec<u8>,
}

impl Following {
    /// Subscribes an account's connection to a channel, order by order or price by price.
    pub fn new(running: &Running, account: &str, depth: &str) -> Following {
        let any = "127.0.0.1:0".parse().unwrap();
        let receiver = DatagramReceiver::bind(any, &RECEIVE, Clock::calibrate()).unwrap();
        let address = receiver.local_addr().unwrap();
        let mut following = Following::listening(running, account, receiver, depth);
        let reply = following.client.ask(&subscribe(address, depth));
        let subscription: Value = serde_json::from_str(&reply).unwrap();
        let feed = &subscription["channels"][0];
        assert_eq!(feed["name"], "FEED", "{reply}");
        assert_eq!(feed["depth"], depth);
        assert_eq!(feed["address"], address.to_string());
        following
    }

    /// Not subscribed yet.
    pub fn listening(
        running: &Running,
        account: &str,
        receiver: DatagramReceiver,
        depth: &str,
    ) -> Following {
        let channel = match depth {
            "ORDERS" => feed::Channel::Orders,
            _ => feed::Channel::Levels,
        };
        Following {
            client: running.login(account),
            receiver,
            can_ask: true,
            patience: Deadline::after(PATIENCE),
            follower: Follower::new(FollowerSettings::new(channel, 4, 40_000, 4_000)),
            live: Vec::new(),
            depth: depth.to_owned(),
            datagram: vec![0; 65_536],
        }
    }

    /// The next datagram, if one comes within 20 ms.
    pub fn receive(&mut self) -> Option<usize> {
        let deadline = Deadline::after(Duration::from_millis(20));
        loop {
            match self.receiver.receive(&mut self.datagram) {
                Datagram::Bytes { n, .. } => return Some(n),
                Datagram::Empty if deadline.left().is_zero() => return None,
                Datagram::Empty => std::thread::sleep(Duration::from_micros(100)),
                Datagram::Failed(error) => panic!("{error}"),
            }
        }
    }

    /// Passes a datagram to the follower.
    pub fn take(&mut self, n: usize) {
        let outcome = self.follower.datagram(&self.datagram[..n]);
        let header = outcome.header.expect("ours are well formed");
        if header.kind == PacketKind::Live && header.count > 0 {
            self.live.push(header);
        }
    }

    /// Passes one datagram to the follower, if one comes, and requests missing messages.
    pub fn turn(&mut self) -> bool {
        let came = self.receive();
        came.into_iter().for_each(|n| self.take(n));
        if self.follower.is_in_sync() {
            self.patience = Deadline::after(PATIENCE);
        } else if self.patience.left().is_zero() {
            self.patience = Deadline::after(PATIENCE);
            self.follower.again();
        }
        match self.follower.wants().filter(|_| self.can_ask) {
            Some(RecoveryRequest::Snapshot) => self.client.send(r#"{"type":"FEED_SNAPSHOT"}"#),
            Some(RecoveryRequest::Replay { from, count }) => {
                let ask = format!(r#"{{"type":"FEED_REPLAY","from":{from},"count":{count}}}"#);
                self.client.send(&ask);
            }
            None => {}
        }
        came.is_some()
    }

    /// Follows up to this message.
    pub fn reach(&mut self, sequence: u64) {
        let deadline = Deadline::after(Duration::from_secs(20));
        while !(self.follower.is_in_sync() && self.follower.sequence() >= sequence) {
            assert!(!deadline.left().is_zero(), "at {} of {sequence}", self.follower.sequence());
            self.turn();
        }
    }

    /// Follows until only heartbeats come.
    pub fn settle(&mut self) {
        self.reach(0);
        let mut last = (0, Deadline::after(Duration::from_millis(250)));
        while !last.1.left().is_zero() {
            self.turn();
            if self.follower.sequence() != last.0 {
                last = (self.follower.sequence(), Deadline::after(Duration::from_millis(250)));
            }
        }
    }

    /// The exchange's answer to `DESCRIBE`; skips reports on orders before it.
    pub fn describe(&mut self) -> Value {
        self.client.send(r#"{"type":"DESCRIBE"}"#);
        loop {
            let reply: Value = serde_json::from_str(&self.client.read()).unwrap();
            if reply["type"] == "DESCRIPTION" {
                return reply;
            }
        }
    }

    /// Follows all that the exchange has published and checks that the books agree.
    pub fn same_books(&mut self) {
        let description = self.describe();
        let feeds = description["feeds"].as_array().unwrap();
        let feed = feeds.iter().find(|feed| feed["depth"] == self.depth).expect("it is published");
        self.reach(feed["sequence"].as_u64().unwrap());
        assert_eq!(self.follower.sequence(), feed["sequence"].as_u64().unwrap());
        let hash = format!("{:016x}", self.follower.book_hash());
        assert_eq!(feed["book_hash"], hash);
        assert_eq!(description["session"], self.follower.session().unwrap().to_string());
    }
}

pub fn subscribe(address: SocketAddr, depth: &str) -> String {
    format!(
        r#"{{"type":"SUBSCRIBE","channels":[{{"name":"FEED","address":"{address}","depth":"{depth}"}}]}}"#
    )
}
