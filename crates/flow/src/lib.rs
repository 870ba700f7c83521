//! Order flows, made up or recorded. They give an exchange's books the activity that makes ticks.
//!
//! ```text
//!   w1          workload W1: made up, deterministic, the same for every engine
//!   databento   a recorded day, order by order
//!   mbo_book    its live orders, by the rules of the format
//!   settings    source, pace and bounds of a flow
//!   writer      takes inputs and keeps those that change the book
//!   recorded    turns a recorded day into the commands that an exchange would have received
//!   simulation  the flow's own engine, which finds the commands that change no book
//!   script      either flow with the due times of its inputs, all made before the start
//! ```
//!
//! A [`Script`] reads its file once, when it is made, and returns due inputs without allocating.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

pub mod databento;
mod mbo_book;
mod recorded;
mod script;
mod settings;
mod simulation;
pub mod w1;
mod writer;

pub use databento::DatabentoError;
pub use script::{ORDER_IDS, Script, times_ns};
pub use settings::{FlowError, INPUTS_MAX, Pace, SPEED_MAX, Settings, Source};
pub use writer::SkippedInputs;
