//! Starts the processes of one entrant in one run, and reads their results.

mod client_result;
pub(crate) mod cluster;
pub(crate) mod command;
mod cost;
pub(crate) mod observer;
mod other_end;
mod ports;
pub(crate) mod process;
pub(crate) mod replica;
pub(crate) mod stderr;
mod wrapper;
mod zones;

use crate::conduct::{Conduct, ConductError, Entrant, OPERATIONS_PER_SECOND_MIN};
use crate::evidence::Outcome;
use crate::launch::client_result::ResultFault;
use crate::launch::cluster::Cluster;
use crate::launch::process::Interrupt;
use crate::launch::process::Process;
use crate::placement::ScenarioCores;
use crate::progress::{Progress, Teller};
use clock::Clock;
use host::network::Networks;
use noise::occupancy::Occupancy;
use plan::Measure;
use plan::backend::Queue;
use plan::process::exchange::{
    BookPlan, ExchangePlan, FlowPlan, JournalPlan, OtherEnd, PublishPlan,
};
use plan::tables::network::Protocol;
use plan::tables::subject::Dialect;
use plan::trust::Trust;
use record::progress::ProgressLine;
use record::{ClientResult, ExchangeResult};
use rustix::process::Pid;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Time limit for an exchange to be ready (it reads a large book first), or to end.
const EXCHANGE_PATIENCE: Duration = Duration::from_secs(60);
/// The exchange, in errors.
const EXCHANGE: &str = "the exchange";
/// The exchange's default limit of connections.
const CONNECTIONS_MAX_DEFAULT: usize = 1024;
/// Time that a client may take in addition to its run, to connect, drain and write.
pub(crate) const CLIENT_PATIENCE: Duration = Duration::from_secs(60);

/// The data that an exchange publishes, and the flow behind it; nothing by default.
#[derive(Default)]
pub(crate) struct MarketData {
    pub feed: Option<PublishPlan>,
    pub flow: Option<FlowPlan>,
}

/// An exchange that waits to take over.
pub(crate) struct Standby {
    pub process: Process,
    /// Where it listens for clients then.
    pub clients: String,
}

/// One entrant in one run.
pub(crate) struct Launch<'a> {
    pub conduct: &'a Conduct,
    pub placed: &'a ScenarioCores,
    /// The run directory.
    pub path: &'a Path,
    pub interrupt: &'a Interrupt,
    /// Which run, from 1.
    pub number: u32,
    pub entrant: &'a Entrant,
    /// The occupancy of the measured cores; it must know the measured processes.
    pub occupancy: &'a Occupancy,
    /// The clock of this process.
    pub clock: Clock,
    /// The namespaces of both ends, unless they share a network.
    pub networks: Option<&'a Networks>,
}

/// An exchange's first line.
#[derive(Default, Deserialize)]
pub(crate) struct Ready {
    #[serde(rename = "listening")]
    pub address: String,
    /// The clock of its stamps.
    #[serde(default)]
    pub clock: Option<Clock>,
    /// The certificate that it made for itself, in PEM.
    #[serde(default)]
    pub certificate: Option<String>,
    /// Where it accepts FIX.
    #[serde(default)]
    pub fix: Option<String>,
    /// Where it takes SBE over UDP.
    #[serde(default)]
    pub sbe_udp: Option<String>,
    /// The stack below it, unless that is the kernel's.
    #[serde(default)]
    pub stack: Option<String>,
}

/// A client that was started.
pub(crate) struct Client {
    process: Process,
    stderr: PathBuf,
    /// The stack that a wrapper gave it, or why it did not; `None` without a wrapper.
    stack: Option<Result<String, String>>,
}

impl Client {
    pub(crate) fn pid(&self) -> Pid {
        self.process.pid()
    }
}

