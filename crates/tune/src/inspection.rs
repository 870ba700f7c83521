//! All facts of a machine for settings and doctor, read once.

use std::collections::BTreeMap;
use std::thread;

use host::interrupts::Interrupt;
use host::scheduling::PRIORITY_MIN;
use host::thread::set_scheduling;
use host::topology::nic_nodes;
use host::{HostError, Permissions, Root, Scheduling, Topology, ethtool};
use record::machine::Fingerprint;

use crate::boot::{Word, words_of};
use crate::place::SettingPlace;
use crate::system::{Machine, System};
use crate::time_sources::TimeSources;
use crate::watch::Activity;

/// How long an interface's driver keeps interrupts off while packets come
/// (Documentation/networking/napi.rst: IRQ mitigation).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Deferral {
    /// Empty polls after which interrupts are on again (`napi_defer_hard_irqs`).
    pub polls: u64,
    /// Time to the next poll meanwhile, ns (`gro_flush_timeout`).
    pub timeout_ns: u64,
}

/// Facts and measurements. All checks are functions of this alone.
#[derive(Clone, Debug, Default)]
pub struct Inspection {
    /// Cores to measure on; each once.
    pub cores: Vec<usize>,
    /// Cores that this process may use.
    pub allowed: Vec<usize>,
    /// Topology of all cores.
    pub topology: Topology,
    /// Fixed facts, load and probes.
    pub machine: Fingerprint,
    /// Whether control groups (v2) can be read.
    pub has_control_groups: bool,
    /// Interrupts since boot; `None` if they can't be read.
    pub interrupts: Option<Vec<Interrupt>>,
    /// NUMA node of each network interface that has one.
    pub nic_nodes: BTreeMap<String, usize>,
    /// Attributes of each network interface that only `ethtool` shows, by its names.
    pub nic_attributes: BTreeMap<String, BTreeMap<String, u64>>,
    /// The interface of the default route; empty if there is no such route; `None`: the routes
    /// can't be read.
    pub default_nic: Option<String>,
    /// By interface, how long its driver keeps interrupts off; of those that say it.
    pub nic_deferral: BTreeMap<String, Deferral>,
    /// Clocks of this machine, and programs that set them.
    pub time: TimeSources,
    /// Resource limits and capabilities of this process.
    pub permissions: Permissions,
    /// Whether the scenario to be measured has a backend that takes CAP_NET_ADMIN; false without a
    /// scenario.
    pub needs_net_admin: bool,
    /// Whether a thread could get a real-time class, with the system's error if not; `None` if not
    /// tried.
    pub real_time: Option<Result<(), String>>,
    /// Activity of the machine during a watch; `None` without a watch.
    pub watched: Option<Activity>,
}

impl Inspection {
    /// Reads everything from files; leaves out trials and watches. `cores` are those to measure on,
    /// of those `allowed` to this process.
    pub fn read(
        root: &Root,
        machine: Fingerprint,
        cores: &[usize],
        allowed: &[usize],
    ) -> Inspection {
        let nic_attributes = nic_attributes(root, &machine);
        let mut cores = cores.to_vec();
        cores.sort_unstable();
        cores.dedup();
        Inspection {
            cores,
            allowed: allowed.to_vec(),
            topology: Topology::read(root),
            machine,
            has_control_groups: root.exists("sys/fs/cgroup/cgroup.controllers"),
            interrupts: host::interrupts::read(root),
            nic_nodes: nic_nodes(root),
            nic_attributes,
            default_nic: default_nic(root),
            nic_deferral: nic_deferral(root),
            time: TimeSources::read(root),
            permissions: Permissions::read(root),
            needs_net_admin: false,
            real_time: None,
            watched: None,
        }
    }

    /// An attribute of a network interface; `None` if its driver lacks it.
    pub fn nic_value(&self, nic: &str, attribute: &str) -> Option<u64> {
        self.nic_attributes.get(nic)?.get(attribute).copied()
    }

    /// Measured cores that are not in `list`.
    pub(crate) fn cores_outside(&self, list: &[usize]) -> Vec<usize> {
        self.cores.iter().copied().filter(|core| !list.contains(core)).collect()
    }

