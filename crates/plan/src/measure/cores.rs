//! `core-to-core`: one cache line, back and forth between every two cores.

use crate::measure::checks;
use crate::measure::measurement::{Measurement, Words};
use crate::scenario::{Scenario, ScenarioError};
use crate::tables::load::Model;
use crate::tables::subject::Subject;

/// Limit on the cores that are paired: 496 pairs, each with a series of its own.
pub const CORES_PAIRED_MAX: usize = 32;

/// The kind.
pub(crate) struct Cores;

impl Measurement for Cores {
    fn keys(&self, _model: Model) -> &'static [&'static str] {
        &["seconds"]
    }

    fn replies(&self) -> &'static [&'static str] {
        &[]
    }

    /// One for each pair of the machine's cores.
    fn series(&self) -> Vec<&'static str> {
        Vec::new()
    }

    fn threads(&self) -> Option<usize> {
        None
    }

    fn has_schedule(&self, _scenario: &Scenario) -> bool {
        false
    }

    fn one_by_one(&self, _scenario: &Scenario) -> Option<usize> {
        Some(1)
    }

    fn messages(&self, scenario: &Scenario, seconds: f64) -> u64 {
        scenario.load.messages(seconds)
    }

    fn check(&self, _scenario: &Scenario) -> Result<(), ScenarioError> {
        Ok(())
    }

    fn check_subject(&self, _scenario: &Scenario, subject: &Subject) -> Result<(), ScenarioError> {
        let why = format!("a pair takes two cores, and {CORES_PAIRED_MAX} are paired at most");
        Ok(checks::cores(subject, 2..=CORES_PAIRED_MAX, &why)?)
    }

    fn words(&self) -> Words {
        Words::of_messages(&[
            "Contention: one pair at a time goes to and fro, and all other cores rest.",
        ])
    }
}
