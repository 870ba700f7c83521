//! One order flow for every engine: how fast it is done, how long each operation takes, on a schedule or without, for
//! as long as asked.
//!
//! ```text
//!   row       which book, which checks, who serves: engine, nobody (the floor), or who only burns time (the ideal)
//!   plan      what to do
//!   run       a measuring thread, pinned; the caller's thread writes the log
//!     └─ passes     back to back: passes timed as a whole, and one in which each operation is
//!     └─ open_loop  on a schedule that is never re-based
//!     └─ logged     the same through a journal, to the answer that its mode allows
//!     └─ soak       for ever, a reference in between; `watch` looks at each second, `state` is left behind
//!   bench     what each of these four is given, and what it comes to; series: the names it records under
//!   timed     the loops that are timed
//!   outbound  where reports go; tally: what became of operations
//! ```

#![forbid(unsafe_code)]

mod bench;
mod error;
mod logged;
mod open_loop;
mod outbound;
mod passes;
pub mod plan;
pub mod row;
mod run;
mod series;
mod server;
mod soak;
mod state;
mod tally;
mod timed;
mod timing;
mod watch;

pub use error::WorkloadError;
pub use run::run;
pub use series::{OPERATION, REFERENCE};
pub use state::StateError as SoakError;
