use super::*;
use proptest::prelude::*;
use std::ops::Range;

/// `sockets` x `cores` physical cores. With SMT, the second threads have higher numbers than all
/// first ones, as on most machines. Sockets of 4, 6, 8 ... cores have two level 3 caches.
fn machine(sockets: usize, cores: usize, threads: usize, isolated: Range<usize>) -> Topology {
    let physical = sockets * cores;
    let of_physical = |cores: Range<usize>| -> Vec<usize> {
        (0..threads).flat_map(|thread| cores.clone().map(move |c| thread * physical + c)).collect()
    };
    let cache_cores = if cores >= 4 && cores.is_multiple_of(2) { cores / 2 } else { cores };
    let mut topology = Topology {
        online: Some((0..physical * threads).collect()),
        isolated: Some(isolated.collect()),
        nodes: Some((0..sockets).map(|s| (s, of_physical(s * cores..(s + 1) * cores))).collect()),
        ..Topology::default()
    };
    for core in 0..physical * threads {
        let first = core % physical;
        let cache = first / cache_cores * cache_cores;
        topology.siblings.insert(core, of_physical(first..first + 1));
        topology.cache_l3.insert(core, of_physical(cache..cache + cache_cores));
    }
    topology
}

fn all(topology: &Topology) -> Vec<usize> {
    topology.online.clone().unwrap_or_default()
}

fn chosen(topology: &Topology, wanted: usize) -> Vec<usize> {
    let placement = choose(topology, &all(topology), wanted);
    assert_eq!(placement.warnings, Vec::<String>::new());
    placement.cores
}

fn warnings(topology: &Topology, wanted: usize) -> String {
    choose(topology, &all(topology), wanted).warnings.join("\n")
}

#[test]
fn two_threads_get_both_cores_of_a_small_machine() {
    assert_eq!(chosen(&machine(1, 2, 1, 0..0), 2), [0, 1]);
}

#[test]
fn core_0_is_left_alone_where_there_are_others() {
    assert_eq!(chosen(&machine(1, 2, 1, 0..0), 1), [1]);
    assert_eq!(chosen(&machine(1, 6, 2, 0..0), 3), [3, 4, 5], "the cache without core 0");
    assert_eq!(chosen(&machine(1, 3, 2, 0..0), 2), [1, 2]);
    // Except core 0, node 1 has four cores and node 0 has three.
    assert_eq!(
        choose(&machine(2, 4, 2, 0..0), &all(&machine(2, 4, 2, 0..0)), 4).cores,
        [4, 5, 6, 7]
    );
}

/// An Intel hybrid: the fast cores have two threads, the efficient ones one, and share a cache.
#[test]
fn the_fast_kind_comes_first_and_is_named() {
    let mut hybrid = machine(1, 8, 1, 0..0);
    hybrid.speeds = (0..8).map(|core| (core, usize::from(core >= 4))).collect();
    let placement = choose(&hybrid, &all(&hybrid), 2);
    assert_eq!(placement.cores, [4, 5]);
    let said = placement.warnings.join("");
    assert!(said.contains("the fastest, 4-7, before 0-3"), "{said}");
    // Slow cores are better than shared ones. The middle one of three kinds comes second.
    assert_eq!(choose(&hybrid, &all(&hybrid), 5).cores, [1, 4, 5, 6, 7]);
    hybrid.speeds = [(0, 250), (1, 250), (2, 900), (3, 1024)].into();
    assert_eq!(choose(&hybrid, &[0, 1, 2, 3], 2).cores, [2, 3]);
}

#[test]
fn isolated_cores_come_first() {
    assert_eq!(chosen(&machine(1, 8, 1, 6..8), 2), [6, 7]);
    assert_eq!(chosen(&machine(2, 8, 1, 2..16), 4), [4, 5, 6, 7], "all in one cache");
}

