//! Sockets and interfaces of this machine for the four placements, and those that it lacks.

use crate::placement::placed::ScenarioCores;
use host::interrupts::{self, is_of_interface};
use host::placement::choose;
use host::topology::nic_nodes;
use host::{Cores, Root, Topology};
use plan::Scenario;
use plan::scenario::Measure;
use rustix::fs::{Access, access};

/// Cores near the network interface and far from it, and its interrupts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sides {
    /// The interface; empty if none says its node.
    pub interface: String,
    /// Nodes with cores.
    pub nodes: usize,
    /// Cores of the interface's node.
    pub near: Vec<usize>,
    /// Cores of another node.
    pub far: Vec<usize>,
    /// Numbers of the interface's interrupts.
    pub interrupts: Vec<String>,
    /// Whether this process may move them.
    pub may_steer: bool,
}

impl Sides {
    /// Reads the machine below `root`. `asked` names the interface, or is empty.
    pub(crate) fn read(root: &Root, topology: &Topology, asked: &str) -> Sides {
        let nic_nodes = nic_nodes(root);
        let found = match asked {
            "" => nic_nodes.iter().next(),
            asked => nic_nodes.get_key_value(asked),
        };
        let interface = found.map_or(asked, |(name, _)| name.as_str()).to_owned();
        let mut nodes = topology.nodes.clone().unwrap_or_default();
        nodes.retain(|_, cores| !cores.is_empty());
        let own = found.map(|(_, node)| *node).or_else(|| nodes.keys().next().copied());
        let near = own.and_then(|own| nodes.get(&own)).cloned().unwrap_or_default();
        let far = nodes.iter().find(|(node, _)| Some(**node) != own);
        let all = interrupts::read(root).unwrap_or_default();
        let is_own = |name: &str| !interface.is_empty() && is_of_interface(root, name, &interface);
        let interrupts: Vec<String> =
            all.into_iter().filter(|one| is_own(&one.name)).map(|one| one.id).collect();
        let may = |id: &String| {
            access(root.path(format!("proc/irq/{id}/smp_affinity_list")), Access::WRITE_OK).is_ok()
        };
        Sides {
            nodes: nodes.len(),
            near,
            far: far.map(|(_, cores)| cores.clone()).unwrap_or_default(),
            may_steer: interrupts.iter().all(may),
            interrupts,
            interface,
        }
    }

    /// Needs of placements that cross or move sockets that this machine lacks; empty if none.
    /// `is_remote`: the other end runs on another host.
    fn lacking(&self, is_remote: bool) -> Vec<String> {
        let mut lacking = Vec::new();
        if self.nodes < 2 {
            lacking.push(format!(
                "a second socket (NUMA nodes with cores: {}), so thread and interrupts are always \
                 on one",
                self.nodes
            ));
        }
        if self.interrupts.is_empty() {
            lacking.push(match self.interface.as_str() {
                "" => "a network interface that says its NUMA node (request.interface names one)"
                    .to_owned(),
                name => format!("interrupts of {name}"),
            });
        } else if !self.may_steer {
            lacking.push(format!(
                "permission to move the interrupts of {}: run as root",
                self.interface
            ));
        }
        if !is_remote {
            lacking.push(
                "a second host: on one, messages take the loopback interface, which has no \
                 interrupts. Run `tickpath exchange --echo` there, and here --connect HOST:PORT \
                 --set exchange.start=false"
                    .to_owned(),
            );
        }
        lacking
    }

    fn side(&self, near: bool, allowed: &[usize]) -> Vec<usize> {
        let side = if near { &self.near } else { &self.far };
        side.iter().copied().filter(|core| allowed.contains(core)).collect()
    }
}

