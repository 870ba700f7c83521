//! The output of `tickpath audit --json`: a summary of an audit log.
//!
//! Readers ignore keys they don't know and take absent ones at their default.

use crate::Percentiles;
use clock::utc::Utc;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of [`AuditSummary`].
pub const SCHEMA: u32 = 1;

/// An audit log, read to its end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct AuditSummary {
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
    /// The counter behind the trader's stamps.
    pub clock: String,
    /// The exchange's stamps are on the same clock.
    pub same_clock: bool,
    /// The end of the log.
    pub end: LogEnd,
    /// Records by kind, including those that the logger itself wrote.
    pub records: BTreeMap<String, u64>,
    /// Records lost because the ring to the logger was full, as far as the log tells.
    pub lost: u64,
    /// The times of the first and of the last record.
    pub span: Option<Span>,
    /// Decisions that risk rejected, by reason.
    pub refused: BTreeMap<String, u64>,
    /// From the read of a tick to the decision that it led to, passed or rejected by risk, ns.
    pub decision: Percentiles,
    /// From the read of a tick to the write of the order that it led to, ns.
    pub tick_to_trade: Percentiles,
    /// From an order's write to the read of the first answer to it, ns.
    pub order_to_ack: Percentiles,
}

/// The end of a log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "End"))]
#[serde(rename_all = "snake_case", tag = "how")]
pub enum LogEnd {
    /// With the logger's end record.
    Finished,
    /// Without an end record: the logger was killed, or the disk was full.
    #[default]
    Unfinished,
    /// With an incomplete record.
    Torn {
        /// Length of the incomplete record.
        bytes: u64,
    },
}

/// First and last time of a log, and the errors of these times.
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
    /// Largest error of a stamp converted to the wall clock, ns, as far as the log's readings tell.
    pub wall_bound_ns: u64,
    /// How often the wall clock was set in between.
    pub wall_steps: u64,
    /// Largest distance of the wall clock from UTC.
    pub utc: Utc,
}
