//! Carries a scenario out: for each run a fresh exchange and a fresh client a subject, the raw echo
//! between them, each pair alone on its cores. This process sleeps while they measure.

use crate::assemble::{self, HICCUP_LOG, Parts};
use crate::directory;
use crate::file::{FLOOR, Scenario};
use crate::placement::{Placed, place};
use crate::process::Process;
use crate::validity::{self, Evidence};
use hdrhistogram::Histogram;
use host::{HostError, Root, Topology};
use measure::clock::{Clock, wall_ms};
use measure::machine::Machine;
use measure::record::{ClientResult, ExchangeResult, Kind, MessageBytes, RunRecord};
use noise::hiccup;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use trader::plan::{Plan, Wire};

pub use crate::process::Interrupt;

/// A run that is void is repeated at most so often, all runs together.
pub const REPEATS_MAX: u32 = 2;
/// How long an exchange may take to be ready (a large book is read first), or to end.
const EXCHANGE_PATIENCE: Duration = Duration::from_secs(60);
/// How long a client may take beyond its run: connecting, draining, writing.
const CLIENT_PATIENCE: Duration = Duration::from_secs(60);

/// What to carry out, and with what.
#[derive(Clone, Debug)]
pub struct Conduct {
    /// The scenario.
    pub scenario: Scenario,
    /// Where run directories go.
    pub runs_directory: PathBuf,
    /// The tickpath binary that is started as exchange and as client.
    pub program: PathBuf,
    /// `tickpath 0.1.0`.
    pub tool: String,
    /// The command line that repeats this.
    pub command: Vec<String>,
    /// `HOST:PORT` of an exchange that runs already.
    pub connect: Option<String>,
    /// `HOST:PORT` of a raw echo beside it.
    pub connect_floor: Option<String>,
}

/// Why nothing was measured at all.
#[derive(Debug, thiserror::Error)]
pub enum ConductError {
    /// The scenario and the command line contradict each other.
    #[error("{0}")]
    Usage(String),
    /// The cores asked for can't be had.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The hiccup row can't be measured.
    #[error(transparent)]
    Hiccup(#[from] hiccup::HiccupError),
    /// The record can't be written.
    #[error(
        "cannot write the record in {path}: {source}; free some space or choose another place with --out"
    )]
    Record {
        /// The directory.
        path: String,
        /// What the file system said.
        source: io::Error,
    },
    /// A process did not do what it should, before anything was measured.
    #[error("{who} failed: {why}")]
    Process {
        /// Exchange or client.
        who: String,
        /// Its own words, where it had any.
        why: String,
    },
}

/// What one subject did in one run.
pub(crate) struct Measured {
    pub subject: String,
    pub result: ClientResult,
    pub exchange: Option<ExchangeResult>,
}

/// One run: every subject once, and the floors.
#[derive(Default)]
pub(crate) struct Run {
    pub measured: Vec<Measured>,
    /// The latencies of this run, by tag.
    pub totals: BTreeMap<String, Histogram<u64>>,
    pub interrupted: bool,
    /// A process broke; another try would not be a measurement either.
    pub failed: bool,
}

impl Run {
    pub(crate) fn histogram(
        &self,
        subject: &str,
        name: &str,
        kind: Kind,
    ) -> Option<&Histogram<u64>> {
        self.totals.get(&format!("{subject}.{name}.{}", kind.name()))
    }

    pub(crate) fn evidence<'a>(&self, measured: &'a Measured) -> Evidence<'a> {
        let at = |name, kind, quantile| {
            self.histogram(&measured.subject, name, kind)
                .filter(|histogram| histogram.len() >= 1000)
                .map(|histogram| histogram.value_at_quantile(quantile))
        };
        Evidence {
            result: &measured.result,
            exchange: measured.exchange.as_ref(),
            order_service_p50_ns: at("order", Kind::Service, 0.5),
            lateness_p99_ns: at("send", Kind::Lateness, 0.99),
            interrupted: self.interrupted,
        }
    }
}

