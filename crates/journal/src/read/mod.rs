//! From files to inputs and to the resulting engine; tells damage from interrupted writes.

pub mod history;
pub mod inputs;
pub mod replay;
pub mod segment;
pub mod tail;
mod zeros;
