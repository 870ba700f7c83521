//! From a scenario to placed and pinned processes to a run record with a verdict.
//!
//! ```text
//!   placement    "auto" cores                      -> which thread runs where
//!   conduct      what to carry out, and with whom
//!   preflight    before the first run              -> cores, duration, warnings, faults
//!   run          site -> stage -> one run -> one entrant -> record
//!     kind         how the processes of each kind run, and its rules: a file or folder each
//!     launch       starts and ends one exchange and one client
//!     evidence     results, latencies and the occupancy of the cores that a run leaves
//!   disturbance  evidence                          -> the disturbed share of each series
//!   assemble     evidence                          -> RunRecord; `validity`, `advice`
//!   experiment   treatments, interleaved           -> pairs of records
//!   sweep        one scenario at many rates        -> SweepRecord, a RunRecord per rate
//!   progress     events for a person who watches
//! ```
//!
//! Each module sees only modules after it in this list: experiment, sweep, run, preflight,
//! assemble, disturbance, kind, launch, evidence, progress, conduct, placement.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

mod assemble;
pub mod conduct;
mod disturbance;
mod evidence;
pub mod experiment;
mod kind;
mod launch;
mod placement;
mod preflight;
pub mod progress;
mod run;
pub mod sweep;

pub use conduct::{Conduct, ConductError};
pub use kind::ticks::tick_plan;
pub use launch::process::Interrupt;
pub use progress::{Listener, Progress, RunPart, Say};
