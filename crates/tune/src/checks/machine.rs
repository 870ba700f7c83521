//! Checks of the machine: cores, quotas, virtualisation, kernel, NICs. Small pure functions of an
//! inspection.

use host::scheduling::release_numbers;
use host::topology::format_core_list;
use record::doctor::Grade;
use record::machine::Nic;

use crate::inspection::{Deferral, Inspection};
use crate::setting::Judgement;
use crate::settings::rules::cores;

/// Minimum number of cores: exchange, client, and one for everything else.
const CORES_WANTED: usize = 3;
/// The oldest kernel with support (kernel.org, November 2026).
const KERNEL_MIN: (u32, u32) = (5, 10);
/// Drivers of NICs that the host emulates in software: each packet waits for a thread of the host.
const PARAVIRTUAL: [&str; 5] = ["virtio_net", "vif", "hv_netvsc", "vmxnet3", "e1000"];

/// With one core for both ends, or for the measured thread and all others, each waits for the
/// other.
pub(crate) fn cores_count(seen: &Inspection) -> Judgement {
    let online = seen.topology.online.as_ref().map_or(seen.allowed.len(), Vec::len);
    let found = format!(
        "{} of {online} may be used, {} would be measured on",
        seen.allowed.len(),
        match &seen.cores[..] {
            [] => "none".to_owned(),
            list => format_core_list(list),
        }
    );
    let grade = match (seen.allowed.len(), seen.cores.len()) {
        (0 | 1, _) | (_, 0) => Grade::Bad,
        (allowed, _) if allowed < CORES_WANTED => Grade::Warn,
        (allowed, measured) if allowed == measured => Grade::Warn,
        _ => Grade::Ok,
    };
    (grade, found)
}

/// Measured cores with shared execution units disturb each other.
pub(crate) fn placement(seen: &Inspection) -> Judgement {
    let topology = &seen.topology;
    let shared = seen.cores.iter().find_map(|core| {
        let siblings = topology.siblings.get(core)?;
        let both: Vec<usize> =
            siblings.iter().copied().filter(|core| seen.cores.contains(core)).collect();
        (both.len() > 1).then_some(both)
    });
    if let Some(both) = shared {
        return (Grade::Bad, format!("{} are threads of one physical core", cores(&both)));
    }
    if topology.siblings.is_empty() {
        return (Grade::Unknown, "which cores are siblings can't be read".to_owned());
    }
    let holds_any = |list: &&Vec<usize>| seen.cores.iter().any(|core| list.contains(core));
    let nodes = topology.nodes.iter().flat_map(|nodes| nodes.values()).filter(holds_any).count();
    let mut caches: Vec<&Vec<usize>> =
        seen.cores.iter().filter_map(|core| topology.cache_l3.get(core)).collect();
    caches.dedup();
    if nodes > 1 {
        (Grade::Warn, format!("{} lie on {nodes} NUMA nodes", cores(&seen.cores)))
    } else if caches.len() > 1 {
        (Grade::Warn, format!("{} lie behind {} level 3 caches", cores(&seen.cores), caches.len()))
    } else {
        (Grade::Ok, format!("{} lie on one NUMA node, no two are siblings", cores(&seen.cores)))
    }
}

/// A spinning thread uses a whole core; a group that has used up its quota stops for the rest of
/// its period (Documentation/scheduler/sched-bwc.rst).
pub(crate) fn cgroup_quota(seen: &Inspection) -> Judgement {
    let Some(limit) = seen.machine.fixed.cgroup_cpu_max.as_deref() else {
        // Without the controller there is no file and no limit.
        return match seen.has_control_groups {
            true => (Grade::Ok, "no limit".to_owned()),
            false => (Grade::Unknown, "the control groups can't be read".to_owned()),
        };
    };
    let mut fields = limit.split_whitespace();
    let quota = fields.next().unwrap_or_default();
    if quota == "max" {
        return (Grade::Ok, "no limit".to_owned());
    }
    let period = fields.next().and_then(|field| field.parse::<u64>().ok());
    let (Ok(quota), Some(period)) = (quota.parse::<u64>(), period.filter(|&us| us > 0)) else {
        return (Grade::Unknown, format!("\"{limit}\" is not understood"));
    };
    let cores = quota as f64 / period as f64;
    let found = format!("{cores:.1} cores' worth: {quota} us of each {period} us");
    if cores >= seen.allowed.len() as f64 {
        (Grade::Ok, format!("{found}, as much as there is"))
    } else if cores > seen.cores.len() as f64 {
        (Grade::Warn, format!("{found}, enough while nothing else runs in the group"))
    } else {
        (Grade::Bad, format!("{found}, for {} that spin", self::cores(&seen.cores)))
    }
}

pub(crate) fn hypervisor(seen: &Inspection) -> Judgement {
    let fixed = &seen.machine.fixed;
    let product: Vec<&str> =
        [&fixed.dmi_vendor, &fixed.dmi_product].into_iter().flatten().map(String::as_str).collect();
    let product = match product.is_empty() {
        true => String::new(),
        false => format!(" ({})", product.join(" ")),
    };
    let on = fixed.hypervisor.as_ref().map_or(String::new(), |name| format!(" on {name}"));
    match fixed.is_virtual {
        Some(true) => (Grade::Warn, format!("a virtual machine{on}{product}")),
        Some(false) => (Grade::Ok, format!("bare metal{product}")),
        None => (Grade::Unknown, format!("whether it is bare metal can't be told{product}")),
    }
}

