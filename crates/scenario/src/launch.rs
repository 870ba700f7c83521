//! Starts the processes of one entrant in one run, and hears what they say.

use crate::conduct::{Conduct, ConductError, Entrant, Interrupt, OPERATIONS_PER_SECOND_MIN};
use crate::file::Kind;
use crate::placement::Placed;
use crate::process::Process;
use crate::progress::{Progress, Teller};
use crate::run::Lengths;
use host::Cores;
use host::network::Networks;
use measure::clock::Clock;
use measure::directory;
use measure::progress::Line;
use measure::record::{ClientResult, ExchangeResult, MessageBytes};
use rustix::process::Pid;
use serde::Deserialize;
use std::fs::{self, File};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use trader::plan::{Plan, Wire};
use transport::inject::Inject;

/// How long an exchange may take to be ready (a large book is read first), or to end.
const EXCHANGE_PATIENCE: Duration = Duration::from_secs(60);
/// What an exchange takes without being asked to take more.
const CONNECTIONS_MAX_DEFAULT: usize = 1024;
/// How long a client may take beyond its run: connecting, draining, writing.
pub(crate) const CLIENT_PATIENCE: Duration = Duration::from_secs(60);

/// Warnings of processes that a record holds.
const WARNINGS_MAX: usize = 100;

/// One entrant in one run.
pub(crate) struct Launch<'a> {
    pub conduct: &'a Conduct,
    pub placed: &'a Placed,
    /// The run directory.
    pub path: &'a Path,
    pub interrupt: &'a Interrupt,
    /// Which run, from 1.
    pub number: u32,
    pub entrant: &'a Entrant,
    /// Where the two ends live, if they shall not share a network.
    pub networks: Option<&'a Networks>,
}

/// The first line of an exchange.
#[derive(Deserialize)]
pub(crate) struct Ready {
    #[serde(rename = "listening")]
    pub address: String,
    /// What it stamps on.
    #[serde(default)]
    pub clock: Option<Clock>,
}

/// One client that was started.
pub(crate) struct Client {
    process: Process,
    stderr: PathBuf,
}

impl Client {
    pub(crate) fn pid(&self) -> Pid {
        self.process.pid()
    }
}

