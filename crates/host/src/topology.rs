//! Topology of the cores: online and isolated cores, siblings, NUMA nodes and last-level caches.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use crate::root::Root;

/// Core numbers are below this: the largest `NR_CPUS` that Linux can be built with.
pub const CORES_MAX: usize = 8192;

const CPU: &str = "sys/devices/system/cpu";
const NODE: &str = "sys/devices/system/node";

/// The cores of a machine. An unreadable fact is `None`, or missing from its map.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Topology {
    /// Online cores, ascending.
    pub online: Option<Vec<usize>>,
    /// Cores without load balancing, ascending.
    pub isolated: Option<Vec<usize>>,
    /// Cores without a scheduling tick while a single thread runs on them, ascending.
    pub nohz_full: Option<Vec<usize>>,
    /// For each online core, the cores that share its execution units, itself included.
    pub siblings: BTreeMap<usize, Vec<usize>>,
    /// For each online core, the cores that share its level 3 cache, itself included.
    pub cache_l3: BTreeMap<usize, Vec<usize>>,
    /// Cores of each NUMA node.
    pub nodes: Option<BTreeMap<usize, Vec<usize>>>,
    /// Relative speed of each online core, if the processor has several kinds of cores; empty if
    /// all are of one kind.
    pub speeds: BTreeMap<usize, usize>,
    /// The highest number that a core may ever get on this machine: `N` in the kernel's lists.
    pub last_possible: Option<usize>,
}

impl Topology {
    /// Reads `/sys/devices/system/cpu` and `/sys/devices/system/node`.
    pub fn read(root: &Root) -> Topology {
        let list = |path: String| parse_core_list(&root.read(path)?);
        let online = list(format!("{CPU}/online"));
        let per_core = |file: &str| {
            let cores = online.iter().flatten();
            cores
                .filter_map(|&core| Some((core, list(format!("{CPU}/cpu{core}/{file}"))?)))
                .collect()
        };
        let nodes = root.numbered(NODE, "node").map(|nodes| {
            let cores = |node| Some((node, list(format!("{NODE}/node{node}/cpulist"))?));
            nodes.into_iter().filter_map(cores).collect()
        });
        Topology {
            isolated: list(format!("{CPU}/isolated")),
            nohz_full: list(format!("{CPU}/nohz_full")),
            siblings: per_core("topology/thread_siblings_list"),
            cache_l3: per_core("cache/index3/shared_cpu_list"),
            speeds: speeds(root, online.as_deref().unwrap_or_default()),
            last_possible: list(format!("{CPU}/possible")).and_then(|all| all.last().copied()),
            nodes,
            online,
        }
    }
}

impl Topology {
    /// Online cores of a slower kind than the fastest, ascending.
    pub fn slow(&self) -> Vec<usize> {
        let fastest = self.speeds.values().max();
        let slow = self.speeds.iter().filter(|(_, speed)| Some(*speed) < fastest);
        slow.map(|(&core, _)| core).collect()
    }

    /// A sentence about the kinds of cores that `auto` prefers; `None` if there is only one kind.
    pub fn kinds(&self) -> Option<String> {
        let slow = self.slow();
        let fast: Vec<usize> =
            self.speeds.keys().copied().filter(|one| !slow.contains(one)).collect();
        let (fast, are) = (format_core_list(&fast), format_core_list(&slow));
        (!slow.is_empty()).then(|| {
            format!("the processor has several kinds of cores: auto takes the fastest, {fast}, before {are}")
        })
    }
}

/// By `cpu_capacity` (Arm, and x86 since Linux 6.12), otherwise by Intel's kinds: `cpu_atom` are
/// the efficient ones.
fn speeds(root: &Root, online: &[usize]) -> BTreeMap<usize, usize> {
    let capacity = |&core: &usize| {
        Some((core, root.read_value::<usize>(format!("{CPU}/cpu{core}/cpu_capacity"))?))
    };
    let mut speeds: BTreeMap<usize, usize> = online.iter().filter_map(capacity).collect();
    let small = root.read("sys/devices/cpu_atom/cpus").and_then(|text| parse_core_list(&text));
    if speeds.len() < online.len() {
        let speed = |small: &[usize], core: usize| usize::from(!small.contains(&core));
        speeds = small.map_or(BTreeMap::new(), |small| {
            online.iter().map(|&core| (core, speed(&small, core))).collect()
        });
    }
    let is_one_kind = speeds.values().min() == speeds.values().max();
    if is_one_kind { BTreeMap::new() } else { speeds }
}

/// Parses the kernel's list of cores, `0-3,8`. An empty text and the `(null)` of some kernels are
/// the empty list; `None` for anything else, and for numbers from [`CORES_MAX`].
pub fn parse_core_list(text: &str) -> Option<Vec<usize>> {
    let text = text.trim();
    if text.is_empty() || text == "(null)" {
        return Some(Vec::new());
    }
    let mut cores = Vec::new();
    for part in text.split(',') {
        cores.extend(parse_range(part.trim())?);
        // Overlapping ranges must not grow the list without bound.
        if cores.len() > CORES_MAX {
            sort_and_dedup(&mut cores);
        }
    }
    sort_and_dedup(&mut cores);
    Some(cores)
}

