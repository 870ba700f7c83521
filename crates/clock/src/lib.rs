//! Clocks, wall time, arrival schedules and histograms: what a measuring thread touches.
//!
//! Only this crate reads a clock (invariant 3 of ARCHITECTURE.md).

pub mod calendar;
pub mod crc32c;
pub mod kind;
pub mod random;
pub mod range;
mod reading;
pub mod recorder;
pub mod schedule;
pub mod time_base;
pub mod utc;
pub mod wall;

pub use reading::*;
