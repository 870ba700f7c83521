//! Wanted values that depend on the machine: one wish for each core, interrupt, queue or disk.

use host::Root;
use host::interrupts::{InterruptKind, is_of_interface};
use host::topology::{format_core_list, parse_core_mask};

use crate::boot::MARK;
use crate::drop_ins::LIMITS;
use crate::goal::Goal;
use crate::inspection::Inspection;
use crate::place::SettingPlace;
use crate::wish::{WantedValue, Wish, format_core_mask};

const CPU: &str = "/sys/devices/system/cpu";
const NET: &str = "/sys/class/net";
/// Idle states with a longer exit latency are disabled, us; the same limit as in
/// `rules::idle_states`.
pub(crate) const IDLE_EXIT_US_MAX: u64 = 10;
/// Descriptors of a receive ring: half a millisecond of small packets at 4 M/s.
const RING_WANTED: u64 = 2048;

fn without(list: &[usize], goal: &Goal) -> Vec<usize> {
    list.iter().copied().filter(|core| !goal.cores.contains(core)).collect()
}

/// A file for each measured core, if it exists.
fn each_core(root: &Root, goal: &Goal, file: &str, value: &str) -> Vec<Wish> {
    let path = |core: &usize| format!("{CPU}/cpu{core}/{file}");
    let there = goal.cores.iter().map(path).filter(|path| root.exists(path));
    there.map(|path| Wish::kernel(path, value)).collect()
}

/// A mask without the measured cores; none if it would be empty.
fn mask(root: &Root, path: &str, goal: &Goal) -> Option<Wish> {
    let now = parse_core_mask(&root.read(path)?)?;
    let kept = without(&now, goal);
    (!kept.is_empty()).then(|| Wish::kernel(path, format_core_mask(&kept)))
}

/// As [`mask`], but if all of its cores are measured ones, the other cores replace them.
fn mask_or_housekeeping(root: &Root, path: &str, goal: &Goal) -> Vec<Wish> {
    let everyone = || Wish::kernel(path, format_core_mask(&goal.housekeeping));
    let is_there = root.exists(path);
    is_there.then(|| mask(root, path, goal).unwrap_or_else(everyone)).into_iter().collect()
}

pub(crate) fn workqueue_cpumask(root: &Root, _: &Inspection, goal: &Goal) -> Vec<Wish> {
    mask_or_housekeeping(root, "/sys/devices/virtual/workqueue/cpumask", goal)
}

pub(crate) fn writeback_cpumask(root: &Root, _: &Inspection, goal: &Goal) -> Vec<Wish> {
    mask_or_housekeeping(root, "/sys/bus/workqueue/devices/writeback/cpumask", goal)
}

pub(crate) fn irq_default(root: &Root, _: &Inspection, goal: &Goal) -> Vec<Wish> {
    mask_or_housekeeping(root, "/proc/irq/default_smp_affinity", goal)
}

/// Unlike the other masks, this file has a list.
pub(crate) fn watchdog_cpumask(root: &Root, _: &Inspection, goal: &Goal) -> Vec<Wish> {
    let path = "/proc/sys/kernel/watchdog_cpumask";
    let wish = || Wish::kernel(path, format_core_list(&goal.housekeeping));
    root.exists(path).then(wish).into_iter().collect()
}

/// Interrupts of a network interface's queues go to one near core each, in turn; others to all
/// cores that aren't measured.
pub(crate) fn irq_affinity(root: &Root, seen: &Inspection, goal: &Goal) -> Vec<Wish> {
    let mut turns = vec![0; goal.nics.len()];
    let devices = seen.interrupts.iter().flatten().filter(|one| one.kind == InterruptKind::Device);
    let mut wishes = Vec::new();
    for one in devices {
        let Some(allowed) = &one.allowed else { continue };
        let owner = goal.nics.iter().position(|nic| is_of_interface(root, &one.name, nic));
        let cores = match owner {
            Some(nic) => {
                let near = goal.near(seen, &goal.nics[nic]);
                turns[nic] += 1;
                vec![near[(turns[nic] - 1) % near.len()]]
            }
            None => without(allowed, goal),
        };
        let cores = if cores.is_empty() { &goal.housekeeping } else { &cores };
        // An interrupt that can't reach a measured core may stay.
        let is_clear = allowed.iter().all(|core| !goal.cores.contains(core));
        let value = format_core_list(if is_clear { allowed } else { cores });
        wishes.push(Wish::kernel(format!("/proc/irq/{}/smp_affinity_list", one.id), value));
    }
    wishes
}

