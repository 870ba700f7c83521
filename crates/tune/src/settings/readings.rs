//! Reads each setting. Takes values from the fingerprint if it has them.

use host::Root;
use host::scheduling::has_fair_server;
use host::topology::format_core_list;
use record::machine::IdleState;

use crate::inspection::Inspection;
use crate::setting::Value;

const CPU: &str = "sys/devices/system/cpu";

/// An unreadable file is absent if its directory can be listed and lacks it.
fn value(fact: Option<String>, root: &Root, path: &str) -> Value {
    let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
    match fact {
        Some(text) => Value::Is(text),
        None => match root.names(directory) {
            Some(names) if !names.iter().any(|there| there == name) => Value::Absent,
            _ => Value::Unreadable,
        },
    }
}

fn file(root: &Root, path: &str) -> Value {
    value(root.read_text(path), root, path)
}

fn list(cores: Option<&Vec<usize>>) -> Option<String> {
    cores.map(|cores| format_core_list(cores))
}

pub(crate) fn isolated(root: &Root, seen: &Inspection) -> Value {
    value(list(seen.topology.isolated.as_ref()), root, &format!("{CPU}/isolated"))
}

pub(crate) fn nohz_full(root: &Root, seen: &Inspection) -> Value {
    value(list(seen.topology.nohz_full.as_ref()), root, &format!("{CPU}/nohz_full"))
}

/// Only the command line has it.
pub(crate) fn rcu_nocbs(_: &Root, seen: &Inspection) -> Value {
    match seen.machine.fixed.kernel_command_line {
        Some(_) => Value::Is(seen.boot_value("rcu_nocbs").unwrap_or_default()),
        None => Value::Unreadable,
    }
}

/// `N=CORES` of each device's interrupt, with the cores that may get it.
pub(crate) fn irq_affinity(_: &Root, seen: &Inspection) -> Value {
    let Some(interrupts) = &seen.interrupts else { return Value::Unreadable };
    let cores = |one: &host::interrupts::Interrupt| {
        Some(format!("{}={}", one.id, format_core_list(one.allowed.as_deref()?)))
    };
    Value::Is(interrupts.iter().filter_map(cores).collect::<Vec<_>>().join(" "))
}

pub(crate) fn workqueue_cpumask(root: &Root, _: &Inspection) -> Value {
    file(root, "sys/devices/virtual/workqueue/cpumask")
}

pub(crate) fn smt(root: &Root, seen: &Inspection) -> Value {
    value(seen.machine.fixed.smt.clone(), root, &format!("{CPU}/smt/control"))
}

/// The governors of the measured cores, each once.
pub(crate) fn governor(root: &Root, seen: &Inspection) -> Value {
    let Some(first) = seen.cores.first() else { return Value::Unreadable };
    let of_core = |core| seen.machine.fixed.governors.get(core)?.clone();
    let mut governors: Vec<String> = seen.cores.iter().filter_map(of_core).collect();
    governors.sort();
    governors.dedup();
    let known = (!governors.is_empty()).then(|| governors.join(" "));
    value(known, root, &format!("{CPU}/cpu{first}/cpufreq"))
}

/// `poll`, `halt` if there is no choice, or the names of the states that a measured core may enter.
pub(crate) fn idle_states(root: &Root, seen: &Inspection) -> Value {
    let fixed = &seen.machine.fixed;
    if seen.boot_value("idle").as_deref() == Some("poll") {
        return Value::Is("poll".to_owned());
    }
    let states = seen.cores.iter().filter_map(|core| fixed.idle_states.get(core)).flatten();
    let mut names: Vec<&str> = Vec::new();
    for IdleState { name, .. } in states.filter(|state| state.is_disabled != Some(true)) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    let Some(first) = seen.cores.first() else { return Value::Unreadable };
    let known = (!names.is_empty()).then(|| names.join(", "));
    match value(known, root, &format!("{CPU}/cpu{first}/cpuidle")) {
        Value::Absent => Value::Is("halt".to_owned()),
        value => value,
    }
}

pub(crate) fn clock_source(root: &Root, seen: &Inspection) -> Value {
    let path = "sys/devices/system/clocksource/clocksource0/current_clocksource";
    value(seen.machine.fixed.clock_source.clone(), root, path)
}

pub(crate) fn rt_runtime(root: &Root, seen: &Inspection) -> Value {
    let fact = seen.machine.fixed.rt_runtime_us.map(|us| us.to_string());
    value(fact, root, "proc/sys/kernel/sched_rt_runtime_us")
}

