//! One subject of an `ipc` scenario in one run: its client is started, watched from outside while it runs,
//! and judged by the samples that it leaves.

use crate::conduct::{ConductError, Entrant};
use crate::launch::{CLIENT_PATIENCE, Launch, nothing, said};
use crate::process::Process;
use measure::directory;
use measure::record::ClientResult;
use noise::watch::{Watch, WatchError, Watched, What};
use relay::judge::{Disturbance, judge};
use relay::plan::{Plan, Ready, Told};
use relay::samples;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Files of one run, which nobody needs after it.
struct Files {
    /// Of the structure.
    directory: PathBuf,
    samples: PathBuf,
}

impl Drop for Files {
    fn drop(&mut self) {
        // What stays is in the way of nobody: the next run has other names.
        let _ = fs::remove_dir_all(&self.directory);
        let _ = fs::remove_file(&self.samples);
    }
}

impl Launch<'_> {
    /// From the client's start to its latencies in the log.
    pub(crate) fn relay(&self) -> Result<ClientResult, ConductError> {
        let failed = |why: String| ConductError::Process { who: self.entrant.name.clone(), why };
        let files = self.files()?;
        let plan = self.relay_plan(&files);
        let line = serde_json::to_string(&plan).map_err(|error| failed(error.to_string()))?;
        let (stderr, file) = self.stderr("")?;
        let patience = self.lasts() + CLIENT_PATIENCE;
        let command = self.command_or("relay");
        let mut process = Process::start_to_tell(command, &format!("{line}\n"), file, patience)
            .map_err(|error| failed(format!("it can't be started: {error}")))?;
        self.interrupt.watch(Some(process.pid()));
        let ready = process.line().unwrap_or_default();
        let Ok(Ready { threads }) = serde_json::from_str(&ready) else {
            self.interrupt.watch(None);
            let ended = process.wait().map(|(status, _)| status.to_string());
            let how = ended.unwrap_or_else(|error| error.to_string());
            return Err(failed(said(&stderr).unwrap_or(how)));
        };
        let watch = Watch::start(&threads);
        let started = SystemTime::now();
        process.tell("go\n");
        let line = process.last_line().unwrap_or_default();
        let watched = watch.map(Watch::finish);
        self.interrupt.watch(None);
        let (status, timed_out) = process.wait().map_err(|error| failed(error.to_string()))?;
        if timed_out {
            return Err(failed(format!("it had not ended {CLIENT_PATIENCE:?} after its run")));
        }
        match serde_json::from_str::<Told>(&line) {
            Ok(told) => self.judged(&plan, told, watched, started),
            Err(_) => Err(failed(format!("{status}: {}", said(&stderr).unwrap_or_else(nothing)))),
        }
    }

    /// A directory of this run's own, below the one of the scenario.
    fn files(&self) -> Result<Files, ConductError> {
        let Entrant { name, .. } = self.entrant;
        let below = Path::new(&self.conduct.scenario.ipc.directory);
        let own = format!("tickpath-{}-{}-{name}", std::process::id(), self.number);
        let directory = below.join(own);
        let failed = |source: io::Error| ConductError::Process {
            who: name.clone(),
            why: format!(
                "cannot make {}: {source}; choose another place with --set ipc.directory=DIR",
                directory.display()
            ),
        };
        fs::create_dir(&directory).map_err(failed)?;
        let samples = self.path.join(format!("{:03}.{name}.samples", self.number));
        Ok(Files { directory, samples })
    }

    fn relay_plan(&self, files: &Files) -> Plan {
        let scenario = &self.conduct.scenario;
        let subject = &scenario.subject[self.entrant.index];
        let (load, ipc) = (&scenario.load, &scenario.ipc);
        let core = |which: usize| self.entrant.cores.get(which).copied();
        Plan {
            subject: self.entrant.name.clone(),
            structure: subject.backend.clone(),
            message_bytes: ipc.message_bytes,
            slots: ipc.slots,
            keys: ipc.keys,
            block_bytes: ipc.block_bytes,
            rate_per_second: load.rate_per_second,
            arrival: load.arrival,
            burst: load.burst,
            seed: load.seed,
            warm_up_messages: scenario.messages(scenario.warm_up_seconds),
            messages: scenario.messages(scenario.seconds),
            cores: [core(0), core(1)],
            scheduling: subject.scheduling,
            directory: files.directory.display().to_string(),
            samples: files.samples.display().to_string(),
        }
    }

    fn judged(
        &self,
        plan: &Plan,
        told: Told,
        watched: Result<Watched, WatchError>,
        started: SystemTime,
    ) -> Result<ClientResult, ConductError> {
        let failed = |why: String| ConductError::Process { who: self.entrant.name.clone(), why };
        let mut failures = told.failures.clone();
        let disturbances = match watched {
            Ok(Watched { lost_records: 0, disturbances }) => Some(disturbances),
            Ok(Watched { lost_records, .. }) => {
                failures.push(format!(
                    "what disturbed {}'s threads is not known: the kernel had no room for \
                     {lost_records} records",
                    plan.subject
                ));
                None
            }
            Err(error) => {
                failures.push(format!(
                    "what disturbed {}'s threads is not known: {error}",
                    plan.subject
                ));
                None
            }
        };
        let disturbances: Option<Vec<Disturbance>> =
            disturbances.map(|all| all.into_iter().map(disturbance).collect());
        let all = samples::read(Path::new(&plan.samples), plan.messages)
            .map_err(|error| failed(format!("its samples can't be read: {error}")))?;
        let path = directory::hlog(self.path, self.number);
        let record_failed = |source| {
            let path = path.display().to_string();
            ConductError::Record { path, source }
        };
        let log = File::options().create(true).append(true).open(&path).map_err(record_failed)?;
        let mut log = io::BufWriter::new(log);
        let load = judge(plan, &told, &all, disturbances.as_deref(), started, &mut log)
            .map_err(record_failed)?;
        Ok(ClientResult { complete: told.complete, failures, load, clock: told.clock })
    }
}

fn disturbance(one: noise::watch::Disturbance) -> Disturbance {
    Disturbance {
        thread: one.thread,
        start_ns: one.start_ns,
        end_ns: one.end_ns,
        is_fault: one.what == What::Fault,
    }
}
