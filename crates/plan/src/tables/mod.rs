//! The tables of a scenario file. Each has defaults, and a check of its ranges.

pub mod endpoint;
pub mod engine;
pub mod exchange;
pub mod fan_out;
pub mod ipc;
pub mod journal;
pub mod load;
pub mod network;
pub mod one_way;
pub mod replica;
pub mod strategy;
pub mod subject;
pub mod ticks;
