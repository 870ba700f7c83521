//! The plans that processes get on stdin, and the rows that they name.

pub mod endpoint;
pub mod engine;
pub mod exchange;
pub mod fan_out;
pub mod feed;
pub mod ipc;
pub mod orders;
pub mod ticks;

/// The addresses of a list that commas separate.
fn targets(list: &str) -> Vec<&str> {
    list.split(',').map(str::trim).collect()
}
