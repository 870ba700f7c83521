//! Checks of other load, and of the cost of the machine's shortest paths. Small pure functions of
//! an inspection.
//!
//! The thresholds are percentiles: a program that takes a share of a core's time delays about that
//! share of the messages. 1 % of the time is p99, 0.1 % p99.9.

use host::interrupts::{Interrupt, InterruptKind};
use host::processes::Process;
use record::doctor::Grade;

use crate::inspection::Inspection;
use crate::setting::Judgement;
use crate::settings::rules::cores;
use crate::watch::Activity;

/// Load of others on a measured core that affects p95.
const BUSY_SHARE_BAD: f64 = 0.05;
/// Load of others on a measured core that affects p99; less is below a tick's resolution.
const BUSY_SHARE_WARN: f64 = 0.01;
/// Maximum number of processes that are listed by name.
const NAMED_MAX: usize = 3;
/// `USER_HZ`, the same on every architecture that tickpath runs on.
const TICKS_PER_SECOND: f64 = 100.0;
/// Steal that affects p99.
const STEAL_SHARE_BAD: f64 = 0.01;
/// Steal that affects p99.9.
const STEAL_SHARE_WARN: f64 = 0.001;
/// A virtual core that was busy for fewer ticks, 10 s, tells little about steal.
const STEAL_TICKS_MIN: u64 = 1000;
/// Threads that were running or runnable, mean of the last minute.
const LOAD_AVERAGE_WARN: f64 = 0.5;
/// Interrupts from other cores a second that take 0.02 % of the time, at 2 us each.
const INTERNAL_PER_SECOND_WARN: f64 = 100.0;
/// A stamp that costs more hides stages of a tenth of a microsecond, ns. Counters take 10 to 25.
const CLOCK_COST_NS_WARN: u64 = 40;
/// A stamp that costs more is a system call or a trap into the hypervisor, ns.
const CLOCK_COST_NS_BAD: u64 = 200;
/// A cache line's round trip between cores that share a level 3 cache takes 50 to 200 ns, between
/// sockets 250 to 600.
const CACHE_LINE_NS_WARN: u64 = 300;
/// Only a core that does not run all the time takes longer, ns.
const CACHE_LINE_NS_BAD: u64 = 2_000;
/// A blocking round trip takes 10 to 25 us where cores idle shallowly, ns.
const BLOCKING_NS_WARN: u64 = 60_000;

/// Load of others on the measured cores, before exchange and client run.
pub(crate) fn on_cores(seen: &Inspection) -> Judgement {
    busiest(seen, &seen.cores)
}

/// A thread on the other hardware thread of a measured core takes some of its speed.
pub(crate) fn on_siblings(seen: &Inspection) -> Judgement {
    let siblings = seen.siblings();
    if seen.topology.siblings.is_empty() {
        (Grade::Unknown, "which cores are siblings can't be read".to_owned())
    } else if siblings.is_empty() {
        (Grade::Ok, "no second hardware threads are shown".to_owned())
    } else {
        busiest(seen, &siblings)
    }
}

fn busiest(seen: &Inspection, list: &[usize]) -> Judgement {
    let Some(watched) = &seen.watched else {
        return (Grade::Unknown, "nobody watched".to_owned());
    };
    let shares = list.iter().filter_map(|&core| Some((watched.busy_share(core)?, core)));
    let Some((share, core)) = shares.max_by(|one, other| one.0.total_cmp(&other.0)) else {
        return (
            Grade::Unknown,
            "the kernel's time counters can't be read or stand still".to_owned(),
        );
    };
    let grade = match share {
        share if share >= BUSY_SHARE_BAD => Grade::Bad,
        share if share >= BUSY_SHARE_WARN => Grade::Warn,
        _ => Grade::Ok,
    };
    let found =
        format!("{:.1} % of {:.1} s on core {core}, the busiest", share * 100.0, watched.seconds);
    match grade {
        Grade::Ok => (grade, found),
        _ => (grade, format!("{found}{}", by_whom(watched))),
    }
}

/// The busiest processes, on any core: the kernel doesn't record where each ran.
fn by_whom(watched: &Activity) -> String {
    let name = |(number, process): &(usize, Process)| {
        let seconds = process.ticks as f64 / TICKS_PER_SECOND;
        format!("{} ({number}) {seconds:.2} s", process.name)
    };
    let named: Vec<String> = watched.busy.iter().take(NAMED_MAX).map(name).collect();
    match named.is_empty() {
        true => String::new(),
        false => format!("; busiest on any core: {}", named.join(", ")),
    }
}

