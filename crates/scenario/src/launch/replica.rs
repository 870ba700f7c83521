//! The journal of the exchange that a subject measures, and its follower.

use crate::conduct::ConductError;
use crate::launch::cluster::{Cluster, GatewayReady};
use crate::launch::process::Process;
use crate::launch::zones::Losses;
use crate::launch::{Launch, MarketData, Standby, cluster};
use host::network::{Network, Networks};
use plan::process::exchange::{ExchangePlan, FollowerPlan, JournalPlan, OtherEnd, StandbyPlan};
use plan::tables::replica::{Failure, Replicate};
use plan::tables::subject::Dialect;
use record::BetweenZones;
use serde::Deserialize;
use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The follower, in errors.
const FOLLOWER: &str = "the exchange's follower";
/// Time without an acknowledgement after which an exchange takes a follower for lost, ms. A cluster
/// has more, because it may have to elect a leader, also before the first order.
const LOST_MS: u64 = 1_000;

/// The directory of one run's journal.
pub(crate) struct JournalFiles(pub PathBuf);

impl Drop for JournalFiles {
    fn drop(&mut self) {
        // A leftover does no harm: the next run has other names.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A directory for this run's journal. The process that writes one makes it.
pub(crate) fn journal_files(launch: &Launch) -> JournalFiles {
    let directory = &launch.conduct.scenario.journal.directory;
    let below = if directory.is_empty() { launch.path } else { Path::new(directory) };
    let own = format!("journal-{}-{}-{}", std::process::id(), launch.number, launch.entrant.name);
    JournalFiles(below.join(own))
}

/// The journal of an exchange, and its follower or standby.
pub(crate) struct Replica {
    pub plan: JournalPlan,
    follower: Option<Process>,
    pub cluster: Option<Cluster>,
    pub cluster_version: Option<String>,
    /// On the way to the follower.
    losses: Option<Losses>,
    pub standby: Option<Standby>,
    /// Removed after the follower or the cluster has ended.
    files: JournalFiles,
}

/// A standby's first line.
#[derive(Deserialize)]
struct StandbyReady {
    standby: String,
    clients: String,
    fix: Option<String>,
}

/// A follower's first line.
#[derive(Deserialize)]
struct FollowerReady {
    listening: String,
}

impl Launch<'_> {
    /// Starts the follower, if the exchange of this subject has one. `None` without a journal.
    pub(crate) fn start_replica(&self) -> Result<Option<Replica>, ConductError> {
        let scenario = &self.conduct.scenario;
        let replicate = scenario.subject[self.entrant.index].replicate;
        if replicate == Replicate::Off || self.conduct.has_echo(self.entrant) {
            return Ok(None);
        }
        let files = journal_files(self);
        let directory = files.0.join("log").display().to_string();
        let plan = JournalPlan { directory, follower: None, standby: None };
        let replica = Replica {
            plan,
            follower: None,
            cluster: None,
            cluster_version: None,
            losses: None,
            standby: None,
            files,
        };
        let Some(mode) = replicate.mode() else { return Ok(Some(replica)) };
        match replicate {
            Replicate::Cluster => self.start_gateway(replica, mode),
            _ if self.failure() != Failure::None => self.start_standby(replica),
            _ => self.start_follower(replica, mode),
        }
        .map(Some)
    }

    /// Starts a follower, at the planted distance.
    fn start_follower(&self, mut replica: Replica, mode: &str) -> Result<Replica, ConductError> {
        let scenario = &self.conduct.scenario;
        // Beside the exchange, unless there is a network between the two.
        let network = self.networks.map(|all| all.zone().unwrap_or(all.exchange()));
        let own = network.map_or(Ipv4Addr::LOCALHOST, Network::address);
        let mut command = Command::new(&self.conduct.program);
        command.args(["follower", "--listen", &format!("{own}:0"), "--journal"]);
        command.arg(replica.files.0.join("copy"));
        command.args(["--delay-us", &scenario.follower.round_trip_us.to_string()]);
        command.args(["--jitter-us", &scenario.follower.jitter_us.to_string()]);
        command.args(["--die-with-parent", &std::process::id().to_string()]);
        let (process, ready) =
            self.start_in::<FollowerReady>(network, (FOLLOWER, ".follower"), command, "")?;
        replica.follower = Some(process);
        replica.losses = self.lose_packets()?;
        let (address, mode) = (ready.listening, mode.to_owned());
        replica.plan.follower = Some(FollowerPlan { address, mode, lost_ms: LOST_MS });
        Ok(replica)
    }

    /// Starts a cluster with its gateway, which is the exchange's follower.
    fn start_gateway(&self, mut replica: Replica, mode: &str) -> Result<Replica, ConductError> {
        let (cluster, ready) = self.start_cluster(&replica.files.0)?;
        let GatewayReady { follower: address, aeron } = ready;
        replica.cluster = Some(cluster);
        replica.cluster_version = Some(format!("cluster: Aeron {aeron}"));
        let (mode, lost_ms) = (mode.to_owned(), self.conduct.scenario.follower.cluster_lost_ms);
        replica.plan.follower = Some(FollowerPlan { address, mode, lost_ms });
        Ok(replica)
    }

    /// Why this entrant's cluster can't run here; `None` if it can, or if it has none. Starts it
    /// and ends it.
    ///
    /// # Errors
    /// If it can't be found out.
    pub(crate) fn no_cluster(&self) -> Result<Option<String>, ConductError> {
        let scenario = &self.conduct.scenario;
        let subject = &scenario.subject[self.entrant.index];
        if subject.replicate != Replicate::Cluster || self.entrant.is_floor {
            return Ok(None);
        }
        if let Some(why) = cluster::not_here(scenario, subject) {
            return Ok(Some(why));
        }
        match self.start_replica() {
            Ok(replica) => Ok(replica.and_then(|replica| self.end_replica(replica).err())),
            // Ctrl-C ends the processes, too.
            Err(error) if self.interrupt.is_set() => Err(error),
            Err(ConductError::Process { who, why }) => Ok(Some(format!("{who} failed: {why}"))),
            Err(error) => Err(error),
        }
    }

    /// How the exchange of this entrant, or the leader of its cluster, is lost.
    pub(crate) fn failure(&self) -> Failure {
        match self.entrant.is_floor {
            true => Failure::None,
            false => self.conduct.scenario.subject[self.entrant.index].failure,
        }
    }

    /// Whether it is the leader of its cluster that is lost.
    pub(crate) fn loses_leader(&self) -> bool {
        let subject = &self.conduct.scenario.subject[self.entrant.index];
        self.failure() != Failure::None && subject.replicate == Replicate::Cluster
    }

    /// Starts the exchange that takes over. It has no core of its own: as long as it only follows,
    /// the measured exchange needs them. Where there are two networks it is in that of the client,
    /// so that the other one can be lost as a whole.
    fn start_standby(&self, mut replica: Replica) -> Result<Replica, ConductError> {
        let network = self.networks.map(Networks::trader);
        let own = network.map_or(Ipv4Addr::LOCALHOST, Network::address);
        let silence_ms = self.conduct.scenario.follower.standby_ms;
        let listen = format!("{own}:0");
        let standby = Some(StandbyPlan { listen: listen.clone(), silence_ms });
        let directory = replica.files.0.join("copy").display().to_string();
        let journal = JournalPlan { directory, follower: None, standby };
        let plan = self.exchange_plan(MarketData::default(), Some(journal));
        let mut plan = ExchangePlan { cores: Vec::new(), listen: listen.clone(), ..plan };
        if let OtherEnd::Exchange(book) = &mut plan.end {
            book.fix = self.standby_fix_plan(listen);
        }
        let (process, ready) =
            self.start_exchange_in::<StandbyReady>(network, &plan, ".standby")?;
        let mode = "sync".to_owned();
        let address = ready.standby;
        replica.plan.follower = Some(FollowerPlan { address, mode, lost_ms: LOST_MS });
        // That of FIX may be for market data alone.
        let speaks_fix = self.entrant.dialect == Dialect::Fix;
        let clients = ready.fix.filter(|_| speaks_fix).unwrap_or(ready.clients);
        replica.standby = Some(Standby { process, clients });
        Ok(replica)
    }

    /// Ends the follower or the cluster, after the exchange. Returns the packets between exchange
    /// and follower, if some were to be lost.
    pub(crate) fn end_replica(&self, replica: Replica) -> Result<Option<BetweenZones>, String> {
        if let Some(process) = replica.follower {
            self.end_other_end(FOLLOWER, process)?;
        }
        if let Some(cluster) = replica.cluster {
            cluster.end()?;
        }
        replica.losses.map(|losses| losses.counts()).transpose()
    }
}