    /// The other hardware threads of the measured cores' physical cores, not measured themselves.
    pub(crate) fn siblings(&self) -> Vec<usize> {
        let all = self.cores.iter().filter_map(|core| self.topology.siblings.get(core)).flatten();
        let mut others: Vec<usize> =
            all.copied().filter(|core| !self.cores.contains(core)).collect();
        others.sort_unstable();
        others.dedup();
        others
    }

    /// Whether all measured cores are isolated: then the remaining noise is the kernel's own.
    pub(crate) fn is_isolated(&self) -> bool {
        let isolated = self.topology.isolated.as_deref().unwrap_or_default();
        !self.cores.is_empty() && self.cores_outside(isolated).is_empty()
    }

    /// The words of the kernel's command line, without those for init.
    pub(crate) fn boot_words(&self) -> Vec<Word> {
        words_of(self.machine.fixed.kernel_command_line.as_deref().unwrap_or_default())
    }

    /// The value that the kernel uses of the parameter `key`: the last.
    pub(crate) fn boot_value(&self, key: &str) -> Option<String> {
        let words = self.boot_words();
        words.iter().rfind(|word| word.key() == key).map(|word| word.value().to_owned())
    }
}

/// The interface of the first entry for all addresses, of those of IPv4.
fn default_nic(root: &Root) -> Option<String> {
    const EVERYWHERE: &str = "00000000";
    let table = root.read("proc/net/route")?;
    let nic = table.lines().skip(1).find_map(|line| {
        // Interface, destination, router, flags, references, use, metric, mask.
        let fields: Vec<&str> = line.split_whitespace().collect();
        let is_default = fields.get(1) == Some(&EVERYWHERE) && fields.get(7) == Some(&EVERYWHERE);
        is_default.then(|| fields[0].to_owned())
    });
    Some(nic.unwrap_or_default())
}

fn nic_deferral(root: &Root) -> BTreeMap<String, Deferral> {
    const NET: &str = "sys/class/net";
    let names = root.names(NET).unwrap_or_default().into_iter();
    let of_nic = |nic: String| {
        let value = |file: &str| root.read_value(format!("{NET}/{nic}/{file}"));
        let (polls, timeout_ns) = (value("napi_defer_hard_irqs")?, value("gro_flush_timeout")?);
        Some((nic, Deferral { polls, timeout_ns }))
    };
    names.filter(|nic| nic != "lo").filter_map(of_nic).collect()
}

fn nic_attributes(root: &Root, machine: &Fingerprint) -> BTreeMap<String, BTreeMap<String, u64>> {
    let system = Machine::new(root.clone());
    let hardware = machine.fixed.nics.iter().flatten().chain(&machine.load.interfaces_virtual);
    let of_nic = |nic: &str| -> BTreeMap<String, u64> {
        let value = |attribute: &str| {
            let place = SettingPlace::Nic { nic: nic.to_owned(), attribute: attribute.to_owned() };
            let value = system.read(&place).ok()??.trim().parse().ok()?;
            Some((attribute.to_owned(), value))
        };
        ethtool::names().filter_map(value).collect()
    };
    hardware.map(|nic| (nic.name.clone(), of_nic(&nic.name))).collect()
}

/// Tries to give a thread a real-time class. The thread ends at once and never spins. Returns the
/// system's error if it may not.
pub fn ask_for_real_time() -> Result<(), String> {
    let ask = || match set_scheduling(Scheduling::Fifo(PRIORITY_MIN)) {
        Ok(()) => Ok(()),
        Err(HostError::Scheduling { source, .. }) => Err(source.to_string()),
        Err(error) => Err(error.to_string()),
    };
    thread::spawn(ask).join().unwrap_or_else(|_| Err("the thread that asked ended".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_route_is_the_one_without_a_mask() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::at(folder.path());
        assert_eq!(default_nic(&root), None);
        std::fs::create_dir_all(folder.path().join("proc/net")).unwrap();
        let table = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n\
                     ens6\t00000000\t00000000\t0001\t0\t0\t0\t000000E0\t0\t0\t0\n\
                     ens5\t00000000\t0100A8C0\t0003\t0\t0\t512\t00000000\t0\t0\t0\n";
        let file = folder.path().join("proc/net/route");
        std::fs::write(&file, table).unwrap();
        assert_eq!(default_nic(&root).as_deref(), Some("ens5"));
        std::fs::write(&file, table.lines().next().unwrap()).unwrap();
        assert_eq!(default_nic(&root).as_deref(), Some(""));
    }
}
