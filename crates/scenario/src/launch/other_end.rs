//! Starts the processes at the other end: exchanges, followers, sinks.

use crate::conduct::ConductError;
use crate::launch::process::Process;
use crate::launch::{CLIENT_PATIENCE, EXCHANGE, EXCHANGE_PATIENCE, Launch, stderr};
use host::network::{Network, Networks};
use plan::process::exchange::ExchangePlan;
use rustix::process::Pid;
use serde::de::DeserializeOwned;
use std::path::PathBuf;
use std::process::Command;

/// A process that has not written its first line yet.
pub(super) struct StartingProcess {
    process: Process,
    who: String,
    /// The file of its stderr.
    stderr: PathBuf,
}

impl StartingProcess {
    pub(super) fn pid(&self) -> Pid {
        self.process.pid()
    }
}

impl Launch<'_> {
    /// Starts an exchange, or the raw echo. Returns it with its first line. Its stderr goes to a
    /// file with that suffix.
    pub(super) fn start_exchange<R: DeserializeOwned>(
        &self,
        plan: &ExchangePlan,
        suffix: &str,
    ) -> Result<(Process, R), ConductError> {
        self.start_exchange_in(self.networks.map(Networks::exchange), plan, suffix)
    }

    /// The same in that network.
    pub(super) fn start_exchange_in<R: DeserializeOwned>(
        &self,
        network: Option<&Network>,
        plan: &ExchangePlan,
        suffix: &str,
    ) -> Result<(Process, R), ConductError> {
        let failed = |why: String| ConductError::Process { who: EXCHANGE.to_owned(), why };
        let plan = serde_json::to_string(plan).map_err(|error| failed(error.to_string()))?;
        let mut command = Command::new(&self.conduct.program);
        command.args(["exchange", "--plan", "-"]);
        command.args(["--die-with-parent", &std::process::id().to_string()]);
        self.start_in(network, (EXCHANGE, suffix), command, &plan)
    }

    /// Starts the process at the other end, such as an exchange, with that text on stdin. Returns
    /// it with its first line. `who` names it in errors, and `suffix` the file of its stderr.
    pub(crate) fn start_other_end<R: DeserializeOwned>(
        &self,
        names: (&str, &str),
        command: Command,
        input: &str,
    ) -> Result<(Process, R), ConductError> {
        self.start_in(self.networks.map(Networks::exchange), names, command, input)
    }

    /// The same in that network.
    pub(super) fn start_in<R: DeserializeOwned>(
        &self,
        network: Option<&Network>,
        names: (&str, &str),
        command: Command,
        input: &str,
    ) -> Result<(Process, R), ConductError> {
        self.ready(self.begin_in(network, names, command, input)?)
    }

    /// Starts a process there, and does not wait for its first line.
    pub(super) fn begin_in(
        &self,
        network: Option<&Network>,
        (who, suffix): (&str, &str),
        command: Command,
        input: &str,
    ) -> Result<StartingProcess, ConductError> {
        let who = who.to_owned();
        let (stderr, file) = self.stderr(suffix)?;
        let start = || Process::start(command, input, file, EXCHANGE_PATIENCE);
        let started = match network {
            None => start(),
            Some(network) => network.within(start)?,
        };
        match started {
            Ok(process) => {
                self.occupancy.is_measured(process.pid());
                Ok(StartingProcess { process, who, stderr })
            }
            Err(error) => {
                Err(ConductError::Process { who, why: format!("it can't be started: {error}") })
            }
        }
    }

    /// Waits for the first line of a process.
    pub(super) fn ready<R: DeserializeOwned>(
        &self,
        StartingProcess { mut process, who, stderr }: StartingProcess,
    ) -> Result<(Process, R), ConductError> {
        self.interrupt.watch(&[process.pid()]);
        let line = process.line().unwrap_or_default();
        self.interrupt.watch(&[]);
        if let Ok(ready) = serde_json::from_str::<R>(&line) {
            process.deadline(self.lasts() + CLIENT_PATIENCE + EXCHANGE_PATIENCE);
            return Ok((process, ready));
        }
        // It has ended, or will at its deadline.
        let _ = process.wait();
        Err(ConductError::Process { who, why: stderr::said(&stderr) })
    }
}