/// Not if there is nothing to switch: `notsupported`, `forceoff`.
pub(crate) fn smt_off(root: &Root, _: &Inspection, _: &Goal) -> Vec<Wish> {
    let path = format!("{CPU}/smt/control");
    let has_switch = root.read(&path).is_some_and(|now| ["on", "off"].contains(&now.as_str()));
    has_switch.then(|| Wish::kernel(path, "off")).into_iter().collect()
}

pub(crate) fn governor(root: &Root, _: &Inspection, goal: &Goal) -> Vec<Wish> {
    each_core(root, goal, "cpufreq/scaling_governor", "performance")
}

pub(crate) fn energy_preference(root: &Root, _: &Inspection, goal: &Goal) -> Vec<Wish> {
    each_core(root, goal, "cpufreq/energy_performance_preference", "performance")
}

pub(crate) fn resume_latency(root: &Root, _: &Inspection, goal: &Goal) -> Vec<Wish> {
    let has_states = |core: &usize| root.exists(format!("{CPU}/cpu{core}/cpuidle/state1"));
    if !goal.cores.iter().any(has_states) {
        return Vec::new();
    }
    each_core(root, goal, "power/pm_qos_resume_latency_us", "n/a")
}

pub(crate) fn dma_latency(root: &Root, _: &Inspection, _: &Goal) -> Vec<Wish> {
    let wish = || Wish { place: SettingPlace::DmaLatency, want: WantedValue::Is("0".to_owned()) };
    root.exists("/dev/cpu_dma_latency").then(wish).into_iter().collect()
}

pub(crate) fn idle_states(root: &Root, _: &Inspection, goal: &Goal) -> Vec<Wish> {
    let mut wishes = Vec::new();
    for core in &goal.cores {
        let directory = format!("{CPU}/cpu{core}/cpuidle");
        for state in root.numbered(&directory, "state").unwrap_or_default() {
            let state = format!("{directory}/state{state}");
            let exit_us: Option<u64> = root.read_value(format!("{state}/latency"));
            let is_deep = exit_us.is_some_and(|us| us > IDLE_EXIT_US_MAX);
            if is_deep && root.exists(format!("{state}/disable")) {
                wishes.push(Wish::kernel(format!("{state}/disable"), "1"));
            }
        }
    }
    wishes
}

pub(crate) fn turbo_off(root: &Root, _: &Inspection, _: &Goal) -> Vec<Wish> {
    let known = [("intel_pstate/no_turbo", "1"), ("cpufreq/boost", "0")];
    let there = known.into_iter().find(|(file, _)| root.exists(format!("{CPU}/{file}")));
    there.map(|(file, value)| Wish::kernel(format!("{CPU}/{file}"), value)).into_iter().collect()
}

pub(crate) fn pcie_aspm(root: &Root, _: &Inspection, _: &Goal) -> Vec<Wish> {
    let path = "/sys/module/pcie_aspm/parameters/policy";
    root.exists(path).then(|| Wish::kernel(path, "performance")).into_iter().collect()
}

/// Never a source that the kernel found unstable: that is not available.
pub(crate) fn clock_source(_: &Root, seen: &Inspection, _: &Goal) -> Vec<Wish> {
    let path = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    let available = seen.machine.fixed.clock_sources_available.as_deref().unwrap_or_default();
    let best = ["tsc", "arch_sys_counter"].into_iter();
    let best = best.filter(|name| available.iter().any(|one| one == name)).take(1);
    best.map(|name| Wish::kernel(path, name)).collect()
}

pub(crate) fn fair_server(root: &Root, _: &Inspection, goal: &Goal) -> Vec<Wish> {
    let path = |core: &usize| format!("/sys/kernel/debug/sched/fair_server/cpu{core}/runtime");
    let there = goal.cores.iter().map(path).filter(|path| root.exists(path));
    there.map(|path| Wish::kernel(path, "0")).collect()
}

fn choice(root: &Root, path: &str, wanted: &str) -> Vec<Wish> {
    root.exists(path).then(|| Wish::kernel(path, wanted)).into_iter().collect()
}

pub(crate) fn thp_enabled(root: &Root, _: &Inspection, _: &Goal) -> Vec<Wish> {
    choice(root, "/sys/kernel/mm/transparent_hugepage/enabled", "madvise")
}

pub(crate) fn thp_defrag(root: &Root, _: &Inspection, _: &Goal) -> Vec<Wish> {
    choice(root, "/sys/kernel/mm/transparent_hugepage/defrag", "madvise")
}

