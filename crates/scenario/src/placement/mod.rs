//! Chooses the core of every thread. All are chosen at once, so that no two `"auto"`s collide.

mod placed;
mod sides;

pub(crate) use self::placed::ScenarioCores;

use self::placed::rest;
use host::placement::choose;
use host::{Cores, HostError, Root, Topology};
use plan::measure::CORES_PAIRED_MAX;
use plan::scenario::Measure;
use plan::scenario::Scenario;
use plan::tables::subject::Subject;
use record::machine::FixedFacts;
use record::text::counted;
use std::collections::{BTreeSet, HashSet};

/// [`place`] on the machine below `root`, with what its network interface lets.
pub(crate) fn place_on(
    root: &Root,
    scenario: &Scenario,
    topology: &Topology,
    allowed: &[usize],
    fixed: &FixedFacts,
) -> Result<ScenarioCores, HostError> {
    let mut placed = place(scenario, topology, allowed, fixed)?;
    sides::arrange(&mut placed, scenario, root, topology, allowed);
    Ok(placed)
}

pub(crate) fn place(
    scenario: &Scenario,
    topology: &Topology,
    allowed: &[usize],
    fixed: &FixedFacts,
) -> Result<ScenarioCores, HostError> {
    let starts_exchange = scenario.measurement().has_exchange() && scenario.exchange.start;
    let gateways = if starts_exchange { scenario.exchange.gateways as usize } else { 0 };
    let threads = scenario.measurement().threads().unwrap_or(allowed.len().min(CORES_PAIRED_MAX));
    let mut roles: Vec<(&Cores, usize)> =
        scenario.subject.iter().map(|subject| (&subject.cores, threads)).collect();
    if starts_exchange {
        roles.insert(0, (&scenario.exchange.cores, 1 + gateways));
    }
    // Cores that the user named come first; "auto" avoids them if it can.
    let mut warnings = Vec::new();
    let mut taken = Vec::new();
    for (cores, threads) in roles.iter().filter(|(cores, _)| **cores != Cores::Auto) {
        taken.extend(cores.place(topology, allowed, *threads.min(&cores.count()))?.cores);
    }
    let pool = |wanted: usize| rest(topology, allowed, &taken, wanted);
    let exchange_auto = starts_exchange && scenario.exchange.cores == Cores::Auto;
    let subject_auto = scenario.subject.iter().any(|subject| subject.cores == Cores::Auto);
    let wanted = usize::from(exchange_auto) + if subject_auto { threads } else { 0 };
    let mut automatic = choose(topology, &pool(wanted), wanted);
    if exchange_auto && gateways > 0 {
        // Gateways get cores only if each gets one: otherwise they would take one from those they
        // serve.
        let with_gateways = choose(topology, &pool(wanted + gateways), wanted + gateways);
        match distinct(&with_gateways.cores) == wanted + gateways {
            true => automatic = with_gateways,
            false => warnings.push(without_cores(scenario, 0, allowed.len())),
        }
    }
    // A user who asks for every core needs no advice about siblings.
    if (exchange_auto || subject_auto) && scenario.measurement().threads().is_some() {
        warnings.extend(automatic.warnings.iter().cloned());
    }
    if scenario.kind == Measure::Cores && subject_auto && allowed.len() > CORES_PAIRED_MAX {
        warnings.push(format!(
            "only {CORES_PAIRED_MAX} of {} cores are paired; name others with --set subject.{}.cores=[...]",
            allowed.len(),
            scenario.subject[0].name
        ));
    }
    let for_subjects = &automatic.cores[automatic.cores.len().saturating_sub(threads)..];
    let exchange: Vec<usize> = match &scenario.exchange.cores {
        _ if !starts_exchange => Vec::new(),
        Cores::Auto => {
            let others = if subject_auto { threads } else { 0 };
            let own = automatic.cores.len().saturating_sub(others).max(1);
            automatic.cores.iter().copied().take(own).collect()
        }
        Cores::List(list) => list.iter().copied().take(1 + gateways).collect(),
    };
    if starts_exchange && scenario.exchange.cores != Cores::Auto && exchange.len() <= gateways {
        warnings.push(without_cores(scenario, exchange.len().saturating_sub(1), allowed.len()));
    }
    let named = scenario.exchange.cores.count();
    if starts_exchange && named > 1 + gateways {
        warnings.push(format!(
            "exchange.cores names {named} cores, but the exchange has {}: it does not use the others",
            counted(1 + gateways, "thread")
        ));
    }
    let subject_cores = |subject: &Subject| match &subject.cores {
        Cores::Auto => for_subjects.to_vec(),
        Cores::List(list) => list.iter().copied().take(threads).collect(),
    };
    let subjects: Vec<Vec<usize>> = scenario.subject.iter().map(subject_cores).collect();
    if scenario.measurement().threads().is_some() || !subject_auto {
        warnings.extend(of_together(&exchange, &subjects, topology, allowed)?);
    }
    warnings.extend(of_classes(scenario, starts_exchange, fixed));
    let mut placed = ScenarioCores { exchange, subjects, warnings, ..ScenarioCores::default() };
    place_audit(&mut placed, scenario, topology, allowed)?;
    let mut seen = HashSet::new();
    placed.warnings.retain(|warning| seen.insert(warning.clone()));
    Ok(placed)
}

