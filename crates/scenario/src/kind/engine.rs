//! `engine`, `soak` and `journal`: one client with an engine in its process.

use crate::conduct::ConductError;
use crate::evidence::{Evidence, Lengths, Outcome};
use crate::kind::rules;
use crate::kind::runner::{RuleCheck, Runner};
use crate::launch::Launch;
use crate::launch::observer::Observer;
use crate::launch::replica::journal_files;
use crate::progress::Teller;
use plan::Measure;
use plan::measure::{engine, journal, soak};
use plan::process::engine::{EnginePlan, Task};
use record::directory;
use record::{ClientResult, Verdict};
use std::path::{Path, PathBuf};

/// Where a soak leaves its state in a run directory.
pub const STATE: &str = "soak.state";

/// The runner.
pub(crate) struct Engine;

impl Runner for Engine {
    fn run(
        &self,
        launch: &Launch,
        _lengths: Option<Lengths>,
        observer: &mut Observer<'_, '_>,
    ) -> Result<Outcome, ConductError> {
        observer.during(launch, |teller| operate(launch, teller)).map(Outcome::from)
    }

    fn rules(&self) -> &'static [RuleCheck] {
        &[
            ("complete", rules::complete),
            ("sent", rules::sent),
            ("replies", rules::replies),
            ("recorded", recorded),
            ("accepted", rules::accepted),
            ("replay", rules::replay),
        ]
    }
}

/// The runner of a soak.
pub(crate) struct Soak;

impl Runner for Soak {
    fn run(
        &self,
        launch: &Launch,
        lengths: Option<Lengths>,
        observer: &mut Observer<'_, '_>,
    ) -> Result<Outcome, ConductError> {
        Engine.run(launch, lengths, observer)
    }

    fn rules(&self) -> &'static [RuleCheck] {
        &[
            ("complete", rules::complete),
            ("recorded", recorded),
            ("accepted", rules::accepted),
            ("replay", rules::replay),
        ]
    }
}

fn recorded(evidence: &Evidence) -> (Verdict, String) {
    rules::recorded(evidence, evidence.result.load.sent, "operations")
}

/// Runs the client and returns its result.
fn operate(launch: &Launch, teller: &mut Teller<'_>) -> Result<ClientResult, ConductError> {
    let scenario = &launch.conduct.scenario;
    let subject = &scenario.subject[launch.entrant.index];
    let mut plan = match scenario.kind {
        Measure::Soak => soak::plan(scenario, subject),
        Measure::Journal => journal::plan(scenario, subject),
        // A floor has the book of its subject, and no engine.
        _ => EnginePlan { row: launch.entrant.backend.clone(), ..engine::plan(scenario, subject) },
    };
    if let Task::Soak { state, resume, .. } = &mut plan.task {
        *state = state_file(launch, launch.path).display().to_string();
        let from = &scenario.engine.resume;
        *resume =
            (!from.is_empty()).then(|| state_file(launch, Path::new(from)).display().to_string());
    }
    let files = journal_files(launch);
    if let Task::Journal { directory, writer_core, .. } = &mut plan.task {
        *directory = files.0.display().to_string();
        *writer_core = launch.entrant.cores.get(1).copied();
    }
    let plan = EnginePlan {
        subject: launch.entrant.name.clone(),
        core: launch.entrant.cores.first().copied(),
        hlog: directory::hlog(launch.path, launch.number).display().to_string(),
        progress: teller.wants_seconds(),
        ..plan
    };
    launch.run_client("engine-bench", &plan, teller)
}

/// Each run and subject has its own.
fn state_file(launch: &Launch, directory: &Path) -> PathBuf {
    directory.join(format!("{:03}.{}.{STATE}", launch.number, launch.entrant.name))
}