#[test]
fn an_isolated_core_beside_one_that_is_not_is_said() {
    let forgotten = machine(1, 4, 2, 2..4);
    assert_eq!(choose(&forgotten, &all(&forgotten), 2).cores, [2, 3]);
    assert_eq!(
        warnings(&forgotten, 2),
        "cores 2-3 are isolated, but the hardware threads 6-7 of the same physical cores are not. \
         Isolate these too (isolcpus=), or take them offline: what runs there slows the others."
    );
}

#[test]
fn a_node_with_enough_isolated_cores_beats_the_first_node() {
    // The isolated cores are 2 to 7 on node 0, and 8 to 15 on node 1.
    let placement = choose(&machine(2, 8, 1, 2..16), &(0..16).collect::<Vec<_>>(), 7);
    assert_eq!(placement.cores, [8, 9, 10, 11, 12, 13, 14]);
}

#[test]
fn crossing_nodes_is_said() {
    let two = machine(2, 3, 1, 1..6);
    assert_eq!(choose(&two, &all(&two), 5).cores, [1, 2, 3, 4, 5]);
    assert_eq!(
        warnings(&two, 5),
        "cores 1-5 lie on NUMA nodes 0-1. Use fewer threads, or cores of one node: what one writes \
         and another reads crosses the link between the sockets."
    );
}

#[test]
fn siblings_come_last_and_are_said() {
    let small = machine(1, 2, 2, 0..0);
    assert_eq!(choose(&small, &all(&small), 2).cores, [0, 1]);
    let sibling = "are hardware threads of one physical core. Choose cores of different physical \
                   cores, or switch SMT off: each slows the other while both run.";
    let warnings = warnings(&small, 4);
    assert!(warnings.contains(&format!("cores 0,2 {sibling}\ncores 1,3 {sibling}")), "{warnings}");
}

#[test]
fn mixing_isolated_and_other_cores_is_said() {
    assert_eq!(
        warnings(&machine(1, 5, 1, 4..5), 2),
        "some cores are isolated (4) and some are not (1). Isolate these too (isolcpus=), or use \
         fewer threads: other threads may run there and lengthen the tail."
    );
}

#[test]
fn threads_share_cores_where_there_are_too_few() {
    let small = machine(1, 3, 1, 0..0);
    let placement = choose(&small, &[1], 3);
    assert_eq!(placement.cores, [1, 1, 1]);
    assert_eq!(
        placement.warnings,
        ["3 threads share 1 core (1). Use fewer threads, blocking backends, or a machine with at \
          least 3 cores: a thread that spins keeps the others waiting for up to a time slice, \
          which adds milliseconds to latencies."]
    );
    assert_eq!(choose(&small, &all(&small), 4).cores, [0, 1, 2, 0]);
}

#[test]
fn a_machine_that_says_nothing_is_placed_by_the_mask() {
    assert_eq!(choose(&Topology::default(), &[3, 5], 2).cores, [3, 5]);
    assert_eq!(choose(&Topology::default(), &[0, 5], 1).cores, [5]);
    let nothing = choose(&Topology::default(), &[], 2);
    assert_eq!(nothing.cores, Vec::<usize>::new());
    assert_eq!(nothing.warnings, ["no core can be used for 2 threads: the kernel places them"]);
}

#[test]
fn offline_cores_are_not_used() {
    let mut topology = machine(1, 4, 1, 2..4);
    topology.online = Some(vec![0, 1, 2]);
    assert_eq!(choose(&topology, &[0, 1, 2, 3], 2).cores, [1, 2]);
}

#[test]
fn a_list_is_taken_as_written_with_its_warnings() {
    let two = machine(2, 4, 2, 0..0);
    let place = |text: &str, wanted| text.parse::<Cores>().unwrap().place(&two, &all(&two), wanted);
    assert_eq!(place("3,1", 2).unwrap().cores, [3, 1], "in this order");
    assert_eq!(place("3,1", 1).unwrap().cores, [3]);
    assert_eq!(place("3,1", 3).unwrap().cores, [3, 1, 3]);
    assert!(place("1,9", 2).unwrap().warnings[0].contains("one physical core"));
    assert!(place("1,5", 2).unwrap().warnings[0].contains("NUMA nodes 0-1"));
    assert!(place("1,1", 2).unwrap().warnings[0].contains("share 1 core (1)"));
    assert_eq!(place("auto", 2).unwrap(), choose(&two, &all(&two), 2));
    assert_eq!(
        place("2,16", 2).unwrap_err().to_string(),
        "core 16 can't be used: this process may use cores 0-15; name one of those, or bring the \
         core online, or start without `taskset` and in a wider cpuset"
    );
}

