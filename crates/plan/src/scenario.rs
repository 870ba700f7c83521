//! A scenario with all defaults: the tables of every kind, of which the kind's own are read.

use crate::backend::{self, UnknownBackend};
use crate::process::ticks::FeedPlan;
use crate::range::OutOfRange;
use crate::tables::endpoint::Probes;
use crate::tables::engine::Engine;
use crate::tables::exchange::Exchange;
use crate::tables::fan_out::FanOut;
use crate::tables::ipc::Ipc;
use crate::tables::journal::Journal;
use crate::tables::load::Load;
use crate::tables::network::Request;
use crate::tables::one_way::OneWay;
use crate::tables::replica::Follower;
use crate::tables::strategy::StrategyPlan;
use crate::tables::subject::Subject;
use crate::tables::ticks::{Audit, Feed, Flow, Network, Risk};
use crate::trust::Trust;
pub use record::measure::Measure;
use serde::{Deserialize, Serialize};

/// Limit on the runs of one scenario.
pub const RUNS_MAX: u32 = 1_000;
/// Name of the subject that is the raw echo.
pub const FLOOR: &str = "floor";
/// Name of the subject that is the bare echo, below the floor.
pub const BARE: &str = "bare";

pub use record::HICCUP;

/// A scenario with all defaults.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Letters, digits, `-` and `_`.
    pub name: String,
    /// One line for people.
    #[serde(default)]
    pub about: String,
    /// The kind of measurement.
    pub kind: Measure,
    /// Runs, each with fresh processes, connections and book.
    #[serde(default = "six")]
    pub runs: u32,
    /// Length of the warm-up, which is sent and counted but not measured.
    #[serde(default = "one_second")]
    pub warm_up_seconds: f64,
    /// Length of the measured part of a run.
    #[serde(default = "four_seconds")]
    pub seconds: f64,
    /// Length of the raw echo's measured part; 0: no floor.
    #[serde(default)]
    pub floor_seconds: f64,
    /// Length of the bare echo's measured part; 0: none. It needs a floor and one message under way
    /// at a time: ping-pong over one connection, or ticks of traders that spin.
    #[serde(default)]
    pub bare_seconds: f64,
    /// Length of the idle look before each run; 0: no hiccup row.
    #[serde(default)]
    pub hiccup_seconds: f64,
    /// Whether `run` first finds the highest rate that the cores carry, up to the scenario's, and
    /// measures below it. Open loop only.
    #[serde(default)]
    pub find_rate: bool,
    /// Whether all subjects speak TLS. The floors stay plain, with as many bytes as TLS sends.
    #[serde(default)]
    pub tls: bool,
    /// The messages to send.
    #[serde(default)]
    pub load: Load,
    /// The other end.
    #[serde(default)]
    pub exchange: Exchange,
    /// Messages between threads.
    #[serde(default)]
    pub ipc: Ipc,
    /// Work of a matching engine.
    #[serde(default)]
    pub engine: Engine,
    /// Place of the journal.
    #[serde(default)]
    pub journal: Journal,
    /// The follower of an exchange.
    #[serde(default)]
    pub follower: Follower,
    /// Probes of somebody else's address.
    #[serde(default)]
    pub endpoint: Probes,
    /// Requests and replies.
    #[serde(default)]
    pub request: Request,
    /// Subscribers of a source.
    #[serde(default)]
    pub fan_out: FanOut,
    /// The source of ticks.
    #[serde(default)]
    pub flow: Flow,
    /// How ticks arrive.
    #[serde(default)]
    pub feed: Feed,
    /// The trader's strategy.
    #[serde(default)]
    pub strategy: StrategyPlan,
    /// The trader's own risk check.
    #[serde(default)]
    pub risk: Risk,
    /// The trader's audit log.
    #[serde(default)]
    pub audit: Audit,
    /// The network between the two ends.
    #[serde(default)]
    pub network: Network,
    /// When figures between the clocks of two hosts are shown.
    #[serde(default)]
    pub one_way: OneWay,
    /// Number of slowest ticks to keep with all their stamps.
    #[serde(default)]
    pub trace: usize,
    /// The subjects; several are interleaved.
    pub subject: Vec<Subject>,
}

