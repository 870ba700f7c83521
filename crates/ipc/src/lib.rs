//! Messages between threads and processes, in shared memory of a fixed size.
//!
//! [`region`] is that memory: a file on a path or a memfd, whose blocks are allocated before it is
//! mapped, with a header that says what it holds. [`ring`] is a bounded ring of
//! messages; [`distributor`] has the newest value of each key. [`wait`] is how a
//! receiver waits.

mod atomics;
mod bell;
pub mod claim;
pub mod distributor;
mod distributor_core;
mod error;
mod header;
mod mapping;
mod new_file;
pub mod region;
pub mod ring;
mod ring_core;
mod ring_memory;
mod ring_receiver;
mod ring_sender;
pub mod wait;

pub use error::IpcError;
