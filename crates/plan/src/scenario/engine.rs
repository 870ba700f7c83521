//! The plan of an engine's client, from a scenario.

use crate::load::Model;
use crate::measure::Kind;
use crate::measure::engine::{EnginePlan, JournalMode, Task, Timing, journal_mode};
use crate::scenario::{Scenario, Subject};

/// The row of the engine behind a journal.
const JOURNAL_ROW: &str = "shallow-risk";

/// The plan of a subject's client, without files and cores.
pub fn engine_plan(scenario: &Scenario, subject: &Subject) -> EnginePlan {
    let (load, engine) = (&scenario.load, &scenario.engine);
    let task = match (scenario.kind, load.model) {
        (Kind::Soak, _) => Task::Soak {
            operations: engine.operations,
            seconds: scenario.seconds,
            state: String::new(),
            resume: None,
        },
        (Kind::Journal, _) => Task::Journal {
            timing: timing(scenario),
            // The check has made sure that the backend is a mode.
            mode: journal_mode(&subject.backend).unwrap_or(JournalMode::None),
            directory: String::new(),
            writer_core: None,
        },
        (_, Model::PingPong) => {
            Task::Passes { operations: engine.operations, passes: engine.passes }
        }
        (_, Model::Open) => Task::Open { timing: timing(scenario) },
    };
    EnginePlan {
        subject: subject.name.clone(),
        row: row(scenario, &subject.backend),
        task,
        accounts: load.accounts as u32,
        seed: load.seed,
        core: None,
        scheduling: subject.scheduling,
        hlog: String::new(),
        progress: false,
    }
}
fn timing(scenario: &Scenario) -> Timing {
    Timing {
        rate_per_second: scenario.load.rate_per_second,
        arrival: scenario.load.arrival,
        burst: scenario.load.burst,
        warm_up_operations: scenario.messages(scenario.warm_up_seconds),
        operations: scenario.messages(scenario.seconds),
    }
}

/// All journals have the same engine behind them.
pub fn row(scenario: &Scenario, backend: &str) -> String {
    let row = if scenario.kind == Kind::Journal { JOURNAL_ROW } else { backend };
    row.to_owned()
}
