//! Facts of this machine, its changes during a run, and placement of threads.
//!
//! Reads everything from `/proc` and `/sys` under a [`Root`] that tests replace. A fact that can't
//! be read is `None`; nothing here panics on a missing or odd file.

#![deny(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

pub mod cache_line;
pub mod core_lock;
pub mod error;
#[allow(unsafe_code)]
pub mod ethtool;
pub mod fingerprint;
mod generic_netlink;
#[allow(unsafe_code)]
pub mod huge_pages;
pub mod instance;
pub mod interrupts;
pub mod kernel_list;
mod maps;
pub mod measuring;
pub mod memory;
pub mod netdev;
#[allow(unsafe_code)]
pub mod network;
pub mod packets;
#[allow(unsafe_code)]
pub mod page_out;
pub mod permissions;
pub mod placement;
pub mod probe;
pub mod processes;
pub mod processor;
#[allow(unsafe_code)]
pub mod ptp;
pub mod root;
pub mod scheduling;
pub mod star;
pub mod storage;
#[allow(unsafe_code)]
pub mod thread;
pub mod topology;
pub mod utc;

pub use core_lock::CoreLocks;
pub use error::HostError;
pub use fingerprint::capture;
pub use permissions::Permissions;
pub use placement::{Cores, Placement};
pub use root::Root;
pub use scheduling::Scheduling;
pub use topology::Topology;
