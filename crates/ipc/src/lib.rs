//! Messages between threads and processes, in shared memory of a fixed size.
//!
//! [`region`] is that memory: a file on a path or a memfd, whose blocks are allocated before it is
//! mapped, with a header that describes it. [`ring`] is a bounded ring of messages, [`queue`] an
//! append-only log in such files, [`distributor`] holds the newest value of each key. [`wait`] has
//! the ways in which a receiver waits.
//!
//! See docs/decisions/005-ipc-structures.md.

#![deny(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

mod atomics;
mod bell;
#[allow(unsafe_code)]
pub mod claim;
#[allow(unsafe_code)]
mod copy;
pub mod distributor;
mod error;
mod header;
#[allow(unsafe_code)]
mod mapping;
mod new_file;
pub mod queue;
#[allow(unsafe_code)]
pub mod region;
pub mod ring;
pub mod wait;

pub use error::IpcError;
