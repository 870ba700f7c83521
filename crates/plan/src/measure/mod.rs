//! The kinds of measurement, one file each, and which keys scenarios of each kind have.

pub mod endpoint;
pub mod engine;
pub mod ipc;
pub mod journal;
pub mod network;
pub mod orders;
pub mod ticks;

use crate::load::Model;
use crate::measure::network::REQUEST;
use record::tick::{INTERVALS, STAGES};
use serde::{Deserialize, Serialize};
use toml::{Table, Value};

/// The measurement that a scenario describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Orders and cancels to an exchange, and their acks.
    OrderEntry,
    /// Messages from one thread to another.
    Ipc,
    /// One cache line, back and forth between every two cores.
    CoreToCore,
    /// Orders through a matching engine, one after the other or on a schedule.
    Engine,
    /// The same, for a long time.
    Soak,
    /// Orders through an engine and its journal.
    Journal,
    /// Ticks of an exchange, and the orders that follow from them.
    Tick,
    /// Probes of an address that belongs to somebody else.
    Endpoint,
    /// TCP requests and replies of fixed lengths.
    Network,
}

/// The interval that judges a trader.
const TICK_TO_GATEWAY: &str = INTERVALS[0].name;
/// The interval inside the trader.
const TICK_TO_TRADE: &str = INTERVALS[2].name;

/// Limit on the cores that `core-to-core` pairs: 496 pairs, each with a series of its own.
pub const CORES_PAIRED_MAX: usize = 32;

/// Keys of kinds with an exchange.
const OF_AN_EXCHANGE: &[&str] = &[
    "floor_seconds",
    "bare_seconds",
    "exchange",
    "tls",
    "subject.tls",
    "subject.inject",
    "load.connections",
    "load.cancel_after",
    "load.instrument",
    "load.side",
    "load.price",
    "load.amount",
    "load.first_token",
];
/// Keys of ticks.
const OF_TICKS: &[&str] = &["flow", "feed", "strategy", "risk", "audit", "network", "trace"];
/// Keys of requests.
const OF_REQUESTS: &[&str] = &["request", "subject.placement"];
/// Keys of orders to an exchange that an echo of requests lacks.
const OF_ORDERS: &[&str] = &[
    "floor_seconds",
    "bare_seconds",
    "tls",
    "subject.tls",
    "subject.inject",
    "exchange.book",
    "exchange.instruments",
    "exchange.open_orders_max",
    "exchange.replay_inputs_max",
    "exchange.tls_ca",
    "exchange.tls_name",
    "exchange.inject",
    "load.model",
    "load.cancel_after",
    "load.instrument",
    "load.side",
    "load.price",
    "load.amount",
    "load.first_token",
];
/// Keys of a schedule.
const OF_A_SCHEDULE: &[&str] =
    &["warm_up_seconds", "load.rate_per_second", "load.arrival", "load.burst"];

