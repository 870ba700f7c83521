//! `engine`: orders through a matching engine, one after the other or on a schedule.

use crate::measure::checks;
use crate::measure::measurement::{Measurement, Words, at_rate};
use crate::process::engine::{EnginePlan, OPERATION, Task, Timing};
use crate::range::OutOfRange;
use crate::scenario::{Scenario, ScenarioError};
use crate::tables::load::Model;
use crate::tables::subject::Subject;

/// Parts of a real path that a bare engine leaves out.
pub(crate) const LEFT_OUT: &[&str] = &[
    "The rest of an exchange: network, wire, sequencing, the journal, a reader of its reports.",
    "More than one instrument; stops, icebergs, dates: workload W1 has limit orders, cancels and amendments.",
];

/// The kind.
pub(crate) struct Engine;

impl Measurement for Engine {
    fn keys(&self, model: Model) -> &'static [&'static str] {
        match model {
            Model::Open => &[
                "warm_up_seconds",
                "seconds",
                "load.model",
                "load.rate_per_second",
                "load.arrival",
                "load.burst",
                "load.seed",
                "load.accounts",
                "subject.scheduling",
                "subject.backend",
            ],
            Model::PingPong => &[
                "load.model",
                "load.seed",
                "load.accounts",
                "engine.operations",
                "engine.passes",
                "subject.scheduling",
                "subject.backend",
            ],
        }
    }

    fn replies(&self) -> &'static [&'static str] {
        &[OPERATION]
    }

    fn one_by_one(&self, scenario: &Scenario) -> Option<usize> {
        (scenario.load.model == Model::PingPong).then_some(1)
    }

    fn check(&self, scenario: &Scenario) -> Result<(), ScenarioError> {
        Ok(checks::load_without_connections(scenario)?)
    }

    fn check_subject(&self, scenario: &Scenario, subject: &Subject) -> Result<(), ScenarioError> {
        checks::one_core(subject)?;
        Ok(check_plan(&plan(scenario, subject), subject, scenario.load.model == Model::Open)?)
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
    let task = match scenario.load.model {
        Model::PingPong => {
            Task::Passes { operations: scenario.engine.operations, passes: scenario.engine.passes }
        }
        Model::Open => Task::Open { timing: timing(scenario) },
    };
    plan_of(scenario, subject, &subject.backend, task)
}

/// A plan for that row and task.
pub(crate) fn plan_of(scenario: &Scenario, subject: &Subject, row: &str, task: Task) -> EnginePlan {
    EnginePlan {
        subject: subject.name.clone(),
        row: row.to_owned(),
        task,
        accounts: scenario.load.accounts as u32,
        seed: scenario.load.seed,
        core: None,
        scheduling: subject.scheduling,
        hlog: String::new(),
        progress: false,
    }
}

/// The schedule of its load.
pub(crate) fn timing(scenario: &Scenario) -> Timing {
    let rate_per_second = scenario.load.rate_per_second;
    Timing {
        rate_per_second,
        arrival: scenario.load.arrival,
        burst: scenario.load.burst,
        warm_up_operations: at_rate(rate_per_second, scenario.warm_up_seconds),
        operations: at_rate(rate_per_second, scenario.seconds),
    }
}

/// Applies the checks of the engine's client, with the scenario's names of keys.
pub(crate) fn check_plan(
    plan: &EnginePlan,
    subject: &Subject,
    has_schedule: bool,
) -> Result<(), OutOfRange> {
    plan.check().map(|_| ()).map_err(|bad| {
        let key = match (bad.key.as_str(), has_schedule) {
            ("row", _) => checks::key_of(subject, "backend"),
            ("accounts", _) => "load.accounts".to_owned(),
            ("warm_up_operations", _) => "warm_up_seconds, in operations".to_owned(),
            ("operations", true) => "seconds and warm_up_seconds, in operations".to_owned(),
            ("operations" | "passes", _) => format!("engine.{}", bad.key),
            (key, _) => key.to_owned(),
        };
        OutOfRange { key, ..bad }
    })
}
