//! Clocks, arrival schedules, histograms, statistics over runs, and the schema of the run record.
//!
//! This crate knows nothing of sockets, orders or machines. It is the only one that reads a clock
//! (invariant 3 of ARCHITECTURE.md), and it decides which percentile a sample can support.

pub mod attribution;
pub mod audited;
pub mod calendar;
pub mod clock;
pub mod compare;
pub mod compared;
pub mod comparison;
pub mod crc32c;
pub mod directory;
pub mod doctor;
#[cfg(test)]
mod doctor_schema;
pub mod gate;
pub mod history;
pub mod hlog;
mod identity;
mod kind;
pub mod machine;
pub mod matching;
pub mod merge;
mod mergeable;
pub mod noise;
pub mod objective;
mod permutation;
pub mod pooling;
pub mod progress;
pub mod random;
pub mod record;
#[cfg(test)]
mod record_schema;
pub mod recorder;
pub mod replay;
pub mod schedule;
pub mod selector;
mod sparse;
pub mod stats;
pub mod sweep;
pub mod tick;
pub mod tick_samples;
pub mod time_base;
pub mod timeline;
pub mod utc;
pub mod wall;
