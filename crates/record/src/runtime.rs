//! Activity of a client's virtual machine during a run; clients without one have none.

use serde::{Deserialize, Serialize};

/// The measured part of one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Runtime {
    /// Its name and version.
    pub name: String,
    /// The client's I/O interface: `epoll`, `io_uring`, `nio`.
    pub transport: String,
    /// Bytes that the measuring thread allocated.
    pub allocated_bytes: u64,
    /// Garbage collections of the process.
    pub collections: u64,
    /// Time of these collections, ms.
    pub collecting_ms: u64,
    /// Time of the compilers, ms.
    pub compiling_ms: u64,
    /// How often the measuring thread waited because the ring to the histogram thread was full.
    pub recorder_waits: u64,
}
