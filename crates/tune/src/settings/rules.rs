//! Judges each setting's value on this machine: small pure functions of an inspection.

use host::interrupts::{Interrupt, InterruptKind};
use host::kernel_list::parse_kernel_list;
use host::scheduling::{has_fair_server, release_numbers};
use host::topology::{format_core_list, parse_core_list, parse_core_mask};
use record::doctor::Grade;
use record::machine::IdleState;

use crate::checks::permission;
use crate::inspection::Inspection;
use crate::setting::Judgement;

/// An idle state with a longer exit latency shows in a blocking thread's latency, us. C1 takes 1 to
/// 2, C1E up to 10, C6 100 and more (intel_idle's tables).
const IDLE_EXIT_US_MAX: u64 = 10;
/// Longer intervals of statistics don't matter during a run, s.
const STAT_INTERVAL_S_MIN: u64 = 10;
/// Maximum number of interrupts that are listed one by one.
const NAMED_MAX: usize = 3;

/// `core 3` or `cores 2-3`.
pub(crate) fn cores(list: &[usize]) -> String {
    let plural = if list.len() == 1 { "core" } else { "cores" };
    format!("{plural} {}", format_core_list(list))
}

fn not_understood(value: &str) -> Judgement {
    (Grade::Unknown, format!("\"{value}\" is not understood"))
}

/// Ok if all measured cores are in the list `value`; otherwise the text `outside`.
fn all_in(value: &str, seen: &Inspection, inside: &str, outside: &str) -> Judgement {
    match parse_core_list(value) {
        Some(list) => judged_list(&list, seen, inside, outside),
        None => not_understood(value),
    }
}

fn judged_list(list: &[usize], seen: &Inspection, inside: &str, outside: &str) -> Judgement {
    let open = seen.cores_outside(list);
    if open.is_empty() {
        (Grade::Ok, format!("{} {inside}", cores(&seen.cores)))
    } else {
        (Grade::Warn, format!("{} {outside}", cores(&open)))
    }
}

pub(crate) fn isolated(value: &str, seen: &Inspection) -> Judgement {
    all_in(value, seen, "isolated", "not isolated")
}

pub(crate) fn nohz_full(value: &str, seen: &Inspection) -> Judgement {
    all_in(value, seen, "without a tick while one thread runs there", "with a tick")
}

/// `nohz_full` offloads callbacks too (Documentation/admin-guide/kernel-parameters.txt).
pub(crate) fn rcu_nocbs(value: &str, seen: &Inspection) -> Judgement {
    let by_tick = seen.topology.nohz_full.as_deref().unwrap_or_default();
    if seen.cores_outside(by_tick).is_empty() {
        return (Grade::Ok, format!("offloaded from {}", cores(&seen.cores)));
    }
    match parse_kernel_list(value, seen.topology.last_possible) {
        Ok(list) => judged_list(&list, seen, "offloaded", "with callbacks of their own"),
        Err(why) => (Grade::Unknown, format!("rcu_nocbs={value}: {why}")),
    }
}

