//! `soak`: orders through a matching engine for a long time.

use crate::measure::checks;
use crate::measure::engine::{self, LEFT_OUT};
use crate::measure::measurement::{Measurement, Words};
use crate::process::engine::{EnginePlan, OPERATION, Task};
use crate::scenario::{Scenario, ScenarioError};
use crate::tables::load::Model;
use crate::tables::subject::Subject;

/// The kind.
pub(crate) struct Soak;

impl Measurement for Soak {
    fn keys(&self, _model: Model) -> &'static [&'static str] {
        &[
            "seconds",
            "load.seed",
            "load.accounts",
            "engine.operations",
            "engine.resume",
            "subject.scheduling",
            "subject.backend",
        ]
    }

    fn replies(&self) -> &'static [&'static str] {
        &[OPERATION]
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

    fn check(&self, scenario: &Scenario) -> Result<(), ScenarioError> {
        Ok(checks::load_without_connections(scenario)?)
    }

    fn check_subject(&self, scenario: &Scenario, subject: &Subject) -> Result<(), ScenarioError> {
        checks::one_core(subject)?;
        Ok(engine::check_plan(&plan(scenario, subject), subject, false)?)
    }

    fn words(&self) -> Words {
        Words {
            messages: "operations",
            floor: "no engine, one report an operation through the same loop",
            percentiles: &["p50", "p90", "p99", "p99_9", "p99_99"],
            ..Words::of_messages(LEFT_OUT)
        }
    }
}

/// The plan of a subject's client, without files and cores.
pub fn plan(scenario: &Scenario, subject: &Subject) -> EnginePlan {
    let task = Task::Soak {
        operations: scenario.engine.operations,
        seconds: scenario.seconds,
        state: String::new(),
        resume: None,
    };
    engine::plan_of(scenario, subject, &subject.backend, task)
}