impl Launch<'_> {
    /// A fresh exchange, or what gives the floor of messages of these lengths, and what it says when it is ready; `None`
    /// where the scenario starts none.
    pub(crate) fn start_exchange(
        &self,
        lengths: Option<&Lengths>,
    ) -> Result<Option<(Process, Ready)>, ConductError> {
        if !self.conduct.scenario.exchange.start {
            return Ok(None);
        }
        let failed = |why: String| ConductError::Process { who: "the exchange".to_owned(), why };
        let (stderr, file) = self.stderr(".exchange")?;
        let command = self.exchange_command(lengths);
        let start = || Process::start(command, "", file, EXCHANGE_PATIENCE);
        let started = match self.networks {
            None => start(),
            Some(networks) => networks.exchange().within(start)?,
        };
        let mut process =
            started.map_err(|error| failed(format!("it can't be started: {error}")))?;
        self.interrupt.watch(&[process.pid()]);
        let line = process.line().unwrap_or_default();
        self.interrupt.watch(&[]);
        if let Ok(ready) = serde_json::from_str::<Ready>(&line) {
            process.deadline(self.lasts() + CLIENT_PATIENCE + EXCHANGE_PATIENCE);
            return Ok(Some((process, ready)));
        }
        // It has ended, or will at its deadline.
        let _ = process.wait();
        Err(failed(said(&stderr).unwrap_or_else(nothing)))
    }

    fn exchange_command(&self, lengths: Option<&Lengths>) -> Command {
        let spec = &self.conduct.scenario.exchange;
        let mut command = Command::new(&self.conduct.program);
        let own = self.networks.map_or(Ipv4Addr::LOCALHOST, |both| both.exchange().address());
        command.args(["exchange", "--listen", &format!("{own}:0")]);
        command.args(["--die-with-parent", &std::process::id().to_string()]);
        command.args(["--backend", &spec.backend]);
        command.args(["--scheduling", &spec.scheduling.to_string()]);
        if !self.placed.exchange.is_empty() {
            let cores = Cores::List(self.placed.exchange.clone());
            command.args(["--cores", &cores.to_string()]);
        }
        // The floor's too: it is what remains without the exchange's own work.
        command.args(["--gateways", &spec.gateways.to_string()]);
        if self.conduct.scenario.kind == Kind::Tick {
            self.feed_arguments(&mut command, lengths.filter(|_| self.entrant.is_floor));
        }
        if self.entrant.is_floor {
            command.arg("--echo");
            return command;
        }
        command.args(["--any-token", "--book", &spec.book]);
        command.args(["--open-orders-max", &spec.open_orders_max.to_string()]);
        let connections_max = self.conduct.scenario.load.connections.max(CONNECTIONS_MAX_DEFAULT);
        command.args(["--connections-max", &connections_max.to_string()]);
        command.args(["--replay-inputs-max", &spec.replay_inputs_max.to_string()]);
        for word in spec.inject.words() {
            command.args(["--inject", &word]);
        }
        if !spec.instruments.is_empty() {
            command.args(["--instruments", &spec.instruments]);
        }
        command
    }

    /// What the exchange says when it is told to end; the raw echo says nothing.
    pub(crate) fn end_exchange(
        &self,
        mut process: Process,
    ) -> Result<Option<ExchangeResult>, String> {
        process.terminate();
        let line = process.last_line();
        let (status, timed_out) = process.wait().map_err(|error| error.to_string())?;
        if timed_out || !status.success() {
            let how = if timed_out { "hung and was killed".to_owned() } else { status.to_string() };
            return Err(format!("the exchange died in mid-run: {how}"));
        }
        if self.entrant.is_floor {
            return Ok(None);
        }
        let line = line.unwrap_or_default();
        serde_json::from_str(&line)
            .map(Some)
            .map_err(|error| format!("the exchange's last words make no sense: {error}: {line}"))
    }

    /// One client, from its start to its result; what it tells meanwhile is passed on. `bytes` are a
    /// floor's message lengths.
    pub(crate) fn client(
        &self,
        target: String,
        bytes: Option<MessageBytes>,
        teller: &mut Teller<'_>,
    ) -> Result<ClientResult, ConductError> {
        let failed = |why: String| ConductError::Process { who: self.entrant.name.clone(), why };
        let wire = match (self.entrant.is_floor, bytes) {
            (false, _) => Wire::WebsocketJson,
            (true, Some(bytes)) => Wire::Raw(bytes),
            (true, None) => return Err(failed("no message lengths are known yet".to_owned())),
        };
        let plan = serde_json::to_string(&self.plan(target, wire, teller.is_heard()))
            .map_err(|error| failed(error.to_string()))?;
        self.told("trade", &plan, teller)
    }

    /// What our client of that command, or the scenario's own, comes to under `plan`; what it tells meanwhile is
    /// passed on.
    pub(crate) fn told(
        &self,
        own: &str,
        plan: &str,
        teller: &mut Teller<'_>,
    ) -> Result<ClientResult, ConductError> {
        let client = self.start_client(own, plan)?;
        self.heard(client, teller)
    }

    /// Our client of that command, or the scenario's own, with its plan.
    pub(crate) fn start_client(&self, own: &str, plan: &str) -> Result<Client, ConductError> {
        let failed = |why: String| ConductError::Process { who: self.entrant.name.clone(), why };
        let (stderr, file) = self.stderr("")?;
        let patience = self.lasts() + CLIENT_PATIENCE;
        let start = || Process::start(self.command_or(own), plan, file, patience);
        let started = match self.networks {
            None => start(),
            Some(networks) => networks.trader().within(start)?,
        };
        let process = started.map_err(|error| failed(format!("it can't be started: {error}")))?;
        self.interrupt.watch(&[process.pid()]);
        Ok(Client { process, stderr })
    }

    /// What a client comes to; what it tells meanwhile is passed on.
    pub(crate) fn heard(
        &self,
        client: Client,
        teller: &mut Teller<'_>,
    ) -> Result<ClientResult, ConductError> {
        let failed = |why: String| ConductError::Process { who: self.entrant.name.clone(), why };
        let Client { mut process, stderr } = client;
        let line = process.last_line_after(&mut |line| {
            let told = serde_json::from_str::<Line>(line);
            if let Ok(told) = &told {
                teller.say(Progress::Second(&told.progress));
            }
            told.is_ok()
        });
        self.interrupt.watch(&[]);
        let (status, timed_out) = process.wait().map_err(|error| failed(error.to_string()))?;
        if timed_out {
            return Err(failed(format!("it had not ended {CLIENT_PATIENCE:?} after its run")));
        }
        match line.map(|line| serde_json::from_str(&line)) {
            Some(Ok(result)) => Ok(result),
            _ => Err(failed(format!("{status}: {}", said(&stderr).unwrap_or_else(nothing)))),
        }
    }

    fn plan(&self, target: String, wire: Wire, progress: bool) -> Plan {
        let scenario = &self.conduct.scenario;
        let spec = &scenario.subject[self.entrant.index];
        let (warm_up_seconds, seconds) = self.conduct.phases(self.entrant);
        Plan {
            subject: self.entrant.name.clone(),
            target,
            wire,
            backend: spec.backend.clone(),
            core: self.entrant.cores.first().copied(),
            scheduling: spec.scheduling,
            load: scenario.load.clone(),
            warm_up_seconds,
            seconds,
            // The floor is the control: nobody harms it.
            inject: match self.entrant.is_floor {
                true => Inject::default(),
                false => spec.inject.clone(),
            },
            hlog: directory::hlog(self.path, self.number).display().to_string(),
            progress,
        }
    }

    /// The client that the scenario names, or our own by that command.
    pub(crate) fn command_or(&self, own: &str) -> Command {
        let foreign = &self.conduct.scenario.subject[self.entrant.index].command;
        let mut command = match foreign.split_first() {
            Some((program, arguments)) if !self.entrant.is_floor => {
                let mut command = Command::new(program);
                command.args(arguments);
                command
            }
            _ => {
                let mut command = Command::new(&self.conduct.program);
                command.args([own, "--die-with-parent", &std::process::id().to_string()]);
                command
            }
        };
        command.args(["--plan", "-"]);
        command
    }

    pub(crate) fn lasts(&self) -> Duration {
        if let Some(operations) = self.conduct.operations() {
            return Duration::from_secs_f64(operations as f64 / OPERATIONS_PER_SECOND_MIN);
        }
        let (warm_up_seconds, seconds) = self.conduct.phases(self.entrant);
        Duration::from_secs_f64(warm_up_seconds + seconds)
    }

    /// A file for a process's stderr.
    pub(crate) fn stderr(&self, suffix: &str) -> Result<(PathBuf, File), ConductError> {
        let name = format!("{:03}.{}{suffix}", self.number, self.entrant.name);
        let path = self.path.join(format!("{name}.stderr"));
        match File::create(&path) {
            Ok(file) => Ok((path, file)),
            Err(source) => {
                Err(ConductError::Record { path: self.path.display().to_string(), source })
            }
        }
    }
}

