//! What is to be carried out: a scenario, with whom and where to. `stage` does it.

use crate::file::{Engine, FLOOR, Kind, Network, Scenario};
use crate::placement::Placed;
use host::network::NetworkError;
use host::{HostError, Scheduling};
use measure::matching::EMPTY_DISPATCH;
use noise::hiccup;
use std::io;
use std::path::Path;
use std::path::PathBuf;
use trader::plan::Model;
use trader::risk::{Profile, RiskError};

pub use crate::process::Interrupt;

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
    /// Who disturbs the measured cores is found out too (`noise::beside`).
    pub noise: bool,
    /// Void runs are repeated so often, all runs together.
    pub repeats_max: u32,
}

/// Unless somebody else repeats what is void: at most so often (invariant 7).
pub const REPEATS_MAX: u32 = 2;

impl Conduct {
    /// Whether the scenario and the command line go together.
    pub(crate) fn check(&self) -> Result<(), ConductError> {
        let usage = |text: &str| Err(ConductError::Usage(text.to_owned()));
        let scenario = &self.scenario;
        if scenario.kind == Kind::Tick && scenario.flow.is_unnamed() && scenario.exchange.start {
            return usage(
                "this scenario replays a recorded day and names none: add --set flow.source=FILE, a Databento MBO \
                 file (.dbn, .dbn.zst)",
            );
        }
        if !scenario.kind.has_exchange() {
            return match &self.connect {
                Some(_) => {
                    usage("this scenario stays in this machine's memory; leave out --connect")
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

    /// What the scenario's risk profile says; `None` where it names none.
    pub(crate) fn risk_profile(&self) -> Result<Option<Profile>, RiskError> {
        let path = Path::new(&self.scenario.risk.profile);
        let is_named = !path.as_os_str().is_empty();
        is_named.then(|| Profile::read(path)).transpose()
    }

    /// Seconds of warm-up, and measured.
    pub(crate) fn phases(&self, entrant: &Entrant) -> (f64, f64) {
        let scenario = &self.scenario;
        let floor = scenario.floor_seconds;
        if scenario.kind == Kind::CoreToCore {
            return (0.0, pairs(&entrant.cores).count() as f64 * scenario.seconds);
        }
        if let Some(operations) = self.operations() {
            return (0.0, operations as f64 / OPERATIONS_PER_SECOND_USUAL);
        }
        match entrant.is_floor {
            true => (scenario.warm_up_seconds.min(floor / 4.0), floor),
            false if scenario.kind == Kind::Soak => (0.0, scenario.seconds),
            false => (scenario.warm_up_seconds, scenario.seconds),
        }
    }

    /// Operations of one who is measured for as long as they take.
    pub(crate) fn operations(&self) -> Option<u64> {
        let scenario = &self.scenario;
        let Engine { operations, passes, .. } = scenario.engine;
        match scenario.kind {
            // One pass more is not timed, and in one each operation is.
            Kind::Engine if scenario.load.model == Model::PingPong => {
                Some(operations * u64::from(passes + 2))
            }
            Kind::Soak if operations > 0 => Some(operations),
            _ => None,
        }
    }
}

/// What an engine does, for the time that is left on the screen: nothing depends on it.
const OPERATIONS_PER_SECOND_USUAL: f64 = 4e6;
/// Slower than this is not slow any more, but stuck.
pub(crate) const OPERATIONS_PER_SECOND_MIN: f64 = 5e4;

/// Why nothing was measured at all.
#[derive(Debug, thiserror::Error)]
pub enum ConductError {
    /// The scenario and the command line contradict each other.
    #[error("{0}")]
    Usage(String),
    /// The risk profile can't be used.
    #[error(transparent)]
    Risk(#[from] RiskError),
    /// The cores asked for can't be had.
    #[error(transparent)]
    Host(#[from] HostError),
    /// Two networks can't be had.
    #[error(transparent)]
    Network(#[from] NetworkError),
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

/// One who is measured: a subject of the scenario, or a floor.
#[derive(Clone, Debug)]
pub(crate) struct Entrant {
    pub name: String,
    pub backend: String,
    pub scheduling: Scheduling,
    /// Of its measuring threads, in their order.
    pub cores: Vec<usize>,
    /// Index into the scenario's subjects; a floor's is that of the first subject of its backend.
    pub index: usize,
    pub is_floor: bool,
}

/// Each two of `cores`, once.
pub(crate) fn pairs(cores: &[usize]) -> impl Iterator<Item = (usize, usize)> {
    let later = move |(index, one): (usize, &usize)| {
        let one = *one;
        cores[index + 1..].iter().map(move |other| (one, *other))
    };
    cores.iter().enumerate().flat_map(later)
}

/// The subjects, then a floor for each backend, core and scheduling class that they use.
pub(crate) fn entrants(conduct: &Conduct, placed: &Placed) -> Vec<Entrant> {
    let scenario = &conduct.scenario;
    let mut entrants: Vec<Entrant> = scenario
        .subject
        .iter()
        .zip(&placed.subjects)
        .enumerate()
        .map(|(index, (subject, cores))| Entrant {
            name: subject.name.clone(),
            backend: subject.backend.clone(),
            scheduling: subject.scheduling,
            cores: cores.clone(),
            index,
            is_floor: false,
        })
        .collect();
    let reachable = scenario.exchange.start || conduct.connect_floor.is_some();
    match scenario.kind {
        Kind::OrderEntry | Kind::Tick if scenario.floor_seconds > 0.0 && reachable => {
            entrants.extend(floors(&entrants));
        }
        Kind::Engine if scenario.load.model == Model::PingPong => {
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

/// One for each backend, cores and class that there is.
fn floors(entrants: &[Entrant]) -> Vec<Entrant> {
    let mut floors: Vec<Entrant> = Vec::new();
    for entrant in entrants {
        let same = |floor: &Entrant| {
            (&floor.backend, &floor.cores, floor.scheduling)
                == (&entrant.backend, &entrant.cores, entrant.scheduling)
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
