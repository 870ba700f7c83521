//! Settings of the operating system that affect the tail of a latency: their present and
//! recommended values, and how to apply and revert them.
//!
//! - [`settings`] is the catalogue; [`doctor`] is a view of it.
//! - [`survey`] inspects a machine: `inspect` and `plan`.
//! - [`apply`](mod@apply) changes places, [`journal`] records the old values,
//!   [`revert`](mod@revert) restores them. [`system`] does all reading and writing.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

pub mod apply;
pub mod boot;
mod checks;
pub mod doctor;
pub mod draw;
mod drop_ins;
pub mod goal;
pub mod hold;
pub mod inspection;
pub mod journal;
pub mod persist;
pub mod place;
pub mod revert;
pub mod setting;
pub mod settings;
pub mod snapshot;
pub mod status;
pub mod survey;
pub mod system;
pub mod time_sources;
mod tuned;
pub mod verify;
pub mod watch;
pub mod wish;

pub use doctor::examine;
pub use inspection::Inspection;
pub use setting::Setting;
