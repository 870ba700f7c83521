//! What interrupts a core that wants to be left alone. So far the hiccup row of a run: what the
//! measured cores do to a thread that wants nothing but to look at the clock.

#![deny(unsafe_code)]

pub mod hiccup;
pub mod meter;
#[allow(unsafe_code)]
mod perf;
mod records;
pub mod watch;

pub use watch::{Disturbance, Watch, WatchError, Watched};