/// Steal since boot, as a share of the time that the core was busy: an idle core has no steal.
pub(crate) fn steal(seen: &Inspection) -> Judgement {
    let ticks =
        seen.cores.iter().filter_map(|core| Some((core, seen.machine.load.ticks.get(core)?)));
    let wanted = ticks.map(|(core, ticks)| (core, ticks, ticks.total.saturating_sub(ticks.idle)));
    let shares: Vec<(f64, usize)> = wanted
        .filter(|(.., wanted)| *wanted >= STEAL_TICKS_MIN)
        .map(|(&core, ticks, wanted)| (ticks.steal as f64 / wanted as f64, core))
        .collect();
    let worst = shares.into_iter().max_by(|one, other| one.0.total_cmp(&other.0));
    let found = |share: f64, core| {
        format!("{:.2} % of the time that core {core} wanted, since the start", share * 100.0)
    };
    match (worst, seen.machine.fixed.is_virtual) {
        (_, Some(false)) => (Grade::Ok, "no hypervisor to steal".to_owned()),
        (None, _) => (Grade::Unknown, "the cores have not run long enough to tell".to_owned()),
        (Some((share, core)), _) if share >= STEAL_SHARE_BAD => (Grade::Bad, found(share, core)),
        (Some((share, core)), _) if share >= STEAL_SHARE_WARN => (Grade::Warn, found(share, core)),
        (Some((share, core)), _) => (Grade::Ok, found(share, core)),
    }
}

pub(crate) fn load_average(seen: &Inspection) -> Judgement {
    match seen.machine.load.load_average {
        None => (Grade::Unknown, "the load average can't be read".to_owned()),
        Some([minute, ..]) if minute >= LOAD_AVERAGE_WARN => {
            (Grade::Warn, format!("{minute:.2} threads in the last minute"))
        }
        Some([minute, ..]) => (Grade::Ok, format!("{minute:.2} threads in the last minute")),
    }
}

/// The core's own timer is left out: `kernel.nohz_full` covers it.
pub(crate) fn interrupts(seen: &Inspection) -> Judgement {
    let Some((watched, all)) =
        seen.watched.as_ref().and_then(|watched| Some((watched, watched.interrupts.as_ref()?)))
    else {
        return (Grade::Unknown, "the interrupts can't be read".to_owned());
    };
    let rate = |one: &Interrupt| watched.per_second(one.count_on(&seen.cores));
    let of_kind = |kind: InterruptKind| {
        let mut came: Vec<&Interrupt> =
            all.iter().filter(|one| one.kind == kind && one.count_on(&seen.cores) > 0).collect();
        came.sort_by(|one, other| rate(other).total_cmp(&rate(one)));
        came
    };
    let (devices, internal) = (of_kind(InterruptKind::Device), of_kind(InterruptKind::Internal));
    let name = |one: &&Interrupt| match one.kind {
        InterruptKind::Device => format!("{} {:.1}/s", one.name, rate(one)),
        _ => format!("{} ({}) {:.1}/s", one.name, one.id, rate(one)),
    };
    let internal_per_second: f64 = internal.iter().map(|one| rate(one)).sum();
    let is_ok = devices.is_empty() && internal_per_second < INTERNAL_PER_SECOND_WARN;
    let named: Vec<String> =
        devices.iter().take(2).map(name).chain(internal.iter().take(2).map(name)).collect();
    let what = if named.is_empty() { "none".to_owned() } else { named.join(", ") };
    let found = format!("on {} in {:.1} s: {what}", cores(&seen.cores), watched.seconds);
    (if is_ok { Grade::Ok } else { Grade::Warn }, found)
}

pub(crate) fn clock_cost(seen: &Inspection) -> Judgement {
    let probes = &seen.machine.probes;
    let Some(ns) = probes.clock_cost_ns else {
        return (Grade::Unknown, "was not measured".to_owned());
    };
    let counter = probes.clock_counter.as_deref().unwrap_or("an unknown counter");
    let grade = match ns {
        ns if ns > CLOCK_COST_NS_BAD => Grade::Bad,
        ns if ns > CLOCK_COST_NS_WARN => Grade::Warn,
        _ => Grade::Ok,
    };
    (grade, format!("{ns} ns a stamp, from {counter}"))
}

/// Why a probe is missing.
fn missing(seen: &Inspection, what: &str) -> Judgement {
    let reasons = &seen.machine.probes.missing_because;
    let reason = reasons.iter().find(|reason| reason.contains(what)).or(reasons.first());
    (Grade::Unknown, reason.cloned().unwrap_or_else(|| "was not measured".to_owned()))
}

pub(crate) fn cache_line(seen: &Inspection) -> Judgement {
    let Some(ns) = seen.machine.probes.cache_line_round_trip_ns_p50 else {
        return missing(seen, "cache line");
    };
    let grade = match ns {
        ns if ns > CACHE_LINE_NS_BAD => Grade::Bad,
        ns if ns > CACHE_LINE_NS_WARN => Grade::Warn,
        _ => Grade::Ok,
    };
    (grade, format!("{ns} ns{}", between(seen)))
}

pub(crate) fn blocking(seen: &Inspection) -> Judgement {
    let Some(ns) = seen.machine.probes.blocking_round_trip_ns_p50 else {
        return missing(seen, "blocking");
    };
    let grade = if ns > BLOCKING_NS_WARN { Grade::Warn } else { Grade::Ok };
    (grade, format!("{ns} ns{}", between(seen)))
}

fn between(seen: &Inspection) -> String {
    let cores = seen.machine.probes.cores;
    cores.map_or(String::new(), |(first, second)| format!(" between cores {first} and {second}"))
}

#[cfg(test)]
#[path = "load_tests.rs"]
mod tests;