pub(crate) fn congestion_control(root: &Root, _: &Inspection, _: &Goal) -> Vec<Wish> {
    choice(root, "/proc/sys/net/ipv4/tcp_congestion_control", "cubic")
}

/// A separate control group, and the controller that it needs.
pub(crate) fn cpuset_partition(root: &Root, _: &Inspection, goal: &Goal) -> Vec<Wish> {
    const GROUPS: &str = "/sys/fs/cgroup";
    let controllers = root.read(format!("{GROUPS}/cgroup.controllers")).unwrap_or_default();
    if !controllers.split_whitespace().any(|one| one == "cpuset") {
        return Vec::new();
    }
    let group = format!("{GROUPS}/tickpath");
    let there = WantedValue::Is("there".to_owned());
    vec![
        Wish::kernel(format!("{GROUPS}/cgroup.subtree_control"), "+cpuset"),
        Wish { place: SettingPlace::Directory(group.clone()), want: there },
        Wish::kernel(format!("{group}/cpuset.cpus"), format_core_list(&goal.cores)),
        Wish::kernel(format!("{group}/cpuset.cpus.partition"), "isolated"),
    ]
}

/// A file of ours in an existing directory.
fn limits(root: &Root, name: &str, item: &str, value: &str) -> Vec<Wish> {
    if !root.exists(LIMITS) {
        return Vec::new();
    }
    let text = format!("{MARK}\n*\t-\t{item}\t{value}\nroot\t-\t{item}\t{value}\n");
    let place = SettingPlace::Text(format!("{LIMITS}/90-tickpath-{name}.conf"));
    vec![Wish { place, want: WantedValue::Is(text) }]
}

pub(crate) fn limits_memlock(root: &Root, _: &Inspection, _: &Goal) -> Vec<Wish> {
    limits(root, "memlock", "memlock", "unlimited")
}

pub(crate) fn limits_nofile(root: &Root, _: &Inspection, _: &Goal) -> Vec<Wish> {
    limits(root, "nofile", "nofile", "65536")
}

/// A wish for each network interface.
fn each_nic(goal: &Goal, of: impl Fn(&str) -> Vec<Wish>) -> Vec<Wish> {
    goal.nics.iter().flat_map(|nic| of(nic)).collect()
}

pub(crate) fn coalescing(_: &Root, _: &Inspection, goal: &Goal) -> Vec<Wish> {
    let attributes = ["adaptive-rx", "adaptive-tx", "rx-usecs", "tx-usecs"];
    each_nic(goal, |nic| attributes.iter().map(|one| Wish::nic(nic, one, "0")).collect())
}

pub(crate) fn gro(_: &Root, _: &Inspection, goal: &Goal) -> Vec<Wish> {
    each_nic(goal, |nic| vec![Wish::nic(nic, "gro", "0")])
}

pub(crate) fn lro(_: &Root, _: &Inspection, goal: &Goal) -> Vec<Wish> {
    each_nic(goal, |nic| vec![Wish::nic(nic, "lro", "0")])
}

pub(crate) fn ntuple(_: &Root, _: &Inspection, goal: &Goal) -> Vec<Wish> {
    each_nic(goal, |nic| vec![Wish::nic(nic, "ntuple", "1")])
}

/// Never above the driver's maximum, because a higher value is rejected as a whole.
pub(crate) fn rings(_: &Root, seen: &Inspection, goal: &Goal) -> Vec<Wish> {
    each_nic(goal, |nic| {
        let Some(max) = seen.nic_value(nic, "rx-max") else { return Vec::new() };
        let place = SettingPlace::Nic { nic: nic.to_owned(), attribute: "rx".to_owned() };
        vec![Wish { place, want: WantedValue::AtLeast(RING_WANTED.min(max)) }]
    })
}

/// Devices without combined channels have separate receive and transmit channels.
pub(crate) fn channels(_: &Root, seen: &Inspection, goal: &Goal) -> Vec<Wish> {
    each_nic(goal, |nic| {
        let count = goal.near(seen, nic).len() as u64;
        let max = |kind: &str| seen.nic_value(nic, &format!("{kind}-max")).filter(|&max| max > 0);
        let kinds = match max("combined") {
            Some(_) => &["combined"][..],
            None => &["rx-channels", "tx-channels"],
        };
        let wish = |kind: &&str| Some(Wish::nic(nic, kind, count.clamp(1, max(kind)?).to_string()));
        kinds.iter().filter_map(wish).collect()
    })
}