/// A container shares its host's kernel and cores; its limits are separate findings.
pub(crate) fn container(seen: &Inspection) -> Judgement {
    let fixed = &seen.machine.fixed;
    match fixed.container.as_deref() {
        None if fixed.kernel_release.is_none() => {
            (Grade::Unknown, "there is no /proc to tell".to_owned())
        }
        None => (Grade::Ok, "nothing hints at one".to_owned()),
        Some(kind) if hardware(seen).next().is_some() => {
            (Grade::Ok, format!("{kind}, with a NIC of its own"))
        }
        Some(kind) => (Grade::Warn, format!("{kind}, without a NIC of its own")),
    }
}

pub(crate) fn kernel(seen: &Inspection) -> Judgement {
    let fixed = &seen.machine.fixed;
    let Some(release) = fixed.kernel_release.as_deref() else {
        return (Grade::Unknown, "the kernel's release can't be read".to_owned());
    };
    let options = fixed.kernel_version.as_deref().unwrap_or_default();
    let preemption = options.split_whitespace().find(|word| word.starts_with("PREEMPT"));
    let found = match preemption {
        Some(preemption) => format!("{release}, {preemption}"),
        None => release.to_owned(),
    };
    match release_numbers(release) {
        Some(numbers) if numbers >= KERNEL_MIN => (Grade::Ok, found),
        Some(_) => (Grade::Warn, format!("{found}: out of support")),
        None => (Grade::Unknown, format!("{found} is not understood")),
    }
}

/// Interfaces with real or emulated hardware.
fn hardware(seen: &Inspection) -> impl Iterator<Item = &Nic> {
    seen.machine.fixed.nics.iter().flatten().filter(|nic| nic.name != "lo")
}

pub(crate) fn nic_driver(seen: &Inspection) -> Judgement {
    if seen.machine.fixed.nics.is_none() {
        return (Grade::Unknown, "the interfaces can't be listed".to_owned());
    }
    let describe = |nic: &Nic| {
        let version = nic.driver_version.as_ref().map_or(String::new(), |text| format!(" {text}"));
        format!("{}: {}{version}", nic.name, nic.driver.as_deref().unwrap_or("unknown driver"))
    };
    let found: Vec<String> = hardware(seen).map(describe).collect();
    let is_played = |nic: &Nic| nic.driver.as_deref().is_some_and(|one| PARAVIRTUAL.contains(&one));
    if found.is_empty() {
        (Grade::Warn, "none: only loopback can be measured".to_owned())
    } else if hardware(seen).all(|nic| nic.driver.is_none()) {
        (Grade::Unknown, found.join(", "))
    } else if hardware(seen).all(is_played) {
        (Grade::Warn, format!("{}, played by the host's software", found.join(", ")))
    } else {
        (Grade::Ok, found.join(", "))
    }
}

/// In document 003, the tail was 2.5 times as long with NIC interrupts and threads on different
/// sockets.
pub(crate) fn nic_node(seen: &Inspection) -> Judgement {
    let Some(nodes) = seen.topology.nodes.as_ref().filter(|nodes| !nodes.is_empty()) else {
        return (Grade::Unknown, "the NUMA nodes can't be read".to_owned());
    };
    if nodes.len() == 1 {
        return (Grade::Ok, "one NUMA node".to_owned());
    }
    let holds_any = |list: &[usize]| seen.cores.iter().any(|core| list.contains(core));
    let is_near = |node: &usize| nodes.get(node).is_some_and(|list| holds_any(list));
    let placed: Vec<(&str, &usize)> = hardware(seen)
        .filter_map(|nic| Some((nic.name.as_str(), seen.nic_nodes.get(&nic.name)?)))
        .collect();
    let far: Vec<String> = placed
        .iter()
        .filter(|(_, node)| !is_near(node))
        .map(|(name, node)| format!("{name} is on node {node}"))
        .collect();
    if placed.is_empty() {
        (Grade::Unknown, format!("{} NUMA nodes, and no NIC that says on which it is", nodes.len()))
    } else if far.is_empty() {
        (Grade::Ok, "the NICs are on the measured cores' node".to_owned())
    } else {
        (Grade::Warn, format!("{}, {} are not", far.join(", "), cores(&seen.cores)))
    }
}

/// A time-out that is as long as a path, ns: what nobody polls waits for it.
const TIMEOUT_NS_MAX: u64 = 50_000;

/// With interrupts off between polls, a packet waits for the time-out, or for ever.
pub(crate) fn nic_deferral(seen: &Inspection) -> Judgement {
    if seen.nic_deferral.is_empty() {
        return (Grade::Unknown, "no interface says it".to_owned());
    }
    let has = |is_one: fn(&Deferral) -> bool| -> Vec<&str> {
        let all = seen.nic_deferral.iter();
        all.filter(|(_, deferral)| is_one(deferral)).map(|(name, _)| name.as_str()).collect()
    };
    let stranding = has(|one| one.polls > 0 && one.timeout_ns == 0);
    let slow = has(|one| one.polls > 0 && one.timeout_ns > TIMEOUT_NS_MAX);
    let deferring = has(|one| one.polls > 0);
    if !stranding.is_empty() {
        let names = stranding.join(", ");
        (Grade::Warn, format!("{names} defers interrupts without a time-out: packets strand"))
    } else if !slow.is_empty() {
        let longest = seen.nic_deferral.values().map(|one| one.timeout_ns).max().unwrap_or(0);
        let (names, us) = (slow.join(", "), longest / 1000);
        (Grade::Warn, format!("{names} defers interrupts for up to {us} us where nobody polls"))
    } else if deferring.is_empty() {
        (Grade::Ok, "interrupts are not deferred".to_owned())
    } else {
        (Grade::Ok, format!("{}: deferred for a short time", deferring.join(", ")))
    }
}

#[cfg(test)]
#[path = "machine_tests.rs"]
mod tests;
