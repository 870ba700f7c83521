//! A and B, figure by figure, with a verdict.

mod clocks;
mod comparable;
pub mod compared;
mod decide;
pub(crate) mod disturbance;
mod file;
pub mod gate;
mod judge;
mod runs;
pub mod selector;
pub mod worth;

pub use clocks::RunOffset;
pub use comparable::{differs, incomparable_because, same_floor};
pub use file::{Arm, Comparison, SCHEMA};
pub use judge::{Question, compare, compare_all};
pub(crate) use runs::bracket;
pub use runs::{ArmSeries, RunRatio, Runs};

/// Figures that are compared by default.
pub const FIGURES: [&str; 3] = ["p50", "p90", "p99"];

#[cfg(test)]
mod tests;