impl Kind {
    /// The name in a scenario file.
    pub fn name(self) -> &'static str {
        match self {
            Kind::OrderEntry => "order-entry",
            Kind::Ipc => "ipc",
            Kind::CoreToCore => "core-to-core",
            Kind::Engine => "engine",
            Kind::Soak => "soak",
            Kind::Journal => "journal",
            Kind::Tick => "tick",
            Kind::Endpoint => "endpoint",
            Kind::Network => "network",
        }
    }

    /// The series whose service times answer what was sent; the first one is the main series. Empty
    /// where nothing is sent.
    pub fn replies(self) -> &'static [&'static str] {
        match self {
            Kind::OrderEntry => &["order", "cancel"],
            Kind::Ipc => &[ipc::MESSAGE],
            Kind::CoreToCore => &[],
            Kind::Engine | Kind::Soak | Kind::Journal => &[engine::OPERATION],
            Kind::Tick => &[TICK_TO_GATEWAY],
            Kind::Endpoint => &endpoint::SERIES,
            Kind::Network => &[REQUEST],
        }
    }

    /// The series that its records have; none where their names depend on the machine.
    pub fn series(self) -> Vec<&'static str> {
        match self {
            Kind::OrderEntry => vec!["order", "cancel", "cycle", "send"],
            Kind::Ipc | Kind::Engine | Kind::Soak | Kind::Journal | Kind::Network => {
                [self.replies(), &["send"]].concat()
            }
            Kind::Endpoint => self.replies().to_vec(),
            Kind::CoreToCore => Vec::new(),
            Kind::Tick => {
                let intervals = INTERVALS.iter().map(|interval| interval.name);
                intervals.chain(STAGES.iter().map(|stage| stage.name)).collect()
            }
        }
    }

    /// Series that together hold every latency once. Their counts show whether the log is complete.
    pub fn recorded(self) -> &'static [&'static str] {
        match self {
            // The trader's own: an interval between two machines may be unknown.
            Kind::Tick => &[TICK_TO_TRADE],
            kind => kind.replies(),
        }
    }

    /// Threads of a subject, each with a core of its own; `None`: one on every core.
    pub fn threads(self) -> Option<usize> {
        match self {
            Kind::OrderEntry
            | Kind::Engine
            | Kind::Soak
            | Kind::Tick
            | Kind::Endpoint
            | Kind::Network => Some(1),
            Kind::Ipc | Kind::Journal => Some(2),
            Kind::CoreToCore => None,
        }
    }

    /// Whether it needs an exchange in a process of its own.
    pub fn has_exchange(self) -> bool {
        matches!(self, Kind::OrderEntry | Kind::Tick | Kind::Endpoint | Kind::Network)
    }

    /// Keys that only other kinds, or this kind under another load, have.
    fn absent(self, model: Model) -> Vec<&'static str> {
        let ticks = if self == Kind::Tick { &[] } else { OF_TICKS };
        let probes: &[&str] = if self == Kind::Endpoint { &[] } else { &["endpoint"] };
        let requests = if self == Kind::Network { &[] } else { OF_REQUESTS };
        let with = |lists: &[&[&'static str]]| [&lists.concat(), ticks, probes, requests].concat();
        match (self, model) {
            (Kind::OrderEntry, _) => with(&[&["ipc", "engine", "journal", "subject.processes"]]),
            (Kind::Network, _) => with(&[
                OF_ORDERS,
                &["ipc", "engine", "journal", "subject.processes", "subject.command"],
            ]),
            (Kind::Tick, _) => with(&[
                &["load", "ipc", "engine", "journal"],
                &["subject.processes", "subject.command"],
            ]),
            (Kind::Endpoint, _) => with(&[
                &["floor_seconds", "bare_seconds", "load", "ipc", "engine", "journal"],
                &["subject.processes", "subject.command", "subject.inject"],
            ]),
            (Kind::Ipc, _) => {
                with(&[OF_AN_EXCHANGE, &["load.model", "load.accounts", "engine", "journal"]])
            }
            (Kind::CoreToCore, _) => with(&[
                OF_AN_EXCHANGE,
                &["warm_up_seconds", "load", "ipc", "engine", "journal"],
                &["subject.backend", "subject.command", "subject.processes", "subject.scheduling"],
            ]),
            (Kind::Engine, Model::Open) => with(&[
                OF_AN_EXCHANGE,
                &["ipc", "engine", "journal", "subject.command", "subject.processes"],
            ]),
            (Kind::Engine, Model::PingPong) => with(&[
                OF_AN_EXCHANGE,
                OF_A_SCHEDULE,
                &[
                    "seconds",
                    "ipc",
                    "journal",
                    "engine.resume",
                    "subject.command",
                    "subject.processes",
                ],
            ]),
            (Kind::Soak, _) => with(&[
                OF_AN_EXCHANGE,
                OF_A_SCHEDULE,
                &[
                    "load.model",
                    "ipc",
                    "journal",
                    "engine.passes",
                    "subject.command",
                    "subject.processes",
                ],
            ]),
            (Kind::Journal, _) => with(&[
                OF_AN_EXCHANGE,
                &["load.model", "ipc", "engine", "subject.command", "subject.processes"],
            ]),
        }
    }

    /// The first key in a scenario's text that the kind doesn't have.
    pub fn foreign_key(self, model: Model, scenario: &mut Table) -> Option<&'static str> {
        self.absent(model).into_iter().find(|path| remove(scenario, path))
    }

    /// Whether the kind lacks the key with that path, such as `subject.rust.backend`.
    pub fn lacks(self, model: Model, path: &str) -> bool {
        let path = of_members(path);
        let is_in = |absent: &&str| {
            path.strip_prefix(absent).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        self.absent(model).iter().any(is_in)
    }

    /// Removes keys that the kind has under no load.
    pub fn strip_always(self, scenario: &mut Table) {
        let under_another = self.absent(Model::PingPong);
        for path in self.absent(Model::Open) {
            if under_another.contains(&path) {
                remove(scenario, path);
            }
        }
    }

    /// Removes keys that the kind doesn't have.
    pub fn strip(self, model: Model, scenario: &mut Table) {
        for path in self.absent(model) {
            remove(scenario, path);
        }
    }
}

/// The path of a key without the names of list members.
fn of_members(path: &str) -> String {
    match path.strip_prefix("subject.").and_then(|rest| rest.split_once('.')) {
        Some((_, key)) => format!("subject.{key}"),
        None => path.to_owned(),
    }
}

/// Removes a key, from each member if it is in a list. Returns whether it was there.
fn remove(table: &mut Table, path: &str) -> bool {
    let Some((first, rest)) = path.split_once('.') else { return table.remove(path).is_some() };
    match table.get_mut(first) {
        Some(Value::Table(inner)) => remove(inner, rest),
        Some(Value::Array(members)) => {
            let tables = members.iter_mut().filter_map(Value::as_table_mut);
            tables.fold(false, |removed, member| remove(member, rest) | removed)
        }
        _ => false,
    }
}
