//! Scenario files: the ones that ship, and a person's own; with any key overridden from the command
//! line.

pub use crate::kind::{CORES_PAIRED_MAX, Engine, Ipc, Journal, Kind};
use crate::set;
pub use crate::subject::Subject;
pub use crate::tick::{Audit, Feed, Flow, Network, Pace, Risk, Transport};
use host::placement::Cores;
use host::scheduling::Scheduling;
use serde::{Deserialize, Serialize};
use trader::plan::{BadLoad, Load, Model};
use trader::tick_plan::StrategyPlan;
use transport::inject::Inject;

/// The scenarios that ship: name, text.
pub const SHIPPED: &[(&str, &str)] = &[
    ("order-to-ack", include_str!("../../../scenarios/order-to-ack.toml")),
    ("ping-pong", include_str!("../../../scenarios/ping-pong.toml")),
    ("order-to-ack-400k", include_str!("../../../scenarios/order-to-ack-400k.toml")),
    ("ring", include_str!("../../../scenarios/ring.toml")),
    ("queue", include_str!("../../../scenarios/queue.toml")),
    ("distributor", include_str!("../../../scenarios/distributor.toml")),
    ("core-to-core", include_str!("../../../scenarios/core-to-core.toml")),
    ("engine", include_str!("../../../scenarios/engine.toml")),
    ("engine-open-loop", include_str!("../../../scenarios/engine-open-loop.toml")),
    ("journal", include_str!("../../../scenarios/journal.toml")),
    ("soak", include_str!("../../../scenarios/soak.toml")),
    ("tick-to-trade", include_str!("../../../scenarios/tick-to-trade.toml")),
    ("tick-to-trade-replay", include_str!("../../../scenarios/tick-to-trade-replay.toml")),
    ("tick-to-trade-burst", include_str!("../../../scenarios/tick-to-trade-burst.toml")),
    ("market-making", include_str!("../../../scenarios/market-making.toml")),
];

/// Runs that one scenario makes at most.
pub const RUNS_MAX: u32 = 1_000;
/// The subject that is the raw echo.
pub const FLOOR: &str = "floor";

/// The other end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Exchange {
    /// Whether to start one; if not, `--connect` says where it is.
    pub start: bool,
    /// Its own thread's core, then one for each gateway.
    pub cores: Cores,
    /// Threads that have its sockets and hand it bytes through rings; 0 = its own thread has them.
    pub gateways: u32,
    /// The class of its threads.
    pub scheduling: Scheduling,
    /// How it waits and reads.
    pub backend: String,
    /// `synthetic`, `empty`, or a path to a Databento MBO file; of ticks that of the instruments without the flow.
    pub book: String,
    /// Path of an instruments file; empty for the four that ship.
    pub instruments: String,
    /// Orders that rest at the same time, those of the start book included.
    pub open_orders_max: u32,
    /// Orders and cancels that it keeps in memory, so that its state can be compared with a replay;
    /// 0 = no comparison. 80 bytes each.
    pub replay_inputs_max: u64,
    /// Harm to do on purpose.
    pub inject: Inject,
}

impl Default for Exchange {
    fn default() -> Exchange {
        Exchange {
            start: true,
            cores: Cores::Auto,
            gateways: 0,
            scheduling: Scheduling::Other,
            backend: "spin".to_owned(),
            book: "synthetic".to_owned(),
            instruments: String::new(),
            open_orders_max: 65_536,
            replay_inputs_max: 1_000_000,
            inject: Inject::default(),
        }
    }
}

