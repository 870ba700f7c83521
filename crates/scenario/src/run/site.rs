//! The place of a run: this machine before the first process starts, the chosen cores, the networks
//! and the run directory.

use crate::conduct::{Conduct, ConductError, record_failed};
use crate::kind::ticks::files;
use crate::launch::cluster;
use crate::placement::{ScenarioCores, place_on};
use crate::progress::{Progress, Say};
use clock::{Clock, wall_ms};
use host::network::Networks;
use host::scheduling::has_fair_server;
use host::{Root, Topology};
use plan::tables::subject::Subject;
use plan::tables::ticks::Network;
use record::directory;
use record::machine::{Fingerprint, Machine};
use std::path::PathBuf;
use trader::risk::Profile;

/// Everything that exists before the first run.
pub(crate) struct Site {
    pub clock: Clock,
    pub started_wall_ms: u64,
    pub placed: ScenarioCores,
    /// The run directory.
    pub path: PathBuf,
    /// The namespaces of both ends, unless they share a network.
    pub networks: Option<Networks>,
    pub profile: Option<Profile>,
    pub has_fair_server: bool,
    /// Cores that this process may use.
    pub allowed: Vec<usize>,
    /// Allowed cores that nothing measured shares.
    pub elsewhere: Vec<usize>,
    before: Fingerprint,
    probed: Option<(usize, usize)>,
}

impl Site {
    pub(crate) fn prepare(conduct: &Conduct, say: &mut Say<'_>) -> Result<Site, ConductError> {
        let scenario = &conduct.scenario;
        let profile = conduct.risk_profile()?;
        let started_wall_ms = wall_ms();
        let root = Root::system();
        let clock = Clock::calibrate();
        let allowed = host::thread::allowed()?;
        let topology = Topology::read(&root);
        let fixed = host::capture(&root, &clock, None).fixed;
        let placed = place_on(&root, scenario, &topology, &allowed, &fixed)?;
        let probed = probe_cores(&placed, &allowed);
        if let Some(say) = say {
            say.take(Progress::Machine);
        }
        let before = host::capture(&root, &clock, probed);
        let wants_networks = scenario.network == Network::Veth;
        let networks = wants_networks.then(Networks::create).transpose()?;
        let networks = match scenario.follower.loss_percent > 0.0 {
            true => networks.map(Networks::with_zone).transpose()?,
            false => networks,
        };
        let networks = match scenario.subject.iter().any(Subject::cuts_member) {
            true => networks.map(|all| all.with_members(cluster::MEMBERS)).transpose()?,
            false => networks,
        };
        let runs = &conduct.runs_directory;
        let path = directory::create(runs, &scenario.name).map_err(record_failed(runs))?;
        files::write_profile(&path, profile.as_ref()).map_err(record_failed(&path))?;
        Ok(Site {
            clock,
            started_wall_ms,
            elsewhere: placed.elsewhere(&topology, &allowed),
            placed,
            path,
            networks,
            profile,
            has_fair_server: fixed.kernel_release.as_deref().is_some_and(has_fair_server),
            allowed,
            before,
            probed,
        })
    }

    /// The machine before the first run, and now.
    pub(crate) fn machine(&self) -> Machine {
        let after = host::capture(&Root::system(), &self.clock, self.probed);
        Machine { before: self.before.clone(), after: Some(after) }
    }
}

impl Conduct {
    /// The cores that a run of it measures on, on this machine.
    ///
    /// # Errors
    /// If the cores asked for can't be had.
    pub fn measured_cores(&self) -> Result<Vec<usize>, ConductError> {
        let root = Root::system();
        let allowed = host::thread::allowed()?;
        let fixed = host::capture(&root, &Clock::calibrate(), None).fixed;
        Ok(place_on(&root, &self.scenario, &Topology::read(&root), &allowed, &fixed)?.cores())
    }
}

fn probe_cores(placed: &ScenarioCores, allowed: &[usize]) -> Option<(usize, usize)> {
    let first = placed.subjects.first()?;
    let subject = *first.last()?;
    let other = placed
        .exchange
        .first()
        .copied()
        .or_else(|| first.iter().copied().find(|core| *core != subject))
        .or_else(|| allowed.iter().copied().find(|core| *core != subject))?;
    (other != subject).then_some((other, subject))
}