/// What a process said before it ended, if anything.
pub(crate) fn said(stderr: &Path) -> Option<String> {
    let text = fs::read_to_string(stderr).unwrap_or_default();
    let text = text.trim().trim_start_matches("error: ").to_owned();
    (!text.is_empty()).then_some(text)
}

pub(crate) fn nothing() -> String {
    "it said nothing".to_owned()
}

/// What processes that ended well warned of, each warning once.
pub(crate) fn warnings(directory: &Path) -> Vec<String> {
    let mut warnings = Vec::new();
    for file in &stderr_files(directory) {
        // NUMBER.WHO.stderr
        let who = file.file_stem().unwrap_or_default().to_string_lossy();
        let who = who.split_once('.').map_or("", |(_, who)| who);
        let text = said(file).unwrap_or_default();
        for warning in text.lines().filter_map(|line| line.strip_prefix("warning: ")) {
            let warning = format!("{who}: {warning}");
            if warnings.len() < WARNINGS_MAX && !warnings.contains(&warning) {
                warnings.push(warning);
            }
        }
    }
    warnings
}

/// What processes said, in the order of their runs.
fn stderr_files(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|file| file.extension().is_some_and(|extension| extension == "stderr"))
        .collect();
    files.sort();
    files
}

/// Removes what processes said, where nobody needs it.
pub(crate) fn remove_stderr(directory: &Path) {
    for file in stderr_files(directory) {
        // One that stays does no harm.
        let _ = fs::remove_file(file);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_processes_warn_of_is_kept_once() {
        let directory = tempfile::tempdir().unwrap();
        for (name, text) in [
            ("001.rust.exchange.stderr", "warning: over soon\nand more\n"),
            ("002.rust.exchange.stderr", "warning: over soon\n"),
            ("002.java.stderr", "warning: slow\nerror: no warning: at all"),
            ("001.hlog", "warning: not this"),
        ] {
            fs::write(directory.path().join(name), text).unwrap();
        }
        assert_eq!(warnings(directory.path()), ["rust.exchange: over soon", "java: slow"]);
        remove_stderr(directory.path());
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }
}