/// One who is measured: a subject of the scenario, or a floor.
#[derive(Clone, Debug)]
pub(crate) struct Entrant {
    pub name: String,
    pub backend: String,
    pub core: Option<usize>,
    /// Index into the scenario's subjects; a floor's is that of the first subject of its backend.
    pub index: usize,
    pub is_floor: bool,
}

/// The subjects, then a floor for each backend and core that they use.
fn entrants(conduct: &Conduct, placed: &Placed) -> Vec<Entrant> {
    let scenario = &conduct.scenario;
    let mut entrants: Vec<Entrant> = scenario
        .subject
        .iter()
        .zip(&placed.subjects)
        .enumerate()
        .map(|(index, (subject, &core))| Entrant {
            name: subject.name.clone(),
            backend: subject.backend.clone(),
            core,
            index,
            is_floor: false,
        })
        .collect();
    let reachable = scenario.exchange.start || conduct.connect_floor.is_some();
    if scenario.floor_seconds > 0.0 && reachable {
        let mut floors: Vec<Entrant> = Vec::new();
        for entrant in &entrants {
            let same =
                |floor: &Entrant| floor.backend == entrant.backend && floor.core == entrant.core;
            if !floors.iter().any(same) {
                let name = match floors.len() {
                    0 => FLOOR.to_owned(),
                    n => format!("{FLOOR}-{}", n + 1),
                };
                floors.push(Entrant { name, is_floor: true, ..entrant.clone() });
            }
        }
        entrants.extend(floors);
    }
    entrants
}

impl Conduct {
    /// Carries the scenario out and leaves a record; `say` is told what happens, line by line.
    ///
    /// # Errors
    /// If nothing could be measured. A run that went wrong makes an invalid record instead.
    pub fn carry_out(
        &self,
        interrupt: &Interrupt,
        say: &mut dyn FnMut(&str),
    ) -> Result<(RunRecord, PathBuf), ConductError> {
        self.check()?;
        let started_wall_ms = wall_ms();
        let root = Root::system();
        let clock = Clock::calibrate();
        let allowed = host::thread::allowed()?;
        let placed = {
            let topology = Topology::read(&root);
            let fixed = host::capture(&root, &clock, None).fixed;
            place(&self.scenario, &topology, &allowed, &fixed)?
        };
        let probed = probe_cores(&placed, &allowed);
        say("looking at the machine");
        let before = host::capture(&root, &clock, probed);
        let record_failed = |path: &Path| {
            let path = path.display().to_string();
            move |source| ConductError::Record { path, source }
        };
        let path = directory::create(&self.runs_directory, &self.scenario.name)
            .map_err(record_failed(&self.runs_directory))?;
        let entrants = entrants(self, &placed);
        let mut stage = Stage { conduct: self, placed: &placed, path: &path, interrupt, say };
        let runs = stage.all_runs(&entrants, clock);
        let (runs, runs_void, mut warnings) = match runs {
            Ok(runs) => runs,
            Err(error) => {
                // Nothing in it is a result; what processes said stands in the error.
                let _ = fs::remove_dir_all(&path);
                return Err(error);
            }
        };
        let after = host::capture(&root, &clock, probed);
        let machine = Machine { before, after: Some(after) };
        warnings.splice(0..0, placed.warnings.iter().cloned());
        let hiccups = fs::read(path.join(HICCUP_LOG))
            .ok()
            .and_then(|log| measure::hlog::totals(&log).ok())
            .unwrap_or_default();
        let record = assemble::record(Parts {
            conduct: self,
            placed: &placed,
            entrants: &entrants,
            runs: &runs,
            runs_void,
            warnings,
            machine: &machine,
            clock,
            started_wall_ms,
            hiccups,
        });
        if runs.iter().all(|run| !run.failed) {
            directory::remove_stderr(&path);
        }
        directory::save_record(&path, &record, &machine).map_err(record_failed(&path))?;
        Ok((record, path))
    }