/// Warnings about the cores of an exchange and a subject, which run at the same time.
fn of_together(
    exchange: &[usize],
    subjects: &[Vec<usize>],
    topology: &Topology,
    allowed: &[usize],
) -> Result<Vec<String>, HostError> {
    let mut warnings = Vec::new();
    for subject in subjects.iter().filter(|subject| !subject.is_empty()) {
        let together = [exchange, subject].concat();
        let threads = together.len();
        warnings.extend(Cores::List(together).place(topology, allowed, threads)?.warnings);
    }
    let is_subjects = |core: &&usize| subjects.iter().flatten().any(|one| one == *core);
    if let Some(core) = exchange.iter().find(is_subjects) {
        warnings.push(format!(
            "the exchange and a subject share core {core}: give each its own core. Each waits while \
             the other runs, and the figures mostly show that wait."
        ));
    }
    Ok(warnings)
}

/// Warnings about the scheduling classes of all threads.
fn of_classes(scenario: &Scenario, starts_exchange: bool, fixed: &FixedFacts) -> Vec<String> {
    let subjects = scenario.subject.iter().map(|subject| subject.scheduling);
    let exchange = starts_exchange.then_some(scenario.exchange.scheduling);
    subjects.chain(exchange).flat_map(|class| class.warnings(fixed)).collect()
}

/// The logger comes last, so that it takes no core from a measured thread. If no core is left it
/// shares the exchange's, so that it does not disturb the trader.
fn place_audit(
    placed: &mut ScenarioCores,
    scenario: &Scenario,
    topology: &Topology,
    allowed: &[usize],
) -> Result<(), HostError> {
    if scenario.kind != Measure::Ticks || !scenario.audit.enabled {
        return Ok(());
    }
    let used = placed.cores();
    placed.audit = match &scenario.audit.core {
        cores @ Cores::List(list) => {
            placed.warnings.extend(cores.place(topology, allowed, 1)?.warnings);
            list.first().copied()
        }
        Cores::Auto => {
            let free = placed.elsewhere(topology, allowed);
            let free = free.into_iter().rfind(|core| !used.contains(core));
            free.or_else(|| placed.exchange.first().copied()).or_else(|| used.first().copied())
        }
    };
    let whose = placed.audit.map(|core| (core, placed.whose(core)));
    if let Some((core, whose)) = whose.filter(|(_, whose)| !whose.is_empty()) {
        placed.warnings.push(format!(
            "the audit's logger shares core {core} with the {whose}: give it a core of its own with audit.core=[N], or \
             leave it out with audit.enabled=false. The {whose} waits while it writes; the record counts those windows \
             and the samples in them."
        ));
    }
    Ok(())
}

