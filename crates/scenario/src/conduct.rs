//! Input of a run: a scenario, the programs, and the directory of the record. `run::stage` carries
//! it out.

use crate::kind::fan_out;
use crate::placement::ScenarioCores;
use host::network::NetworkError;
use host::{HostError, Scheduling};
use noise::hiccup;
use plan::scenario::Measure;
use plan::scenario::{BARE, FLOOR, Scenario};
use plan::tables::engine::Engine;
use plan::tables::load::Model;
use plan::tables::subject::Dialect;
use plan::tables::ticks::{FeedDialect, Network};
use record::RateSearch;
use record::directory::cannot_write;
use record::engine::EMPTY_DISPATCH;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use trader::risk::{Profile, RiskError};

/// A scenario with everything that is needed to carry it out.
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
    /// The command line that repeats this run.
    pub command: Vec<String>,
    /// `HOST:PORT` of an exchange that already runs.
    pub connect: Option<String>,
    /// `HOST:PORT` of its raw echo.
    pub connect_floor: Option<String>,
    /// Also find out what disturbs the measured cores (`noise::beside`).
    pub noise: bool,
    /// Make more runs than the scenario asks for, until its figures hold further.
    pub until: Option<RunExtension>,
    /// How the scenario's rate was found, if it was.
    pub rate_search: Option<RateSearch>,
    /// Its record is no result, only a sign that everything works.
    pub smoke_test: bool,
}

/// More runs, until the main series holds far enough or the time is up. As many runs count as the
/// scenario asks for: those that were disturbed least.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunExtension {
    /// The rank, from 0 to 1, to which the main series must hold.
    pub quantile: f64,
    /// No run begins later than this after the first one.
    pub budget: Duration,
}

impl Conduct {
    /// One of a test: it can be judged, and not carried out.
    #[cfg(test)]
    pub(crate) fn of(scenario: Scenario) -> Conduct {
        Conduct {
            scenario,
            runs_directory: PathBuf::new(),
            program: PathBuf::new(),
            tool: String::new(),
            command: Vec::new(),
            connect: None,
            connect_floor: None,
            noise: false,
            until: None,
            smoke_test: false,
            rate_search: None,
        }
    }

