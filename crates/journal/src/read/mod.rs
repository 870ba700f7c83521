//! From files to inputs and to the engine that they lead to; what is damage, and what a write left
//! that was cut off.

pub mod inputs;
pub mod replay;
pub mod segment;
