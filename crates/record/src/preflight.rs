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
    /// Planned duration of all runs, without starting and ending processes.
    pub seconds: f64,
    /// Free space that the record needs, approximately.
    pub bytes: u64,
    /// Reasons why the figures will be poor.
    pub warnings: Vec<String>,
    /// Reasons why the runs will fail or be void. With any of these, no run is started.
    pub refusals: Vec<String>,
}
