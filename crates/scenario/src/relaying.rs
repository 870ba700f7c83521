//! One subject of an `ipc` scenario in one run: its client, or one for each end, is started, watched from
//! outside while it runs, and judged by the samples that it leaves.

use crate::conduct::{ConductError, Entrant};
use crate::launch::{CLIENT_PATIENCE, Launch, nothing, said};
use crate::own_directory::OwnDirectory;
use crate::process::{Process, finish_after};
use measure::clock::Clock;
use measure::directory;
use measure::record::ClientResult;
use noise::watch::{Watch, WatchError, Watched, What};
use relay::judge::{Disturbance, judge};
use relay::plan::{Ends, Plan, Ready, Told, Word};
use relay::samples;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Files of one run, which nobody needs after it.
struct Files {
    /// Of the structure.
    directory: OwnDirectory,
    samples: PathBuf,
}

impl Drop for Files {
    fn drop(&mut self) {
        // What stays is in the way of nobody: the next run has other names.
        let _ = fs::remove_file(&self.samples);
    }
}

/// One process of a subject: it has one end, or both.
struct Client {
    process: Process,
    stderr: PathBuf,
    threads: Vec<i32>,
}

/// What clients told, what disturbed their threads, and when they were told to start.
type Relayed = (Told, Result<Watched, WatchError>, SystemTime);

/// From the word to start until the first message is due, for clients in two processes: all threads wake in
/// that time.
const LEAD_NS: u64 = 50_000_000;

impl Launch<'_> {
    /// From the clients' start to their latencies in the log.
    pub(crate) fn relay(&self) -> Result<ClientResult, ConductError> {
        let files = self.files()?;
        let subject = &self.conduct.scenario.subject[self.entrant.index];
        // Two processes must stamp by one clock.
        let clock = (subject.processes > 1).then(Clock::calibrate);
        let plan = Plan { clock, ..self.relay_plan(&files) };
        let relayed = self.relayed(&plan, subject.ends());
        self.interrupt.watch(&[]);
        let (told, watched, started) = relayed?;
        self.judged(&plan, told, watched, started)
    }

    /// What the clients tell, and what disturbed them.
    fn relayed(&self, plan: &Plan, ends: &[Ends]) -> Result<Relayed, ConductError> {
        let mut clients: Vec<Client> = Vec::new();
        for &ends in ends {
            // The one before has made what this one opens.
            let client = self.start_relay(&Plan { ends, ..plan.clone() }, &clients)?;
            clients.push(client);
        }
        let threads: Vec<i32> = clients.iter().flat_map(|one| one.threads.clone()).collect();
        let watch = Watch::start(&threads);
        let started = SystemTime::now();
        let word = match plan.clock {
            None => Word::Go,
            Some(clock) => Word::GoAt(clock.now_ns() + LEAD_NS),
        };
        clients.iter_mut().for_each(|one| one.process.tell(&format!("{word}\n")));
        let lines = last_lines(&mut clients);
        let watched = watch.map(Watch::finish);
        let told =
            clients.into_iter().zip(lines).map(|(client, line)| self.last_words(client, &line));
        let told: Vec<Told> = told.collect::<Result<_, _>>()?;
        let told = told.into_iter().reduce(Told::joined).unwrap_or_default();
        Ok((told, watched, started))
    }

    /// Starts one process, and waits until its threads are there.
    fn start_relay(&self, plan: &Plan, others: &[Client]) -> Result<Client, ConductError> {
        let failed = |why: String| ConductError::Process { who: self.entrant.name.clone(), why };
        let line = serde_json::to_string(plan).map_err(|error| failed(error.to_string()))?;
        let suffix = if plan.ends == Ends::Consumer { ".consumer" } else { "" };
        let (stderr, file) = self.stderr(suffix)?;
        let patience = self.lasts() + CLIENT_PATIENCE;
        let command = self.command_or("relay");
        let mut process = Process::start_to_tell(command, &format!("{line}\n"), file, patience)
            .map_err(|error| failed(format!("it can't be started: {error}")))?;
        let running = others.iter().map(|one| &one.process).chain([&process]);
        self.interrupt.watch(&running.map(Process::pid).collect::<Vec<_>>());
        let ready = process.line().unwrap_or_default();
        if let Ok(Ready { threads }) = serde_json::from_str(&ready) {
            return Ok(Client { process, stderr, threads });
        }
        let ended = process.wait().map(|(status, _)| status.to_string());
        let how = ended.unwrap_or_else(|error| error.to_string());
        Err(failed(said(&stderr).unwrap_or(how)))
    }

    /// Its last line, when it has ended.
    fn last_words(&self, client: Client, line: &str) -> Result<Told, ConductError> {
        let failed = |why: String| ConductError::Process { who: self.entrant.name.clone(), why };
        let (status, timed_out) =
            client.process.wait().map_err(|error| failed(error.to_string()))?;
        if timed_out {
            return Err(failed(format!("it had not ended {CLIENT_PATIENCE:?} after its run")));
        }
        serde_json::from_str(line).map_err(|_| {
            failed(format!("{status}: {}", said(&client.stderr).unwrap_or_else(nothing)))
        })
    }

    /// A directory of this run's own, below the one of the scenario.
    fn files(&self) -> Result<Files, ConductError> {
        let Entrant { name, .. } = self.entrant;
        let below = Path::new(&self.conduct.scenario.ipc.directory);
        let failed = |source: io::Error| ConductError::Process {
            who: name.clone(),
            why: format!(
                "cannot make a directory in {}: {source}; choose another place with --set ipc.directory=DIR",
                below.display()
            ),
        };
        let own = format!("{}-{}-{name}", std::process::id(), self.number);
        let directory = OwnDirectory::create(below, &own).map_err(failed)?;
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
            directory: files.directory.path().display().to_string(),
            samples: files.samples.display().to_string(),
            ends: Ends::Both,
            clock: None,
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
        Ok(ClientResult {
            complete: told.complete,
            failures,
            load,
            clock: told.clock,
            exchange: None,
        })
    }
}

/// What each says last. A producer that is a process of its own is not left to a consumer that is gone, and
/// the consumer hears when the producer has ended.
fn last_lines(clients: &mut [Client]) -> Vec<String> {
    let pids: Vec<_> = clients.iter().map(|one| one.process.pid()).collect();
    std::thread::scope(|scope| {
        if let [producer, consumer] = pids[..] {
            scope.spawn(move || finish_after(consumer, producer));
        }
        let mut lines = Vec::new();
        for client in clients {
            if !lines.is_empty() {
                client.process.tell("sent\n");
            }
            lines.push(client.process.last_line().unwrap_or_default());
        }
        lines
    })
}

fn disturbance(one: noise::watch::Disturbance) -> Disturbance {
    Disturbance {
        thread: one.thread,
        start_ns: one.start_ns,
        end_ns: one.end_ns,
        is_fault: one.what == What::Fault,
    }
}
