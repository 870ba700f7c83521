//! Settings: market data, the exchange's own orders, and its answer to `DESCRIBE`.

use crate::Config;
use crate::setup::instruments::{Instrument, Instruments};
use crate::setup::limits::LimitsError;
use clock::utc::Utc;
use feed::{Channel, DATAGRAM_BYTES_DEFAULT, Definition, PublisherSettings};
use std::net::{Ipv4Addr, SocketAddrV4};
use wire::request::Depth;

/// Datagrams that are kept where they are only made for market data as JSON.
const JSON_PACKETS: usize = 2048;

/// The books' events as datagrams.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Feed {
    /// Receivers of the datagrams.
    pub reach: Reach,
    /// The largest, bytes of UDP payload.
    pub datagram_bytes_max: usize,
    /// How often a multicast group is sent the whole books; 0: never.
    pub snapshot_seconds: f64,
}

/// Receivers of datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Each subscriber at its address.
    Unicast,
    /// A group: at its port order by order, at the next port price by price. Subscribers that name
    /// an address get theirs there.
    Multicast {
        /// The group and its port.
        group: SocketAddrV4,
        /// The address of the interface that they leave by; `0.0.0.0`: the kernel chooses.
        interface: Ipv4Addr,
    },
}

impl Default for Feed {
    /// Unicast, for an Ethernet without larger frames.
    fn default() -> Feed {
        Feed { reach: Reach::Unicast, datagram_bytes_max: 1472, snapshot_seconds: 1.0 }
    }
}

impl Feed {
    pub(crate) fn check(&self) -> Result<(), LimitsError> {
        LimitsError::check("feed_snapshot_seconds", self.snapshot_seconds, 0.0, 3600.0)
    }

    /// The port behind the group's has to be one.
    pub(crate) fn group(&self) -> Option<(SocketAddrV4, Ipv4Addr)> {
        match self.reach {
            Reach::Unicast => None,
            Reach::Multicast { group, interface } => Some((group, interface)),
        }
    }
}

/// The house's orders into the first instrument, once an operator starts them. They bring that
/// instrument's start book.
#[derive(Clone, Debug, PartialEq)]
pub struct HouseFlow {
    /// Where they come from.
    pub source: flow::Source,
    /// When they are due.
    pub pace: flow::Pace,
    /// For how long; a recording may end before.
    pub seconds: f64,
}

/// The part of the answer to `DESCRIBE` that the exchange passes on without knowing it.
#[derive(Clone, Debug)]
pub struct About {
    /// The program and its version.
    pub tool: String,
    /// Which start of its machine this is.
    pub boot_id: String,
    /// The machine's fingerprint.
    pub machine: serde_json::Value,
    /// Bound of the wall clock's offset from UTC. Called for each `DESCRIBE`, while nothing else
    /// happens.
    pub utc: fn() -> Utc,
}

impl Default for About {
    /// Nothing is known.
    fn default() -> About {
        let (tool, boot_id, machine) = Default::default();
        About { tool, boot_id, machine, utc: Utc::default }
    }
}

/// As a subscriber names it.
pub(crate) fn depth(channel: Channel) -> Depth {
    match channel {
        Channel::Orders => Depth::Orders,
        Channel::Levels => Depth::Levels,
    }
}

/// As what an exchange's books are published.
pub(crate) fn published_as(config: &Config, instruments: &Instruments) -> PublisherSettings {
    let limits = &config.limits;
    let (datagram_bytes_max, replay_packets_max) = match &config.feed {
        Some(feed) => (feed.datagram_bytes_max, limits.feed_replay_packets_max),
        // For market data as JSON alone: nothing is resent, but an input's own datagrams must find
        // room.
        None => (DATAGRAM_BYTES_DEFAULT, limits.feed_replay_packets_max.min(JSON_PACKETS)),
    };
    PublisherSettings {
        session: (config.wall_ns)(),
        datagram_bytes_max,
        replay_packets_max,
        definitions: definitions(instruments),
        orders_max: limits.open_orders_max,
        levels_max: limits.price_levels_max,
        channels: Vec::new(),
    }
}

/// What the feed says of the instruments.
fn definitions(instruments: &Instruments) -> Vec<Definition> {
    let definition = |instrument: &Instrument| {
        let mut code = [0; 32];
        let bytes = instrument.code.as_bytes();
        code[..bytes.len()].copy_from_slice(bytes);
        let unit = |unit: wire::Decimal| (unit.mantissa(), -unit.scale().cast_signed());
        Definition { code, tick: unit(instrument.tick), lot: unit(instrument.lot) }
    };
    instruments.all().iter().map(definition).collect()
}