/// Parses the kernel's mask of cores: hexadecimal words of 32 bits, the highest first, `3` or
/// `00000000,ffffffff`. `None` for anything else, and for a mask of more than [`CORES_MAX`] cores.
pub fn parse_core_mask(text: &str) -> Option<Vec<usize>> {
    const WORD_BITS: usize = 32;
    let words: Vec<&str> = text.trim().rsplit(',').collect();
    let mut cores = Vec::new();
    for (place, word) in words.iter().enumerate() {
        let is_hex = word.len() <= 8 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
        let bits = u32::from_str_radix(word, 16).ok().filter(|_| is_hex)?;
        let set = (0..WORD_BITS).filter(|bit| bits >> bit & 1 == 1);
        cores.extend(set.map(|bit| place * WORD_BITS + bit));
    }
    let has_room = words.len() * WORD_BITS <= CORES_MAX;
    has_room.then_some(cores)
}

/// NUMA node of each network interface that has one; -1 (unknown to the firmware) counts as none.
pub fn nic_nodes(root: &Root) -> BTreeMap<String, usize> {
    const NET: &str = "sys/class/net";
    let node = |name: String| {
        let node = root.read_value(format!("{NET}/{name}/device/numa_node"))?;
        Some((name, node))
    };
    root.names(NET).into_iter().flatten().filter_map(node).collect()
}

fn parse_range(text: &str) -> Option<RangeInclusive<usize>> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    // `usize::from_str` accepts a leading `+`, the kernel does not.
    let number = |text: &str| text.starts_with(|c: char| c.is_ascii_digit()).then(|| text.parse());
    let (first, last): (usize, usize) = (number(first)?.ok()?, number(last)?.ok()?);
    (first <= last && last < CORES_MAX).then_some(first..=last)
}

fn sort_and_dedup(cores: &mut Vec<usize>) {
    cores.sort_unstable();
    cores.dedup();
}

/// Writes a list of cores as the kernel does: ascending, neighbours as ranges.
pub fn format_core_list(cores: &[usize]) -> String {
    let mut cores = cores.to_vec();
    sort_and_dedup(&mut cores);
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for core in cores {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == core => *last = core,
            _ => ranges.push((core, core)),
        }
    }
    let range = |&(first, last): &(usize, usize)| {
        if first == last { first.to_string() } else { format!("{first}-{last}") }
    };
    ranges.iter().map(range).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_what_kernels_print() {
        assert_eq!(parse_core_list("0-1\n"), Some(vec![0, 1]));
        assert_eq!(parse_core_list("0,2-4,7"), Some(vec![0, 2, 3, 4, 7]));
        assert_eq!(parse_core_list(""), Some(vec![]));
        assert_eq!(parse_core_list("(null)"), Some(vec![]));
    }

    #[test]
    fn kinds_of_cores_are_told_apart() {
        let directory = tempfile::tempdir().unwrap();
        let root = Root::at(directory.path());
        let write = |path: &str, text: &str| {
            let path = directory.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("sys/devices/system/cpu/online", "0-3\n");
        write("sys/devices/system/cpu/possible", "0-7\n");
        assert_eq!(Topology::read(&root).kinds(), None);
        assert_eq!(Topology::read(&root).last_possible, Some(7));
        // Intel: the kinds are devices of their own.
        write("sys/devices/cpu_core/cpus", "0-1\n");
        write("sys/devices/cpu_atom/cpus", "2-3\n");
        assert_eq!(Topology::read(&root).slow(), [2, 3]);
        // Arm: each core has its capacity, of 1024 at most.
        for (core, capacity) in ["446", "446", "1024", "871"].into_iter().enumerate() {
            write(&format!("sys/devices/system/cpu/cpu{core}/cpu_capacity"), capacity);
        }
        assert_eq!(Topology::read(&root).slow(), [0, 1, 3]);
        for core in 0..4 {
            write(&format!("sys/devices/system/cpu/cpu{core}/cpu_capacity"), "1024\n");
        }
        assert_eq!(Topology::read(&root).kinds(), None);
    }

    #[test]
    fn rejects_other_texts() {
        for text in ["a", "1-", "-1", "3-1", "1,,2", "8192", "0-99999999999", "+1", "0x1", "1 2"] {
            assert_eq!(parse_core_list(text), None, "{text}");
        }
    }

    #[test]
    fn overlapping_ranges_stay_small() {
        let text = vec!["0-8191"; 1000].join(",");
        assert_eq!(parse_core_list(&text).map(|cores| cores.len()), Some(CORES_MAX));
    }

    #[test]
    fn reads_masks_as_kernels_print_them() {
        assert_eq!(parse_core_mask("3\n"), Some(vec![0, 1]));
        assert_eq!(parse_core_mask("00000001,80000000"), Some(vec![31, 32]));
        for text in ["", "g", "0x3", "+3", "123456789", "1,,2", "-1"] {
            assert_eq!(parse_core_mask(text), None, "{text}");
        }
        assert_eq!(parse_core_mask(&vec!["0"; 257].join(",")), None);
    }

    proptest! {
        #[test]
        fn written_and_read_again_is_the_same(
            cores in prop::collection::btree_set(0..CORES_MAX, 0..200)
        ) {
            let cores: Vec<usize> = cores.into_iter().collect();
            prop_assert_eq!(parse_core_list(&format_core_list(&cores)), Some(cores));
        }

        #[test]
        fn any_text_is_read_or_rejected(text in "[0-9,\\- +a(]{0,40}") {
            if let Some(cores) = parse_core_list(&text) {
                prop_assert!(cores.windows(2).all(|pair| pair[0] < pair[1]));
            }
        }
    }
}
