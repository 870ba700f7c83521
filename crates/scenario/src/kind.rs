//! What a scenario measures, and which keys scenarios of each kind have.

use measure::tick::INTERVALS;
use relay::plan::{BLOCK_BYTES_MAX, KEYS_MAX, MESSAGE_BYTES_MAX, MESSAGE_BYTES_MIN, SLOTS_MAX};
use serde::{Deserialize, Serialize};
use toml::{Table, Value};
use trader::plan::Model;

/// What a scenario measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Orders and cancels to an exchange, and their acks.
    OrderEntry,
    /// Messages from one thread to another.
    Ipc,
    /// One cache line, to and fro between each two cores.
    CoreToCore,
    /// Orders through a matching engine, one after the other or on a schedule.
    Engine,
    /// The same for as long as asked.
    Soak,
    /// Orders through an engine and its journal.
    Journal,
    /// Ticks of an exchange, and the orders that they lead to.
    Tick,
}

/// The interval that a trader is judged by.
const TICK_TO_GATEWAY: &str = INTERVALS[0].name;
/// The interval that lies within the trader.
const TICK_TO_TRADE: &str = INTERVALS[2].name;

/// Cores that `core-to-core` pairs at most: 496 pairs, each with a series of its own.
pub const CORES_PAIRED_MAX: usize = 32;

/// Keys that only an exchange has.
const OF_AN_EXCHANGE: &[&str] = &[
    "floor_seconds",
    "exchange",
    "subject.inject",
    "load.connections",
    "load.cancel_after",
    "load.instrument",
    "load.side",
    "load.price",
    "load.amount",
    "load.first_token",
];
/// Keys that only ticks have.
const OF_TICKS: &[&str] = &["flow", "feed", "strategy", "risk", "audit", "network", "trace"];
/// Keys of a schedule.
const OF_A_SCHEDULE: &[&str] =
    &["warm_up_seconds", "load.rate_per_second", "load.arrival", "load.burst"];

