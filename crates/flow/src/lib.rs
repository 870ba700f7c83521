//! Order flows: what the house of an exchange sends into its own books, so that there are ticks.
//! Made up, or recorded.
//!
//! ```text
//!   w1          workload W1: made up, deterministic, the same for every engine
//!   databento   a recorded day, order by order
//!   settings    what a flow is made of
//!   writer      takes inputs, and keeps those that change the book
//!   recorded    from what was recorded to what an exchange would have been sent
//!   simulation  an engine of the flow's own: what would change no book is left out
//!   script      either of them with the due times of its inputs, all made before the start
//! ```
//!
//! A [`Script`] is made once, reads its file then, and hands out what is due without allocating.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

pub mod databento;
mod recorded;
mod script;
mod settings;
mod simulation;
pub mod w1;
mod writer;

pub use databento::DatabentoError;
pub use script::{ORDER_IDS, Script};
pub use settings::{FlowError, INPUTS_MAX, Pace, SPEED_MAX, Settings, Source};
pub use writer::SkippedInputs;
