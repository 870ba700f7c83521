//! This machine: what it is, whether it stays the same through a run, and where to put threads.
//!
//! Everything is read from `/proc` and `/sys` under a [`Root`] that tests replace. What can't be
//! read is `None`; nothing here panics on a missing or odd file.

pub mod cache_line;
pub mod error;
pub mod fingerprint;
pub mod interrupts;
pub mod memory;
pub mod network;
pub mod permissions;
pub mod placement;
pub mod probe;
pub mod processes;
pub mod root;
pub mod scheduling;
pub mod storage;
pub mod thread;
pub mod topology;
pub mod utc;

pub use error::HostError;
pub use fingerprint::capture;
pub use permissions::Permissions;
pub use placement::{Cores, Placement};
pub use root::Root;
pub use scheduling::Scheduling;
pub use topology::Topology;
