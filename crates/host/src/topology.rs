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
            nodes,
            online,
        }
    }
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
