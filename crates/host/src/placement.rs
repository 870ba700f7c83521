//! Placement of a run's threads on cores.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::HostError;
use crate::topology::{CORES_MAX, Topology, format_core_list, parse_core_list};

/// Cores as a scenario names them: `"auto"`, `[0, 2]` or `"0,2-4"`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "CoresText", into = "CoresText")]
pub enum Cores {
    /// [`choose`] chooses.
    #[default]
    Auto,
    /// These cores in this order: the first thread gets the first.
    List(Vec<usize>),
}

/// The forms of [`Cores`] in a file.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum CoresText {
    Text(String),
    Numbers(Vec<usize>),
}

impl TryFrom<CoresText> for Cores {
    type Error = HostError;

    fn try_from(written: CoresText) -> Result<Cores, HostError> {
        match written {
            CoresText::Text(text) => text.parse(),
            CoresText::Numbers(cores) if cores.is_empty() => Err(HostError::CoresEmpty),
            CoresText::Numbers(cores) => match cores.iter().find(|&&core| core >= CORES_MAX) {
                Some(core) => Err(HostError::CoresText(core.to_string())),
                None => Ok(Cores::List(cores)),
            },
        }
    }
}

impl From<Cores> for CoresText {
    fn from(cores: Cores) -> CoresText {
        match cores {
            Cores::Auto => CoresText::Text("auto".to_owned()),
            Cores::List(cores) => CoresText::Numbers(cores),
        }
    }
}

impl FromStr for Cores {
    type Err = HostError;

    fn from_str(text: &str) -> Result<Cores, HostError> {
        if text == "auto" {
            return Ok(Cores::Auto);
        }
        let unreadable = || HostError::CoresText(text.to_owned());
        let mut cores = Vec::new();
        for part in text.split(',') {
            cores.extend(parse_core_list(part).ok_or_else(unreadable)?);
            if cores.len() > CORES_MAX {
                return Err(unreadable());
            }
        }
        if cores.is_empty() { Err(HostError::CoresEmpty) } else { Ok(Cores::List(cores)) }
    }
}

impl fmt::Display for Cores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cores::Auto => write!(f, "auto"),
            Cores::List(cores) => {
                let cores: Vec<String> = cores.iter().map(usize::to_string).collect();
                write!(f, "{}", cores.join(","))
            }
        }
    }
}

impl Cores {
    /// Number of listed cores; 0 for `auto`.
    pub fn count(&self) -> usize {
        match self {
            Cores::Auto => 0,
            Cores::List(cores) => cores.len(),
        }
    }

    /// The cores for `wanted` threads of a process that may use `allowed` (see
    /// [`crate::thread::allowed`]). Uses a list as given, with warnings about its problems; a core
    /// that is offline or not allowed is an error.
    pub fn place(
        &self,
        topology: &Topology,
        allowed: &[usize],
        wanted: usize,
    ) -> Result<Placement, HostError> {
        let cores = match self {
            Cores::Auto => return Ok(choose(topology, allowed, wanted)),
            Cores::List(cores) => cores,
        };
        let usable = usable(topology, allowed);
        if let Some(&core) = cores.iter().find(|core| !usable.contains(core)) {
            return Err(HostError::CoreUnusable { core, usable: format_core_list(&usable) });
        }
        if cores.is_empty() {
            return Err(HostError::CoresEmpty);
        }
        Ok(assign(topology, cores, wanted))
    }
}

/// The cores of a run's threads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placement {
    /// The core of each thread. Cores repeat if threads must share; empty if there is no core at
    /// all.
    pub cores: Vec<usize>,
    /// Problems of this placement for the figures, with advice.
    pub warnings: Vec<String>,
}

