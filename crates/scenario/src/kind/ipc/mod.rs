//! One subject of an `ipc` scenario in one run: one client for both ends, or one for each. It is
//! watched from outside while it runs, and judged by the samples that it leaves.

mod own_directory;

use self::own_directory::OwnDirectory;
use crate::conduct::{ConductError, Entrant, record_failed};
use crate::evidence::{Evidence, Lengths, Outcome};
use crate::kind::rules;
use crate::kind::runner::{RuleCheck, Runner};
use crate::launch::observer::Observer;
use crate::launch::process::{Process, finish_after};
use crate::launch::{CLIENT_PATIENCE, Launch, stderr};
use clock::{Clock, wall_now};
use ipc_bench::judge::{Disturbance, DisturbedShares, SampleResult, UNDISTURBED, judge};
use ipc_bench::report::ClientReport;
use ipc_bench::samples;
use noise::watch::{DisturbanceKind, Watch, WatchError, WatchResult};
use plan::Scenario;
use plan::process::ipc::{IpcEnds, IpcPlan, MESSAGE, Ready, Word};
use record::directory;
use record::{ClientResult, Kind, Verdict};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Files of one run that nobody needs afterwards.
struct Files {
    /// Directory of the structure.
    directory: OwnDirectory,
    samples: PathBuf,
}

impl Drop for Files {
    fn drop(&mut self) {
        // A leftover does no harm: the next run has other names.
        let _ = fs::remove_file(&self.samples);
    }
}

/// One process of a subject, with one end or both.
struct Client {
    process: Process,
    stderr: PathBuf,
    threads: Vec<i32>,
}

/// The clients' results, what disturbed their threads, and the time at which they started to send.
type PassResult = (ClientReport, Result<WatchResult, WatchError>, SystemTime);

/// Time between the start command and the first message for clients in two processes: all threads
/// wake up in it.
const LEAD_NS: u64 = 50_000_000;

/// The runner.
pub(crate) struct Ipc;

impl Runner for Ipc {
    fn run(
        &self,
        launch: &Launch,
        _lengths: Option<Lengths>,
        observer: &mut Observer<'_, '_>,
    ) -> Result<Outcome, ConductError> {
        let mut outcome = observer.during(launch, |_| Passage(launch).run())?;
        if outcome.result.clock.cost_ns == 0 {
            // A client in another language doesn't tell its clock's cost: no less than ours.
            outcome.result.clock.cost_ns = launch.clock.cost_ns();
        }
        Ok(outcome)
    }

    fn rules(&self) -> &'static [RuleCheck] {
        &[
            ("complete", rules::complete),
            ("sent", rules::sent),
            ("replies", rules::replies),
            ("recorded", recorded),
        ]
    }

    fn pacer(&self, entrant: &Entrant) -> Option<usize> {
        entrant.cores.first().copied()
    }

    /// A distributor conflates what its reader missed.
    fn adapts(&self, _scenario: &Scenario, entrant: &Entrant) -> bool {
        entrant.backend.contains("distributor")
    }
}

fn recorded(evidence: &Evidence) -> (Verdict, String) {
    rules::recorded(evidence, evidence.result.load.received, "messages that came")
}

/// One subject in one run.
struct Passage<'a>(&'a Launch<'a>);

