//! Who runs where. All cores are chosen at once, so that `"auto"` of one never meets another's.

use crate::file::{CORES_PAIRED_MAX, Kind, Scenario, Subject};
use host::placement::choose;
use host::{Cores, HostError, Scheduling, Topology};
use measure::machine::Fixed;
use std::collections::{BTreeSet, HashSet};

/// The cores of one scenario. Subjects run one after the other, so they may share one core.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Placed {
    /// The exchange's; `None` where none is started or there is no core to choose.
    pub exchange: Option<usize>,
    /// Of each subject its measuring threads', in their order; empty where there is no core to choose.
    pub subjects: Vec<Vec<usize>>,
    pub warnings: Vec<String>,
}

impl Placed {
    /// Every core in use, once, ascending.
    pub(crate) fn cores(&self) -> Vec<usize> {
        let subjects = self.subjects.iter().flatten().copied();
        let cores: BTreeSet<usize> = self.exchange.into_iter().chain(subjects).collect();
        cores.into_iter().collect()
    }

    /// Where everything runs that is not measured: no core of those in use, nor their siblings, of
    /// the `allowed` ones. If that leaves nothing, their siblings; if not even that, all.
    pub(crate) fn elsewhere(&self, topology: &Topology, allowed: &[usize]) -> Vec<usize> {
        let used = self.cores();
        let but = |taken: &[usize]| -> Vec<usize> {
            allowed.iter().copied().filter(|core| !taken.contains(core)).collect()
        };
        let siblings = used.iter().filter_map(|core| topology.siblings.get(core)).flatten();
        let with_siblings: Vec<usize> = used.iter().chain(siblings).copied().collect();
        [but(&with_siblings), but(&used)]
            .into_iter()
            .find(|cores| !cores.is_empty())
            .unwrap_or_else(|| allowed.to_vec())
    }
}