/// Files below `queues` of each interface, `rx-0` or `tx-0` by `side`.
fn queues(root: &Root, nic: &str, side: &str, file: &str) -> Vec<String> {
    let directory = format!("{NET}/{nic}/queues");
    let numbers = root.numbered(&directory, side).unwrap_or_default();
    let path = |number| format!("{directory}/{side}{number}/{file}");
    numbers.into_iter().map(path).filter(|path| root.exists(path)).collect()
}

pub(crate) fn rps(root: &Root, _: &Inspection, goal: &Goal) -> Vec<Wish> {
    each_nic(goal, |nic| {
        let keep = |path: String| {
            let now = parse_core_mask(&root.read(&path)?)?;
            Some(Wish::kernel(path, format_core_mask(&without(&now, goal))))
        };
        queues(root, nic, "rx-", "rps_cpus").into_iter().filter_map(keep).collect()
    })
}

pub(crate) fn rfs(root: &Root, _: &Inspection, goal: &Goal) -> Vec<Wish> {
    each_nic(goal, |nic| {
        let paths = queues(root, nic, "rx-", "rps_flow_cnt").into_iter();
        paths.map(|path| Wish::kernel(path, "0")).collect()
    })
}

/// Each measured core has its own queue among the first ones, the others share the rest. With one
/// queue there is no choice, and with too few the others share the last.
pub(crate) fn xps(root: &Root, _: &Inspection, goal: &Goal) -> Vec<Wish> {
    each_nic(goal, |nic| {
        let paths = queues(root, nic, "tx-", "xps_cpus");
        if paths.len() < 2 {
            return Vec::new();
        }
        let own = goal.cores.len().min(paths.len() - 1);
        let mut cores = vec![Vec::new(); paths.len()];
        for (turn, core) in goal.cores.iter().enumerate() {
            cores[turn % own].push(*core);
        }
        for (turn, core) in goal.housekeeping.iter().enumerate() {
            cores[own + turn % (paths.len() - own)].push(*core);
        }
        let masks = cores.iter().map(|cores| format_core_mask(cores));
        paths.into_iter().zip(masks).map(|(path, mask)| Wish::kernel(path, mask)).collect()
    })
}

pub(crate) fn napi_defer(root: &Root, _: &Inspection, goal: &Goal) -> Vec<Wish> {
    let files = [("napi_defer_hard_irqs", "2"), ("gro_flush_timeout", "10000")];
    each_nic(goal, |nic| {
        let path = |file: &str| format!("{NET}/{nic}/{file}");
        let there = files.iter().filter(|(file, _)| root.exists(path(file)));
        there.map(|(file, value)| Wish::kernel(path(file), *value)).collect()
    })
}

/// Only if the driver has the parameter.
pub(crate) fn ena_phc(root: &Root, _: &Inspection, _: &Goal) -> Vec<Wish> {
    if !root.exists("/sys/module/ena/parameters/phc_enable") || !root.exists("/etc/modprobe.d") {
        return Vec::new();
    }
    let text = format!("{MARK}\noptions ena phc_enable=1\n");
    let place = SettingPlace::Text("/etc/modprobe.d/tickpath-ena.conf".to_owned());
    vec![Wish { place, want: WantedValue::Is(text) }]
}

/// A file below `queue` of each disk on hardware.
fn each_disk(root: &Root, file: &str, of: impl Fn(String) -> Option<Wish>) -> Vec<Wish> {
    let disks = root.names("/sys/block").unwrap_or_default().into_iter();
    let disks = disks.filter(|disk| root.exists(format!("/sys/block/{disk}/device")));
    let paths = disks.map(|disk| format!("/sys/block/{disk}/queue/{file}"));
    paths.filter(|path| root.exists(path)).filter_map(of).collect()
}

pub(crate) fn block_scheduler(root: &Root, _: &Inspection, _: &Goal) -> Vec<Wish> {
    each_disk(root, "scheduler", |path| {
        let has_none = root.read(&path)?.contains("none");
        has_none.then(|| Wish::kernel(path, "none"))
    })
}

pub(crate) fn block_iostats(root: &Root, _: &Inspection, _: &Goal) -> Vec<Wish> {
    each_disk(root, "iostats", |path| Some(Wish::kernel(path, "0")))
}

pub(crate) fn block_rq_affinity(root: &Root, _: &Inspection, _: &Goal) -> Vec<Wish> {
    each_disk(root, "rq_affinity", |path| {
        Some(Wish { place: SettingPlace::Kernel(path), want: WantedValue::AtMost(1) })
    })
}
