//! From a scenario to placed and pinned processes to a run record with a verdict.
//!
//! ```text
//!   placement    "auto" cores                      -> which thread runs where
//!   conduct      what to carry out, and with whom
//!   preflight    before the first run               -> cores, duration, warnings, faults
//!   run          site -> stage -> one run -> one entrant -> record
//!     launch       starts and ends one exchange and one client
//!     order        orders to an exchange
//!     tick         an exchange with a feed, and a trader that follows it
//!     ipc          messages between threads; cache lines between cores
//!     network      requests to an echo, also over crossed sockets
//!     engine       orders through an engine, also with a journal
//!   disturbance  account of the cores, idle looks  -> the disturbed share of each series
//!   assemble     logs and results                  -> RunRecord; `validity`, `advice`
//!   experiment   two treatments, interleaved       -> pairs of records
//!   sweep        one scenario at many rates        -> SweepRecord, a RunRecord per rate
//!   progress     what happens meanwhile, for a person who watches
//! ```

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

mod assemble;
pub mod conduct;
mod disturbance;
mod endpoint;
mod engine;
pub mod experiment;
mod ipc;
mod launch;
mod network;
mod order;
mod placement;
mod preflight;
pub mod progress;
mod run;
pub mod sweep;
pub mod tick;

pub use conduct::{Conduct, ConductError};
pub use progress::{Progress, Say};