pub(crate) fn place(
    scenario: &Scenario,
    topology: &Topology,
    allowed: &[usize],
    fixed: &Fixed,
) -> Result<Placed, HostError> {
    let starts_exchange = scenario.kind == Kind::OrderEntry && scenario.exchange.start;
    let threads = scenario.kind.threads().unwrap_or(allowed.len().min(CORES_PAIRED_MAX));
    let mut roles: Vec<(&Cores, usize)> =
        scenario.subject.iter().map(|subject| (&subject.cores, threads)).collect();
    if starts_exchange {
        roles.insert(0, (&scenario.exchange.cores, 1));
    }
    // What was said by hand is taken first; "auto" keeps out of its way where it can.
    let mut warnings = Vec::new();
    let mut taken = Vec::new();
    for (cores, threads) in roles.iter().filter(|(cores, _)| **cores != Cores::Auto) {
        let placement = cores.place(topology, allowed, *threads.min(&cores.count()))?;
        warnings.extend(placement.warnings);
        taken.extend(placement.cores);
    }
    let free: Vec<usize> = allowed.iter().copied().filter(|core| !taken.contains(core)).collect();
    let pool = if free.is_empty() { allowed } else { &free };
    let exchange_auto = starts_exchange && scenario.exchange.cores == Cores::Auto;
    let subject_auto = scenario.subject.iter().any(|subject| subject.cores == Cores::Auto);
    let wanted = usize::from(exchange_auto) + if subject_auto { threads } else { 0 };
    let automatic = choose(topology, pool, wanted);
    // Who asks for every core knows that they lie as they lie.
    if (exchange_auto || subject_auto) && scenario.kind.threads().is_some() {
        warnings.extend(automatic.warnings.iter().cloned());
    }
    if scenario.kind == Kind::CoreToCore && subject_auto && allowed.len() > CORES_PAIRED_MAX {
        warnings.push(format!(
            "only {CORES_PAIRED_MAX} of {} cores are paired; name others with --set subject.0.cores=[...]",
            allowed.len()
        ));
    }
    let for_subjects = &automatic.cores[automatic.cores.len().saturating_sub(threads)..];
    let exchange = match &scenario.exchange.cores {
        _ if !starts_exchange => None,
        Cores::Auto => automatic.cores.first().copied(),
        Cores::List(list) => list.first().copied(),
    };
    let subject_cores = |subject: &Subject| match &subject.cores {
        Cores::Auto => for_subjects.to_vec(),
        Cores::List(list) => list.iter().copied().take(threads).collect(),
    };
    let subjects: Vec<Vec<usize>> = scenario.subject.iter().map(subject_cores).collect();
    if let Some(core) = exchange.filter(|core| subjects.iter().flatten().any(|one| one == core)) {
        warnings.push(format!(
            "the exchange and a subject share core {core}: each waits while the other runs, and the \
             figures are mostly that. Give them a core each."
        ));
    }
    let classes: Vec<Scheduling> = scenario
        .subject
        .iter()
        .map(|subject| subject.scheduling)
        .chain(starts_exchange.then_some(scenario.exchange.scheduling))
        .collect();
    warnings.extend(classes.into_iter().flat_map(|class| class.warnings(fixed)));
    let mut seen = HashSet::new();
    warnings.retain(|warning| seen.insert(warning.clone()));
    Ok(Placed { exchange, subjects, warnings })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cores(n: usize) -> (Topology, Vec<usize>) {
        let online: Vec<usize> = (0..n).collect();
        (Topology { online: Some(online.clone()), ..Topology::default() }, online)
    }

    fn placed(sets: &[&str], n: usize) -> Placed {
        let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
        let scenario = Scenario::find("order-to-ack", &sets).unwrap();
        let (topology, allowed) = cores(n);
        place(&scenario, &topology, &allowed, &Fixed::default()).unwrap()
    }

    #[test]
    fn exchange_and_subject_never_share_where_there_are_two_cores() {
        for sets in [&[][..], &["exchange.cores=[1]"], &["subject.rust.cores=[0]"]] {
            let placed = placed(sets, 2);
            assert!(!placed.subjects[0].contains(&placed.exchange.unwrap()), "{sets:?}");
            assert_eq!(placed.warnings, [""; 0]);
        }
        assert_eq!(placed(&["exchange.cores=[1]"], 2).subjects, [[0]]);
    }

    #[test]
    fn one_core_is_shared_and_said_so() {
        let placed = placed(&[], 1);
        assert_eq!((placed.exchange, placed.subjects), (Some(0), vec![vec![0]]));
        assert!(!placed.warnings.is_empty());
    }

    #[test]
    fn what_is_not_measured_runs_elsewhere_if_it_can() {
        let placed = Placed { exchange: Some(0), subjects: vec![vec![1]], warnings: vec![] };
        let (mut topology, allowed) = cores(6);
        assert_eq!(placed.elsewhere(&topology, &allowed), [2, 3, 4, 5]);
        assert_eq!(placed.elsewhere(&topology, &[0, 1]), [0, 1]);
        topology.siblings = (0..6).map(|core| (core, vec![core % 3, core % 3 + 3])).collect();
        assert_eq!(placed.elsewhere(&topology, &allowed), [2, 5]);
        assert_eq!(placed.elsewhere(&topology, &[0, 1, 3, 4]), [3, 4]);
    }

    #[test]
    fn threads_of_a_subject_have_a_core_each_where_there_are_enough() {
        let of = |name: &str, sets: &[String], n| {
            let scenario = Scenario::find(name, sets).unwrap();
            let (topology, allowed) = cores(n);
            place(&scenario, &topology, &allowed, &Fixed::default()).unwrap()
        };
        assert_eq!(of("ring", &[], 2).subjects[0], [0, 1]);
        assert_eq!(of("ring", &[], 1).subjects[0], [0, 0]);
        assert!(!of("ring", &[], 1).warnings.is_empty());
        let by_hand = of("ring", &["subject.0.cores=[3,1]".to_owned()], 4);
        assert_eq!(by_hand.subjects[0], [3, 1]);
        assert_eq!(of("core-to-core", &[], 4).subjects, [[0, 1, 2, 3]]);
        assert_eq!(of("core-to-core", &[], 4).exchange, None);
    }

    #[test]
    fn a_foreign_exchange_has_no_core_here() {
        assert_eq!(placed(&["exchange.start=false"], 2).exchange, None);
    }
}
