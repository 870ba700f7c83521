//! Order flows: what the house of an exchange sends into its own books, so that there are ticks. Made up, or recorded.
//!
//! ```text
//!   w1          workload W1: made up, deterministic, the same for every engine
//!   databento   a recorded day, order by order
//!   recorded    from what was recorded to what an exchange would have been sent
//!   simulation  an engine of the flow's own: what would change no book is left out
//!   script      either of them with the times at which its inputs are due, all made before the start
//! ```
//!
//! A [`Script`] is made once, reads its file then, and hands out what is due without allocating.

#![forbid(unsafe_code)]

pub mod databento;
mod recorded;
mod script;
mod simulation;
pub mod w1;

pub use databento::DatabentoError;
pub use script::{
    FlowError, INPUTS_MAX, ORDER_IDS, Pace, SPEED_MAX, Script, Settings, Skipped, Source,
};
