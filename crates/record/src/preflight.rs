//! A scenario before its first run.

use serde::Serialize;
use serde_json::Value;

/// A scenario that is ready to run.
#[derive(Clone, Debug, Serialize)]
pub struct Preflight {
    /// The scenario with defaults, settings and chosen cores.
    pub scenario: Value,
    /// The subjects, floors included, with the cores of each and of its exchange.
    pub subjects: Vec<(String, Vec<usize>)>,
    /// Duration of all runs by plan; processes that start and end come on top.
    pub seconds: f64,
    /// Free space that the record needs, roughly.
    pub bytes: u64,
    /// What makes the figures poor.
    pub warnings: Vec<String>,
    /// What makes the runs fail or void: with any of these, nothing is started.
    pub refusals: Vec<String>,
}