/// Interrupts that have not occurred since boot do no harm.
pub(crate) fn irq_affinity(_: &str, seen: &Inspection) -> Judgement {
    let devices = seen.interrupts.iter().flatten().filter(|one| one.kind == InterruptKind::Device);
    let is_alive = |one: &&Interrupt| one.counts.values().any(|&count| count > 0);
    let may_come = |one: &&Interrupt| match one.cores() {
        Some(may) => seen.cores.iter().any(|core| may.contains(core)),
        None => one.count_on(&seen.cores) > 0,
    };
    let mut ours: Vec<&Interrupt> = devices.filter(is_alive).filter(may_come).collect();
    if ours.is_empty() {
        return (Grade::Ok, format!("no active device interrupt can reach {}", cores(&seen.cores)));
    }
    ours.sort_by_key(|one| std::cmp::Reverse(one.count_on(&seen.cores)));
    let named = ours.iter().take(NAMED_MAX).map(|one| format!("{} {}", one.id, one.name));
    let named = named.collect::<Vec<_>>().join(", ");
    let more = match ours.len().saturating_sub(NAMED_MAX) {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    (Grade::Warn, format!("may come to {}: {named}{more}", cores(&seen.cores)))
}

pub(crate) fn workqueue_cpumask(value: &str, seen: &Inspection) -> Judgement {
    let Some(list) = parse_core_mask(value) else { return not_understood(value) };
    none_in(&list, seen, Grade::Warn, "deferred work may run on", "deferred work keeps off")
}

/// Ok if no measured core is in the list; otherwise `grade` with those cores.
fn none_in(
    list: &[usize],
    seen: &Inspection,
    grade: Grade,
    inside: &str,
    outside: &str,
) -> Judgement {
    let hit: Vec<usize> = seen.cores.iter().copied().filter(|core| list.contains(core)).collect();
    if hit.is_empty() {
        (Grade::Ok, format!("{outside} {}", cores(&seen.cores)))
    } else {
        (grade, format!("{inside} {}", cores(&hit)))
    }
}

/// A hypervisor that hides siblings may run two guests on the threads of one core.
pub(crate) fn smt(value: &str, seen: &Inspection) -> Judgement {
    let siblings = seen.siblings();
    let isolated = seen.topology.isolated.as_deref().unwrap_or_default();
    let open: Vec<usize> =
        siblings.iter().copied().filter(|core| !isolated.contains(core)).collect();
    let is_hidden = seen.machine.fixed.is_virtual != Some(false) && value == "notsupported";
    if seen.topology.siblings.is_empty() {
        (Grade::Unknown, format!("{value}; which cores are siblings can't be read"))
    } else if !open.is_empty() {
        (Grade::Warn, format!("others may run on the second hardware threads, {}", cores(&open)))
    } else if !siblings.is_empty() {
        (Grade::Ok, format!("{value}; the second threads, {}, are isolated", cores(&siblings)))
    } else if is_hidden {
        let found = "no second threads are shown, but a hypervisor may hide them";
        (Grade::Unknown, found.to_owned())
    } else {
        (Grade::Ok, format!("{value}; no second threads"))
    }
}

/// `powersave` of `intel_pstate` and `amd-pstate-epp` lets the hardware choose; of any other driver
/// it is always the lowest frequency (Documentation/admin-guide/pm/cpufreq.rst, intel_pstate.rst).
pub(crate) fn governor(value: &str, seen: &Inspection) -> Judgement {
    let fixed = &seen.machine.fixed;
    let driver = fixed.frequency_driver.as_deref().unwrap_or("unknown driver");
    let turbo = match fixed.turbo {
        Some(true) => ", turbo on",
        Some(false) => ", turbo off",
        None => "",
    };
    let found = format!("{value} ({driver}{turbo})");
    let chooses_itself = ["intel_pstate", "amd-pstate-epp"].contains(&driver);
    if value == "performance" {
        (Grade::Ok, found)
    } else if !value.split(' ').any(|one| one == "powersave") {
        (Grade::Warn, format!("{found}: the frequency follows the load"))
    } else if chooses_itself && fixed.turbo != Some(false) {
        (Grade::Warn, format!("{found}: the processor chooses, and slows down when it waits"))
    } else if chooses_itself {
        (Grade::Bad, format!("{found}: it slows down when it waits, and is slow to rise"))
    } else {
        (Grade::Bad, format!("{found}: the lowest frequency, always"))
    }
}

pub(crate) fn idle_states(value: &str, seen: &Inspection) -> Judgement {
    let fixed = &seen.machine.fixed;
    if value == "poll" {
        return (Grade::Ok, "idle cores poll".to_owned());
    }
    let halts = value == "halt" || fixed.idle_driver.as_deref() == Some("haltpoll");
    if halts && fixed.is_virtual == Some(true) {
        return (Grade::Warn, "an idle core halts into the hypervisor, which wakes it".to_owned());
    }
    if value == "halt" {
        return (Grade::Ok, "idle cores halt (C1)".to_owned());
    }
    let states = seen.cores.iter().filter_map(|core| fixed.idle_states.get(core)).flatten();
    let may_enter = |state: &&IdleState| state.is_disabled != Some(true);
    let deepest = states.filter(may_enter).max_by_key(|state| state.exit_latency_us);
    let Some((name, Some(us))) = deepest.map(|state| (&state.name, state.exit_latency_us)) else {
        return (Grade::Unknown, format!("{value}; the driver does not say how long each takes"));
    };
    let found = format!("{value}; the deepest, {name}, takes {us} us to leave");
    if us > IDLE_EXIT_US_MAX { (Grade::Warn, found) } else { (Grade::Ok, found) }
}

/// Sources that the vDSO reads without a system call: arch/x86/entry/vdso, arch/arm64/kernel/vdso.
pub(crate) fn clock_source(value: &str, seen: &Inspection) -> Judgement {
    let available = seen.machine.fixed.clock_sources_available.as_deref().unwrap_or_default();
    let available = format!("{value} (available: {})", available.join(" "));
    match value {
        "tsc" | "arch_sys_counter" => (Grade::Ok, value.to_owned()),
        "kvm-clock" | "hyperv_clocksource_tsc_page" => {
            (Grade::Warn, format!("{available}: no system call, but more than the counter alone"))
        }
        "hpet" | "acpi_pm" | "xen" | "jiffies" | "refined-jiffies" => {
            (Grade::Bad, format!("{available}: a system call for each stamp"))
        }
        _ => (Grade::Unknown, format!("{available}: the cost of a stamp is unknown")),
    }
}

/// Since 6.12, the fair server does this work (kernel/sched/rt.c, kernel/sched/deadline.c).
pub(crate) fn rt_runtime(value: &str, seen: &Inspection) -> Judgement {
    let fixed = &seen.machine.fixed;
    let Ok(runtime) = value.parse::<i64>() else { return not_understood(value) };
    let period = fixed.rt_period_us.unwrap_or(1_000_000);
    let release = fixed.kernel_release.as_deref();
    if runtime < 0 || runtime >= period {
        (Grade::Ok, format!("{runtime}: no throttling"))
    } else if release.is_some_and(has_fair_server) {
        (Grade::Ok, format!("{runtime}, but from Linux 6.12 on sched.fair_server counts"))
    } else {
        (Grade::Warn, format!("real-time threads get {runtime} of each {period} us"))
    }
}

pub(crate) fn fair_server(value: &str, _: &Inspection) -> Judgement {
    match value.parse::<u64>() {
        Ok(0) => (Grade::Ok, "off".to_owned()),
        Ok(ns) => (Grade::Warn, format!("{ns} ns of each second are kept for other threads")),
        Err(_) => not_understood(value),
    }
}

pub(crate) fn autogroup(value: &str, seen: &Inspection) -> Judgement {
    match value {
        "0" => (Grade::Ok, "off".to_owned()),
        _ if seen.is_isolated() => (Grade::Ok, "on, without effect on isolated cores".to_owned()),
        _ => (Grade::Warn, "on".to_owned()),
    }
}

pub(crate) fn thp_enabled(value: &str, _: &Inspection) -> Judgement {
    let grade = if value == "always" { Grade::Warn } else { Grade::Ok };
    (grade, value.to_owned())
}

pub(crate) fn thp_defrag(value: &str, seen: &Inspection) -> Judgement {
    let is_off = seen.machine.fixed.transparent_huge_pages.as_deref() == Some("never");
    match value {
        "always" if is_off => (Grade::Ok, "always, but huge pages are off".to_owned()),
        "always" => (Grade::Warn, value.to_owned()),
        _ => (Grade::Ok, value.to_owned()),
    }
}

pub(crate) fn numa_balancing(value: &str, seen: &Inspection) -> Judgement {
    let nodes = seen.topology.nodes.as_ref().map(|nodes| nodes.len());
    match (value, nodes) {
        ("0", _) => (Grade::Ok, "off".to_owned()),
        (_, None) => (Grade::Unknown, "on; how many nodes there are can't be read".to_owned()),
        (_, Some(0 | 1)) => (Grade::Ok, "on, without effect on one node".to_owned()),
        (_, Some(nodes)) => (Grade::Warn, format!("on, over {nodes} nodes")),
    }
}

pub(crate) fn ksm(value: &str, _: &Inspection) -> Judgement {
    match value {
        "1" => (Grade::Warn, "runs".to_owned()),
        _ => (Grade::Ok, "off".to_owned()),
    }
}

/// Since Linux 6.5, isolated cores are left out (vmstat_shepherd in mm/vmstat.c).
pub(crate) fn stat_interval(value: &str, seen: &Inspection) -> Judgement {
    let Ok(seconds) = value.parse::<u64>() else { return not_understood(value) };
    let release = seen.machine.fixed.kernel_release.as_deref().and_then(release_numbers);
    let leaves_isolated_out = release.is_some_and(|numbers| numbers >= (6, 5));
    let found = format!("every {seconds} s");
    match (seen.is_isolated(), leaves_isolated_out) {
        (true, true) => (Grade::Ok, format!("{found}, isolated cores left out")),
        (true, false) if seconds < STAT_INTERVAL_S_MIN => {
            (Grade::Warn, format!("{found}, on isolated cores too"))
        }
        _ => (Grade::Ok, found),
    }
}

pub(crate) fn watchdog_cores(value: &str, seen: &Inspection) -> Judgement {
    let Some(list) = parse_core_list(value) else { return not_understood(value) };
    let grade = if seen.is_isolated() { Grade::Warn } else { Grade::Ok };
    none_in(&list, seen, grade, "looks at", "keeps off")
}

pub(crate) fn mitigations(value: &str, _: &Inspection) -> Judgement {
    match value {
        "" => (Grade::Ok, "none works at every entry to the kernel".to_owned()),
        costly => (Grade::Warn, costly.to_owned()),
    }
}

/// Without a NIC there is no queue to poll.
pub(crate) fn busy_polling(value: &str, seen: &Inspection) -> Judgement {
    let has_nic = seen.machine.fixed.nics.iter().flatten().any(|nic| nic.name != "lo");
    match value.parse::<u64>() {
        Ok(0) if has_nic => (Grade::Warn, "off".to_owned()),
        Ok(0) => (Grade::Ok, "off; there is no NIC to poll".to_owned()),
        Ok(us) => (Grade::Ok, format!("{us} us")),
        Err(_) => not_understood(value),
    }
}

pub(crate) fn congestion_control(value: &str, _: &Inspection) -> Judgement {
    let grade = if value.starts_with("bbr") { Grade::Warn } else { Grade::Ok };
    (grade, value.to_owned())
}

pub(crate) fn locked_memory(_: &str, seen: &Inspection) -> Judgement {
    permission::locked_memory(seen)
}

pub(crate) fn open_files(_: &str, seen: &Inspection) -> Judgement {
    permission::open_files(seen)
}

#[cfg(test)]
#[path = "rules_tests.rs"]
mod tests;
