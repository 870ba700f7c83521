//! The keys of `tick` scenarios: the source of ticks, the feed, and the trader's risk check and
//! log.

use crate::faults::DatagramHarm;
use crate::range::{OutOfRange, require, within};
use crate::tables::load::check_plain;
use clock::schedule::{Arrival, RATE_PER_SECOND_MAX};
use host::placement::Cores;
use serde::{Deserialize, Serialize};
use std::net::Ipv4Addr;

/// The longest datagram over IPv4, bytes.
pub const DATAGRAM_BYTES_MAX: usize = 65_507;
/// Limit on a receive buffer, 1 GiB. The kernel keeps twice that in an `int`.
pub const RECEIVE_BUFFER_BYTES_MAX: usize = 1 << 30;
/// The longest hold of ticks, us: half of the silence after which a run fails.
pub const HOLD_US_MAX: u64 = 1_000_000;
/// The source of ticks that were not recorded.
pub const SYNTHETIC: &str = "synthetic";
/// A shorter datagram has no room for a message after its header.
pub const DATAGRAM_BYTES_MIN: usize = 256;
/// Limit on the inputs of one burst.
pub const BURST_MAX: u64 = 1_000_000;
/// Limit on the speed of a recording, also as a slow-down.
pub const SPEED_MAX: f64 = 1e5;
/// A flow is too short if it lasts less than this share of the requested time: a file may end.
pub const DURATION_SHARE_MIN: f64 = 0.99;
/// Limit on the slowest ticks to keep.
pub const TRACE_MAX: usize = 1_000;

/// When the next input of the flow is due.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pace {
    /// At a rate. A recording keeps its order but not its times.
    #[default]
    Fixed,
    /// At its recorded time, divided by the speed.
    Recorded,
}

impl Pace {
    /// The name in a scenario file and on the exchange's command line.
    pub fn name(self) -> &'static str {
        match self {
            Pace::Fixed => "fixed",
            Pace::Recorded => "recorded",
        }
    }
}

/// `[flow]`: the inputs that change the book, made in the exchange's own process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Flow {
    /// `synthetic`, or the path of a Databento MBO file; empty: the user must name a file.
    pub source: String,
    /// The instrument that the trader watches and trades: the exchange's first, which is the
    /// flow's.
    pub instrument: String,
    /// When inputs are due.
    pub pace: Pace,
    /// With a fixed pace: inputs per second, each of which changes the book.
    pub rate_per_second: f64,
    /// With the recorded pace: how many times faster.
    pub speed: f64,
    /// With a fixed pace: distances between inputs.
    pub arrival: Arrival,
    /// Inputs that are due at the same time, if they arrive in bursts.
    pub burst: u64,
}

impl Default for Flow {
    fn default() -> Flow {
        Flow {
            source: SYNTHETIC.to_owned(),
            instrument: "BTC_USDT".to_owned(),
            pace: Pace::Fixed,
            rate_per_second: 10_000.0,
            speed: 1.0,
            arrival: Arrival::Uniform,
            burst: 16,
        }
    }
}

/// How datagrams are addressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// To each subscriber's own address.
    #[default]
    Unicast,
    /// To one multicast group.
    Multicast,
}

/// The dialect of market data that a trader follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FeedDialect {
    /// SBE in datagrams, order by order.
    #[default]
    Sbe,
    /// JSON in WebSocket text frames, price by price.
    Json,
    /// The same, the best prices alone.
    JsonTop,
    /// FIX 4.4 at the exchange's FIX port, price by price.
    Fix,
}

impl FeedDialect {
    /// Its name in scenarios and records.
    pub fn name(self) -> &'static str {
        match self {
            FeedDialect::Sbe => "sbe",
            FeedDialect::Json => "json",
            FeedDialect::JsonTop => "json-top",
            FeedDialect::Fix => "fix",
        }
    }
}

/// Limits of a trader that follows prices over a connection, each with its remedy, in the order of
/// [`price_limit`].
const PRICE_LIMITS: [&str; 7] = [
    "only datagrams can be held; set feed.hold_us = 0",
    "only datagrams can be harmed; leave feed.inject out",
    "a market maker needs to know its own orders in the book, and this feed shows prices alone; set \
     strategy.name = \"trigger\"",
    "an audit log numbers ticks by the feed of orders, and this one has the numbers of prices; set \
     audit.enabled = false",
    "the kernel stamps the departure of datagrams only; set load.stamp_every = 0",
    "orders name the tick that they answer by the feed of orders; set \
     exchange.delivery_window_us = 0",
    "this market data comes over a socket of the kernel; set the backend to spin",
];

/// The reason why a trader can't follow JSON or FIX, if there is one: by a hold, harm to datagrams,
/// a market maker, an audit log, stamps of departures, a delivery window, a backend below the
/// kernel.
pub fn price_limit(asked: [bool; 7]) -> Option<&'static str> {
    PRICE_LIMITS.into_iter().zip(asked).find_map(|(why, is_asked)| is_asked.then_some(why))
}

