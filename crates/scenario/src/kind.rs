//! What a scenario measures, and which keys scenarios of each kind have.

use relay::plan::{BLOCK_BYTES_MAX, KEYS_MAX, MESSAGE_BYTES_MAX, MESSAGE_BYTES_MIN, SLOTS_MAX};
use serde::{Deserialize, Serialize};
use toml::{Table, Value};

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
}

/// Cores that `core-to-core` pairs at most: 496 pairs, each with a series of its own.
pub const CORES_PAIRED_MAX: usize = 32;

/// Keys that only an exchange has.
const OF_ORDER_ENTRY: [&str; 12] = [
    "floor_seconds",
    "exchange",
    "subject.inject",
    "load.model",
    "load.accounts",
    "load.connections",
    "load.cancel_after",
    "load.instrument",
    "load.side",
    "load.price",
    "load.amount",
    "load.first_token",
];

impl Kind {
    /// As in a scenario file.
    pub fn name(self) -> &'static str {
        match self {
            Kind::OrderEntry => "order-entry",
            Kind::Ipc => "ipc",
            Kind::CoreToCore => "core-to-core",
        }
    }

    /// The series whose service times answer what was sent, the one that is judged by first; none where
    /// nothing is sent.
    pub fn replies(self) -> &'static [&'static str] {
        match self {
            Kind::OrderEntry => &["order", "cancel"],
            Kind::Ipc => &[relay::judge::MESSAGE],
            Kind::CoreToCore => &[],
        }
    }

    /// Threads of a subject, each with a core of its own; `None`: one on every core.
    pub(crate) fn threads(self) -> Option<usize> {
        match self {
            Kind::OrderEntry => Some(1),
            Kind::Ipc => Some(2),
            Kind::CoreToCore => None,
        }
    }

    /// Keys that scenarios of other kinds have.
    fn absent(self) -> Vec<&'static str> {
        match self {
            Kind::OrderEntry => vec!["ipc", "subject.processes"],
            Kind::Ipc => OF_ORDER_ENTRY.to_vec(),
            Kind::CoreToCore => {
                let own = [
                    "warm_up_seconds",
                    "load",
                    "ipc",
                    "subject.backend",
                    "subject.command",
                    "subject.processes",
                    "subject.scheduling",
                ];
                OF_ORDER_ENTRY.into_iter().chain(own).collect()
            }
        }
    }

    /// The first key in a scenario's text that its kind doesn't have.
    pub(crate) fn foreign_key(self, scenario: &mut Table) -> Option<&'static str> {
        self.absent().into_iter().find(|path| remove(scenario, path))
    }

    /// Takes away what its kind doesn't have.
    pub(crate) fn strip(self, scenario: &mut Table) {
        for path in self.absent() {
            remove(scenario, path);
        }
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
