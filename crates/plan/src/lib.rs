//! The contents of a scenario file, and the plan that each process of a run gets on stdin.
//!
//! ```text
//!   tables     the tables of a scenario file, with their ranges
//!   process    the plan of each process: JSON on its stdin
//!   scenario   all tables of a scenario together
//!   measure    the kinds of measurement, one file each: keys, checks, series, threads, words
//!   file       scenario files: TOML, --set, defaults
//!   backend, faults, trust   values that tables and plans share
//!   range      the error of a key that is out of range
//!   segments   the names of the parts of a stamped round trip
//!   intensity  the series of orders by the messages due shortly before
//! ```
//!
//! Pure data: a process and the one that starts it read the same types here.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

pub mod backend;
pub mod faults;
pub mod file;
pub mod intensity;
pub mod measure;
pub mod process;
pub mod range;
pub mod scenario;
pub mod segments;
pub mod tables;
pub mod trust;

pub use scenario::{Measure, Scenario, ScenarioError};
pub use tables::subject::Subject;
