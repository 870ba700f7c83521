//! One subject of an `engine`, `soak` or `journal` scenario in one run: its plan, its client and
//! its result.

use crate::conduct::ConductError;
use crate::launch::Launch;
use crate::progress::Teller;
use plan::Measure;
use plan::measure::{engine, journal, soak};
use plan::process::engine::{EnginePlan, Task};
use record::ClientResult;
use record::directory;
use std::fs;
use std::path::{Path, PathBuf};

/// Where a soak leaves its state in a run directory.
pub const STATE: &str = "soak.state";

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
        let subject = &scenario.subject[self.entrant.index];
        let mut plan = match scenario.kind {
            Measure::Soak => soak::plan(scenario, subject),
            Measure::Journal => journal::plan(scenario, subject),
            // A floor has the book of its subject, and no engine.
            _ => {
                EnginePlan { row: self.entrant.backend.clone(), ..engine::plan(scenario, subject) }
            }
        };
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
        let plan = EnginePlan {
            subject: self.entrant.name.clone(),
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
