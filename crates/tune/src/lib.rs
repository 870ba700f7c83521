//! Settings of the operating system that shape the tail of a latency: what they are now, what a host
//! that is to be fast wants, and why. So far they are only looked at; `doctor` is the view of them, with
//! what can't be set beside it, that says whether a machine is fit to measure on.
//!
//! Nothing here changes anything.

#![forbid(unsafe_code)]

mod checks_load;
mod checks_machine;
mod checks_permission;
pub mod doctor;
pub mod inspection;
mod readings;
mod rules;
pub mod setting;
pub mod settings;
pub mod watch;

pub use doctor::examine;
pub use inspection::Inspection;
pub use setting::Setting;
pub use settings::SETTINGS;
