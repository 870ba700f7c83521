//! The kinds of series.

use serde::{Deserialize, Serialize};

/// Meaning of a series' values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// From the intended send to the reply's first byte.
    Response,
    /// From the real send to the reply's first byte.
    Service,
    /// One stage of a path inside a process.
    Stage,
    /// Time that the machine takes from a thread that only reads the clock.
    Noise,
    /// Messages or bytes a second.
    Throughput,
    /// Delay of the pacer's send behind its schedule.
    Lateness,
}

impl Kind {
    /// The kind's name in a record and in an .hlog tag.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Response => "response",
            Kind::Service => "service",
            Kind::Stage => "stage",
            Kind::Noise => "noise",
            Kind::Throughput => "throughput",
            Kind::Lateness => "lateness",
        }
    }

    /// The kind with this name.
    pub fn from_name(name: &str) -> Option<Kind> {
        [Kind::Response, Kind::Service, Kind::Stage, Kind::Noise, Kind::Throughput, Kind::Lateness]
            .into_iter()
            .find(|kind| kind.name() == name)
    }
}
