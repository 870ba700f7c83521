//! What `tickpath replay --json` prints: what a journal of inputs comes to.
//!
//! Readers ignore keys they don't know and take absent ones at their default.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of [`Replay`].
pub const SCHEMA: u32 = 1;

/// A journal, replayed to its end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Replay {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The program that replayed.
    pub tool: String,
    /// The journal's directory.
    pub journal: String,
    /// The engine's state hash at the end, 16 hexadecimal digits.
    pub state_hash: String,
    /// How many inputs the log has, all those before the snapshot among them: the next one gets
    /// this number.
    pub next_sequence: u64,
    /// How many of them are in the snapshot that the replay began with; `null`: it began with the
    /// first input.
    pub from_snapshot: Option<u64>,
    /// The engine's instruments.
    pub instruments: u16,
    /// Orders and stops that are open at the end.
    pub open_orders: u32,
    /// The inputs that were replayed, by kind.
    pub inputs: BTreeMap<String, u64>,
    /// The events that they led to, by kind.
    pub events: BTreeMap<String, u64>,
    /// What stood behind the last whole record; `null`: nothing.
    pub cut: Option<Cut>,
    /// Why later snapshots were not used.
    pub snapshots_refused: Vec<String>,
    /// The file of the snapshot that was written at the end, if one was.
    pub snapshot: Option<String>,
}

/// What a write that was cut off left at the end of a log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Cut {
    /// The file.
    pub segment: String,
    /// The first input that is not in the log.
    pub sequence: u64,
    /// Bytes that are no whole record.
    pub bytes: u64,
}