impl Passage<'_> {
    /// Runs the clients and writes their latencies to the log.
    fn run(&self) -> Result<Outcome, ConductError> {
        let files = self.files()?;
        let subject = &self.0.conduct.scenario.subject[self.0.entrant.index];
        // Two processes need a common clock.
        let clock = (subject.processes > 1).then(Clock::calibrate);
        let plan = IpcPlan { clock, ..self.ipc_plan(&files) };
        let passed = self.pass(&plan, IpcEnds::of(subject.processes));
        self.0.interrupt.watch(&[]);
        let (told, watched, started) = passed?;
        self.judged(&plan, told, watched, started)
    }

    /// Starts the clients, lets them pass messages, and collects their results.
    fn pass(&self, plan: &IpcPlan, ends: &[IpcEnds]) -> Result<PassResult, ConductError> {
        let mut clients: Vec<Client> = Vec::new();
        for &ends in ends {
            // A client has made what the next one opens.
            let client = self.start_ipc_client(&IpcPlan { ends, ..plan.clone() }, &clients)?;
            clients.push(client);
        }
        let threads: Vec<i32> = clients.iter().flat_map(|one| one.threads.clone()).collect();
        let watch = Watch::start(&threads);
        let started = wall_now();
        let word = match plan.clock {
            None => Word::Go,
            Some(clock) => Word::GoAt(clock.now_ns() + LEAD_NS),
        };
        clients.iter_mut().for_each(|one| one.process.tell(&format!("{word}\n")));
        let lines = last_lines(&mut clients);
        let watched = watch.map(Watch::finish);
        let told =
            clients.into_iter().zip(lines).map(|(client, line)| self.last_words(client, &line));
        let told: Vec<ClientReport> = told.collect::<Result<_, _>>()?;
        let told = told.into_iter().reduce(ClientReport::joined).unwrap_or_default();
        Ok((told, watched, started))
    }

    /// Starts one process and waits until its threads exist.
    fn start_ipc_client(&self, plan: &IpcPlan, others: &[Client]) -> Result<Client, ConductError> {
        let line = serde_json::to_string(plan).map_err(|error| self.0.failed(error.to_string()))?;
        let suffix = if plan.ends == IpcEnds::Consumer { ".consumer" } else { "" };
        let (stderr, file) = self.0.stderr(suffix)?;
        let patience = self.0.lasts() + CLIENT_PATIENCE;
        let command = self.0.command_or("ipc-bench");
        let mut process = Process::start_to_tell(command, &format!("{line}\n"), file, patience)
            .map_err(|error| self.0.failed(format!("it can't be started: {error}")))?;
        self.0.occupancy.is_measured(process.pid());
        let running = others.iter().map(|one| &one.process).chain([&process]);
        self.0.interrupt.watch(&running.map(Process::pid).collect::<Vec<_>>());
        let ready = process.line().unwrap_or_default();
        if let Ok(Ready { threads }) = serde_json::from_str(&ready) {
            return Ok(Client { process, stderr, threads });
        }
        let ended = process.wait().map(|(status, _)| status.to_string());
        let how = ended.unwrap_or_else(|error| error.to_string());
        Err(self.0.failed(format!("{how}: {}", stderr::said(&stderr))))
    }

    /// Reads its last line after it has ended.
    fn last_words(&self, client: Client, line: &str) -> Result<ClientReport, ConductError> {
        let (status, timed_out) =
            client.process.wait().map_err(|error| self.0.failed(error.to_string()))?;
        if timed_out {
            return Err(self
                .0
                .failed(format!("it had not ended {CLIENT_PATIENCE:?} after its run")));
        }
        serde_json::from_str(line)
            .map_err(|_| self.0.failed(format!("{status}: {}", stderr::said(&client.stderr))))
    }

    /// Makes this run's own directory below the scenario's.
    fn files(&self) -> Result<Files, ConductError> {
        let Entrant { name, .. } = self.0.entrant;
        let below = Path::new(&self.0.conduct.scenario.ipc.directory);
        let failed = |source: io::Error| ConductError::Process {
            who: name.clone(),
            why: format!(
                "cannot make a directory in {}: {source}; choose another place with --set ipc.directory=DIR",
                below.display()
            ),
        };
        let own = format!("{}-{}-{name}", std::process::id(), self.0.number);
        let directory = OwnDirectory::create(below, &own).map_err(failed)?;
        let samples = self.0.path.join(format!("{:03}.{name}.samples", self.0.number));
        Ok(Files { directory, samples })
    }

    fn ipc_plan(&self, files: &Files) -> IpcPlan {
        let scenario = &self.0.conduct.scenario;
        let subject = &scenario.subject[self.0.entrant.index];
        let (load, ipc) = (&scenario.load, &scenario.ipc);
        let core = |which: usize| self.0.entrant.cores.get(which).copied();
        IpcPlan {
            subject: self.0.entrant.name.clone(),
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
            ends: IpcEnds::Both,
            clock: None,
        }
    }

    fn judged(
        &self,
        plan: &IpcPlan,
        told: ClientReport,
        watched: Result<WatchResult, WatchError>,
        started: SystemTime,
    ) -> Result<Outcome, ConductError> {
        let mut failures = told.failures.clone();
        let disturbances = match watched {
            Ok(WatchResult { lost_records: 0, disturbances }) => Some(disturbances),
            Ok(WatchResult { lost_records, .. }) => {
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
            .map_err(|error| self.0.failed(format!("its samples can't be read: {error}")))?;
        let path = directory::hlog(self.0.path, self.0.number);
        let record_failed = record_failed(&path);
        let log = File::options().create(true).append(true).open(&path).map_err(&record_failed)?;
        let mut log = io::BufWriter::new(log);
        let SampleResult { load, touched } =
            judge(plan, &told, &all, disturbances.as_deref(), started, &mut log)
                .map_err(record_failed)?;
        let complete = told.complete;
        let result = ClientResult { complete, failures, load, clock: told.clock, exchange: None };
        Ok(Outcome { exact: exact(touched), ..Outcome::from(result) })
    }
}

/// The last line of each. If one of two processes ends early, the other is told to finish; the
/// consumer is told when the producer has ended.
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

/// By name and kind of the series. Service time has the same messages, and undisturbed ones met no
/// disturbance.
fn exact(touched: Option<DisturbedShares>) -> BTreeMap<String, DisturbedShares> {
    let Some(touched) = touched else { return BTreeMap::new() };
    let kinds = [Kind::Response, Kind::Service];
    let of = |name: &'static str, touched| {
        kinds.map(move |kind| (format!("{name}.{}", kind.name()), touched))
    };
    of(MESSAGE, touched).into_iter().chain(of(UNDISTURBED, DisturbedShares::default())).collect()
}

fn disturbance(one: noise::watch::Disturbance) -> Disturbance {
    Disturbance {
        thread: one.thread,
        start_ns: one.start_ns,
        end_ns: one.end_ns,
        is_fault: one.what == DisturbanceKind::Fault,
    }
}
