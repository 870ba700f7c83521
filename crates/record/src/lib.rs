//! The results of a measurement on disk: the schemas of run.json, machine.json, compare.json and
//! sweep.json, latency logs, run directories. Also merging, comparison, gates and history of
//! records.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

pub mod audited;
pub mod between;
pub mod bulk;
pub mod codec;
pub mod comparison;
pub mod cost;
pub mod delivery;
pub mod directory;
mod disturbed;
pub mod doctor;
#[cfg(test)]
mod doctor_schema;
pub mod engine;
pub mod fan_out;
pub mod history;
pub mod hlog;
mod identity;
pub mod instance;
pub mod lifecycle;
mod load;
pub mod machine;
pub mod measure;
pub mod merge;
pub mod nearest;
pub mod noise;
pub mod objective;
pub mod over_floor;
pub mod pairing;
mod preflight;
pub mod processor;
pub mod progress;
pub mod race;
pub mod regimes;
pub mod replay;
mod result;
mod run;
pub mod runtime;
#[cfg(test)]
mod schema;
mod series;
pub mod side_by_side;
pub mod size_fit;
mod subject;
pub mod sweep;
pub mod text;
pub mod tick;
pub mod timeline;
pub mod tune;
mod unit;
mod upgrade;

pub use clock::kind::Kind;
pub use disturbed::{DisturbedShare, Disturber};
pub use load::*;
pub use preflight::Preflight;
pub use result::{ClientResult, ExchangeResult};
pub use run::*;
pub use series::{InRegime, Series};
pub use stats::Percentiles;
pub use stats::bracket::Moves;
pub use subject::Subject;
pub use unit::Unit;