impl Launch<'_> {
    /// Starts an exchange that publishes `market_data`, lets `client` measure it, and ends it. The
    /// client also gets the cluster with the exchange's copies, if it has one.
    pub(crate) fn with_exchange(
        &self,
        market_data: MarketData,
        client: impl FnOnce(Option<Pid>, Ready, Option<&mut Cluster>) -> Result<Outcome, ConductError>,
    ) -> Result<Outcome, ConductError> {
        let mut replica = self.start_replica()?;
        let standby = replica.as_mut().and_then(|replica| replica.standby.take());
        let journal = replica.as_ref().map(|replica| replica.plan.clone());
        let plan = self.exchange_plan(market_data, journal);
        let dropped_before = cost::packets_dropped(self.networks);
        let starts = self.conduct.scenario.exchange.start;
        let (process, mut ready) = match starts.then(|| self.start_exchange(&plan, ".exchange")) {
            Some(started) => started.map(|(process, ready)| (Some(process), ready))?,
            None => {
                let Conduct { connect, connect_floor, .. } = self.conduct;
                let known = if self.entrant.is_floor { connect_floor } else { connect };
                let address = known.clone().unwrap_or_default();
                (None, Ready { address, ..Ready::default() })
            }
        };
        // Orders come over one port; that of FIX may be for market data alone.
        let orders = match self.entrant.dialect {
            Dialect::Fix => ready.fix.take(),
            _ => ready.sbe_udp.take(),
        };
        if let Some(port) = orders {
            ready.address = port;
        }
        let stack = ready.stack.as_ref().map(|stack| format!("exchange: {stack}"));
        let version = replica.as_ref().and_then(|replica| replica.cluster_version.clone());
        if let Some(Standby { clients, .. }) = &standby {
            ready.address = format!("{},{clients}", ready.address);
        }
        let cluster = replica.as_mut().and_then(|replica| replica.cluster.as_mut());
        let outcome = client(process.as_ref().map(Process::pid), ready, cluster);
        // They end whatever became of the client.
        let ended = match standby {
            None => process.map(|process| self.end_exchange(process)),
            Some(Standby { process: next, .. }) => {
                // Its deadline's watchdog is dropped with it, and it is killed.
                drop(process);
                Some(self.end_exchange(next))
            }
        };
        if self.speaks_fix() {
            // They were only for the sessions of this run.
            for store in self.fix_stores() {
                let _ = std::fs::remove_dir_all(store);
            }
        }
        let followed = replica.map_or(Ok(None), |replica| self.end_replica(replica));
        let mut outcome = outcome?;
        let load = &mut outcome.result.load;
        load.stacks.extend(stack.into_iter().chain(version));
        let own = starts.then_some(plan.backend.as_str());
        cost::complete(load, own, cost::packets_dropped(self.networks), dropped_before);
        match followed {
            Ok(between) => outcome.result.load.between_zones = between,
            Err(why) => outcome.result.fail(why),
        }
        match ended.transpose() {
            Ok(exchange) => outcome.exchange = exchange.flatten(),
            Err(why) => outcome.result.fail(why),
        }
        Ok(outcome)
    }

    /// Starts a raw echo as the sink of bulk flows, lets `client` use it, and ends it. It is on no
    /// core of its own, and sleeps while nothing comes.
    pub(crate) fn with_sink(
        &self,
        client: impl FnOnce(String) -> Result<ClientResult, ConductError>,
    ) -> Result<ClientResult, ConductError> {
        let plan = self.exchange_plan(MarketData::default(), None);
        let backend = "block".to_owned();
        let queue = Queue::All;
        let plan = ExchangePlan { cores: Vec::new(), gateways: 0, backend, queue, ..plan };
        let (process, ready) = self.start_exchange::<Ready>(&plan, ".sink")?;
        let result = client(ready.address);
        let ended = self.end_other_end("the sink of the bulk flows", process);
        let mut result = result?;
        if let Err(why) = ended {
            result.fail(why);
        }
        Ok(result)
    }

    fn exchange_plan(&self, market_data: MarketData, journal: Option<JournalPlan>) -> ExchangePlan {
        let spec = &self.conduct.scenario.exchange;
        let MarketData { feed, flow } = market_data;
        ExchangePlan {
            listen: self.any_port(),
            backend: spec.backend.clone(),
            queue: spec.queue,
            scheduling: spec.scheduling,
            cores: self.placed.exchange.iter().copied().take(1 + spec.gateways as usize).collect(),
            // The floor has them too: it is the path without the exchange's own work.
            gateways: spec.gateways as usize,
            end: match (self.conduct.has_echo(self.entrant), self.entrant.is_bare) {
                _ if self.has_datagrams() => OtherEnd::Datagrams,
                (true, true) => OtherEnd::Bare,
                (true, false) => OtherEnd::Echo,
                (false, _) => OtherEnd::Exchange(Box::new(self.book_plan(journal))),
            },
            feed,
            flow,
        }
    }

    /// Whether its messages are datagrams.
    pub(crate) fn has_datagrams(&self) -> bool {
        let scenario = &self.conduct.scenario;
        let asks = scenario.kind == Measure::Network && scenario.request.protocol == Protocol::Udp;
        asks || self.entrant.is_floor && self.entrant.dialect == Dialect::SbeUdp
    }

    fn book_plan(&self, journal: Option<JournalPlan>) -> BookPlan {
        let spec = &self.conduct.scenario.exchange;
        BookPlan {
            tls: self.entrant.has_tls,
            book: spec.book.clone(),
            instruments: Some(spec.instruments.clone()).filter(|path| !path.is_empty()),
            open_orders_max: spec.open_orders_max,
            connections_max: self.conduct.scenario.load.connections.max(CONNECTIONS_MAX_DEFAULT),
            replay_inputs_max: spec.replay_inputs_max,
            journal,
            fix: self.fix_plan(),
            entry_hold_us: Some(spec.entry_hold_us).filter(|hold_us| *hold_us > 0),
            delivery_window_us: Some(spec.delivery_window_us).filter(|window_us| *window_us > 0),
            sbe_udp: self.sbe_udp(),
            inject: spec.inject.clone(),
        }
    }

    /// Ends the process at the other end; its last line.
    pub(crate) fn end_other_end(
        &self,
        who: &str,
        mut process: Process,
    ) -> Result<Option<String>, String> {
        process.terminate();
        let line = process.last_line();
        let (status, timed_out) = process.wait().map_err(|error| error.to_string())?;
        if timed_out || !status.success() {
            let how = if timed_out { "hung and was killed".to_owned() } else { status.to_string() };
            return Err(format!("{who} died in mid-run: {how}"));
        }
        Ok(line)
    }

    /// Ends the exchange and reads its result; a raw echo has none.
    fn end_exchange(&self, process: Process) -> Result<Option<ExchangeResult>, String> {
        let line = self.end_other_end(EXCHANGE, process)?;
        if self.conduct.has_echo(self.entrant) {
            return Ok(None);
        }
        let line = line.unwrap_or_default();
        serde_json::from_str(&line)
            .map(Some)
            .map_err(|error| format!("the exchange's last words make no sense: {error}: {line}"))
    }

    /// Runs our client of that command, or the scenario's own, under `plan`.
    pub(crate) fn run_client(
        &self,
        own: &str,
        plan: &impl Serialize,
        teller: &mut Teller<'_>,
    ) -> Result<ClientResult, ConductError> {
        let client = self.start_client(own, plan)?;
        self.result(client, teller)
    }

    /// Starts our client of that command, or the scenario's own, with its plan.
    pub(crate) fn start_client(
        &self,
        own: &str,
        plan: &impl Serialize,
    ) -> Result<Client, ConductError> {
        let plan = serde_json::to_string(plan).map_err(|error| self.failed(error.to_string()))?;
        let (stderr, file) = self.stderr("")?;
        let patience = self.lasts() + CLIENT_PATIENCE;
        let start = || Process::start(self.command_or(own), &plan, file, patience);
        let started = match self.networks {
            None => start(),
            Some(networks) => networks.trader().within(start)?,
        };
        let process =
            started.map_err(|error| self.failed(format!("it can't be started: {error}")))?;
        self.occupancy.is_measured(process.pid());
        self.interrupt.watch(&[process.pid()]);
        let wrapper = Some(&self.entrant.wrapper).filter(|wrapper| !wrapper.is_empty());
        let stack = wrapper.map(|wrapper| wrapper::stack(wrapper, process.pid()));
        Ok(Client { process, stderr, stack })
    }

    /// Waits for a client's result, and passes its progress on.
    pub(crate) fn result(
        &self,
        client: Client,
        teller: &mut Teller<'_>,
    ) -> Result<ClientResult, ConductError> {
        let Client { mut process, stderr, stack } = client;
        let line = process.last_line_after(&mut |line| {
            let line = serde_json::from_str::<ProgressLine>(line);
            if let Ok(line) = &line {
                teller.say(Progress::Second(&line.progress));
            }
            line.is_ok()
        });
        self.interrupt.watch(&[]);
        let (status, timed_out) = process.wait().map_err(|error| self.failed(error.to_string()))?;
        if timed_out {
            return Err(self.failed(format!("it had not ended {CLIENT_PATIENCE:?} after its run")));
        }
        match line.map(|line| client_result::read(&line)) {
            Some(Ok(mut result)) => {
                match stack.transpose() {
                    Ok(stack) => result.load.stacks.extend(stack),
                    Err(why) => result.fail(why),
                }
                Ok(result)
            }
            Some(Err(ResultFault::Lacks(counts))) => Err(self.failed(counts)),
            _ => Err(self.failed(format!("{status}: {}", stderr::said(&stderr)))),
        }
    }

    /// By what this entrant checks the certificate of an exchange that said this when it was ready.
    pub(crate) fn trust(&self, certificate: Option<String>) -> Option<Trust> {
        let is_secure = self.entrant.has_tls && !self.entrant.is_floor;
        let trust = self.conduct.scenario.trust(self.entrant.index).filter(|_| is_secure)?;
        Some(match certificate {
            None => trust,
            certificate => Trust { ca: None, ca_pem: certificate, name: None },
        })
    }

    /// The scenario's client, or our own with that command.
    pub(crate) fn command_or(&self, own: &str) -> Command {
        let foreign = &self.conduct.scenario.subject[self.entrant.index].command;
        let wrapper = &self.entrant.wrapper;
        let mut words: Vec<OsString> = wrapper.iter().map(OsString::from).collect();
        match foreign.is_empty() || self.entrant.is_floor {
            false => words.extend(foreign.iter().map(OsString::from)),
            true => {
                words.extend([self.conduct.program.clone().into(), own.into()]);
                // A wrapper may be its parent. It ends all the same: the exchange, which dies with
                // us, closes its connections.
                if wrapper.is_empty() {
                    let parent = std::process::id().to_string();
                    words.extend(["--die-with-parent".into(), parent.into()]);
                }
            }
        }
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).args(["--plan", "-"]);
        command
    }

    pub(crate) fn lasts(&self) -> Duration {
        if let Some(operations) = self.conduct.operations() {
            return Duration::from_secs_f64(operations as f64 / OPERATIONS_PER_SECOND_MIN);
        }
        let (warm_up_seconds, seconds) = self.conduct.phases(self.entrant);
        Duration::from_secs_f64(warm_up_seconds + seconds)
    }

    /// The error of an entrant that failed.
    pub(crate) fn failed(&self, why: String) -> ConductError {
        ConductError::Process { who: self.entrant.name.clone(), why }
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
