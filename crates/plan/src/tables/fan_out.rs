//! `[fan_out]` of a scenario: a datagram to many subscribers.

use crate::range::{OutOfRange, require, within};
use serde::{Deserialize, Serialize};

/// Limit on the subscribers of a measurement.
pub const SUBSCRIBERS_MAX: usize = 64;
/// Bytes of the shortest message: tunnel header, sequence and three stamps.
pub const MESSAGE_BYTES_MIN: usize = 40;
/// Bytes of the longest message: a datagram over an Ethernet of 1 500 bytes.
pub const MESSAGE_BYTES_MAX: usize = 1_472;
/// Limit on the copies of a run, whose arrivals are kept in memory, 4 bytes each.
pub const ARRIVALS_MAX: u64 = 100_000_000;
/// Limit on the copies of a run to subscribers of one end on another host, 8 bytes each.
pub const END_ARRIVALS_MAX: u64 = 16_000_000;

/// Times of a message at a replicator: when it had received it, and when it sent the copies.
pub const REPLICATOR_TIMES: u64 = 2;

/// The longest hold, us: ten seconds.
pub const HOLD_US_MAX: u64 = 10_000_000;
/// Limit on the copies that wait for their release.
pub const HELD_MAX: u64 = fair::holding::HELD_MAX as u64;

/// Messages of a search that its hold leaves late: fewer don't support it.
const LATE_MIN: f64 = 10.0;

/// `[fan_out]` of a scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FanOut {
    /// Subscribers.
    pub subscribers: usize,
    /// Length of a message, with its header of 40 bytes.
    pub message_bytes: usize,
    /// The share of messages that is to reach everybody at once: the record has the smallest hold
    /// with which it does.
    pub fair: f64,
    /// How long after its sending subscribers hand on a message, us; 0: nothing is held.
    pub hold_us: u64,
    /// Whether each run first finds the smallest hold for `fair`, and then applies it.
    pub search: bool,
    /// `HOST:PORT` of each end (`tickpath subscribers`) that has subscribers on a host of its own;
    /// none: all subscribers are on the source's host.
    pub hosts: Vec<String>,
    /// `IP:PORT` at which these register: the `--listen` of a replicator that runs already.
    pub registration: String,
    /// `HOST:PORT` of a further end, on the replicator's host: it says when the replicator had each
    /// message; empty: nobody does.
    pub replicator_end: String,
}

impl Default for FanOut {
    fn default() -> FanOut {
        FanOut {
            subscribers: 16,
            message_bytes: 128,
            fair: 0.999,
            hold_us: 0,
            search: false,
            hosts: Vec::new(),
            registration: String::new(),
            replicator_end: String::new(),
        }
    }
}

impl FanOut {
    /// Checks every key against its range.
    ///
    /// # Errors
    /// The first key that is out of range, with the values that are allowed.
    pub fn check(&self) -> Result<(), OutOfRange> {
        let (subscribers, fair) = (self.subscribers, self.fair);
        within("fan_out.subscribers", subscribers, 1..=SUBSCRIBERS_MAX, "there are {}")?;
        let bytes = MESSAGE_BYTES_MIN..=MESSAGE_BYTES_MAX;
        within("fan_out.message_bytes", self.message_bytes, bytes, "a message has {} bytes")?;
        let is_share = fair > 0.0 && fair <= 1.0;
        require(is_share, "fan_out.fair", fair, "a share above 0 and at most 1, such as 0.999")?;
        let holds = "0 (nothing is held) to 10 s";
        require(self.hold_us <= HOLD_US_MAX, "fan_out.hold_us", self.hold_us, holds)?;
        let why = "a run has the hold that fan_out.hold_us names, or searches for one: set either";
        require(self.hold_us == 0 || !self.search, "fan_out.search", true, why)
    }

