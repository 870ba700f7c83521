//! Scenario files: the ones that ship, and a person's own; with any key overridden from the command
//! line.

pub use crate::kind::{CORES_PAIRED_MAX, Ipc, Kind};
use crate::set;
pub use crate::subject::Subject;
use host::placement::Cores;
use host::scheduling::Scheduling;
use serde::{Deserialize, Serialize};
use trader::plan::{BadLoad, Load, Model, SECONDS_MAX};
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
];

/// Runs that one scenario makes at most.
pub const RUNS_MAX: u32 = 1_000;
/// Names that are tickpath's own.
const RESERVED: [&str; 2] = [FLOOR, noise::hiccup::SUBJECT];
/// The subject that is the raw echo.
pub const FLOOR: &str = "floor";

/// The other end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Exchange {
    /// Whether to start one; if not, `--connect` says where it is.
    pub start: bool,
    /// Its core.
    pub cores: Cores,
    /// The class of its thread.
    pub scheduling: Scheduling,
    /// How it waits and reads.
    pub backend: String,
    /// `synthetic`, or a path to a Databento MBO file.
    pub book: String,
    /// Path of an instruments file; empty for the four that ship.
    pub instruments: String,
    /// Orders that rest at the same time, those of the start book included.
    pub open_orders_max: u32,
    /// Orders and cancels that it keeps in memory, so that its state can be compared with a replay;
    /// 0 = no comparison. 48 bytes each.
    pub replay_inputs_max: u64,
    /// Harm to do on purpose.
    pub inject: Inject,
}

