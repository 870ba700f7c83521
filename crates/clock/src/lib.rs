//! Clocks, wall time, arrival schedules and histograms, for use by measuring threads.
//!
//! Only this crate reads a clock (invariant 3 of ARCHITECTURE.md).

#![deny(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

pub mod calendar;
pub mod clock_bound;
pub mod hawkes;
pub mod kind;
pub mod phc;
pub mod random;
#[allow(unsafe_code, clippy::disallowed_methods)]
mod reading;
pub mod recorder;
pub mod schedule;
pub mod time_base;
pub mod utc;
pub mod wall;

pub use reading::*;
