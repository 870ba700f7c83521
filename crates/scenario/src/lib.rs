//! A scenario file to processes, placed and pinned, to a run record with a verdict.
//!
//! ```text
//!   kind        what is measured, and which keys that has
//!   file        TOML, --set, defaults            -> Scenario
//!   placement   "auto" cores                     -> which thread runs where
//!   conduct     who is measured, with what
//!   stage       runs, floor, hiccup, interleaved -> .hlog files, what each process said
//!     └─ launch    one exchange, one client: started, listened to, ended
//!     └─ relaying  one client that passes messages between threads: watched, judged
//!     └─ core_to_core  no client: each two cores
//!     └─ progress  what happens, for whoever looks on
//!   run         what one run has left
//!   assemble    .hlog files, what was said       -> RunRecord
//!   validity    rules                            -> valid, or why not
//!   advice      what a reader should know        -> warnings
//!   experiment  two treatments, interleaved      -> pairs of records
//!   sweep       one scenario at many rates       -> SweepRecord, a RunRecord a rate
//! ```

#![forbid(unsafe_code)]

mod advice;
mod assemble;
pub mod conduct;
mod core_to_core;
pub mod experiment;
pub mod file;
mod kind;
mod launch;
mod placement;
mod process;
pub mod progress;
mod relaying;
mod run;
mod set;
mod stage;
mod subject;
pub mod sweep;
mod validity;

pub use conduct::{Conduct, ConductError};
pub use file::{Scenario, ScenarioError};
pub use progress::{Progress, Say};
