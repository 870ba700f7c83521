//! `tick` scenarios: their keys, one run, its rules, and what the samples say.

pub(crate) mod attribution;
pub(crate) mod files;
pub(crate) mod rules;
pub(crate) mod run;
pub(crate) mod taken;

pub use run::tick_plan;
