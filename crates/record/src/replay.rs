//! The output of `tickpath replay --json`: the state after a journal of inputs.
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
    /// Inputs in the log, including those before the snapshot: the next one gets this number.
    pub next_sequence: u64,
    /// Inputs in the snapshot from which the replay began; `null` if it began with the first input.
    pub from_snapshot: Option<u64>,
    /// The engine's instruments.
    pub instruments: u16,
    /// Orders and stops that are open at the end.
    pub open_orders: u32,
    /// The inputs that were replayed, by kind.
    pub inputs: BTreeMap<String, u64>,
    /// The resulting events, by kind.
    pub events: BTreeMap<String, u64>,
    /// Incomplete data after the last record; `null` without.
    pub cut: Option<Cut>,
    /// Reasons why later snapshots were not used.
    pub snapshots_refused: Vec<String>,
    /// The file of the snapshot written at the end, if any.
    pub snapshot: Option<String>,
}

/// The rest of an interrupted write at the end of a log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Cut {
    /// The file.
    pub segment: String,
    /// The first input that is not in the log.
    pub sequence: u64,
    /// Length of the incomplete record.
    pub bytes: u64,
}
