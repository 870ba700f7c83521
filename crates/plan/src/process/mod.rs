//! The plans that processes get on stdin, and the rows that they name.

pub mod endpoint;
pub mod engine;
pub mod exchange;
pub mod fan_out;
pub mod ipc;
pub mod orders;
pub mod ticks;