/// Chooses cores for `wanted` threads from those that are online and `allowed`.
///
/// In this order: as few shared cores as possible, the fastest kind, isolated cores, one NUMA node,
/// no two siblings, one level 3 cache, not core 0 (the kernel's own work gathers there). If choices
/// are equal, the lowest numbers win, so that the same machine gives the same answer.
pub fn choose(topology: &Topology, allowed: &[usize], wanted: usize) -> Placement {
    let usable = usable(topology, allowed);
    // The best choice of the whole machine, of each node and of each cache.
    let mut regions: BTreeSet<Vec<usize>> = BTreeSet::from([usable.clone()]);
    let nodes = topology.nodes.iter().flat_map(BTreeMap::values);
    for region in nodes.chain(topology.cache_l3.values()) {
        regions.insert(usable.iter().copied().filter(|core| region.contains(core)).collect());
    }
    let candidates = regions.iter().map(|region| pick(topology, region, wanted));
    let best = candidates.min_by_key(|cores| (cost(topology, cores, wanted), cores.clone()));
    let mut placement = assign(topology, &best.unwrap_or_default(), wanted);
    placement.warnings.extend(topology.kinds());
    placement
}

/// Cores that are both online and allowed, ascending; all allowed ones if the online ones are
/// unknown.
fn usable(topology: &Topology, allowed: &[usize]) -> Vec<usize> {
    let is_online = |core: &usize| topology.online.as_ref().is_none_or(|all| all.contains(core));
    allowed.iter().copied().filter(is_online).collect::<BTreeSet<_>>().into_iter().collect()
}

/// How much slower a core is than the fastest kind.
fn lag(topology: &Topology, core: usize) -> usize {
    let fastest = topology.speeds.values().max().copied().unwrap_or_default();
    fastest - topology.speeds.get(&core).copied().unwrap_or(fastest)
}

/// Up to `wanted` cores of a region, ascending: the fastest and then isolated ones first, then one
/// of each group of siblings, then those that don't share a physical core with core 0.
fn pick(topology: &Topology, region: &[usize], wanted: usize) -> Vec<usize> {
    let mut order = region.to_vec();
    order.sort_by_key(|&core| (!is_isolated(topology, core), core));
    let mut taken_of: BTreeMap<usize, usize> = BTreeMap::new();
    let mut ranked: Vec<_> = order
        .into_iter()
        .map(|core| {
            let taken = taken_of.entry(physical(topology, core)).or_default();
            *taken += 1;
            let is_shared = !is_isolated(topology, core);
            (lag(topology, core), is_shared, *taken, physical(topology, core) == 0, core)
        })
        .collect();
    ranked.sort_unstable();
    let mut cores: Vec<usize> = ranked.into_iter().take(wanted).map(|(.., core)| core).collect();
    cores.sort_unstable();
    cores
}

/// The faults of a choice, most important first; less is better.
fn cost(topology: &Topology, cores: &[usize], wanted: usize) -> [usize; 7] {
    [
        wanted.saturating_sub(cores.len()),
        cores.iter().map(|&core| lag(topology, core)).sum(),
        cores.iter().filter(|&&core| !is_isolated(topology, core)).count(),
        nodes_of(topology, cores).len(),
        cores.len() - physical_cores(topology, cores).len(),
        caches_of(topology, cores).len(),
        cores.iter().filter(|&&core| physical(topology, core) == 0).count(),
    ]
}

/// Assigns a core to each thread, repeating cores if there are too few, with warnings.
fn assign(topology: &Topology, cores: &[usize], wanted: usize) -> Placement {
    let placed: Vec<usize> = cores.iter().copied().cycle().take(wanted).collect();
    let distinct: BTreeSet<usize> = placed.iter().copied().collect();
    let distinct: Vec<usize> = distinct.into_iter().collect();
    let mut warnings = Vec::new();
    if distinct.len() < wanted {
        warnings.push(sharing_warning(&distinct, wanted));
    }
    let list = format_core_list(&distinct);
    for group in physical_cores(topology, &distinct).into_values().filter(|group| group.len() > 1) {
        warnings.push(format!(
            "cores {} are hardware threads of one physical core. Choose cores of different physical \
             cores, or switch SMT off: each slows the other while both run.",
            format_core_list(&group)
        ));
    }
    let nodes = nodes_of(topology, &distinct);
    let caches = caches_of(topology, &distinct);
    if nodes.len() > 1 {
        let nodes = format_core_list(&nodes.into_iter().collect::<Vec<_>>());
        warnings.push(format!(
            "cores {list} lie on NUMA nodes {nodes}. Use fewer threads, or cores of one node: what \
             one writes and another reads crosses the link between the sockets."
        ));
    } else if caches.len() > 1 {
        warnings.push(format!(
            "cores {list} have {} level 3 caches. Use fewer threads, or cores of one cache: what one \
             writes and another reads crosses between the caches.",
            caches.len()
        ));
    }
    warnings.extend(isolation_warnings(topology, &distinct));
    Placement { cores: placed, warnings }
}