impl Kind {
    /// As in a scenario file.
    pub fn name(self) -> &'static str {
        match self {
            Kind::OrderEntry => "order-entry",
            Kind::Ipc => "ipc",
            Kind::CoreToCore => "core-to-core",
            Kind::Engine => "engine",
            Kind::Soak => "soak",
            Kind::Journal => "journal",
            Kind::Tick => "tick",
        }
    }

    /// The series whose service times answer what was sent, the one that is judged by first; none where
    /// nothing is sent.
    pub fn replies(self) -> &'static [&'static str] {
        match self {
            Kind::OrderEntry => &["order", "cancel"],
            Kind::Ipc => &[relay::judge::MESSAGE],
            Kind::CoreToCore => &[],
            Kind::Engine | Kind::Soak | Kind::Journal => &[workload::OPERATION],
            Kind::Tick => &[TICK_TO_GATEWAY],
        }
    }

    /// The series that hold every latency once, by which it is told whether none is missing in the log.
    pub(crate) fn recorded(self) -> &'static [&'static str] {
        match self {
            // The trader's own: what lies between two machines may not be known.
            Kind::Tick => &[TICK_TO_TRADE],
            kind => kind.replies(),
        }
    }

    /// Threads of a subject, each with a core of its own; `None`: one on every core.
    pub(crate) fn threads(self) -> Option<usize> {
        match self {
            Kind::OrderEntry | Kind::Engine | Kind::Soak | Kind::Tick => Some(1),
            Kind::Ipc | Kind::Journal => Some(2),
            Kind::CoreToCore => None,
        }
    }

    /// Whether it takes an exchange in a process of its own.
    pub(crate) fn has_exchange(self) -> bool {
        matches!(self, Kind::OrderEntry | Kind::Tick)
    }

    /// Keys that scenarios of other kinds have, or of this one under another load.
    fn absent(self, model: Model) -> Vec<&'static str> {
        let ticks = if self == Kind::Tick { &[] } else { OF_TICKS };
        let with = |lists: &[&[&'static str]]| [&lists.concat(), ticks].concat();
        match (self, model) {
            (Kind::OrderEntry, _) => with(&[&["ipc", "engine", "journal", "subject.processes"]]),
            (Kind::Tick, _) => with(&[
                &["load", "ipc", "engine", "journal"],
                &["subject.processes", "subject.command"],
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

    /// The first key in a scenario's text that its kind doesn't have.
    pub(crate) fn foreign_key(self, model: Model, scenario: &mut Table) -> Option<&'static str> {
        self.absent(model).into_iter().find(|path| remove(scenario, path))
    }

    /// Whether it doesn't have the key of that path, such as `subject.rust.backend`.
    pub(crate) fn lacks(self, model: Model, path: &str) -> bool {
        let path = of_members(path);
        let is_in = |absent: &&str| {
            path.strip_prefix(absent).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        self.absent(model).iter().any(is_in)
    }

    /// Takes away what its kind doesn't have under any load.
    pub(crate) fn strip_always(self, scenario: &mut Table) {
        let under_another = self.absent(Model::PingPong);
        for path in self.absent(Model::Open) {
            if under_another.contains(&path) {
                remove(scenario, path);
            }
        }
    }

    /// Takes away what its kind doesn't have.
    pub(crate) fn strip(self, model: Model, scenario: &mut Table) {
        for path in self.absent(model) {
            remove(scenario, path);
        }
    }
}

/// The path of a key, without the names of members of lists.
fn of_members(path: &str) -> String {
    match path.strip_prefix("subject.").and_then(|rest| rest.split_once('.')) {
        Some((_, key)) => format!("subject.{key}"),
        None => path.to_owned(),
    }
}

/// Removes a key, from each member where it lies in a list. Whether it was there.
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

/// The `[ipc]` of a scenario: what is sent between threads, and through what.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Ipc {
    /// Length of every message.
    pub message_bytes: usize,
    /// Of a ring; of each key of a distributor.
    pub slots: usize,
    /// Of a distributor.
    pub keys: usize,
    /// Of a queue.
    pub block_bytes: u64,
    /// Where files go. On tmpfs nothing is written to a disk.
    pub directory: String,
}

impl Default for Ipc {
    fn default() -> Ipc {
        Ipc {
            message_bytes: 256,
            slots: 1024,
            keys: 1,
            block_bytes: 256 << 20,
            directory: "/dev/shm".to_owned(),
        }
    }
}

impl Ipc {
    /// The first key that is out of range: its name, its value, what it may be.
    pub(crate) fn fault(&self) -> Option<(&'static str, String, String)> {
        let (bytes, slots, keys) = (self.message_bytes, self.slots, self.keys);
        if !(MESSAGE_BYTES_MIN..=MESSAGE_BYTES_MAX).contains(&bytes) {
            let why = format!("a message has {MESSAGE_BYTES_MIN} to {MESSAGE_BYTES_MAX} bytes");
            return Some(("ipc.message_bytes", bytes.to_string(), why));
        }
        if !(1..=SLOTS_MAX).contains(&slots) {
            return Some(("ipc.slots", slots.to_string(), format!("from 1 to {SLOTS_MAX}")));
        }
        if !(1..=KEYS_MAX).contains(&keys) {
            return Some(("ipc.keys", keys.to_string(), format!("from 1 to {KEYS_MAX}")));
        }
        let block = self.block_bytes;
        (block > BLOCK_BYTES_MAX)
            .then(|| ("ipc.block_bytes", block.to_string(), format!("at most {BLOCK_BYTES_MAX}")))
    }
}

/// The `[engine]` of a scenario: how much goes through it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Engine {
    /// Operations of a pass; of a soak all of them, 0: as many as `seconds` take.
    pub operations: u64,
    /// Passes of a run that are timed as a whole, before the one in which each operation is.
    pub passes: u32,
    /// Of a soak, the directory of the run to go on from; empty: from the start.
    pub resume: String,
}

impl Default for Engine {
    fn default() -> Engine {
        Engine { operations: 2_000_000, passes: 3, resume: String::new() }
    }
}

/// The `[journal]` of a scenario.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Journal {
    /// Where journals go while they are measured; empty: the run directory.
    pub directory: String,
}
