//! `journal`: orders through an engine and its journal.

use crate::measure::checks::{self, key_of};
use crate::measure::engine;
use crate::measure::measurement::{Measurement, Words};
use crate::process::engine::{
    EnginePlan, JOURNAL_MODES, JournalMode, OPERATION, Task, journal_mode,
};
use crate::range::require;
use crate::scenario::{Scenario, ScenarioError};
use crate::tables::load::Model;
use crate::tables::subject::Subject;

/// The row of the engine behind every journal.
const ROW: &str = "shallow-risk";

/// The kind.
pub(crate) struct Journal;

impl Measurement for Journal {
    fn keys(&self, _model: Model) -> &'static [&'static str] {
        &[
            "warm_up_seconds",
            "seconds",
            "load.rate_per_second",
            "load.arrival",
            "load.burst",
            "load.seed",
            "load.accounts",
            "journal",
            "subject.scheduling",
            "subject.backend",
        ]
    }

    fn replies(&self) -> &'static [&'static str] {
        &[OPERATION]
    }

    fn threads(&self) -> Option<usize> {
        Some(2)
    }

    fn has_schedule(&self, _scenario: &Scenario) -> bool {
        true
    }

    fn check(&self, scenario: &Scenario) -> Result<(), ScenarioError> {
        Ok(checks::load_without_connections(scenario)?)
    }

    fn check_subject(&self, scenario: &Scenario, subject: &Subject) -> Result<(), ScenarioError> {
        checks::cores(subject, 2..=2, "name the engine's core and the journal's")?;
        let modes: Vec<&str> = JOURNAL_MODES.iter().map(|(name, _)| *name).collect();
        let why = format!("it is one of {}", modes.join(", "));
        let is_mode = journal_mode(&subject.backend).is_some();
        require(is_mode, &key_of(subject, "backend"), &subject.backend, why)?;
        Ok(engine::check_plan(&plan(scenario, subject), subject, true)?)
    }

    fn words(&self) -> Words {
        Words {
            messages: "operations",
            ..Words::of_messages(&[
                "The rest of an exchange: network, wire, sequencing.",
                "A failure of power: what a disk says that it has made durable is believed.",
            ])
        }
    }
}

/// The plan of a subject's client, without files and cores.
pub fn plan(scenario: &Scenario, subject: &Subject) -> EnginePlan {
    let task = Task::Journal {
        timing: engine::timing(scenario),
        // The check has made sure that the backend is a mode.
        mode: journal_mode(&subject.backend).unwrap_or(JournalMode::None),
        directory: String::new(),
        writer_core: None,
    };
    engine::plan_of(scenario, subject, ROW, task)
}
