//! What interrupts a core that wants to be left alone. So far the hiccup row of a run: what the
//! measured cores do to a thread that wants nothing but to look at the clock.

#![deny(unsafe_code)]

mod attribute;
mod catalog;
pub mod cause;
pub mod hiccup;
pub mod meter;
#[allow(unsafe_code)]
mod namespace;
#[allow(unsafe_code)]
mod perf;
pub mod periods;
pub mod profile;
mod records;
mod spans;
mod tally;
pub mod trace;
mod tracefs;
pub mod watch;

pub use profile::{Plan, Profile, ProfileError, profile};
pub use watch::{Disturbance, Watch, WatchError, Watched};
