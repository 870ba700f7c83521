//! What a series is of.

use serde::{Deserialize, Serialize};

/// What the values of a series mean.
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
    /// What the machine does to a thread that wants nothing but the clock.
    Noise,
    /// Messages or bytes a second.
    Throughput,
    /// How far behind its schedule the pacer sent.
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

    /// The kind of that name.
    pub fn from_name(name: &str) -> Option<Kind> {
        [Kind::Response, Kind::Service, Kind::Stage, Kind::Noise, Kind::Throughput, Kind::Lateness]
            .into_iter()
            .find(|kind| kind.name() == name)
    }
}
