//! What a scenario file says, and what each process of a run gets on stdin.
//!
//! ```text
//!   scenario   a scenario file: TOML, --set, defaults, checks
//!   measure    the kinds of measurement, one file each: their keys, limits, series, and the plan of
//!              their clients
//!   load, exchange, backend, faults, trust   keys that several kinds share
//! ```
//!
//! Pure data: whoever starts a process and the process itself read the same types here.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

pub mod backend;
pub mod exchange;
pub mod faults;
pub mod load;
pub mod measure;
pub mod scenario;
pub mod trust;

pub use scenario::{Scenario, ScenarioError, Subject};