fn six() -> u32 {
    6
}
fn one_second() -> f64 {
    1.0
}
fn four_seconds() -> f64 {
    4.0
}

/// Why a scenario can't be used.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// Neither the name of a scenario nor a file that can be read.
    #[error("there is no scenario {name:?}: {source}.{meant} These ship: {shipped}")]
    Unknown {
        /// The name as given.
        name: String,
        /// Why it can't be read as a file.
        source: std::io::Error,
        /// Names that may be meant.
        meant: String,
        /// The scenarios that ship.
        shipped: String,
    },
    /// Not TOML, an unknown key, or a value of the wrong type.
    #[error("scenario {name}: {message}")]
    Malformed {
        /// Name or path.
        name: String,
        /// The parser's message, with the place.
        message: String,
    },
    /// An override can't be applied.
    #[error("--set {set}: {why}")]
    Set {
        /// As given.
        set: String,
        /// The reason.
        why: String,
    },
    /// A value out of range.
    #[error(transparent)]
    Range(#[from] OutOfRange),
    /// An unknown backend.
    #[error(transparent)]
    Backend(#[from] UnknownBackend),
}

impl Scenario {
    /// The backend of the replicator in front of a subject of `fan-out`.
    pub fn replicator<'a>(&'a self, subject: &'a Subject) -> &'a str {
        if subject.replicator.is_empty() { &self.exchange.backend } else { &subject.replicator }
    }

    /// Whether an end or a replicator has a backend that takes CAP_NET_ADMIN.
    pub fn needs_net_admin(&self) -> bool {
        let subjects = self.subject.iter();
        let names = subjects.flat_map(|one| [one.backend.as_str(), self.replicator(one)]);
        names.chain([self.exchange.backend.as_str()]).any(backend::needs_net_admin)
    }

    /// Whether the subject with that index speaks TLS.
    pub fn has_tls(&self, index: usize) -> bool {
        self.tls || self.subject[index].tls
    }

    /// By what the subject with that index checks the exchange's certificate; `None` without TLS.
    pub fn trust(&self, index: usize) -> Option<Trust> {
        let named = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
        self.has_tls(index).then(|| Trust {
            ca: named(&self.exchange.tls_ca).map(Into::into),
            ca_pem: None,
            name: named(&self.exchange.tls_name),
        })
    }

    /// Number of the exchange's instruments: those that ship, or those of its file.
    pub fn instruments(&self) -> u16 {
        let shipped = FeedPlan::default().instruments;
        let listed = self.listed_instruments();
        listed.and_then(|listed| u16::try_from(listed.len()).ok()).unwrap_or(shipped)
    }

    /// The instruments of the exchange's file, if it can be read.
    fn listed_instruments(&self) -> Option<Vec<toml::Value>> {
        let text = std::fs::read_to_string(&self.exchange.instruments).ok()?;
        let mut table = text.parse::<toml::Table>().ok()?;
        match table.remove("instrument")? {
            toml::Value::Array(listed) => Some(listed),
            _ => None,
        }
    }

    /// The flow's instrument, the exchange's first; `None` if it is unknown.
    pub fn flow_instrument(&self) -> Option<String> {
        match (self.exchange.start, self.exchange.instruments.is_empty()) {
            (false, _) => None,
            (true, true) => Some(Flow::default().instrument),
            (true, false) => {
                let listed = self.listed_instruments()?;
                Some(listed.first()?.get("code")?.as_str()?.to_owned())
            }
        }
    }

    /// The injected faults, one line each: which process, and which fault.
    pub fn injected(&self) -> Vec<String> {
        let subjects = self.subject.iter().map(|subject| (subject.name.as_str(), &subject.inject));
        std::iter::once(("exchange", &self.exchange.inject))
            .chain(subjects)
            .filter(|(_, inject)| !inject.is_none())
            .map(|(who, inject)| format!("{who} {inject}"))
            .chain(self.feed.harm().map(|harm| format!("feed {harm}")))
            .chain(self.request.inject.words().map(|harm| format!("replies {harm}")))
            .collect()
    }
}
