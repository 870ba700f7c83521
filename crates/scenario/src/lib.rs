//! A scenario file to processes, placed and pinned, to a run record with a verdict.
//!
//! ```text
//!   kind        what is measured, and which keys that has
//!   file        TOML, --set, defaults            -> Scenario; `check`: what it must be like
//!   placement   "auto" cores                     -> which thread runs where
//!   conduct     who is measured, with what
//!   stage       runs, floor, hiccup, interleaved -> .hlog files, what each process said
//!     └─ launch    one exchange, one client: started, listened to, ended
//!     └─ relaying  one client that passes messages between threads: watched, judged; `own_directory`: where
//!     └─ core_to_core  no client: each two cores
//!     └─ matching  one client that sends orders through an engine
//!     └─ ticking   one exchange with a feed, one trader that follows it; `taken`: what took their cores
//!     └─ progress  what happens, for whoever looks on
//!   run         what one run has left
//!   assemble    .hlog files, what was said       -> RunRecord
//!   tick_record samples of ticks             -> what their way was made of, and the worst
//!   validity    rules                            -> valid, or why not
//!   advice      what a reader should know        -> warnings
//!   experiment  two treatments, interleaved      -> pairs of records
//!   sweep       one scenario at many rates       -> SweepRecord, a RunRecord a rate
//! ```

#![forbid(unsafe_code)]

mod advice;
mod assemble;
mod check;
pub mod conduct;
mod core_to_core;
pub mod experiment;
pub mod file;
mod kind;
mod launch;
mod matching;
mod own_directory;
mod placement;
mod process;
pub mod progress;
mod relaying;
mod run;
mod set;
mod stage;
mod subject;
pub mod sweep;
mod taken;
pub mod tick;
mod tick_record;
mod tick_rules;
mod ticking;
mod validity;

pub use conduct::{Conduct, ConductError};
pub use file::{Scenario, ScenarioError};
pub use progress::{Progress, Say};
