//! The keys of `tick` scenarios: where ticks come from, how they come in, what is watched beside them.

use host::placement::Cores;
use measure::schedule::{Arrival, RATE_PER_SECOND_MAX};
use serde::{Deserialize, Serialize};
use std::net::Ipv4Addr;
use trader::tick_plan::{DATAGRAM_BYTES_MAX, DatagramHarm, RECEIVE_BUFFER_BYTES_MAX};

/// Where ticks come from that were not recorded.
pub const SYNTHETIC: &str = "synthetic";
/// A datagram of less than this holds no message beside its header.
pub const DATAGRAM_BYTES_MIN: usize = 256;
/// Ticks of one burst at most.
pub const BURST_MAX: u64 = 1_000_000;
/// How many times faster than it was recorded, or slower, a day may be.
pub const SPEED_MAX: f64 = 1e5;
/// A flow that lasts less than this share of what was asked for is short: a file is what it is.
pub const DURATION_SHARE_MIN: f64 = 0.99;
/// The worst ticks that are kept.
pub const TRACE_MAX: usize = 1_000;

/// When the next input of the flow is due.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pace {
    /// At a rate; of a recording its order is kept, and its times are not.
    #[default]
    Fixed,
    /// When it was recorded, times a speed.
    Recorded,
}

impl Pace {
    /// As in a scenario file, and for the exchange.
    pub fn name(self) -> &'static str {
        match self {
            Pace::Fixed => "fixed",
            Pace::Recorded => "recorded",
        }
    }
}

/// The `[flow]` of a scenario: what moves the book, in the exchange's own process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Flow {
    /// `synthetic`, or the path of a Databento MBO file; empty: the file must be set.
    pub source: String,
    /// What the trader looks at and trades: the exchange's first instrument, which is the flow's.
    pub instrument: String,
    /// When inputs are due.
    pub pace: Pace,
    /// Of a fixed pace: inputs a second, each of which changes the book.
    pub rate_per_second: f64,
    /// Of the recorded pace: so many times faster.
    pub speed: f64,
    /// Of a fixed pace.
    pub arrival: Arrival,
    /// Inputs that are due at the same instant, where they come in bursts.
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

/// How ticks come in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// To each subscriber's own address.
    #[default]
    Unicast,
    /// To one group that all join.
    Multicast,
}

/// The `[feed]` of a scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Feed {
    /// To whom datagrams are sent.
    pub transport: Transport,
    /// Of multicast, `GROUP:PORT`.
    pub group: String,
    /// The longest datagram.
    pub datagram_bytes: usize,
    /// What the trader asks its kernel for.
    pub receive_buffer_bytes: usize,
    /// Whether the trader's kernel stamps what it receives.
    pub kernel_stamps: bool,
    /// Harm to do on purpose to datagrams, as the trader receives them.
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
            inject: DatagramHarm::default(),
        }
    }
}

/// The `[risk]` of a scenario: what the trader checks before it sends.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Risk {
    /// Path of a profile; empty: a profile's defaults.
    pub profile: String,
}

/// The `[audit]` of a scenario: whether everything is written down beside the path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Audit {
    /// Whether it is.
    pub enabled: bool,
    /// The logger's core: one that nobody else has if there is one, or else the exchange's.
    pub core: Cores,
    /// Of so many runs, the last ones, the log stays beside run.json: it takes some MB a second.
    pub keep_runs: usize,
}

impl Default for Audit {
    fn default() -> Audit {
        Audit { enabled: true, core: Cores::Auto, keep_runs: 1 }
    }
}

/// What lies between the two ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Network {
    /// The loopback interface.
    #[default]
    Loopback,
    /// Two network namespaces that a veth pair joins. Takes root.
    Veth,
}

/// A key that is out of range: its name, its value, what it may be.
type Fault = (&'static str, String, String);

impl Flow {
    /// Whether the recording is still to be named.
    pub(crate) fn is_unnamed(&self) -> bool {
        self.source.is_empty()
    }

    pub(crate) fn fault(&self) -> Option<Fault> {
        let rate = self.rate_per_second;
        if !(rate > 0.0 && rate <= RATE_PER_SECOND_MAX) {
            let why = "inputs a second are above 0 and at most 1e9".to_owned();
            return Some(("flow.rate_per_second", rate.to_string(), why));
        }
        if !(1.0 / SPEED_MAX..=SPEED_MAX).contains(&self.speed) {
            let why = format!("from 1/{SPEED_MAX} to {SPEED_MAX} times the recorded pace");
            return Some(("flow.speed", self.speed.to_string(), why));
        }
        if !(1..=BURST_MAX).contains(&self.burst) {
            let why = format!("a burst is 1 to {BURST_MAX} inputs");
            return Some(("flow.burst", self.burst.to_string(), why));
        }
        if self.pace == Pace::Recorded && self.source == SYNTHETIC {
            let why = "only what was recorded has a pace of its own: name a Databento MBO file with \
                       flow.source, or set flow.pace=fixed";
            return Some(("flow.pace", "recorded".to_owned(), why.to_owned()));
        }
        None
    }
}

impl Feed {
    pub(crate) fn fault(&self) -> Option<Fault> {
        let bytes = self.datagram_bytes;
        if !(DATAGRAM_BYTES_MIN..=DATAGRAM_BYTES_MAX).contains(&bytes) {
            let why = format!("a datagram has {DATAGRAM_BYTES_MIN} to {DATAGRAM_BYTES_MAX} bytes");
            return Some(("feed.datagram_bytes", bytes.to_string(), why));
        }
        let buffer = self.receive_buffer_bytes;
        if !(1..=RECEIVE_BUFFER_BYTES_MAX).contains(&buffer) {
            let why = format!("from 1 to {RECEIVE_BUFFER_BYTES_MAX}");
            return Some(("feed.receive_buffer_bytes", buffer.to_string(), why));
        }
        let group = self.group.split_once(':').map(|(group, port)| {
            (group.parse::<Ipv4Addr>(), port.parse::<u16>().is_ok_and(|port| port > 0))
        });
        let is_group = matches!(group, Some((Ok(group), true)) if group.is_multicast());
        (!is_group).then(|| {
            let why = "a multicast group and a port, such as 239.255.0.1:26400".to_owned();
            ("feed.group", self.group.clone(), why)
        })
    }

    /// The harm to datagrams, in words; `None` without any.
    pub(crate) fn harm(&self) -> Option<String> {
        let DatagramHarm { drop_every, duplicate_every, reorder_every } = self.inject;
        let parts: Vec<String> = [
            ("drop_every", drop_every),
            ("duplicate_every", duplicate_every),
            ("reorder_every", reorder_every),
        ]
        .into_iter()
        .filter(|(_, every)| *every > 0)
        .map(|(key, every)| format!("{key}={every}"))
        .collect();
        (!parts.is_empty()).then(|| parts.join(" "))
    }
}

impl Audit {
    pub(crate) fn fault(&self) -> Option<Fault> {
        let one = !matches!(&self.core, Cores::List(cores) if cores.len() != 1);
        (!one).then(|| {
            let why = "the logger is one thread: name one core".to_owned();
            ("audit.core", self.core.to_string(), why)
        })
    }
}
