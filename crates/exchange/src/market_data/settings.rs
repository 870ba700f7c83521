//! Settings: market data, the exchange's own orders, and its answer to `DESCRIBE`.

use crate::setup::instruments::{Instrument, Instruments};
use crate::setup::limits::{Limits, LimitsError};
use clock::utc::Utc;
use feed::{Channel, DATAGRAM_BYTES_DEFAULT, Definition, PublisherSettings};
use std::net::{Ipv4Addr, SocketAddrV4};
use wire::request::Depth;

/// Datagrams that are kept if they are only made for JSON market data.
const JSON_PACKETS: usize = 2048;

/// The books' events as datagrams.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Feed {
    /// Receivers of the datagrams.
    pub reach: Reach,
    /// The largest datagram, bytes of UDP payload.
    pub datagram_bytes_max: usize,
    /// Interval of snapshots to a multicast group; 0: no snapshots.
    pub snapshot_seconds: f64,
}

/// Receivers of datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Each subscriber at its own address.
    Unicast,
    /// A group: the channel of orders at its port, the channel of levels at the next. Subscribers
    /// that name an address get a copy there.
    Multicast {
        /// The group and its port.
        group: SocketAddrV4,
        /// Address of the sending interface; `0.0.0.0`: the kernel chooses.
        interface: Ipv4Addr,
    },
}

impl Default for Feed {
    /// Unicast, for standard Ethernet frames.
    fn default() -> Feed {
        Feed { reach: Reach::Unicast, datagram_bytes_max: 1472, snapshot_seconds: 1.0 }
    }
}

impl Feed {
    pub(crate) fn check(&self) -> Result<(), LimitsError> {
        LimitsError::check("feed_snapshot_seconds", self.snapshot_seconds, 0.0, 3600.0)
    }

    /// The multicast group and the address of its interface.
    pub(crate) fn group(&self) -> Option<(SocketAddrV4, Ipv4Addr)> {
        match self.reach {
            Reach::Unicast => None,
            Reach::Multicast { group, interface } => Some((group, interface)),
        }
    }
}

/// The exchange's own order flow into the first instrument. An operator starts it. It has a start
/// book of its own, which replaces that instrument's.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowConfig {
    /// The source of the orders.
    pub source: flow::Source,
    /// The schedule of the orders.
    pub pace: flow::Pace,
    /// Duration; a recording may end before.
    pub seconds: f64,
}

/// Program and machine, which the exchange only passes on in its answer to `DESCRIBE`.
#[derive(Clone, Debug)]
pub struct ProcessInfo {
    /// The program and its version.
    pub tool: String,
    /// Identifies this boot of the machine.
    pub boot_id: String,
    /// The machine's fingerprint.
    pub machine: serde_json::Value,
    /// Bound of the wall clock's offset from UTC. Called for each `DESCRIBE`; the exchange waits
    /// for it.
    pub utc: fn() -> Utc,
}

impl Default for ProcessInfo {
    /// Empty.
    fn default() -> ProcessInfo {
        let (tool, boot_id, machine) = Default::default();
        ProcessInfo { tool, boot_id, machine, utc: Utc::default }
    }
}

/// A channel's name in a subscription.
pub(crate) fn depth(channel: Channel) -> Depth {
    match channel {
        Channel::Orders => Depth::Orders,
        Channel::Levels => Depth::Levels,
    }
}

/// Settings of the publisher of an exchange's books.
pub(crate) fn published_as(
    feed: Option<&Feed>,
    limits: &Limits,
    session: u64,
    instruments: &Instruments,
) -> PublisherSettings {
    let (datagram_bytes_max, replay_packets_max) = match feed {
        Some(feed) => (feed.datagram_bytes_max, limits.feed_replay_packets_max),
        // Only for JSON market data: nothing is resent, but the datagrams of one input must fit.
        None => (DATAGRAM_BYTES_DEFAULT, limits.feed_replay_packets_max.min(JSON_PACKETS)),
    };
    PublisherSettings {
        session,
        datagram_bytes_max,
        replay_packets_max,
        definitions: definitions(instruments),
        orders_max: limits.open_orders_max,
        levels_max: limits.price_levels_max,
        channels: Vec::new(),
    }
}

/// The feed's definitions of the instruments.
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