fn distinct(cores: &[usize]) -> usize {
    cores.iter().collect::<BTreeSet<_>>().len()
}

/// A warning that only `placed` of them have a core of their own.
fn without_cores(scenario: &Scenario, placed: usize, cores: usize) -> String {
    let gateways = scenario.exchange.gateways as usize;
    format!(
        "{} of {gateways} gateways of the exchange have no core of their own: take more than {cores} cores, name them in \
         exchange.cores (the exchange's, then each gateway's), or set exchange.gateways=0. The kernel places \
         them; where they take turns with the exchange or the trader, a message waits for a time slice, and the \
         figures are mostly that.",
        gateways - placed
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cores(n: usize) -> (Topology, Vec<usize>) {
        let online: Vec<usize> = (0..n).collect();
        (Topology { online: Some(online.clone()), ..Topology::default() }, online)
    }

    fn placed(sets: &[&str], n: usize) -> ScenarioCores {
        of("order-to-ack", sets, n)
    }

    fn of(name: &str, sets: &[&str], n: usize) -> ScenarioCores {
        let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
        let scenario = Scenario::find(name, &sets).unwrap();
        let (topology, allowed) = cores(n);
        place(&scenario, &topology, &allowed, &FixedFacts::default()).unwrap()
    }

    #[test]
    fn exchange_and_subject_never_share_where_there_are_two_cores() {
        for sets in [&[][..], &["exchange.cores=[1]"], &["subject.rust.cores=[0]"]] {
            let placed = placed(sets, 2);
            assert_eq!(placed.exchange.len(), 1);
            assert!(!placed.subjects[0].contains(&placed.exchange[0]), "{sets:?}");
            assert_eq!(placed.warnings, [""; 0]);
        }
        assert_eq!(placed(&["exchange.cores=[1]"], 2).subjects, [[0]]);
    }

    /// Two hardware threads of one core slow each other down, named by the user or not.
    #[test]
    fn auto_keeps_off_the_sibling_of_a_core_that_is_named() {
        let (mut topology, allowed) = cores(4);
        topology.siblings =
            (0..4).map(|core| (core, vec![core / 2 * 2, core / 2 * 2 + 1])).collect();
        let of = |sets: &[&str], allowed: &[usize]| {
            let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
            let scenario = Scenario::find("order-to-ack", &sets).unwrap();
            place(&scenario, &topology, allowed, &FixedFacts::default()).unwrap()
        };
        let is_told = |placed: &ScenarioCores| {
            placed.warnings.iter().any(|warning| warning.contains("one physical core"))
        };
        let apart = of(&["subject.rust.cores=[2]"], &allowed);
        assert_eq!((&apart.exchange, is_told(&apart)), (&vec![0], false), "{apart:?}");
        let apart = of(&["exchange.cores=[0]"], &allowed);
        assert_eq!((&apart.subjects, is_told(&apart)), (&vec![vec![2]], false), "{apart:?}");
        let no_other = of(&["subject.rust.cores=[2]"], &[2, 3]);
        assert_eq!((&no_other.exchange, is_told(&no_other)), (&vec![3], true), "{no_other:?}");
        let named = of(&["exchange.cores=[2]", "subject.rust.cores=[3]"], &allowed);
        assert!(is_told(&named), "{named:?}");
    }

    #[test]
    fn one_core_is_shared_and_said_so() {
        let placed = placed(&[], 1);
        assert_eq!((placed.exchange, placed.subjects), (vec![0], vec![vec![0]]));
        assert!(!placed.warnings.is_empty());
    }

    #[test]
    fn what_is_not_measured_runs_elsewhere_if_it_can() {
        let placed = ScenarioCores {
            exchange: vec![0],
            subjects: vec![vec![1]],
            ..ScenarioCores::default()
        };
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
            place(&scenario, &topology, &allowed, &FixedFacts::default()).unwrap()
        };
        assert_eq!(of("ring", &[], 2).subjects[0], [0, 1]);
        assert_eq!(of("ring", &[], 1).subjects[0], [0, 0]);
        assert!(!of("ring", &[], 1).warnings.is_empty());
        let by_hand = of("ring", &["subject.0.cores=[3,1]".to_owned()], 4);
        assert_eq!(by_hand.subjects[0], [3, 1]);
        assert_eq!(of("core-to-core", &[], 4).subjects, [[0, 1, 2, 3]]);
        assert_eq!(of("core-to-core", &[], 4).exchange, [0; 0]);
    }

    #[test]
    fn a_foreign_exchange_has_no_core_here() {
        assert_eq!(placed(&["exchange.start=false"], 2).exchange, [0; 0]);
        assert_eq!(placed(&["exchange.start=false", "exchange.gateways=2"], 2).warnings, [""; 0]);
    }

    #[test]
    fn gateways_have_a_core_each_or_none() {
        let two = "exchange.gateways=2";
        let enough = placed(&[two], 4);
        assert_eq!((enough.exchange, &enough.subjects), (vec![0, 1, 2], &vec![vec![3]]));
        assert_eq!(enough.warnings, [""; 0]);
        for cores in [1, 2, 3] {
            let few = placed(&[two], cores);
            assert_eq!(few.exchange, placed(&[], cores).exchange, "{cores}");
            assert_eq!(few.subjects, placed(&[], cores).subjects);
            let warning = few.warnings.iter().find(|one| one.contains("exchange.gateways=0"));
            assert!(warning.is_some_and(|one| one.starts_with("2 of 2 ")), "{:?}", few.warnings);
        }
    }

    #[test]
    fn gateways_take_the_cores_that_are_named_behind_the_exchanges() {
        let of = |cores: &str, n| {
            placed(&["exchange.gateways=2", &format!("exchange.cores={cores}")], n)
        };
        let named = of("[3,1,2]", 4);
        assert_eq!((named.exchange, &named.subjects), (vec![3, 1, 2], &vec![vec![0]]));
        assert_eq!(named.warnings, [""; 0]);
        let short = of("[3,1]", 4);
        assert_eq!(short.exchange, [3, 1]);
        assert!(
            short.warnings.iter().any(|one| one.starts_with("1 of 2 ")),
            "{:?}",
            short.warnings
        );
        let surplus = of("[0,1,2,3]", 5);
        assert_eq!(surplus.exchange, [0, 1, 2]);
        assert!(surplus.warnings[0].contains("names 4 cores"), "{:?}", surplus.warnings);
        let subject = placed(&["exchange.gateways=1", "subject.rust.cores=[0]"], 3);
        assert_eq!((subject.exchange, subject.subjects), (vec![1, 2], vec![vec![0]]));
        let shared =
            placed(&["exchange.gateways=1", "exchange.cores=[0,1]", "subject.rust.cores=[1]"], 2);
        assert!(
            shared.warnings.iter().any(|one| one.contains("share core 1")),
            "{:?}",
            shared.warnings
        );
    }

    /// The logger avoids measured cores, or shares the exchange's with a warning.
    #[test]
    fn the_audits_logger_disturbs_the_trader_last() {
        let with = |sets: &[&str], n: usize| of("tick-to-trade", sets, n);
        let spare = with(&[], 4);
        assert_eq!((spare.exchange.as_slice(), spare.audit), (&[1][..], Some(3)));
        assert_eq!((spare.whose(1), spare.whose(2), spare.whose(3)), ("exchange", "trader", ""));
        assert_eq!(spare.warnings, [""; 0]);
        let two = with(&[], 2);
        assert_eq!(two.audit, Some(0));
        assert!(two.warnings.iter().any(|one| one.contains("shares core 0 with the exchange")));
        assert_eq!(with(&["audit.core=[1]"], 2).audit, Some(1));
        assert_eq!(with(&["audit.enabled=false"], 4).audit, None);
        let alone = with(&["exchange.start=false"], 2);
        assert!(alone.audit.is_some_and(|core| alone.whose(core).is_empty()), "{alone:?}");
    }
}