/// Only root can read it, through debugfs.
pub(crate) fn fair_server(_: &Root, seen: &Inspection) -> Value {
    let fixed = &seen.machine.fixed;
    match (fixed.fair_server_runtime_ns, fixed.kernel_release.as_deref()) {
        (Some(ns), _) => Value::Is(ns.to_string()),
        (None, Some(release)) if !has_fair_server(release) => Value::Absent,
        (None, _) => Value::Unreadable,
    }
}

pub(crate) fn autogroup(root: &Root, seen: &Inspection) -> Value {
    let fact = seen.machine.fixed.autogroup.map(|on| u8::from(on).to_string());
    value(fact, root, "proc/sys/kernel/sched_autogroup_enabled")
}

pub(crate) fn thp_enabled(root: &Root, seen: &Inspection) -> Value {
    let fact = seen.machine.fixed.transparent_huge_pages.clone();
    value_of_feature(fact, root, "sys/kernel/mm/transparent_hugepage", "enabled")
}

pub(crate) fn thp_defrag(root: &Root, _: &Inspection) -> Value {
    let directory = "sys/kernel/mm/transparent_hugepage";
    let chosen = root.read_choice(format!("{directory}/defrag"));
    value_of_feature(chosen, root, directory, "defrag")
}

pub(crate) fn numa_balancing(root: &Root, _: &Inspection) -> Value {
    file(root, "proc/sys/kernel/numa_balancing")
}

pub(crate) fn ksm(root: &Root, _: &Inspection) -> Value {
    let directory = "sys/kernel/mm/ksm";
    value_of_feature(root.read_text(format!("{directory}/run")), root, directory, "run")
}

/// A file of a directory that does not exist if the kernel was built without the feature.
fn value_of_feature(fact: Option<String>, root: &Root, directory: &str, name: &str) -> Value {
    match (fact, root.exists(directory)) {
        (None, false) => value(None, root, directory),
        (fact, _) => value(fact, root, &format!("{directory}/{name}")),
    }
}

pub(crate) fn stat_interval(root: &Root, _: &Inspection) -> Value {
    file(root, "proc/sys/vm/stat_interval")
}

/// The cores that the watchdog checks; empty if it is off.
pub(crate) fn watchdog_cores(root: &Root, _: &Inspection) -> Value {
    match file(root, "proc/sys/kernel/watchdog") {
        Value::Is(text) if text == "0" => Value::Is(String::new()),
        Value::Is(_) => {
            let path = "proc/sys/kernel/watchdog_cpumask";
            value(root.read(path), root, path)
        }
        other => other,
    }
}

/// The kernel's status of vulnerabilities with work at every entry.
pub(crate) fn mitigations(root: &Root, seen: &Inspection) -> Value {
    let Some(all) = &seen.machine.fixed.mitigations else {
        return value(None, root, &format!("{CPU}/vulnerabilities"));
    };
    let costly = all.iter().filter(|(name, word)| is_costly(name, word));
    let costly: Vec<String> = costly.map(|(name, word)| format!("{name}: {word}")).collect();
    Value::Is(costly.join("; "))
}

/// Documentation/admin-guide/hw-vuln: work at each entry to or exit from the kernel is swapping
/// page tables (meltdown), clearing buffers (mds and similar), writing a model-specific register
/// (IBRS, not the enhanced kind), or untraining the return predictor (retbleed, srso).
fn is_costly(name: &str, word: &str) -> bool {
    match name {
        "meltdown" => word.contains("PTI"),
        "spectre_v2" => word.starts_with("Mitigation: IBRS"),
        "retbleed" => word.contains("untrained") || word.starts_with("Mitigation: IBRS"),
        "spec_rstack_overflow" => word.to_lowercase().contains("safe ret"),
        _ => word.contains("Clear CPU buffers"),
    }
}

pub(crate) fn busy_poll(root: &Root, _: &Inspection) -> Value {
    file(root, "proc/sys/net/core/busy_poll")
}

pub(crate) fn busy_read(root: &Root, _: &Inspection) -> Value {
    file(root, "proc/sys/net/core/busy_read")
}

pub(crate) fn congestion_control(root: &Root, seen: &Inspection) -> Value {
    let fact = seen.machine.fixed.tcp_congestion_control.clone();
    value(fact, root, "proc/sys/net/ipv4/tcp_congestion_control")
}

/// This process's limit, if it could be read.
fn limit(limit: Option<host::permissions::Limit>) -> Value {
    Value::Is(limit.map_or("unknown".to_owned(), |limit| limit.to_string()))
}

pub(crate) fn locked_memory(_: &Root, seen: &Inspection) -> Value {
    limit(seen.permissions.locked_memory_bytes)
}

pub(crate) fn open_files(_: &Root, seen: &Inspection) -> Value {
    limit(seen.permissions.open_files)
}
