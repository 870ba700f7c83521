//! The machine as a few lines of text: nodes, caches, cores and their users, network interfaces.

use std::collections::BTreeMap;

use host::Root;
use host::interrupts::{Interrupt, InterruptKind};
use host::topology::format_core_list;
use record::text::counted;

use crate::goal::Goal;
use crate::inspection::Inspection;

/// Maximum number of interrupts that are listed for one core.
const NAMED_MAX: usize = 3;

/// A line for each node, each level 3 cache and each physical core.
pub fn draw(root: &Root, seen: &Inspection, goal: &Goal) -> Vec<String> {
    let online = seen.topology.online.clone().unwrap_or_default();
    let nodes = seen.topology.nodes.clone().filter(|nodes| !nodes.is_empty());
    let nodes = nodes.unwrap_or_else(|| BTreeMap::from([(0, online.clone())]));
    let mut lines: Vec<String> = seen.topology.kinds().into_iter().collect();
    lines.extend(goal.note.clone());
    for (node, cores) in nodes {
        let cores: Vec<usize> = cores.into_iter().filter(|core| online.contains(core)).collect();
        lines.push(format!("node {node}  {}{}", socket(root, &cores), nics(seen, goal, node)));
        let mut drawn = Vec::new();
        for first in &cores {
            let cache = seen.topology.cache_l3.get(first).unwrap_or(&cores);
            if cache.first() == Some(first) || !drawn.iter().any(|core| cache.contains(core)) {
                lines.push(format!("  L3 of {}", format_core_list(cache)));
                drawn.extend(cache.iter().copied());
            }
            let siblings = seen.topology.siblings.get(first);
            if siblings.is_none_or(|siblings| siblings.first() == Some(first)) {
                lines.push(core(seen, goal, *first));
            }
        }
    }
    lines
}

fn socket(root: &Root, cores: &[usize]) -> String {
    let path = |core| format!("sys/devices/system/cpu/cpu{core}/topology/physical_package_id");
    let socket = cores.first().and_then(|core| root.read_text(path(core)));
    socket.map_or(String::new(), |socket| format!("socket {socket}  "))
}

/// Interfaces of a node; those with an unknown node are on the first.
fn nics(seen: &Inspection, goal: &Goal, node: usize) -> String {
    let is_here = |nic: &&String| seen.nic_nodes.get(*nic).copied().unwrap_or(0) == node;
    let queues = |nic: &String| {
        let count = seen.nic_value(nic, "combined").filter(|&count| count > 0);
        count.map_or(String::new(), |count| format!(" ({})", counted(count, "queue")))
    };
    let here = goal.nics.iter().filter(is_here);
    here.map(|nic| format!("NIC {nic}{}  ", queues(nic))).collect::<String>().trim_end().to_owned()
}

fn core(seen: &Inspection, goal: &Goal, core: usize) -> String {
    let siblings = seen.topology.siblings.get(&core).cloned().unwrap_or_else(|| vec![core]);
    let measured = siblings.iter().any(|one| goal.cores.contains(one));
    let role = if measured { "measured" } else { "housekeeping" };
    let comes = |one: &&Interrupt| {
        let cores = one.cores().unwrap_or_default();
        // An interrupt that may go to any core says nothing about this one.
        one.kind == InterruptKind::Device && cores.len() == 1 && siblings.contains(&cores[0])
    };
    let here: Vec<&str> =
        seen.interrupts.iter().flatten().filter(comes).map(|one| one.name.as_str()).collect();
    let named = here.iter().take(NAMED_MAX).copied().collect::<Vec<_>>().join(", ");
    let more = match here.len().saturating_sub(NAMED_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let interrupts = if here.is_empty() { String::new() } else { format!("  irq {named}{more}") };
    format!("    core {:<9} {role:<12}{interrupts}", format_core_list(&siblings))
        .trim_end()
        .to_owned()
}