/// Puts each subject where its placement says. A placement that this machine can't make is left
/// out, with what is lacking; the baseline then is whatever cores there are.
pub(crate) fn arrange(
    placed: &mut ScenarioCores,
    scenario: &Scenario,
    root: &Root,
    topology: &Topology,
    allowed: &[usize],
) {
    if scenario.kind != Measure::Network {
        return;
    }
    let sides = Sides::read(root, topology, &scenario.request.interface);
    let lacking = sides.lacking(!scenario.exchange.start);
    let mut left_out = Vec::new();
    for (index, subject) in scenario.subject.iter().enumerate() {
        let is_baseline = subject.placement.near() == (true, true);
        if !lacking.is_empty() {
            if !is_baseline {
                placed.left_out.push(index);
                left_out.push(subject.name.as_str());
            }
            continue;
        }
        let (thread, interrupts) = subject.placement.near();
        let cores = choose(topology, &sides.side(thread, allowed), 1).cores;
        if subject.cores == Cores::Auto && !cores.is_empty() {
            placed.subjects[index] = cores;
        }
        let own = placed.subjects[index].clone();
        // An interrupt on the thread's own core would measure something else.
        let mut others = sides.side(interrupts, allowed);
        others.retain(|core| !own.contains(core));
        placed.interrupts.insert(index, (sides.interrupts.clone(), others));
    }
    if !left_out.is_empty() {
        let (left_out, lacking) = (left_out.join(", "), lacking.join("; "));
        placed.warnings.push(format!("left out: {left_out}. This machine lacks {lacking}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::machine::FixedFacts;
    use std::fs;
    use std::path::Path;

    /// Two sockets of four cores, an interface on the second one with two queues.
    fn metal(at: &Path) -> Root {
        let write = |path: &str, text: &str| {
            let path = at.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("sys/devices/system/cpu/online", "0-7\n");
        write("sys/devices/system/node/node0/cpulist", "0-3\n");
        write("sys/devices/system/node/node1/cpulist", "4-7\n");
        write("sys/class/net/ens5/device/numa_node", "1\n");
        write("sys/class/net/lo/mtu", "65536\n");
        let row =
            |id: u32, name: &str| format!(" {id}: {} PCI-MSI {id}-edge  {name}\n", "0 ".repeat(8));
        let header = "     CPU0 CPU1 CPU2 CPU3 CPU4 CPU5 CPU6 CPU7\n";
        let rows = [row(40, "ens5-Tx-Rx-0"), row(41, "ens5-Tx-Rx-1"), row(42, "nvme0q0")];
        write("proc/interrupts", &format!("{header}{}", rows.concat()));
        for (id, cores) in [(40, "4"), (41, "5"), (42, "0")] {
            write(&format!("proc/irq/{id}/smp_affinity_list"), &format!("{cores}\n"));
        }
        Root::at(at)
    }

    fn placed(root: &Root, sets: &[&str]) -> (Scenario, ScenarioCores) {
        let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
        let scenario = Scenario::find("irq-topology", &sets).unwrap();
        let topology = Topology::read(root);
        let allowed = topology.online.clone().unwrap();
        let mut placed =
            crate::placement::place(&scenario, &topology, &allowed, &FixedFacts::default())
                .unwrap();
        arrange(&mut placed, &scenario, root, &topology, &allowed);
        (scenario, placed)
    }

    #[test]
    fn four_placements_on_two_sockets() {
        let at = tempfile::tempdir().unwrap();
        let (scenario, placed) = placed(&metal(at.path()), &["exchange.start=false"]);
        assert!(placed.left_out.is_empty(), "{placed:?}");
        let near = |cores: &[usize]| cores.iter().all(|core| *core >= 4);
        for (index, subject) in scenario.subject.iter().enumerate() {
            let (ids, cores) = &placed.interrupts[&index];
            assert_eq!(ids, &["40", "41"], "nvme's stay where they are");
            let seen = (near(&placed.subjects[index]), near(cores));
            assert_eq!(seen, subject.placement.near(), "{}: {placed:?}", subject.name);
            assert!(!cores.contains(&placed.subjects[index][0]));
        }
    }

    #[test]
    fn one_host_or_one_socket_runs_the_baseline_and_says_what_is_lacking() {
        let at = tempfile::tempdir().unwrap();
        let root = metal(at.path());
        let (_, on_one_host) = placed(&root, &[]);
        assert_eq!(on_one_host.left_out, [1, 2, 3]);
        assert!(on_one_host.interrupts.is_empty());
        let said = on_one_host.warnings.join("");
        assert!(said.contains("crossed-1, inverted, crossed-2"), "{said}");
        assert!(said.contains("a second host") && !said.contains("a second socket"), "{said}");
        fs::remove_dir_all(at.path().join("sys/devices/system/node/node0")).unwrap();
        let (_, on_one_socket) = placed(&root, &["exchange.start=false"]);
        let said = on_one_socket.warnings.join("");
        assert!(said.contains("a second socket") && !said.contains("a second host"), "{said}");
        fs::remove_dir_all(at.path().join("sys/class/net/ens5")).unwrap();
        let said = placed(&root, &[]).1.warnings.join("");
        assert!(said.contains("says its NUMA node"), "{said}");
    }
}
