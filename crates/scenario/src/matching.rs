//! One subject of an `engine` or `soak` scenario in one run: its client is started, and told what to do.

use crate::conduct::ConductError;
use crate::file::{Kind, Scenario, ScenarioError, Subject};
use crate::launch::Launch;
use crate::progress::Teller;
use measure::directory;
use measure::record::ClientResult;
use std::path::{Path, PathBuf};
use toml::{Table, Value};
use trader::plan::Model;
use workload::plan::{Plan, Task};

/// Where a soak leaves its state in a run directory.
pub const STATE: &str = "soak.state";

impl Scenario {
    /// The soak that left the record in `directory`, to be gone on with; `overrides` as in [`Scenario::find`].
    ///
    /// # Errors
    /// If there is no such record, it is of another kind, or anything in it or set is wrong.
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

    /// What a subject's client is told, but for where and on which core.
    pub(crate) fn workload_plan(&self, subject: &Subject) -> Plan {
        let (load, engine) = (&self.load, &self.engine);
        let task = match (self.kind, load.model) {
            (Kind::Soak, _) => Task::Soak {
                operations: engine.operations,
                seconds: self.seconds,
                state: String::new(),
                resume: None,
            },
            (_, Model::PingPong) => {
                Task::Passes { operations: engine.operations, passes: engine.passes }
            }
            (_, Model::Open) => Task::Open {
                rate_per_second: load.rate_per_second,
                arrival: load.arrival,
                burst: load.burst,
                warm_up_operations: self.messages(self.warm_up_seconds),
                operations: self.messages(self.seconds),
            },
        };
        Plan {
            subject: subject.name.clone(),
            row: subject.backend.clone(),
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

impl Launch<'_> {
    /// From the client's start to its result.
    pub(crate) fn matching(&self, teller: &mut Teller<'_>) -> Result<ClientResult, ConductError> {
        let failed = |why: String| ConductError::Process { who: self.entrant.name.clone(), why };
        let scenario = &self.conduct.scenario;
        let mut plan = scenario.workload_plan(&scenario.subject[self.entrant.index]);
        if let Task::Soak { state, resume, .. } = &mut plan.task {
            *state = self.state(self.path).display().to_string();
            let from = &scenario.engine.resume;
            *resume = (!from.is_empty()).then(|| self.state(Path::new(from)).display().to_string());
        }
        let plan = Plan {
            subject: self.entrant.name.clone(),
            row: self.entrant.backend.clone(),
            core: self.entrant.cores.first().copied(),
            hlog: directory::hlog(self.path, self.number).display().to_string(),
            progress: teller.is_heard(),
            ..plan
        };
        let plan = serde_json::to_string(&plan).map_err(|error| failed(error.to_string()))?;
        self.told("workload", &plan, teller)
    }

    /// Of each run and subject its own.
    fn state(&self, directory: &Path) -> PathBuf {
        directory.join(format!("{:03}.{}.{STATE}", self.number, self.entrant.name))
    }
}