impl Default for Exchange {
    fn default() -> Exchange {
        Exchange {
            start: true,
            cores: Cores::Auto,
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
        if let Some(key) = scenario.kind.foreign_key(&mut written) {
            let kind = scenario.kind.name();
            return Err(malformed(format!("scenarios of kind {kind} have no {key}; leave it out")));
        }
        if !overrides.is_empty() {
            // Applied to the whole scenario, defaults filled in: so it is known of what kind a
            // value is, and a key that isn't there doesn't exist.
            let mut table = scenario.table().map_err(malformed)?;
            for text in overrides {
                set::apply(&mut table, text)
                    .map_err(|why| ScenarioError::Set { set: text.clone(), why })?;
            }
            scenario = table.try_into().map_err(|error: toml::de::Error| {
                let name = format!("{name} with {}", overrides.join(" "));
                ScenarioError::Malformed { name, message: error.message().to_owned() }
            })?;
        }
        scenario.check()?;
        Ok(scenario)
    }

    /// Messages a second that its schedule asks for; `None` where there is no schedule.
    pub(crate) fn rate_per_second_offered(&self) -> Option<f64> {
        let is_scheduled = match self.kind {
            Kind::OrderEntry => self.load.model == Model::Open,
            Kind::Ipc => true,
            Kind::CoreToCore => false,
        };
        is_scheduled.then_some(self.load.rate_per_second)
    }

    /// Messages in so many seconds of its schedule, one at least where there is time at all.
    pub(crate) fn messages(&self, seconds: f64) -> u64 {
        match self.kind {
            Kind::Ipc => {
                let messages = (self.load.rate_per_second * seconds).round() as u64;
                messages.max(u64::from(seconds > 0.0))
            }
            Kind::OrderEntry | Kind::CoreToCore => self.load.messages(seconds),
        }
    }

    /// Its keys, defaults filled in, without those that its kind doesn't have.
    pub(crate) fn table(&self) -> Result<toml::Table, String> {
        let mut table = toml::Table::try_from(self).map_err(|error| error.to_string())?;
        self.kind.strip(&mut table);
        Ok(table)
    }

    fn check(&self) -> Result<(), ScenarioError> {
        let require = |holds: bool, key: &str, value: String, why: &str| match holds {
            true => Ok(()),
            false => Err(ScenarioError::Range { key: key.to_owned(), value, why: why.to_owned() }),
        };
        let plain = "a name has 1 to 40 letters, digits, - and _";
        require(is_plain(&self.name), "name", self.name.clone(), plain)?;
        require(
            (1..=RUNS_MAX).contains(&self.runs),
            "runs",
            self.runs.to_string(),
            "there must be 1 to 1000",
        )?;
        for (key, seconds, least) in [
            ("warm_up_seconds", self.warm_up_seconds, 0.0),
            ("seconds", self.seconds, 0.001),
            ("floor_seconds", self.floor_seconds, 0.0),
            ("hiccup_seconds", self.hiccup_seconds, 0.0),
        ] {
            require(
                (least..=SECONDS_MAX).contains(&seconds),
                key,
                seconds.to_string(),
                &format!("from {least} to 30 days"),
            )?;
        }
        self.load.check()?;
        transport::backend(&self.exchange.backend)?;
        let able = self.exchange.start;
        check_inject("exchange", &self.exchange.inject, able, "an exchange that it starts")?;
        if let Some((key, value, why)) = self.ipc.fault() {
            return Err(ScenarioError::Range { key: key.to_owned(), value, why });
        }
        require(!self.subject.is_empty(), "subject", "[]".to_owned(), "there must be one")?;
        for (index, subject) in self.subject.iter().enumerate() {
            let key = format!("subject.{index}.name");
            require(is_plain(&subject.name), &key, subject.name.clone(), plain)?;
            require(
                !RESERVED.iter().any(|own| subject.name.starts_with(own)),
                &key,
                subject.name.clone(),
                "floor… and hiccup… are tickpath's own names",
            )?;
            require(
                self.subject[..index].iter().all(|other| other.name != subject.name),
                &key,
                subject.name.clone(),
                "two subjects have this name; give each its own",
            )?;
            self.check_subject(index, subject)?;
        }
        Ok(())
    }

    /// What depends on the kind.
    fn check_subject(&self, index: usize, subject: &Subject) -> Result<(), ScenarioError> {
        let range = |key: &str, value: String, why: String| {
            let key = format!("subject.{index}.{key}");
            Err(ScenarioError::Range { key, value, why })
        };
        let cores = match &subject.cores {
            Cores::Auto => None,
            Cores::List(cores) => Some(cores.len()),
        };
        match self.kind {
            Kind::OrderEntry => {
                transport::backend(&subject.backend)?;
                let able = subject.command.is_empty();
                check_inject(&format!("subject.{index}"), &subject.inject, able, "its own client")
            }
            Kind::Ipc if cores.is_some_and(|count| count != 2) => {
                let why = "name the producer's core and the consumer's".to_owned();
                range("cores", subject.cores.to_string(), why)
            }
            Kind::Ipc if !(1..=2).contains(&subject.processes) => {
                let why = "its ends are in 1 process, or in 2".to_owned();
                range("processes", subject.processes.to_string(), why)
            }
            Kind::Ipc if subject.processes == 2 && !subject.command.is_empty() => {
                let why = "only tickpath's own client can be two processes".to_owned();
                range("processes", subject.processes.to_string(), why)
            }
            Kind::Ipc if subject.command.is_empty() => {
                match relay::structure::find_for(&subject.backend, subject.ends()[0]) {
                    Ok(_) => Ok(()),
                    Err(error) => range("backend", error.value, error.why),
                }
            }
            Kind::CoreToCore
                if cores.is_some_and(|count| !(2..=CORES_PAIRED_MAX).contains(&count)) =>
            {
                let why =
                    format!("a pair takes two cores, and {CORES_PAIRED_MAX} are paired at most");
                range("cores", subject.cores.to_string(), why)
            }
            Kind::Ipc | Kind::CoreToCore => Ok(()),
        }
    }

    /// The harm that is done on purpose, a line each: who does it, and what.
    pub fn injected(&self) -> Vec<String> {
        let subjects = self.subject.iter().map(|subject| (subject.name.as_str(), &subject.inject));
        std::iter::once(("exchange", &self.exchange.inject))
            .chain(subjects)
            .filter(|(_, inject)| !inject.is_none())
            .map(|(who, inject)| format!("{who} {inject}"))
            .collect()
    }
}

fn check_inject(key: &str, inject: &Inject, able: bool, whom: &str) -> Result<(), ScenarioError> {
    let bad = |name: &str, value: String, why: String| ScenarioError::Range {
        key: format!("{key}.{name}"),
        value,
        why,
    };
    inject.check().map_err(|error| bad(&error.key, error.value, error.why))?;
    if !able && !inject.is_none() {
        let why = format!("tickpath can inject faults into {whom} only");
        return Err(bad("inject", inject.to_string(), why));
    }
    Ok(())
}

fn is_plain(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    (1..=40).contains(&name.len()) && name.chars().all(plain)
}

#[cfg(test)]
#[path = "file_tests.rs"]
mod tests;
