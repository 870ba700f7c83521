//! The goal of tuning: a purpose, the cores to keep free, the network interfaces.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use host::placement::{Cores, choose};
use host::topology::format_core_list;

use crate::inspection::Inspection;

/// Default number of cores to keep free: the exchange's and the client's.
pub const CORES_DEFAULT: usize = 2;

/// The purpose of the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Profile {
    /// A trader's host: the tail of few small messages, at the cost of throughput.
    #[default]
    TickToTrade,
    /// An exchange's host: the tail at high rates and many connections.
    Exchange,
    /// A host for measurements: steady rather than fast.
    Measure,
    /// A host with other users: nothing that affects the whole host or needs a reboot.
    HostShared,
}

impl Profile {
    /// All of them.
    pub const ALL: [Profile; 4] =
        [Profile::TickToTrade, Profile::Exchange, Profile::Measure, Profile::HostShared];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Profile::TickToTrade => "tick-to-trade",
            Profile::Exchange => "exchange",
            Profile::Measure => "measure",
            Profile::HostShared => "host-shared",
        }
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Profile {
    type Err = String;

    fn from_str(text: &str) -> Result<Profile, String> {
        let known = Profile::ALL.into_iter().find(|profile| profile.name() == text);
        known.ok_or_else(|| {
            let names = Profile::ALL.map(Profile::name).join(", ");
            format!("there is no profile {text:?}; there are {names}")
        })
    }
}

/// The goal of tuning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Goal {
    /// Its purpose.
    pub profile: Profile,
    /// Cores to keep free, ascending.
    pub cores: Vec<usize>,
    /// Cores for everything else: online, and no siblings of the free ones.
    pub housekeeping: Vec<usize>,
    /// Network interfaces of the messages.
    pub nics: Vec<String>,
    /// Why fewer cores were chosen than a run measures on.
    pub note: Option<String>,
}

impl Goal {
    /// Chooses by the machine's topology: on the network interface's NUMA node, no two siblings,
    /// with at least one physical core for everything else. Empty `nics`: all with hardware.
    ///
    /// # Errors
    /// A sentence, if the cores can't be used or none is left.
    pub fn find(
        seen: &Inspection,
        profile: Profile,
        cores: &Cores,
        nics: &[String],
    ) -> Result<Goal, String> {
        let nics = found_nics(seen, nics)?;
        let online = seen.topology.online.clone().unwrap_or_else(|| seen.allowed.clone());
        let is_auto = *cores == Cores::Auto;
        let cores = match cores {
            Cores::List(list) => {
                if let Some(core) = list.iter().find(|core| !online.contains(core)) {
                    let online = format_core_list(&online);
                    return Err(format!("core {core} is not online; online are {online}"));
                }
                list.iter().copied().collect::<BTreeSet<usize>>().into_iter().collect()
            }
            Cores::Auto => chosen(seen, &online, &nics),
        };
        let taken: BTreeSet<usize> =
            cores.iter().flat_map(|core| siblings(seen, *core)).chain(cores.clone()).collect();
        let housekeeping: Vec<usize> =
            online.into_iter().filter(|core| !taken.contains(core)).collect();
        if housekeeping.is_empty() {
            let named = format_core_list(&cores);
            return Err(format!(
                "no core is left for interrupts and other programs beside cores {named} and their \
                 siblings; name fewer: --cores LIST"
            ));
        }
        let is_short = is_auto && cores.len() < CORES_DEFAULT;
        let note = is_short.then(|| {
            let (kept, rest) = (format_core_list(&cores), format_core_list(&housekeeping));
            format!(
                "a run measures on {CORES_DEFAULT} cores; tune keeps only {kept} free here and leaves \
                 {rest} to everything else"
            )
        });
        Ok(Goal { profile, cores, housekeeping, nics, note })
    }

    /// Housekeeping cores on a network interface's NUMA node; all of them if there are none.
    pub fn near(&self, seen: &Inspection, nic: &str) -> Vec<usize> {
        let nodes = seen.topology.nodes.as_ref();
        let node = seen.nic_nodes.get(nic).and_then(|node| nodes?.get(node));
        let near: Vec<usize> = match node {
            Some(node) => {
                self.housekeeping.iter().copied().filter(|core| node.contains(core)).collect()
            }
            None => Vec::new(),
        };
        if near.is_empty() { self.housekeeping.clone() } else { near }
    }
}

fn found_nics(seen: &Inspection, named: &[String]) -> Result<Vec<String>, String> {
    let all = seen.machine.fixed.nics.iter().flatten();
    let hardware = all.filter(|nic| nic.name != "lo").map(|nic| nic.name.clone());
    let hardware: Vec<String> = hardware.collect();
    let virtual_ones = seen.machine.load.interfaces_virtual.iter().map(|nic| &nic.name);
    let known: Vec<&String> = hardware.iter().chain(virtual_ones).collect();
    match named.iter().find(|nic| !known.contains(nic)) {
        Some(nic) => Err(format!("there is no network interface {nic:?}; there are {known:?}")),
        None if named.is_empty() => Ok(hardware),
        None => Ok(named.to_vec()),
    }
}

fn siblings(seen: &Inspection, core: usize) -> Vec<usize> {
    seen.topology.siblings.get(&core).cloned().unwrap_or_else(|| vec![core])
}

/// Cores that a run would choose of the first network interface's node: at most one thread of each
/// physical core, and one physical core is left for everything else.
fn chosen(seen: &Inspection, online: &[usize], nics: &[String]) -> Vec<usize> {
    let nodes = seen.topology.nodes.as_ref();
    let node = nics.iter().find_map(|nic| nodes?.get(seen.nic_nodes.get(nic)?));
    let near: Vec<usize> = match node {
        Some(node) => online.iter().copied().filter(|core| node.contains(core)).collect(),
        None => online.to_vec(),
    };
    let mut physical: Vec<usize> = Vec::new();
    for core in &near {
        let first = siblings(seen, *core).into_iter().min().unwrap_or(*core);
        if !physical.contains(&first) {
            physical.push(first);
        }
    }
    let spare = if near.len() == online.len() { 1 } else { 0 };
    let count = CORES_DEFAULT.min(physical.len().saturating_sub(spare));
    let mut cores = choose(&seen.topology, &near, count).cores;
    cores.dedup();
    cores
}