/// A scenario, every default filled in.
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
    /// Fresh processes, connections and book each.
    #[serde(default = "six")]
    pub runs: u32,
    /// Sent, counted and thrown away.
    #[serde(default = "one_second")]
    pub warm_up_seconds: f64,
    /// Measured, per run.
    #[serde(default = "four_seconds")]
    pub seconds: f64,
    /// Measured of the raw echo, per run; 0 = no floor.
    #[serde(default)]
    pub floor_seconds: f64,
    /// The same cores without load, before each run; 0 = no hiccup row.
    #[serde(default)]
    pub hiccup_seconds: f64,
    /// What to send.
    #[serde(default)]
    pub load: Load,
    /// The other end.
    #[serde(default)]
    pub exchange: Exchange,
    /// What is sent from thread to thread.
    #[serde(default)]
    pub ipc: Ipc,
    /// What goes through a matching engine.
    #[serde(default)]
    pub engine: Engine,
    /// Where it is logged.
    #[serde(default)]
    pub journal: Journal,
    /// What moves the book.
    #[serde(default)]
    pub flow: Flow,
    /// How ticks come in.
    #[serde(default)]
    pub feed: Feed,
    /// What is made of them.
    #[serde(default)]
    pub strategy: StrategyPlan,
    /// What is checked before an order is sent.
    #[serde(default)]
    pub risk: Risk,
    /// Whether everything is written down beside the path.
    #[serde(default)]
    pub audit: Audit,
    /// What lies between the two ends.
    #[serde(default)]
    pub network: Network,
    /// So many of the worst ticks are kept, with all their stamps.
    #[serde(default)]
    pub trace: usize,
    /// Who is measured; several are interleaved.
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
    /// Neither a name nor a file.
    #[error("there is no scenario {name:?}: {source}; these ship: {shipped}")]
    Unknown {
        /// As asked.
        name: String,
        /// Why it is no file either.
        source: std::io::Error,
        /// Their names.
        shipped: String,
    },
    /// Not TOML, a key that we don't know, a value of the wrong kind.
    #[error("scenario {name}: {message}")]
    Malformed {
        /// Name or path.
        name: String,
        /// The parser's words, with the place.
        message: String,
    },
    /// `--set` can't be applied.
    #[error("--set {set}: {why}")]
    Set {
        /// As given.
        set: String,
        /// What is wrong.
        why: String,
    },
    /// A value out of its range.
    #[error("{key} = {value}: {why}")]
    Range {
        /// The key.
        key: String,
        /// Its value.
        value: String,
        /// What it may be.
        why: String,
    },
    /// A value of `[load]` out of its range.
    #[error(transparent)]
    Load(#[from] BadLoad),
    /// No such backend.
    #[error(transparent)]
    Backend(#[from] transport::UnknownBackend),
}

impl Scenario {
    /// Finds `name` among those that ship, or reads it as a file; applies `overrides`
    /// (`key.path=value`) and checks everything.
    ///
    /// # Errors
    /// If there is no such scenario, or anything in it is wrong.
    pub fn find(name: &str, overrides: &[String]) -> Result<Scenario, ScenarioError> {
        if let Some((_, text)) = SHIPPED.iter().find(|(shipped, _)| *shipped == name) {
            return Scenario::parse(name, text, overrides);
        }
        let text = std::fs::read_to_string(name).map_err(|source| ScenarioError::Unknown {
            name: name.to_owned(),
            source,
            shipped: SHIPPED.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", "),
        })?;
        Scenario::parse(name, &text, overrides)
    }

    /// As [`Scenario::find`], from a text.
    ///
    /// # Errors
    /// If anything in it is wrong.
    pub fn parse(name: &str, text: &str, overrides: &[String]) -> Result<Scenario, ScenarioError> {
        let malformed =
            |message: String| ScenarioError::Malformed { name: name.to_owned(), message };
        let mut scenario: Scenario =
            toml::from_str(text).map_err(|error| malformed(error.to_string()))?;
        let mut written: toml::Table =
            text.parse().map_err(|error: toml::de::Error| malformed(error.to_string()))?;
        if let Some(key) = scenario.kind.foreign_key(scenario.load.model, &mut written) {
            let kind = scenario.kind.name();
            return Err(malformed(format!("scenarios of kind {kind} have no {key}; leave it out")));
        }
        if !overrides.is_empty() {
            // Applied to the whole scenario, defaults filled in: so it is known of what kind a
            // value is, and a key that isn't there doesn't exist.
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

    /// Messages a second that its schedule asks for; `None` where there is no schedule.
    pub(crate) fn rate_per_second_offered(&self) -> Option<f64> {
        let is_scheduled = match self.kind {
            Kind::OrderEntry | Kind::Engine => self.load.model == Model::Open,
            Kind::Ipc | Kind::Journal => true,
            Kind::Tick => self.flow.pace == Pace::Fixed,
            Kind::CoreToCore | Kind::Soak => false,
        };
        is_scheduled.then(|| self.rate_per_second())
    }

    /// Whether it follows the flow of an exchange that runs already: that has its own rate, and runs once.
    pub(crate) fn has_one_flow(&self) -> bool {
        self.kind == Kind::Tick && !self.exchange.start
    }

    /// The rate that stands in it, whether or not there is a schedule: an idle thread looks at the clock as often.
    pub(crate) fn rate_per_second(&self) -> f64 {
        if self.kind == Kind::Tick { self.flow.rate_per_second } else { self.load.rate_per_second }
    }

    /// Sets the rate of its schedule, and says which key that is.
    pub(crate) fn set_rate_per_second(&mut self, rate_per_second: f64) -> &'static str {
        let (key, rate) = match self.kind {
            Kind::Tick => ("flow.rate_per_second", &mut self.flow.rate_per_second),
            _ => ("load.rate_per_second", &mut self.load.rate_per_second),
        };
        *rate = rate_per_second;
        key
    }

    /// Messages in so many seconds of its schedule, one at least where there is time at all.
    pub(crate) fn messages(&self, seconds: f64) -> u64 {
        match self.kind {
            Kind::Ipc | Kind::Engine | Kind::Journal | Kind::Tick => {
                let messages = (self.rate_per_second() * seconds).round() as u64;
                messages.max(u64::from(seconds > 0.0))
            }
            Kind::OrderEntry | Kind::CoreToCore | Kind::Soak => self.load.messages(seconds),
        }
    }

    /// Its keys, defaults filled in, without those that its kind doesn't have.
    pub(crate) fn table(&self) -> Result<toml::Table, String> {
        let mut table = toml::Table::try_from(self).map_err(|error| error.to_string())?;
        self.kind.strip(self.load.model, &mut table);
        Ok(table)
    }

    /// The same with the keys that it would have under another load: that can be set, too.
    fn settable(&self) -> Result<toml::Table, String> {
        let mut table = toml::Table::try_from(self).map_err(|error| error.to_string())?;
        self.kind.strip_always(&mut table);
        Ok(table)
    }

    /// The harm that is done on purpose, a line each: who does it, and what.
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
#[path = "file_tests.rs"]
mod tests;
