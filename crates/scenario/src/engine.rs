//! One subject of an `engine`, `soak` or `journal` scenario in one run: its plan, its client and
//! its result.

use crate::conduct::ConductError;
use crate::file::{Kind, Scenario, ScenarioError, Subject};
use crate::launch::Launch;
use crate::progress::Teller;
use engine_bench::plan::{JOURNAL_MODES, JournalMode, Plan, Task, Timing};
use record::ClientResult;
use record::directory;
use std::fs;
use std::path::{Path, PathBuf};
use toml::{Table, Value};
use trader::plan::Model;

/// Where a soak leaves its state in a run directory.
pub const STATE: &str = "soak.state";

impl Scenario {
    /// The soak that left the record in `directory`, to be resumed; `overrides` as in
    /// [`Scenario::find`].
    ///
    /// # Errors
    /// If there is no such record, it is of another kind, or a value in it or an override is
    /// wrong.
    pub fn resumed(directory: &Path, overrides: &[String]) -> Result<Scenario, ScenarioError> {
        let name = directory.display().to_string();
        let malformed = |message: String| ScenarioError::Malformed { name: name.clone(), message };
        let record = directory::load_record(directory)
            .map_err(|error| malformed(format!("{error}; --resume takes a run's directory")))?;
        let mut table = Table::try_from(&record.resolved)
            .map_err(|error| malformed(format!("its run.json has no scenario: {error}")))?;
        let kind = table.get("kind").and_then(Value::as_str);
        let engine = table.get("engine").cloned();
        let (Some("soak"), Some(Value::Table(mut engine))) = (kind, engine) else {
            return Err(malformed("it is no soak, and only those can be resumed".to_owned()));
        };
        engine.insert("resume".to_owned(), Value::String(name.clone()));
        table.insert("engine".to_owned(), Value::Table(engine));
        let text = toml::to_string(&table).map_err(|error| malformed(error.to_string()))?;
        Scenario::parse(&name, &text, overrides)
    }

    /// The plan of a subject's client, without files and cores.
    pub(crate) fn engine_plan(&self, subject: &Subject) -> Plan {
        let (load, engine) = (&self.load, &self.engine);
        let task = match (self.kind, load.model) {
            (Kind::Soak, _) => Task::Soak {
                operations: engine.operations,
                seconds: self.seconds,
                state: String::new(),
                resume: None,
            },
            (Kind::Journal, _) => Task::Journal {
                timing: self.timing(),
                // The check has made sure that the backend is a mode.
                mode: journal_mode(&subject.backend).unwrap_or(JournalMode::None),
                directory: String::new(),
                writer_core: None,
            },
            (_, Model::PingPong) => {
                Task::Passes { operations: engine.operations, passes: engine.passes }
            }
            (_, Model::Open) => Task::Open { timing: self.timing() },
        };
        Plan {
            subject: subject.name.clone(),
            row: self.row(&subject.backend),
            task,
            accounts: load.accounts as u32,
            seed: load.seed,
            core: None,
            scheduling: subject.scheduling,
            hlog: String::new(),
            progress: false,
        }
    }
}

impl Scenario {
    fn timing(&self) -> Timing {
        Timing {
            rate_per_second: self.load.rate_per_second,
            arrival: self.load.arrival,
            burst: self.load.burst,
            warm_up_operations: self.messages(self.warm_up_seconds),
            operations: self.messages(self.seconds),
        }
    }

    /// All journals have the same engine behind them.
    fn row(&self, backend: &str) -> String {
        let row = if self.kind == Kind::Journal { JOURNAL_ROW } else { backend };
        row.to_owned()
    }
}

/// The row of the engine behind a journal.
const JOURNAL_ROW: &str = "shallow-risk";

/// The journal mode with that name.
pub(crate) fn journal_mode(name: &str) -> Option<JournalMode> {
    JOURNAL_MODES.iter().find(|(known, _)| *known == name).map(|(_, mode)| *mode)
}

/// The directory of one run's journal.
struct JournalFiles(PathBuf);

impl Drop for JournalFiles {
    fn drop(&mut self) {
        // A leftover does no harm: the next run has other names.
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl Launch<'_> {
    /// Runs the client and returns its result.
    pub(crate) fn engine(&self, teller: &mut Teller<'_>) -> Result<ClientResult, ConductError> {
        let scenario = &self.conduct.scenario;
        let mut plan = scenario.engine_plan(&scenario.subject[self.entrant.index]);
        if let Task::Soak { state, resume, .. } = &mut plan.task {
            *state = self.state(self.path).display().to_string();
            let from = &scenario.engine.resume;
            *resume = (!from.is_empty()).then(|| self.state(Path::new(from)).display().to_string());
        }
        let files = self.journal_files();
        if let Task::Journal { directory, writer_core, .. } = &mut plan.task {
            *directory = files.0.display().to_string();
            *writer_core = self.entrant.cores.get(1).copied();
        }
        let plan = Plan {
            subject: self.entrant.name.clone(),
            row: scenario.row(&self.entrant.backend),
            core: self.entrant.cores.first().copied(),
            hlog: directory::hlog(self.path, self.number).display().to_string(),
            progress: teller.is_heard(),
            ..plan
        };
        let plan = serde_json::to_string(&plan).map_err(|error| self.failed(error.to_string()))?;
        self.run_client("engine-bench", &plan, teller)
    }

    /// A directory for this run's journal. The client makes it if it writes one.
    fn journal_files(&self) -> JournalFiles {
        let directory = &self.conduct.scenario.journal.directory;
        let below = if directory.is_empty() { self.path } else { Path::new(directory) };
        let own = format!("journal-{}-{}-{}", std::process::id(), self.number, self.entrant.name);
        JournalFiles(below.join(own))
    }

    /// Each run and subject has its own.
    fn state(&self, directory: &Path) -> PathBuf {
        directory.join(format!("{:03}.{}.{STATE}", self.number, self.entrant.name))
    }
}
