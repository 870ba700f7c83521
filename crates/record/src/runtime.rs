//! What the virtual machine below a client did meanwhile; clients without one have none.

use serde::{Deserialize, Serialize};

/// The measured part of one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Runtime {
    /// Its name and version.
    pub name: String,
    /// How the client reached the kernel: `epoll`, `io_uring`, `nio`.
    pub transport: String,
    /// Bytes that the measuring thread allocated.
    pub allocated_bytes: u64,
    /// Garbage collections of the process.
    pub collections: u64,
    /// Time that they took, ms.
    pub collecting_ms: u64,
    /// Time that compilers worked, ms.
    pub compiling_ms: u64,
    /// How often the measuring thread waited because the ring to the thread with the histograms was
    /// full.
    pub recorder_waits: u64,
}