    /// Checks the ends on other hosts, whose run has that many messages.
    ///
    /// # Errors
    /// The first key that is out of range, with the values that are allowed.
    pub fn check_hosts(&self, starts: bool, messages: u64) -> Result<(), OutOfRange> {
        let (ends, passes) = (self.hosts.len(), !self.replicator_end.is_empty());
        if ends == 0 {
            let why = "on one host its clock times the hops already; leave it out, or name \
                       fan_out.hosts";
            return require(!passes, "fan_out.replicator_end", &self.replicator_end, why);
        }
        let why = "subscribers on other hosts need a replicator that they reach: start `tickpath \
                   fan-out` on a host of its own, and set exchange.start=false";
        require(!starts, "exchange.start", starts, why)?;
        within("fan_out.subscribers", self.subscribers, ends..=SUBSCRIBERS_MAX, "there are {}")?;
        let is_address = self.registration.parse::<std::net::SocketAddrV4>().is_ok();
        let why = "IP:PORT of the replicator's --listen, where subscribers on other hosts register";
        require(is_address, "fan_out.registration", &self.registration, why)?;
        let why = "between hosts each release would be off by the error of the subscriber's clock: \
                   hold messages on one host";
        require(self.hold_us == 0, "fan_out.hold_us", self.hold_us, why)?;
        require(!self.search, "fan_out.search", true, why)?;
        let copies = messages.saturating_mul(self.subscribers.div_ceil(ends) as u64);
        let why = format!(
            "{copies} copies at one end in one run, END_ARRIVALS_MAX is {END_ARRIVALS_MAX}: lower \
             seconds, load.rate_per_second or fan_out.subscribers, or use more hosts"
        );
        require(copies <= END_ARRIVALS_MAX, "seconds", messages, why)?;
        let times = messages.saturating_mul(REPLICATOR_TIMES);
        let why = format!(
            "{times} times at the replicator's end in one run, END_ARRIVALS_MAX is \
             {END_ARRIVALS_MAX}: lower seconds or load.rate_per_second"
        );
        require(!passes || times <= END_ARRIVALS_MAX, "seconds", messages, why)
    }

    /// Whether subscribers hold messages.
    pub fn holds(&self) -> bool {
        self.hold_us > 0 || self.search
    }

    /// Checks that the copies of a hold have room to wait, and that a search has enough of
    /// `messages` to find its hold.
    ///
    /// # Errors
    /// The key that is out of range, with what to change.
    pub fn check_hold(&self, rate_per_second: f64, messages: u64) -> Result<(), OutOfRange> {
        let copies = rate_per_second * self.subscribers as f64 * self.hold_us as f64 / 1e6;
        let why = format!(
            "{copies:.0} copies would wait for their release at once, HELD_MAX is {HELD_MAX}: \
             shorten the hold, or lower load.rate_per_second or fan_out.subscribers"
        );
        require(copies <= HELD_MAX as f64, "fan_out.hold_us", self.hold_us, why)?;
        let late = (1.0 - self.fair) * messages as f64;
        let why = format!(
            "a search of {messages} messages finds a hold that {late:.1} of them exceed, and needs \
             {LATE_MIN}: raise seconds or load.rate_per_second, or lower fan_out.fair"
        );
        let is_enough = !self.search || self.fair == 1.0 || late.round() >= LATE_MIN;
        require(is_enough, "fan_out.search", true, why)
    }
}

/// Which subscriber gets a datagram first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SendOrder {
    /// Always in the order of the list.
    #[default]
    Fixed,
    /// Each datagram begins one subscriber further on.
    Rotating,
    /// A fresh random order for each datagram.
    Random,
}

impl SendOrder {
    /// Every order.
    pub const ALL: [SendOrder; 3] = [SendOrder::Fixed, SendOrder::Rotating, SendOrder::Random];

    /// The name in scenarios and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            SendOrder::Fixed => "fixed",
            SendOrder::Rotating => "rotating",
            SendOrder::Random => "random",
        }
    }
}
