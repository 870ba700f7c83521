//! Messages between threads and processes, in shared memory of a fixed size.
//!
//! [`region`] is that memory: a file on a path or a memfd, whose blocks are allocated before it is
//! mapped, with a header that says what it holds. [`queue`] is an append-only log in such files.

pub mod claim;
mod error;
mod mapping;
pub mod queue;
mod queue_ahead;
mod queue_block;
mod queue_directory;
mod queue_error;
mod queue_reader;
mod queue_record;
mod queue_writer;
pub mod region;

pub use error::IpcError;