/// A warning if only some of `cores` are isolated, or if their siblings are not.
fn isolation_warnings(topology: &Topology, cores: &[usize]) -> Vec<String> {
    let mut warnings = Vec::new();
    let (isolated, shared): (Vec<usize>, Vec<usize>) =
        cores.iter().partition(|&&core| is_isolated(topology, core));
    if !isolated.is_empty() && !shared.is_empty() {
        warnings.push(format!(
            "some cores are isolated ({}) and some are not ({}). Isolate these too (isolcpus=), or use \
             fewer threads: other threads may run there and lengthen the tail.",
            format_core_list(&isolated),
            format_core_list(&shared)
        ));
    }
    let has_open_sibling = |core: &usize| !open_siblings(topology, *core).is_empty();
    let exposed: Vec<usize> = isolated.into_iter().filter(has_open_sibling).collect();
    if !exposed.is_empty() {
        let open: Vec<usize> =
            exposed.iter().flat_map(|&core| open_siblings(topology, core)).collect();
        warnings.push(format!(
            "cores {} are isolated, but the hardware threads {} of the same physical cores are not. \
             Isolate these too (isolcpus=), or take them offline: what runs there slows the others.",
            format_core_list(&exposed),
            format_core_list(&open)
        ));
    }
    warnings
}

/// Siblings of a core that are not isolated.
fn open_siblings(topology: &Topology, core: usize) -> Vec<usize> {
    let siblings = topology.siblings.get(&core).into_iter().flatten().copied();
    siblings.filter(|&sibling| !is_isolated(topology, sibling)).collect()
}

fn sharing_warning(cores: &[usize], wanted: usize) -> String {
    let have = match cores.len() {
        0 => return format!("no core can be used for {wanted} threads: the kernel places them"),
        1 => format!("1 core ({})", cores[0]),
        n => format!("{n} cores ({})", format_core_list(cores)),
    };
    format!(
        "{wanted} threads share {have}. Use fewer threads, blocking backends, or a machine with at \
         least {wanted} cores: a thread that spins keeps the others waiting for up to a time slice, \
         which adds milliseconds to latencies."
    )
}

fn is_isolated(topology: &Topology, core: usize) -> bool {
    topology.isolated.as_ref().is_some_and(|isolated| isolated.contains(&core))
}

/// The lowest number among a core's siblings, which identifies the physical core.
fn physical(topology: &Topology, core: usize) -> usize {
    topology.siblings.get(&core).and_then(|all| all.first().copied()).unwrap_or(core)
}

/// The physical cores of `cores`, each with its members of `cores`.
fn physical_cores(topology: &Topology, cores: &[usize]) -> BTreeMap<usize, Vec<usize>> {
    let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for &core in cores {
        groups.entry(physical(topology, core)).or_default().push(core);
    }
    groups
}

fn nodes_of(topology: &Topology, cores: &[usize]) -> BTreeSet<usize> {
    let nodes = topology.nodes.iter().flatten();
    let holds_any = |(_, of_node): &(_, &Vec<usize>)| cores.iter().any(|c| of_node.contains(c));
    nodes.filter(holds_any).map(|(&node, _)| node).collect()
}

/// The level 3 caches of `cores`, each identified by its lowest core.
fn caches_of(topology: &Topology, cores: &[usize]) -> BTreeSet<usize> {
    let cache = |core: &usize| topology.cache_l3.get(core)?.first().copied();
    cores.iter().filter_map(cache).collect()
}

#[cfg(test)]
#[path = "placement_tests.rs"]
mod tests;
