//! One order flow through a matching engine: throughput, and the time of each operation, back to
//! back or on a schedule, for a short time or days.
//!
//! ```text
//!   row       the engine behind a row of a plan
//!   run       a measuring thread, pinned; the caller's thread writes the log
//!   task      the work of the measuring thread:
//!     passes     back to back: passes timed as a whole, and one that times each operation
//!     open_loop  on a schedule that is never re-based
//!     logged     the same through a journal, whose mode decides when an operation is answered
//!     soak       for a long time, with a reference; `watch` judges, `state` saves and resumes
//!   bench     inputs and result of these four; `series`: names in the log
//!   timed     the loops that are timed
//!   server    an engine, the empty dispatch or the ideal; `outbound` and `tally` take reports
//! ```

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

mod bench;
mod error;
pub mod row;
mod run;
mod series;
mod server;
mod task;
mod timed;

pub use error::EngineBenchError;
pub use run::run;
pub use series::REFERENCE;
pub use task::soak::state::StateError as SoakError;
