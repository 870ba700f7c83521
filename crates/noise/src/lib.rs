//! What interrupts a core that wants to be left alone, and who did it.
//!
//! ```text
//!   meter      a spinning thread a core                 -> gaps between looks at the clock
//!   trace      tracepoints of the same cores (perf)     -> records in memory
//!   catalog      which they are, what they say (tracefs)
//!   spans      records                                  -> from when to when what had the core
//!   attribute  gaps, spans                              -> whose each part of a gap is
//!   periods    when one cause struck                    -> at what distance
//!   tally      all of it                                -> the table
//!   profile    joins them; run makes a record of it
//!   hiccup     gaps                                     -> how late a schedule would have been met
//!   beside     hiccup attributed, and the events while a run measures
//!   watch      when given threads were switched out, or faulted; needs no privilege
//! ```

#![deny(unsafe_code)]

mod attribute;
pub mod beside;
mod catalog;
pub mod cause;
pub mod hiccup;
#[cfg(test)]
mod injected_tests;
pub mod meter;
#[allow(unsafe_code)]
mod namespace;
#[allow(unsafe_code)]
mod perf;
pub mod periods;
pub mod profile;
mod records;
pub mod run;
mod spans;
mod tally;
pub mod trace;
mod tracefs;
pub mod watch;

pub use catalog::is_cause;
pub use profile::{Plan, Profile, ProfileError, profile};
pub use watch::{Disturbance, Watch, WatchError, Watched};
