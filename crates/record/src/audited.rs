//! What `tickpath audit --json` prints: what is in an audit log.
//!
//! Readers ignore keys they don't know and take absent ones at their default.

use crate::Percentiles;
use clock::utc::Utc;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of [`Audited`].
pub const SCHEMA: u32 = 1;

/// An audit log, read to its end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Audited {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The version of tickpath that read it.
    pub tool: String,
    /// The file.
    pub file: String,
    /// The version of tickpath that wrote it.
    pub written_by: String,
    /// The scenario's name.
    pub scenario: String,
    /// The subject's name.
    pub subject: String,
    /// Which counter the trader's stamps are of.
    pub clock: String,
    /// The exchange's stamps are on the same clock.
    pub same_clock: bool,
    /// How the log ends.
    pub end: End,
    /// Records by kind, those that the logger itself wrote among them.
    pub records: BTreeMap<String, u64>,
    /// Records that found no room on their way to the logger, as far as the log tells.
    pub lost: u64,
    /// The times of the first and of the last record.
    pub span: Option<Span>,
    /// Decisions that risk refused, by reason.
    pub refused: BTreeMap<String, u64>,
    /// From the read of a tick to the decision that it led to, passed or refused by risk, ns.
    pub decision: Percentiles,
    /// From the read of a tick to the write of the order that it led to, ns.
    pub tick_to_trade: Percentiles,
    /// From an order's write to the read of the first answer to it, ns.
    pub order_to_ack: Percentiles,
}

/// How a log ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", tag = "how")]
pub enum End {
    /// By the logger's own word.
    Finished,
    /// Without it: the logger was killed, or the disk was full.
    #[default]
    Unfinished,
    /// In a record that was not written whole.
    Torn {
        /// Bytes that are no whole record.
        bytes: u64,
    },
}

/// From when to when, and how far these times may be off.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Span {
    /// On the log's clock, ns.
    pub begin_ns: u64,
    /// On the log's clock, ns.
    pub end_ns: u64,
    /// By the wall clock, nanoseconds since 1970.
    pub begin_wall_ns: u64,
    /// By the wall clock, nanoseconds since 1970.
    pub end_wall_ns: u64,
    /// By how much a stamp that is laid on the wall clock may be off it, ns, as far as the log's
    /// readings tell.
    pub wall_bound_ns: u64,
    /// How often the wall clock was set meanwhile.
    pub wall_steps: u64,
    /// How far the wall clock may have been off UTC.
    pub utc: Utc,
}
