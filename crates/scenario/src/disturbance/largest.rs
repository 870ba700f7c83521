//! The largest disturber of the main series, by name, and what to do about it.

use crate::conduct::{Conduct, Entrant};
use crate::disturbance;
use crate::evidence::seen::Taker;
use crate::evidence::{Run, SubjectResult};
use record::{DisturbedShare, Disturber, Kind};
use std::collections::BTreeMap;

/// Less than this share of a core's time is not worth a line.
const TIME_SHARE_MIN: f64 = 1e-4;
/// If this share of the disturbed messages is late without another program's help, the pacer itself
/// is late.
const OWN_SHARE_MIN: f64 = 0.5;

/// A program that takes more of a core's time than this leaves a backlog of messages each time.
const BACKLOG_SHARE_MIN: f64 = 0.1;

/// The largest disturber of the first entrant over all runs; `None` if there was none.
pub(crate) fn largest(conduct: &Conduct, entrants: &[Entrant], runs: &[Run]) -> Option<Disturber> {
    let first = entrants.first()?;
    let measured: Vec<(&Run, &SubjectResult)> = runs
        .iter()
        .filter_map(|run| Some((run, run.measured.iter().find(|one| one.subject == first.name)?)))
        .collect();
    let mut all = threads(&measured);
    all.extend(interrupts(conduct, &measured));
    let taken = all.into_iter().max_by(|a, b| a.time_share.total_cmp(&b.time_share));
    let taken = taken.filter(|one| one.time_share >= TIME_SHARE_MIN);
    own_work(conduct, &measured, taken.as_ref()).or(taken)
}

/// Other threads that ran on a measured core, by name.
fn threads(measured: &[(&Run, &SubjectResult)]) -> Vec<Disturber> {
    let mut by: BTreeMap<&Taker, BTreeMap<usize, f64>> = BTreeMap::new();
    let mut times: BTreeMap<&Taker, (u64, f64)> = BTreeMap::new();
    let seconds: f64 = measured.iter().map(|(_, one)| one.seen.seconds).sum();
    for core in measured.iter().flat_map(|(_, one)| &one.seen.cores) {
        for (taker, (count, taken, longest)) in &core.by {
            *by.entry(taker).or_default().entry(core.core).or_default() += taken;
            let so_far = times.entry(taker).or_default();
            *so_far = (so_far.0 + count, so_far.1.max(*longest));
        }
    }
    let disturber = |(taker, cores): (&Taker, BTreeMap<usize, f64>)| {
        let (times, longest) = times[taker];
        let cores_said: Vec<String> = cores.keys().map(usize::to_string).collect();
        let remedy = match taker.is_own {
            true => "it belongs to this run: give tickpath a core that is not measured".to_owned(),
            false => {
                let cores = if cores.len() == 1 { "core" } else { "cores" };
                format!(
                    "stop it, or keep it off {cores} {} (cpusets, isolcpus)",
                    cores_said.join(" ")
                )
            }
        };
        Disturber {
            name: taker.name.clone(),
            time_share: cores.values().fold(0.0, |most: f64, taken| most.max(*taken))
                / seconds.max(1e-9),
            cores: cores.into_keys().collect(),
            times,
            longest_ns: (longest * 1e9) as u64,
            remedy,
        }
    };
    by.into_iter().map(disturber).collect()
}

/// Time taken by interrupts or the hypervisor, from idle looks and the kernel's count of steal.
fn interrupts(conduct: &Conduct, measured: &[(&Run, &SubjectResult)]) -> Option<Disturber> {
    let from_ns = |run: &Run, one: &SubjectResult| {
        let main = conduct.scenario.measurement().replies().first()?;
        let service = run.histogram(&one.subject, main, Kind::Service)?;
        Some(disturbance::late_from_ns(service.value_at_quantile(0.5), one.result.clock.cost_ns))
    };
    let mut found = Disturber::default();
    for (run, one) in measured {
        let Some(from_ns) = from_ns(run, one) else { continue };
        for core in &one.seen.cores {
            let idle = run.idle.iter().filter(|idle| idle.core == core.core);
            let looks = idle.map(|idle| idle.interrupted(from_ns).0);
            let share = looks.fold(core.stolen_share, f64::max);
            found.time_share = found.time_share.max(share);
            if !found.cores.contains(&core.core) {
                found.cores.push(core.core);
            }
        }
    }
    found.cores.sort_unstable();
    let name = "interrupts or the hypervisor".to_owned();
    let remedy =
        "`tickpath noise` says which; bare metal, and cores with nohz_full, have fewer".to_owned();
    (found.time_share > 0.0).then_some(Disturber { name, remedy, ..found })
}

/// The pacer itself, if it alone made most of the late messages late.
fn own_work(
    conduct: &Conduct,
    measured: &[(&Run, &SubjectResult)],
    taken: Option<&Disturber>,
) -> Option<Disturber> {
    let main = conduct.scenario.measurement().replies().first()?;
    let parts: Vec<DisturbedShare> = measured
        .iter()
        .map(|(run, one)| disturbance::disturbed(conduct, run, one, main, Kind::Response))
        .collect();
    let of = |part: DisturbedShare| Some((part.known()?, part.late?));
    let (share, late) = parts.into_iter().filter_map(of).max_by(|a, b| a.0.total_cmp(&b.0))?;
    // A message that waits for a backlog looks as if the client's own work delayed it.
    if taken.is_some_and(|taken| taken.time_share > BACKLOG_SHARE_MIN) {
        return None;
    }
    // Another program delays the same share of messages as it takes of the time.
    let own = late - taken.map_or(0.0, |taken| taken.time_share);
    (own > share * OWN_SHARE_MIN && own > TIME_SHARE_MIN).then(|| Disturber {
        name: "the client itself: it was reading or writing while messages were due".to_owned(),
        time_share: own,
        remedy: "lower load.rate_per_second, or use more connections a write or a faster core"
            .to_owned(),
        ..Disturber::default()
    })
}