    fn check(&self) -> Result<(), ConductError> {
        let usage = |text: &str| Err(ConductError::Usage(text.to_owned()));
        match (self.scenario.exchange.start, &self.connect) {
            (true, Some(_)) => usage(
                "the scenario starts an exchange of its own, and --connect names another; add \
                 --set exchange.start=false",
            ),
            (false, None) => usage(
                "the scenario starts no exchange; say where one runs with --connect HOST:PORT",
            ),
            _ => Ok(()),
        }
    }
}

fn probe_cores(placed: &Placed, allowed: &[usize]) -> Option<(usize, usize)> {
    let subject = placed.subjects.first().copied().flatten()?;
    let other =
        placed.exchange.or_else(|| allowed.iter().copied().find(|core| *core != subject))?;
    (other != subject).then_some((other, subject))
}

/// What the runs are made with.
struct Stage<'a> {
    conduct: &'a Conduct,
    placed: &'a Placed,
    path: &'a Path,
    interrupt: &'a Interrupt,
    say: &'a mut dyn FnMut(&str),
}

impl Stage<'_> {
    /// Runs that count, how many were void, what to warn of.
    fn all_runs(
        &mut self,
        entrants: &[Entrant],
        clock: Clock,
    ) -> Result<(Vec<Run>, u32, Vec<String>), ConductError> {
        let scenario = &self.conduct.scenario;
        let mut runs: Vec<Run> = Vec::new();
        let mut void = 0;
        let mut warnings = Vec::new();
        self.hiccup(clock)?;
        while runs.len() < scenario.runs as usize && !self.interrupt.is_set() {
            let number = runs.len() as u32 + 1;
            let run = self.one_run(number, entrants, &runs)?;
            let broken = validity::broken(&run);
            let over = run.failed || run.interrupted;
            if broken.is_empty() || over || void == REPEATS_MAX {
                runs.push(run);
                if over {
                    break;
                }
                continue;
            }
            void += 1;
            warnings.push(format!("run {number} was void and is repeated: {}", broken.join("; ")));
            (self.say)(&warnings[warnings.len() - 1]);
            let kept = self.path.join(format!("void-{void}.hlog"));
            let hlog = directory::hlog(self.path, number);
            fs::rename(&hlog, &kept).map_err(|source| self.record_error(source))?;
        }
        Ok((runs, void, warnings))
    }

    fn record_error(&self, source: io::Error) -> ConductError {
        ConductError::Record { path: self.path.display().to_string(), source }
    }

    fn hiccup(&mut self, clock: Clock) -> Result<(), ConductError> {
        let scenario = &self.conduct.scenario;
        let cores = self.placed.cores();
        if scenario.hiccup_seconds <= 0.0 || cores.is_empty() || self.interrupt.is_set() {
            return Ok(());
        }
        (self.say)("hiccups: the same cores without load");
        let look = hiccup::Look {
            cores,
            scheduling: scenario.subject[0].scheduling,
            rate_per_second: scenario.load.rate_per_second,
            seconds: scenario.hiccup_seconds,
        };
        let hlog = self.path.join(HICCUP_LOG);
        Ok(hiccup::look(&look, clock, &hlog, self.interrupt.flag())?)
    }

    /// Every entrant once, in the scenario's order and in the reverse order by turns, so that a drift
    /// of the machine does not always meet the same one.
    fn one_run(
        &mut self,
        number: u32,
        entrants: &[Entrant],
        earlier: &[Run],
    ) -> Result<Run, ConductError> {
        let mut order: Vec<&Entrant> = entrants.iter().collect();
        // The first run tells how long messages are, which a floor must know.
        if number.is_multiple_of(2) {
            order.reverse();
        }
        let mut run = Run::default();
        let runs = self.conduct.scenario.runs;
        for entrant in order {
            if self.interrupt.is_set() {
                break;
            }
            (self.say)(&format!("run {number} of {runs}: {}", entrant.name));
            let bytes =
                earlier.iter().chain([&run]).find_map(|run| message_bytes(run, entrants, entrant));
            match self.one_entrant(number, entrant, bytes) {
                Ok(measured) => {
                    run.failed |= !measured.result.complete && !self.interrupt.is_set();
                    run.measured.push(measured);
                }
                Err(error) if earlier.is_empty() && run.measured.is_empty() => return Err(error),
                Err(error) => {
                    run.failed = true;
                    let result = ClientResult {
                        failures: vec![error.to_string()],
                        ..ClientResult::default()
                    };
                    let subject = entrant.name.clone();
                    run.measured.push(Measured { subject, result, exchange: None });
                }
            }
            if run.failed {
                break;
            }
        }
        run.interrupted = self.interrupt.is_set();
        let hlog = directory::hlog(self.path, number);
        if hlog.exists() {
            let log = fs::read(&hlog).map_err(|source| self.record_error(source))?;
            run.totals = measure::hlog::totals(&log)
                .map_err(|error| self.record_error(io::Error::other(error)))?;
        }
        Ok(run)
    }

    fn one_entrant(
        &mut self,
        number: u32,
        entrant: &Entrant,
        bytes: Option<MessageBytes>,
    ) -> Result<Measured, ConductError> {
        let mut exchange = self.start_exchange(number, entrant)?;
        let target = match &exchange {
            Some((_, address)) => address.clone(),
            None if entrant.is_floor => self.conduct.connect_floor.clone().unwrap_or_default(),
            None => self.conduct.connect.clone().unwrap_or_default(),
        };
        let result = self.client(number, entrant, target, bytes);
        let ended = exchange.take().map(|(process, _)| self.end_exchange(process, entrant));
        let mut result = result?;
        let exchange = match ended {
            Some(Ok(ended)) => ended,
            Some(Err(why)) => {
                result.complete = false;
                result.failures.insert(0, why);
                None
            }
            None => None,
        };
        Ok(Measured { subject: entrant.name.clone(), result, exchange })
    }

    fn start_exchange(
        &self,
        number: u32,
        entrant: &Entrant,
    ) -> Result<Option<(Process, String)>, ConductError> {
        let spec = &self.conduct.scenario.exchange;
        if !spec.start {
            return Ok(None);
        }
        let failed = |why: String| ConductError::Process { who: "the exchange".to_owned(), why };
        let mut command = Command::new(&self.conduct.program);
        command.args(["exchange", "--listen", "127.0.0.1:0", "--die-with-parent"]);
        command.args(["--backend", &spec.backend]);
        command.args(["--scheduling", &spec.scheduling.to_string()]);
        if let Some(core) = self.placed.exchange {
            command.args(["--core", &core.to_string()]);
        }
        if entrant.is_floor {
            command.arg("--echo");
        } else {
            command.args(["--any-token", "--book", &spec.book]);
            command.args(["--replay-inputs-max", &spec.replay_inputs_max.to_string()]);
            if !spec.instruments.is_empty() {
                command.args(["--instruments", &spec.instruments]);
            }
        }
        let stderr = Stderr::new(self.path, &format!("{number:03}.{}.exchange", entrant.name))
            .map_err(|source| self.record_error(source))?;
        let patience = self.lasts(entrant) + EXCHANGE_PATIENCE + CLIENT_PATIENCE;
        let mut process = Process::start(command, "", stderr.file, patience)
            .map_err(|error| failed(format!("it can't be started: {error}")))?;
        #[derive(Deserialize)]
        struct ReadyLine {
            listening: String,
        }
        let line = process.line().unwrap_or_default();
        match serde_json::from_str::<ReadyLine>(&line) {
            Ok(ready) => Ok(Some((process, ready.listening))),
            Err(_) => {
                let _ = process.wait();
                Err(failed(stderr_text(&stderr.path)))
            }
        }
    }

    /// What the exchange says when it is told to end; the raw echo says nothing.
    fn end_exchange(
        &self,
        mut process: Process,
        entrant: &Entrant,
    ) -> Result<Option<ExchangeResult>, String> {
        process.terminate();
        let line = process.last_line();
        let (status, timed_out) = process.wait().map_err(|error| error.to_string())?;
        if timed_out || !status.success() {
            let how = if timed_out { "hung and was killed".to_owned() } else { status.to_string() };
            return Err(format!("the exchange died in mid-run: {how}"));
        }
        if entrant.is_floor {
            return Ok(None);
        }
        let line = line.unwrap_or_default();
        serde_json::from_str(&line)
            .map(Some)
            .map_err(|error| format!("the exchange's last words make no sense: {error}: {line}"))
    }

    fn client(
        &self,
        number: u32,
        entrant: &Entrant,
        target: String,
        bytes: Option<MessageBytes>,
    ) -> Result<ClientResult, ConductError> {
        let scenario = &self.conduct.scenario;
        let spec = &scenario.subject[entrant.index];
        let failed = |why: String| ConductError::Process { who: entrant.name.clone(), why };
        let wire = match (entrant.is_floor, bytes) {
            (false, _) => Wire::WebsocketJson,
            (true, Some(bytes)) => Wire::Raw(bytes),
            (true, None) => return Err(failed("no message lengths are known yet".to_owned())),
        };
        let (warm_up_seconds, seconds) = self.phases(entrant);
        let plan = Plan {
            subject: entrant.name.clone(),
            target,
            wire,
            backend: spec.backend.clone(),
            core: entrant.core,
            scheduling: spec.scheduling,
            load: scenario.load.clone(),
            warm_up_seconds,
            seconds,
            hlog: directory::hlog(self.path, number).display().to_string(),
        };
        let own = [self.conduct.program.display().to_string(), "trade".to_owned()];
        let words: &[String] =
            if spec.command.is_empty() || entrant.is_floor { &own } else { &spec.command };
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).args(["--plan", "-"]);
        let plan = serde_json::to_string(&plan).map_err(|error| failed(error.to_string()))?;
        let stderr = Stderr::new(self.path, &format!("{number:03}.{}", entrant.name))
            .map_err(|source| self.record_error(source))?;
        let patience = self.lasts(entrant) + CLIENT_PATIENCE;
        let mut process = Process::start(command, &plan, stderr.file, patience)
            .map_err(|error| failed(format!("{} can't be started: {error}", words[0])))?;
        self.interrupt.watch(Some(process.pid()));
        let line = process.last_line();
        self.interrupt.watch(None);
        let (status, timed_out) = process.wait().map_err(|error| failed(error.to_string()))?;
        if timed_out {
            return Err(failed(format!("it had not ended {CLIENT_PATIENCE:?} after its run")));
        }
        match line.map(|line| serde_json::from_str(&line)) {
            Some(Ok(result)) => Ok(result),
            _ => Err(failed(format!("{status}: {}", stderr_text(&stderr.path)))),
        }
    }

    fn phases(&self, entrant: &Entrant) -> (f64, f64) {
        let scenario = &self.conduct.scenario;
        match entrant.is_floor {
            true => {
                (scenario.warm_up_seconds.min(scenario.floor_seconds / 4.0), scenario.floor_seconds)
            }
            false => (scenario.warm_up_seconds, scenario.seconds),
        }
    }

    fn lasts(&self, entrant: &Entrant) -> Duration {
        let (warm_up_seconds, seconds) = self.phases(entrant);
        Duration::from_secs_f64(warm_up_seconds + seconds)
    }
}

/// The lengths of the messages of the subject that `floor` is the floor of, if `run` has it.
fn message_bytes(run: &Run, entrants: &[Entrant], floor: &Entrant) -> Option<MessageBytes> {
    let subject = &entrants.iter().find(|one| !one.is_floor && one.index == floor.index)?.name;
    let measured = run.measured.iter().find(|measured| measured.subject == *subject)?;
    Some(measured.result.load.message_bytes).filter(|bytes| bytes.order > 0)
}

/// Where a process's stderr goes.
struct Stderr {
    path: PathBuf,
    file: File,
}

impl Stderr {
    fn new(directory: &Path, name: &str) -> io::Result<Stderr> {
        let path = directory::stderr(directory, name);
        Ok(Stderr { file: File::create(&path)?, path })
    }
}

fn stderr_text(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap_or_default();
    let text = text.trim().trim_start_matches("error: ").to_owned();
    if text.is_empty() { "it said nothing".to_owned() } else { text }
}