#[test]
fn cores_are_read_as_scenarios_write_them() {
    let read = |json: &str| serde_json::from_str::<Cores>(json).map_err(|e| e.to_string());
    assert_eq!(read("\"auto\""), Ok(Cores::Auto));
    assert_eq!(read("[2, 0]"), Ok(Cores::List(vec![2, 0])));
    assert_eq!(read("\"0,4-6\""), Ok(Cores::List(vec![0, 4, 5, 6])));
    assert!(read("[]").unwrap_err().contains("the list of cores is empty"));
    assert!(read("\"\"").unwrap_err().contains("the list of cores is empty"));
    assert!(read("[9000]").unwrap_err().contains("numbers below 8192"));
    assert!(read("\"all\"").unwrap_err().contains("\"all\" is not a list of cores"));
    assert!(["0-8191"; 3].join(",").parse::<Cores>().is_err());
}

proptest! {
    #[test]
    fn cores_written_and_read_again_are_the_same(
        list in prop::collection::vec(0..CORES_MAX, 1..20)
    ) {
        let cores = Cores::List(list);
        prop_assert_eq!(&cores.to_string().parse::<Cores>().unwrap(), &cores);
        let json = serde_json::to_string(&cores).unwrap();
        prop_assert_eq!(&serde_json::from_str::<Cores>(&json).unwrap(), &cores);
    }

    #[test]
    fn a_choice_keeps_its_promises(
        sockets in 1_usize..4,
        cores in 1_usize..7,
        threads in 1_usize..3,
        isolated in (0_usize..30, 0_usize..30),
        mask in any::<u64>(),
        wanted in 0_usize..12,
    ) {
        let count = sockets * cores * threads;
        let isolated = isolated.0.min(count)..(isolated.0 + isolated.1).min(count);
        let topology = machine(sockets, cores, threads, isolated.clone());
        let allowed: Vec<usize> = (0..count).filter(|core| mask >> core & 1 == 1).collect();
        let placement = choose(&topology, &allowed, wanted);
        let distinct: BTreeSet<usize> = placement.cores.iter().copied().collect();

        prop_assert!(distinct.iter().all(|core| allowed.contains(core)));
        prop_assert_eq!(distinct.len(), wanted.min(allowed.len()), "threads share only if they must");
        prop_assert_eq!(placement.cores.len(), if allowed.is_empty() { 0 } else { wanted });
        prop_assert_eq!(
            placement.warnings.iter().any(|warning| warning.contains("threads share")),
            wanted > allowed.len() && !allowed.is_empty()
        );
        let isolated_allowed = allowed.iter().filter(|core| isolated.contains(core)).count();
        let isolated_chosen = distinct.iter().filter(|core| isolated.contains(core)).count();
        prop_assert_eq!(isolated_chosen, distinct.len().min(isolated_allowed), "isolated first");

        // A choice across nodes is right only if no single node would do.
        let distinct: Vec<usize> = distinct.into_iter().collect();
        let crosses = nodes_of(&topology, &distinct).len() > 1;
        let node_suffices = topology.nodes.iter().flat_map(BTreeMap::values).any(|node| {
            let here: Vec<usize> = allowed.iter().copied().filter(|c| node.contains(c)).collect();
            let isolated_here = here.iter().filter(|core| isolated.contains(core)).count();
            here.len() >= distinct.len() && isolated_here >= isolated_chosen
        });
        prop_assert!(!(crosses && node_suffices), "{:?}", placement);
    }
}
