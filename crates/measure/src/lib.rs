//! Clocks, schedules, histograms, statistics over runs, and the schema of the run record.

pub mod clock;
pub mod machine;
