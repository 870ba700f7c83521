//! Scenario files: those that ship and a user's own, with overrides from the command line.

mod check;
mod engine;
mod resume;
pub mod set;
mod subject;

pub use self::engine::{engine_plan, row};
pub use self::resume::resumed;
pub use self::subject::Subject;

use crate::backend::{self, UnknownBackend};
use crate::exchange::Exchange;
use crate::load::{Load, Model};
use crate::measure::Kind;
use crate::measure::endpoint::Probes;
use crate::measure::engine::Engine;
use crate::measure::ipc::Ipc;
use crate::measure::journal::Journal;
use crate::measure::network::Request;
use crate::measure::ticks::{Audit, Feed, FeedPlan, Flow, Network, Pace, Risk, StrategyPlan};
use crate::trust::Trust;
use clock::range::OutOfRange;
use clock::schedule::Arrival;
use record::comparison::selector::Selector;
use record::nearest::did_you_mean;
use serde::{Deserialize, Serialize};

/// The scenarios that ship: name and text.
pub const SHIPPED: &[(&str, &str)] = &[
    ("order-to-ack", include_str!("../../../../scenarios/order-to-ack.toml")),
    ("ping-pong", include_str!("../../../../scenarios/ping-pong.toml")),
    ("order-to-ack-400k", include_str!("../../../../scenarios/order-to-ack-400k.toml")),
    ("tls", include_str!("../../../../scenarios/tls.toml")),
    ("endpoint", include_str!("../../../../scenarios/endpoint.toml")),
    ("stacks", include_str!("../../../../scenarios/stacks.toml")),
    ("ring", include_str!("../../../../scenarios/ring.toml")),
    ("queue", include_str!("../../../../scenarios/queue.toml")),
    ("distributor", include_str!("../../../../scenarios/distributor.toml")),
    ("core-to-core", include_str!("../../../../scenarios/core-to-core.toml")),
    ("engine", include_str!("../../../../scenarios/engine.toml")),
    ("engine-open-loop", include_str!("../../../../scenarios/engine-open-loop.toml")),
    ("journal", include_str!("../../../../scenarios/journal.toml")),
    ("soak", include_str!("../../../../scenarios/soak.toml")),
    ("irq-topology", include_str!("../../../../scenarios/irq-topology.toml")),
    ("tick-to-trade", include_str!("../../../../scenarios/tick-to-trade.toml")),
    ("tick-to-trade-replay", include_str!("../../../../scenarios/tick-to-trade-replay.toml")),
    ("tick-to-trade-burst", include_str!("../../../../scenarios/tick-to-trade-burst.toml")),
    ("market-making", include_str!("../../../../scenarios/market-making.toml")),
];

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
    /// What it measures.
    pub kind: Kind,
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
    /// Probes of somebody else's address.
    #[serde(default)]
    pub endpoint: Probes,
    /// Requests and replies.
    #[serde(default)]
    pub request: Request,
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
    /// Number of slowest ticks to keep with all their stamps.
    #[serde(default)]
    pub trace: usize,
    /// The subjects; several are interleaved.
    pub subject: Vec<Subject>,
}

