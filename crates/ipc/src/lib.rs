//! Messages between threads and processes, in shared memory of a fixed size.
//!
//! [`region`] is that memory: a file on a path or a memfd, whose blocks are allocated before it is
//! mapped, with a header that says what it holds.

pub mod claim;
mod error;
mod mapping;
pub mod region;

pub use error::IpcError;
