//! Sends messages from one thread to another by a schedule that is never re-based, and measures
//! each.
//!
//! ```text
//!   producer (pinned)                                    consumer (pinned)
//!     spin until due ─ STAMP ─ send ──> structure ──>   receive ─ STAMP ─ copy out ─ samples[i]
//!
//!   structure  the measured structures: `ours` of crate ipc, and `peers`
//!   run        the two threads, placed and started
//!   load       the work of each thread, over the two `ends` of a structure
//!   report     the result that a client prints
//!   samples    a client's result file: two numbers per message
//!   judge      samples and disturbances -> latencies, all and undisturbed
//! ```
//!
//! The client has no histograms and does not know its disturbances: it writes raw samples. The
//! process that started it watches its threads from outside, and judges every structure by the same
//! code.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

pub mod judge;
mod load;
pub mod report;
mod run;
pub mod samples;
pub mod structure;

pub use run::{IpcBenchError, Link};
pub use structure::run;
