//! The cores that were chosen for a scenario.

use host::Topology;
use std::collections::{BTreeMap, BTreeSet};

/// The cores of one scenario. Subjects run one after the other, so they may share one core.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ScenarioCores {
    /// The exchange thread's core, then its gateways' if there are enough. Empty if no exchange is
    /// started or there is no core to choose.
    pub exchange: Vec<usize>,
    /// Cores of each subject's measuring threads, in order; empty if there is no core to choose.
    pub subjects: Vec<Vec<usize>>,
    /// The audit logger's core; `None` without a logger, or if there is no core to choose.
    pub audit: Option<usize>,
    /// Indices of subjects that this machine can't place as they ask.
    pub left_out: Vec<usize>,
    /// By the index of a subject: interrupts that move for it, and their cores.
    pub interrupts: BTreeMap<usize, (Vec<String>, Vec<usize>)>,
    pub warnings: Vec<String>,
}

impl ScenarioCores {
    /// Every core in use, once, ascending.
    pub(crate) fn cores(&self) -> Vec<usize> {
        let subjects = self.subjects.iter().flatten().copied();
        let cores: BTreeSet<usize> = self.exchange.iter().copied().chain(subjects).collect();
        cores.into_iter().collect()
    }

    /// The owner of a core: `exchange`, `trader`, or an empty string.
    pub(crate) fn whose(&self, core: usize) -> &'static str {
        match (
            self.exchange.contains(&core),
            self.subjects.iter().flatten().any(|one| *one == core),
        ) {
            (true, _) => "exchange",
            (false, true) => "trader",
            (false, false) => "",
        }
    }

    /// The cores of `allowed` for everything that is not measured: neither a measured core nor its
    /// sibling. If there is none, the siblings; if there are none either, all.
    pub(crate) fn elsewhere(&self, topology: &Topology, allowed: &[usize]) -> Vec<usize> {
        rest(topology, allowed, &self.cores(), 1)
    }
}

/// The `allowed` cores that are left when `taken` are gone. If there are enough, those on other
/// physical cores; otherwise all that are free; if none is free, all.
pub(super) fn rest(
    topology: &Topology,
    allowed: &[usize],
    taken: &[usize],
    wanted: usize,
) -> Vec<usize> {
    let siblings = taken.iter().filter_map(|core| topology.siblings.get(core)).flatten();
    let with_siblings: Vec<usize> = taken.iter().chain(siblings).copied().collect();
    let but = |taken: &[usize]| -> Vec<usize> {
        allowed.iter().copied().filter(|core| !taken.contains(core)).collect()
    };
    let (apart, free) = (but(&with_siblings), but(taken));
    match (apart.len() >= wanted, free.is_empty()) {
        (true, _) => apart,
        (false, false) => free,
        (false, true) => allowed.to_vec(),
    }
}
