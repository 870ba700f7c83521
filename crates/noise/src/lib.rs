//! Disturbances of a core that should be left alone, and their causes.
//!
//! ```text
//!   meter      a spinning thread per core               -> gaps between looks at the clock
//!   trace      tracepoints of the same cores (perf)     -> records in memory
//!     catalog    their fields and meanings (tracefs)
//!     spans      records                              -> spans of time in which something ran
//!   attribute  gaps, spans                              -> the causes of each gap
//!   periods    times of one cause                       -> its period
//!   tally      everything                               -> the table
//!   profile    joins them; `run` makes a record of it
//!   hiccup     gaps                                     -> lateness of a schedule
//!   beside     hiccup with causes, and the kernel's events while a run measures
//!   occupancy  which threads ran on the measured cores  -> windows of disturbance
//!   watch      when given threads were switched out or faulted; needs no privilege
//! ```

#![deny(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

mod attribute;
pub mod beside;
pub mod cause;
pub mod events;
pub mod hiccup;
#[cfg(test)]
mod injected_tests;
pub mod meter;
pub mod occupancy;
pub mod periods;
pub mod profile;
pub mod run;
mod tally;
pub mod trace;
pub mod watch;

pub use profile::{Plan, Profile, ProfileError, profile};
pub use trace::catalog::is_cause;
pub use watch::{Disturbance, Watch, WatchError, WatchResult};
