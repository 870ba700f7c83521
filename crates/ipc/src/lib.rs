//! Messages between threads and processes, in shared memory of a fixed size.
//!
//! [`region`] is that memory: a file on a path or a memfd, whose blocks are allocated before it is
//! mapped, with a header that says what it holds. [`ring`] is a bounded ring of messages, [`queue`] an
//! append-only log in such files, [`distributor`] has the newest value of each key. [`wait`] is how a receiver
//! waits.

mod atomics;
mod bell;
pub mod claim;
mod copy;
pub mod distributor;
mod distributor_core;
mod error;
mod header;
mod mapping;
mod new_file;
pub mod queue;
mod queue_ahead;
mod queue_bell;
mod queue_block;
mod queue_directory;
mod queue_error;
mod queue_publish;
mod queue_reader;
mod queue_record;
mod queue_writer;
pub mod region;
pub mod ring;
mod ring_core;
mod ring_memory;
mod ring_receiver;
mod ring_sender;
pub mod wait;

pub use error::IpcError;
