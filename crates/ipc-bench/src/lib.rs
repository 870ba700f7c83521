//! Messages from one thread to another under a schedule that is never re-based, and how long each
//! took.
//!
//! ```text
//!   producer (pinned)                                    consumer (pinned)
//!     spin until due ─ STAMP ─ send ──> structure ──>   receive ─ STAMP ─ copy out ─ samples[i]
//!
//!   structure  who carries the messages; `ours` of crate ipc, and `peers`
//!   run        the two threads, placed and started
//!   load       what each of them does, over the two `ends` of a structure
//!   report     the result that a client prints
//!   samples    the file that a client leaves: two numbers a message
//!   judge      samples and disturbances -> latencies, all and undisturbed
//! ```
//!
//! The client knows nothing of histograms and of who disturbed it: it leaves raw samples. The
//! process that started it watches its threads from outside, and judges every structure by the
//! same code.

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