/// The parser's words, and which keys may be meant where it doesn't know one.
fn with_meant(error: &toml::de::Error) -> String {
    let told = error.to_string();
    let mut names = error.message().split('`').skip(1).step_by(2);
    let unknown = error.message().starts_with("unknown field").then(|| names.next()).flatten();
    match unknown {
        Some(asked) => format!("{}{}", told.trim_end(), did_you_mean(asked, names)),
        None => told,
    }
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
    /// Finds `name` among the scenarios that ship, or reads it as a file; applies `overrides`
    /// (`key.path=value`) and checks everything.
    ///
    /// # Errors
    /// If there is no such scenario, or a value is wrong.
    pub fn find(name: &str, overrides: &[String]) -> Result<Scenario, ScenarioError> {
        if let Some((_, text)) = SHIPPED.iter().find(|(shipped, _)| *shipped == name) {
            return Scenario::parse(name, text, overrides);
        }
        let text = std::fs::read_to_string(name).map_err(|source| ScenarioError::Unknown {
            name: name.to_owned(),
            source,
            meant: did_you_mean(name, SHIPPED.iter().map(|(name, _)| *name)),
            shipped: SHIPPED.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", "),
        })?;
        Scenario::parse(name, &text, overrides)
    }

    /// As [`Scenario::find`], from a text.
    ///
    /// # Errors
    /// If a value is wrong.
    pub fn parse(name: &str, text: &str, overrides: &[String]) -> Result<Scenario, ScenarioError> {
        let malformed =
            |message: String| ScenarioError::Malformed { name: name.to_owned(), message };
        let mut scenario: Scenario =
            toml::from_str(text).map_err(|error| malformed(with_meant(&error)))?;
        let mut written: toml::Table =
            text.parse().map_err(|error: toml::de::Error| malformed(error.to_string()))?;
        if let Some(key) = scenario.kind.foreign_key(scenario.load.model, &mut written) {
            let kind = scenario.kind.name();
            return Err(malformed(format!("scenarios of kind {kind} have no {key}; leave it out")));
        }
        if !overrides.is_empty() {
            // Overrides apply to the whole scenario with its defaults, so the type of each value is
            // known and an unknown key is an error.
            let mut table = scenario.settable().map_err(malformed)?;
            for text in overrides {
                set::apply(&mut table, text)
                    .map_err(|why| ScenarioError::Set { set: text.clone(), why })?;
            }
            scenario = table.try_into().map_err(|error: toml::de::Error| {
                let name = format!("{name} with {}", overrides.join(" "));
                ScenarioError::Malformed { name, message: error.message().to_owned() }
            })?;
            let (kind, model) = (scenario.kind, scenario.load.model);
            let is_foreign = |text: &&String| kind.lacks(model, set::path(text));
            if let Some(text) = overrides.iter().find(is_foreign) {
                let model = model.name();
                let why = format!("with load.model = {model} there is no such key; leave it out");
                return Err(ScenarioError::Set { set: text.clone(), why });
            }
        }
        scenario.check()?;
        Ok(scenario)
    }

    /// Whether it has the key in `KEY=VALUE`.
    pub fn has_key(&self, set: &str) -> bool {
        let table = self.settable().ok();
        table.is_some_and(|mut table| set::apply(&mut table, set).is_ok())
            && !self.kind.lacks(self.load.model, set::path(set))
    }

    /// The time between two bursts of ticks; 0 where ticks don't arrive in bursts.
    pub fn seconds_between_bursts(&self) -> f64 {
        let flow = &self.flow;
        let are_bursts = self.kind == Kind::Tick && flow.pace == Pace::Fixed;
        match are_bursts && flow.arrival == Arrival::Burst {
            true => flow.burst as f64 / flow.rate_per_second,
            false => 0.0,
        }
    }

    /// Why no record of this scenario will have the figure of `selector`.
    pub fn lacks_figure(&self, selector: &Selector) -> Option<String> {
        let own = [FLOOR, BARE, HICCUP];
        let mut subjects: Vec<&str> = self.subject.iter().map(|one| one.name.as_str()).collect();
        let (series, known) = (selector.series.as_str(), self.kind.series());
        if let Some(asked) = selector.subject.as_deref() {
            if own.iter().any(|own| asked.starts_with(own)) {
                return None;
            }
            if !subjects.contains(&asked) {
                if known.contains(&asked) {
                    return Some(selector.lacking_kind(asked));
                }
                let meant = did_you_mean(asked, subjects.iter().copied());
                subjects.extend(own);
                let known = subjects.join(", ");
                return Some(format!("there is no subject {asked:?}.{meant} There are: {known}"));
            }
        }
        (!known.is_empty() && !known.contains(&series)).then(|| {
            let meant = did_you_mean(series, known.iter().copied());
            format!("there is no series {series:?}.{meant} There are: {}", known.join(", "))
        })
    }

    /// Whether a bare echo can stand below its floor.
    pub fn has_bare(&self) -> bool {
        let spins = |name: &str| backend::find(name).is_ok_and(|backend| backend.spins);
        self.exchange.start
            && match self.kind {
                Kind::OrderEntry => self.load.is_single_ping_pong(),
                // Both ends look at two sockets in turn, and no read call can sleep on both.
                Kind::Tick => self.subject.iter().all(|subject| spins(&subject.backend)),
                _ => false,
            }
    }

    /// Messages per second of its schedule; `None` without one.
    pub fn rate_per_second_offered(&self) -> Option<f64> {
        let is_scheduled = match self.kind {
            Kind::OrderEntry | Kind::Engine => self.load.model == Model::Open,
            Kind::Ipc | Kind::Journal | Kind::Network => true,
            Kind::Tick => self.flow.pace == Pace::Fixed,
            Kind::CoreToCore | Kind::Soak | Kind::Endpoint => false,
        };
        is_scheduled.then(|| self.rate_per_second())
    }

    /// Whether it follows the flow of an exchange that already runs, which has its own rate and
    /// runs once.
    pub fn has_one_flow(&self) -> bool {
        self.kind == Kind::Tick && !self.exchange.start
    }

    /// The rate in the scenario, with or without a schedule: the hiccup row uses it too.
    pub fn rate_per_second(&self) -> f64 {
        match self.kind {
            Kind::Tick => self.flow.rate_per_second,
            Kind::Endpoint => self.endpoint.probes_per_second,
            _ => self.load.rate_per_second,
        }
    }

    /// Sets the schedule's rate and returns the key that it changed.
    pub fn set_rate_per_second(&mut self, rate_per_second: f64) -> &'static str {
        let (key, rate) = match self.kind {
            Kind::Tick => ("flow.rate_per_second", &mut self.flow.rate_per_second),
            Kind::Endpoint => ("endpoint.probes_per_second", &mut self.endpoint.probes_per_second),
            _ => ("load.rate_per_second", &mut self.load.rate_per_second),
        };
        *rate = rate_per_second;
        key
    }

    /// Messages in that many seconds of its schedule, at least one if there is any time.
    pub fn messages(&self, seconds: f64) -> u64 {
        match self.kind {
            Kind::Ipc | Kind::Engine | Kind::Journal | Kind::Tick => {
                let messages = (self.rate_per_second() * seconds).round() as u64;
                messages.max(u64::from(seconds > 0.0))
            }
            Kind::OrderEntry | Kind::CoreToCore | Kind::Soak | Kind::Endpoint | Kind::Network => {
                self.load.messages(seconds)
            }
        }
    }

    /// Its keys with defaults, without those that its kind lacks.
    pub fn table(&self) -> Result<toml::Table, String> {
        let mut table = toml::Table::try_from(self).map_err(|error| error.to_string())?;
        self.kind.strip(self.load.model, &mut table);
        Ok(table)
    }

    /// The same, with the keys that other load models have: they can be set as well.
    fn settable(&self) -> Result<toml::Table, String> {
        let mut table = toml::Table::try_from(self).map_err(|error| error.to_string())?;
        self.kind.strip_always(&mut table);
        Ok(table)
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
            .collect()
    }
}

#[cfg(test)]
mod tests;