    /// Checks that the scenario and the command line fit together.
    pub(crate) fn check(&self) -> Result<(), ConductError> {
        let usage = |text: &str| Err(ConductError::Usage(text.to_owned()));
        let scenario = &self.scenario;
        if scenario.kind == Measure::Ticks && scenario.flow.is_unnamed() && scenario.exchange.start
        {
            return usage(
                "this scenario replays a recorded day and names none: add --set flow.source=FILE, a Databento MBO \
                 file (.dbn, .dbn.zst)",
            );
        }
        if !scenario.measurement().has_exchange() {
            return match &self.connect {
                Some(_) => {
                    usage("this scenario starts all that it measures itself; leave out --connect")
                }
                None => Ok(()),
            };
        }
        if scenario.network == Network::Veth && !scenario.exchange.start {
            return usage(
                "network = \"veth\" is for an exchange that the scenario starts; leave it out",
            );
        }
        if scenario.has_one_flow() && scenario.runs > 1 {
            return usage(
                "the flow of an exchange runs once, and --connect names one that runs already: add --set runs=1, and \
                 start that exchange again for each run",
            );
        }
        if scenario.kind == Measure::FanOut && !scenario.exchange.start {
            return self.check_fan_out();
        }
        match (scenario.exchange.start, &self.connect) {
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

    /// Checks that the replicator and the subscribers that run already are named.
    fn check_fan_out(&self) -> Result<(), ConductError> {
        if self.scenario.fan_out.hosts.is_empty() {
            return Err(ConductError::Usage(
                "the scenario starts no replicator, and its subscribers are on other hosts: start \
                 `tickpath subscribers` on each, and name them with --set \
                 'fan_out.hosts=[\"IP:PORT\"]'"
                    .to_owned(),
            ));
        }
        fan_out::Ready::named(self).map(|_| ())
    }

    /// Reads the scenario's risk profile; `None` if it names none.
    pub(crate) fn risk_profile(&self) -> Result<Option<Profile>, RiskError> {
        let path = Path::new(&self.scenario.risk.profile);
        let is_named = !path.as_os_str().is_empty();
        is_named.then(|| Profile::read(path)).transpose()
    }

    /// Whether an echo stands in the exchange's place for this entrant.
    pub(crate) fn has_echo(&self, entrant: &Entrant) -> bool {
        entrant.is_floor || self.scenario.kind == Measure::Network
    }

    /// Lengths of the part before the measured one, such as the warm-up, and of that one, s.
    pub(crate) fn phases(&self, entrant: &Entrant) -> (f64, f64) {
        let scenario = &self.scenario;
        if scenario.kind == Measure::Cores {
            return (0.0, pairs(&entrant.cores).count() as f64 * scenario.seconds);
        }
        if let Some(operations) = self.operations() {
            return (0.0, operations as f64 / OPERATIONS_PER_SECOND_USUAL);
        }
        let raw = |seconds: f64| (scenario.warm_up_seconds.min(seconds / 4.0), seconds);
        match entrant.is_floor {
            true if entrant.is_bare => raw(scenario.bare_seconds),
            true => raw(scenario.floor_seconds),
            false if scenario.kind == Measure::Soak => (0.0, scenario.seconds),
            // A search has a warm-up of its own, and as many messages.
            false if scenario.kind == Measure::FanOut && scenario.fan_out.search => {
                (2.0 * scenario.warm_up_seconds + scenario.seconds, scenario.seconds)
            }
            false => (scenario.warm_up_seconds, scenario.seconds),
        }
    }

    /// Operations of a subject that runs until they are done, not for a given time.
    pub(crate) fn operations(&self) -> Option<u64> {
        let scenario = &self.scenario;
        let Engine { operations, passes, .. } = scenario.engine;
        match scenario.kind {
            // One extra pass counts, and in another each operation is timed.
            Measure::Engine if scenario.load.model == Model::PingPong => {
                Some(operations * u64::from(passes + 2))
            }
            Measure::Soak if operations > 0 => Some(operations),
            _ => None,
        }
    }
}

/// A typical engine's rate. Only the remaining time on the screen uses it.
const OPERATIONS_PER_SECOND_USUAL: f64 = 4e6;
/// A slower engine is taken to hang.
pub(crate) const OPERATIONS_PER_SECOND_MIN: f64 = 5e4;

/// Why nothing could be measured.
#[derive(Debug, thiserror::Error)]
pub enum ConductError {
    /// The scenario and the command line contradict each other.
    #[error("{0}")]
    Usage(String),
    /// The risk profile can't be used.
    #[error(transparent)]
    Risk(#[from] RiskError),
    /// The cores asked for aren't available.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The two network namespaces can't be made.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// The hiccup row can't be measured.
    #[error(transparent)]
    Hiccup(#[from] hiccup::HiccupError),
    /// The runs would fail or be void, which is known before the first one; one fault a line.
    #[error("{}", faults.join("; "))]
    CannotRun {
        /// The faults, each with its remedy.
        faults: Vec<String>,
    },
    /// The record can't be written.
    #[error("{} with --out", cannot_write(format_args!("the record in {path}"), source))]
    Record {
        /// The directory.
        path: String,
        /// The file system's error.
        source: io::Error,
    },
    /// A process failed before anything was measured.
    #[error("{who} failed: {why}")]
    Process {
        /// The exchange, or the client's name.
        who: String,
        /// Its last words on stderr, if any.
        why: String,
    },
}

/// An error of a file in `path`.
pub(crate) fn record_failed(path: &Path) -> impl Fn(std::io::Error) -> ConductError + use<> {
    let path = path.display().to_string();
    move |source| ConductError::Record { path: path.clone(), source }
}

/// One entrant of a run: a subject of the scenario, or a floor.
#[derive(Clone, Debug)]
pub(crate) struct Entrant {
    pub name: String,
    pub backend: String,
    pub scheduling: Scheduling,
    /// Cores of its measuring threads, in order.
    pub cores: Vec<usize>,
    /// Index into the scenario's subjects; a floor has that of the first subject with its backend.
    pub index: usize,
    /// It speaks TLS. For a floor: its messages are as long as TLS records of its subject's.
    pub has_tls: bool,
    /// The program that starts its client over another stack; empty: none.
    pub wrapper: Vec<String>,
    /// The dialect of its orders. For a floor: its messages are as long as its subject's.
    pub dialect: Dialect,
    /// The dialect of the market data that it follows.
    pub feed: FeedDialect,
    /// It is a floor or the bare echo: raw bytes without an exchange.
    pub is_floor: bool,
    /// It is the bare echo below a floor.
    pub is_bare: bool,
}

/// Every pair of `cores`, once.
pub(crate) fn pairs(cores: &[usize]) -> impl Iterator<Item = (usize, usize)> {
    let later = move |(index, one): (usize, &usize)| {
        let one = *one;
        cores[index + 1..].iter().map(move |other| (one, *other))
    };
    cores.iter().enumerate().flat_map(later)
}

/// The subjects, then a floor for each combination of backend, cores and scheduling class.
pub(crate) fn entrants(conduct: &Conduct, placed: &ScenarioCores) -> Vec<Entrant> {
    let scenario = &conduct.scenario;
    let mut entrants: Vec<Entrant> = scenario
        .subject
        .iter()
        .zip(&placed.subjects)
        .enumerate()
        .filter(|(index, _)| !placed.left_out.contains(index))
        .map(|(index, (subject, cores))| Entrant {
            name: subject.name.clone(),
            backend: subject.backend.clone(),
            scheduling: subject.scheduling,
            cores: cores.clone(),
            index,
            has_tls: scenario.has_tls(index),
            wrapper: subject.wrapper.clone(),
            dialect: subject.dialect,
            feed: subject.feed,
            is_floor: false,
            is_bare: false,
        })
        .collect();
    let reachable = scenario.exchange.start || conduct.connect_floor.is_some();
    let has_bare = scenario.bare_seconds > 0.0 && scenario.measurement().has_bare(scenario);
    match scenario.kind {
        Measure::Orders | Measure::Ticks if scenario.floor_seconds > 0.0 && reachable => {
            let floors = floors(&entrants);
            entrants.extend(floors.iter().cloned());
            if has_bare {
                entrants.extend(bare_of(&floors));
            }
        }
        Measure::Network if has_bare => entrants.extend(bare_of(&floors(&entrants))),
        Measure::Engine if scenario.load.model == Model::PingPong => {
            let nobody = |entrant: &Entrant| Entrant {
                backend: EMPTY_DISPATCH.to_owned(),
                ..entrant.clone()
            };
            entrants.extend(floors(&entrants.iter().map(nobody).collect::<Vec<_>>()));
        }
        _ => {}
    }
    entrants
}

/// The bare echo below each floor.
fn bare_of(floors: &[Entrant]) -> impl Iterator<Item = Entrant> + '_ {
    // The bare loop of orders has connections only, and that of ticks datagrams only.
    let has_loop =
        |floor: &&Entrant| floor.dialect != Dialect::SbeUdp && floor.feed == FeedDialect::Sbe;
    floors.iter().filter(has_loop).map(|floor| Entrant {
        name: floor.name.replacen(FLOOR, BARE, 1),
        is_bare: true,
        ..floor.clone()
    })
}

/// One floor for each combination of backend, wrapper, cores, class and message length.
fn floors(entrants: &[Entrant]) -> Vec<Entrant> {
    let mut floors: Vec<Entrant> = Vec::new();
    for entrant in entrants {
        let same = |floor: &Entrant| {
            let of = |one: &Entrant| (one.scheduling, one.has_tls, one.dialect, one.feed);
            (&floor.backend, &floor.wrapper, &floor.cores, of(floor))
                == (&entrant.backend, &entrant.wrapper, &entrant.cores, of(entrant))
        };
        if !floors.iter().any(same) {
            let name = match floors.len() {
                0 => FLOOR.to_owned(),
                n => format!("{FLOOR}-{}", n + 1),
            };
            floors.push(Entrant { name, is_floor: true, ..entrant.clone() });
        }
    }
    floors
}

#[cfg(test)]
#[path = "conduct_tests.rs"]
pub(crate) mod tests;