/// `[feed]` of a scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Feed {
    /// How datagrams are addressed.
    pub transport: Transport,
    /// `GROUP:PORT` for multicast.
    pub group: String,
    /// Limit on the length of a datagram.
    pub datagram_bytes: usize,
    /// Receive buffer that the trader requests from the kernel.
    pub receive_buffer_bytes: usize,
    /// Whether the trader's kernel stamps datagrams.
    pub kernel_stamps: bool,
    /// How long after its publication the trader hands a tick on to its strategy, us; 0: at once.
    pub hold_us: u64,
    /// `HOST:PORT` at which an exchange that runs already accepts FIX; one that is started says it.
    pub fix_address: String,
    /// Damage to datagrams as the trader receives them.
    pub inject: DatagramHarm,
}

impl Default for Feed {
    fn default() -> Feed {
        Feed {
            transport: Transport::Unicast,
            group: "239.255.0.1:26400".to_owned(),
            datagram_bytes: 1472,
            receive_buffer_bytes: 8 << 20,
            kernel_stamps: true,
            hold_us: 0,
            fix_address: String::new(),
            inject: DatagramHarm::default(),
        }
    }
}

/// `[risk]`: the trader's own check before it sends.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Risk {
    /// Path of a profile; empty: a profile's default values.
    pub profile: String,
}

/// `[audit]`: the trader's audit log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Audit {
    /// Whether there is a log.
    pub enabled: bool,
    /// The logger's core; by default a free one, otherwise the exchange's.
    pub core: Cores,
    /// Number of last runs whose log stays beside run.json: it takes some MB per second.
    pub keep_runs: usize,
}

impl Default for Audit {
    fn default() -> Audit {
        Audit { enabled: true, core: Cores::Auto, keep_runs: 1 }
    }
}

/// The network between the two ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Network {
    /// The loopback interface.
    #[default]
    Loopback,
    /// Two network namespaces that a veth pair joins; needs root.
    Veth,
}

impl Flow {
    /// Whether the user must still name the recording.
    pub fn is_unnamed(&self) -> bool {
        self.source.is_empty()
    }

    /// Checks every key against its range.
    ///
    /// # Errors
    /// The first key that is out of range, with the values that are allowed.
    pub fn check(&self) -> Result<(), OutOfRange> {
        let rate = self.rate_per_second;
        let why = "inputs a second are above 0 and at most 1e9";
        require(rate > 0.0 && rate <= RATE_PER_SECOND_MAX, "flow.rate_per_second", rate, why)?;
        let speeds = 1.0 / SPEED_MAX..=SPEED_MAX;
        within("flow.speed", self.speed, speeds, "{} times the recorded pace")?;
        check_plain("flow.arrival", self.arrival)?;
        within("flow.burst", self.burst, 1..=BURST_MAX, "a burst is {} inputs")?;
        let why = "only what was recorded has a pace of its own: name a Databento MBO file with \
                   flow.source, or set flow.pace=fixed";
        let has_pace = self.pace != Pace::Recorded || self.source != SYNTHETIC;
        require(has_pace, "flow.pace", "recorded", why)
    }
}

impl Feed {
    /// Checks every key against its range.
    ///
    /// # Errors
    /// The first key that is out of range, with the values that are allowed.
    pub fn check(&self) -> Result<(), OutOfRange> {
        let bytes = DATAGRAM_BYTES_MIN..=DATAGRAM_BYTES_MAX;
        within("feed.datagram_bytes", self.datagram_bytes, bytes, "a datagram has {} bytes")?;
        let bytes = 1..=RECEIVE_BUFFER_BYTES_MAX;
        within("feed.receive_buffer_bytes", self.receive_buffer_bytes, bytes, "{} bytes")?;
        within("feed.hold_us", self.hold_us, 0..=HOLD_US_MAX, "{} us; with 0 nothing is held")?;
        let group = self.group.split_once(':').map(|(group, port)| {
            (
                group.parse::<Ipv4Addr>(),
                port.parse().is_ok_and(|port| (1..u16::MAX).contains(&port)),
            )
        });
        let is_group = matches!(group, Some((Ok(group), true)) if group.is_multicast());
        let why = "a multicast group and a port from 1 to 65534, such as 239.255.0.1:26400";
        require(is_group, "feed.group", &self.group, why)
    }

    /// The damage to datagrams in words; `None` if there is none.
    pub fn harm(&self) -> Option<String> {
        self.inject.words()
    }
}

impl Audit {
    /// Checks every key against its range.
    ///
    /// # Errors
    /// The first key that is out of range, with the values that are allowed.
    pub fn check(&self) -> Result<(), OutOfRange> {
        let is_one = !matches!(&self.core, Cores::List(cores) if cores.len() != 1);
        require(is_one, "audit.core", &self.core, "the logger is one thread: name one core")
    }
}
