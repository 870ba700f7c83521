//! `run two-zones` as whole processes: the cost of a follower's copy for an order, and of a cluster
//! behind the exchange; and `run failover-cluster`, in which that cluster loses its leader.

use crate::support::*;
use rustix::process::Signal;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const SHIPPED: &str = include_str!("../../../../scenarios/two-zones.toml");

const FAILOVER: &str = include_str!("../../../../scenarios/failover-cluster.toml");

const SUBJECTS: [&str; 4] = ["memory", "alone", "async", "sync"];

/// The shipped scenario with these subjects, as a file.
fn scenario_with(subjects: &[&str], place: &Path) -> String {
    let file = place.join("subjects.toml");
    std::fs::write(&file, with_subjects(SHIPPED, subjects)).unwrap();
    file.display().to_string()
}

fn two_zones(scenario: &str, subjects: &[&str], out: &Path, sets: &[&str]) -> Command {
    let short = ["runs=1", "warm_up_seconds=0.1", "exchange.backend=block", "floor_seconds=0"];
    let mut command = tickpath();
    command.args(["run", scenario, "--json", "--out"]).arg(out);
    command.args(short.iter().chain(sets).flat_map(|set| ["--set", *set]));
    command.args(["--set", "hiccup_seconds=0"]);
    for name in subjects {
        command.args(["--set", &format!("subject.{name}.backend=block")]);
    }
    command
}

/// Runs that scenario once, with those settings. Returns its record, which is not void.
fn run_two_zones(scenario: &str, subjects: &[&str], out: &Path, sets: &[&str]) -> Value {
    let done = two_zones(scenario, subjects, out, sets).output().unwrap();
    let record = printed_record(&done);
    assert!(!is_void(&record), "{}", text(&done.stderr));
    record
}

/// Journals, copies and clusters' directories that stayed.
fn left(run: &Path) -> usize {
    let files = std::fs::read_dir(run).unwrap().flatten();
    files.filter(|file| file.file_name().to_string_lossy().starts_with("journal")).count()
}

/// Every order of the synchronous subject waits for the planted round trip, no other subject's
/// median does, and nothing is left on the disk.
#[test]
fn a_run_shows_what_a_synchronous_copy_adds() {
    let assumption = "orders without a copy take 30 ms at most, so that 0.6 s has twenty of them";
    testing::quiet::or_doubled(assumption, synchronous_copy_adds);
}

fn synchronous_copy_adds(factor: u32) -> Result<(), String> {
    let round_trip_us = 50_000 * u64::from(factor);
    let out = tempfile::tempdir().unwrap();
    let round_trip = format!("follower.round_trip_us={round_trip_us}");
    let seconds = format!("seconds={}", 0.6 * f64::from(factor));
    let record = run_two_zones("two-zones", &SUBJECTS, out.path(), &[&seconds, &round_trip]);
    let [memory, alone, asynchronous, synchronous] = SUBJECTS.map(|name| {
        let pooled = &series(&record, name, "order", "service")["pooled"];
        // Few orders of a slow subject have no median.
        let least = pooled["min"].as_u64().unwrap();
        (pooled["p50"].as_u64().unwrap_or(least) / 1_000, least / 1_000)
    });
    // Histograms keep three digits.
    assert!(synchronous.1 >= round_trip_us * 99 / 100, "{synchronous:?} us");
    for (p50_us, _) in [memory, alone, asynchronous] {
        let all = (memory, alone, asynchronous);
        testing::unless!(p50_us < round_trip_us, "{all:?} us");
    }
    assert_eq!(left(&only_run(out.path())), 0);
    // The jar is named from the checkout on, and this test does not run there.
    let missing = &record["unavailable"][0];
    assert_eq!(missing["subject"], "cluster");
    assert!(missing["why"].to_string().contains("`make cluster`"), "{missing}");
    Ok(())
}

/// Packets to and from the follower are dropped, and orders wait until TCP has repaired that.
#[test]
fn a_run_shows_what_lost_packets_add() {
    const PERCENT: u64 = 10;
    if let Err(error) = host::network::Networks::create().and_then(|all| all.with_zone()) {
        return testing::skipped(testing::Need::Root, error);
    }
    // This subject alone: the others are those of the test above.
    let place = tempfile::tempdir().unwrap();
    let file = scenario_with(&["sync"], place.path());
    let out = place.path().join("runs");
    let loss = format!("follower.loss_percent={PERCENT}");
    let sets = ["seconds=2.5", "follower.round_trip_us=0", "network=veth", &loss];
    let record = run_two_zones(&file, &["sync"], &out, &sets);
    let counted = &record["subjects"][0]["load"]["between_zones"];
    let [packets, dropped] = ["packets", "dropped"].map(|key| counted[key].as_u64().unwrap());
    assert!(dropped * 100 >= packets * PERCENT / 3 && dropped * 100 <= packets * PERCENT * 3);
    // The exchange sends something every 50 ms, which makes TCP notice a loss.
    let pooled = &series(&record, "sync", "order", "service")["pooled"];
    assert!(pooled["max"].as_u64().unwrap() >= 40_000_000, "{pooled} {counted}");
    let page = output(&["report", &only_run(&out).display().to_string()]);
    assert!(text(&page.stdout).contains("Packets between the zones"), "{}", text(&page.stdout));
}

/// `follower.cluster` of the scenario, for a test that does not run in the checkout.
fn cluster_program(jar: &Path) -> String {
    let options = jar.parent().unwrap().with_file_name("java.args");
    format!(r#"follower.cluster=["java", "@{}", "-jar", "{}"]"#, options.display(), jar.display())
}

/// Orders wait for the planted distance behind a cluster as well as behind a follower.
#[test]
fn a_run_shows_what_a_cluster_adds() {
    let Some(jar) = cluster_jar() else {
        testing::skip!(JavaCluster, "the cluster's member is not built; `make cluster` does it");
    };
    let assumption = "orders behind a cluster take 40 ms at most, so that 2 s have fifty of them";
    testing::quiet::or_doubled(assumption, |factor| cluster_adds(&jar, factor));
}

fn cluster_adds(jar: &Path, factor: u32) -> Result<(), String> {
    const NAMES: [&str; 2] = ["sync", "cluster"];
    let round_trip_us = 200_000 * u64::from(factor.min(2));
    let place = tempfile::tempdir().unwrap();
    let file = scenario_with(&NAMES, place.path());
    let seconds = format!("seconds={}", 2 * factor);
    let program = cluster_program(jar);
    let run = |name: &str, us: u64| {
        let out = place.path().join(name);
        let distance = format!("follower.round_trip_us={us}");
        let record = run_two_zones(&file, &NAMES, &out, &[&seconds, &distance, &program]);
        assert_eq!(left(&only_run(&out)), 0);
        record
    };
    let far = run("far", round_trip_us);
    for name in NAMES {
        // Histograms keep three digits, and the median of few orders is none.
        let least = series(&far, name, "order", "service")["pooled"]["min"].as_u64().unwrap();
        assert!(least / 1_000 >= round_trip_us * 99 / 100, "{name}: {least} ns");
        assert_eq!(rule(&far, &format!("{name}.accepted"))["verdict"], "held");
    }
    let stacks = subject(&far, "cluster")["load"]["stacks"].to_string();
    assert!(stacks.contains("cluster: Aeron 1."), "{stacks}");
    let near = run("near", 0);
    let pooled = &series(&near, "cluster", "order", "service")["pooled"];
    let p50_ns = pooled["p50"].as_u64().unwrap_or(u64::MAX);
    testing::unless!(p50_ns / 1_000 < round_trip_us, "{pooled}");
    Ok(())
}

/// Loses the leader of each of these subjects' clusters once, and checks what the record says.
fn lose_leaders(jar: &Path, causes: &[&str], network: &str, factor: u32) -> Result<(), String> {
    let place = tempfile::tempdir().unwrap();
    let (file, out) = (place.path().join("lost.toml"), place.path().join("out"));
    std::fs::write(&file, with_subjects(FAILOVER, causes)).unwrap();
    let heartbeat_ms = 500 * u64::from(factor);
    let mut command = tickpath();
    command.arg("run").arg(&file).args(["--json", "--out"]).arg(&out);
    for set in [
        "runs=1",
        "warm_up_seconds=0.5",
        "hiccup_seconds=0",
        "load.rate_per_second=200",
        &format!("seconds={}", 9 * factor),
        &format!("network={network}"),
        &format!("follower.cluster_heartbeat_ms={heartbeat_ms}"),
        &format!("follower.cluster_election_ms={}", heartbeat_ms / 2),
        &format!("follower.cluster_lost_ms={}", 4_000 * factor),
        &cluster_program(jar),
    ] {
        command.args(["--set", set]);
    }
    let done = command.output().unwrap();
    testing::unless!(!done.stdout.is_empty(), "{}", text(&done.stderr));
    let record = printed_record(&done);
    testing::unless!(!is_void(&record), "{}: {}", record["void_because"], text(&done.stderr));
    for name in causes {
        let load = &subject(&record, name)["load"];
        let [outage] = &load["outages"].as_array().unwrap()[..] else { panic!("{load}") };
        assert_eq!(outage["exchange_stayed"], true);
        let of = |key: &str| outage[key].as_u64().unwrap();
        assert!(of("silence_ns") / 1_000_000 >= heartbeat_ms / 2, "{name}: {outage}");
        assert_eq!(of("unanswered"), of("accepted_late") + of("rejected"), "{name}: {outage}");
        assert!(of("accepted_late") > 0, "{name}: {outage}");
        let longest = &series(&record, name, "order", "response")["pooled"]["max"];
        assert!(longest.as_u64().unwrap() / 1_000_000 >= heartbeat_ms / 2, "{name}: {longest}");
        // Messages that were due after it were answered, too.
        assert_eq!((&load["received"], &load["lost"]), (&load["sent"], &0.into()), "{load}");
        assert_eq!(rule(&record, &format!("{name}.accounted"))["verdict"], "held");
    }
    let run = only_run(&out);
    assert_eq!(left(&run), 0);
    let page = output(&["report", &run.display().to_string()]);
    assert!(text(&page.stdout).contains("Lost leaders"), "{}", text(&page.stdout));
    Ok(())
}

const LEADER_ASSUMPTION: &str =
    "a cluster has another leader, and has answered everything, 4 s after it lost one";

/// The schedule goes on while the cluster has no leader, so the silence is in the response times.
/// The exchange stays, and each message is answered.
#[test]
fn a_run_shows_the_silence_until_a_cluster_has_another_leader() {
    let Some(jar) = cluster_jar() else {
        testing::skip!(JavaCluster, "the cluster's member is not built; `make cluster` does it");
    };
    testing::quiet::or_doubled(LEADER_ASSUMPTION, |factor| {
        lose_leaders(&jar, &["kill"], "loopback", factor)
    });
}

/// The same where each member has a network of its own. The lost member lives.
#[test]
fn a_run_shows_the_silence_after_a_leader_is_stopped_or_cut_off() {
    let Some(jar) = cluster_jar() else {
        testing::skip!(JavaCluster, "the cluster's member is not built; `make cluster` does it");
    };
    if let Err(error) = host::network::Networks::create().and_then(|all| all.with_members(1)) {
        return testing::skipped(testing::Need::Root, error);
    }
    testing::quiet::or_doubled(LEADER_ASSUMPTION, |factor| {
        lose_leaders(&jar, &["stop", "cut"], "veth", factor)
    });
}

/// The processes of a run's cluster, and their memory: that of the members by their ports.
fn processes(run: u32, out: &Path) -> (Vec<u32>, Vec<PathBuf>) {
    let verbs = [("copy-member", 3), ("follower", 1)];
    let found = verbs.map(|(verb, count)| {
        wait_for(verb, || Some(children(run, verb)).filter(|found| found.len() == count))
    });
    let gateway = format!("follower-{}", found[1][0]);
    let file = std::fs::read_dir(only_run(out))
        .unwrap()
        .flatten()
        .find_map(|entry| std::fs::read_to_string(entry.path().join("cluster.json")).ok());
    let file: Value = serde_json::from_str(&file.expect("the cluster's file")).unwrap();
    let members = file["members"].as_str().unwrap().split(',').map(|one| one.replace(':', "-"));
    let memory = |name| PathBuf::from(format!("/dev/shm/tickpath-cluster-{name}"));
    (found.concat(), members.chain([gateway]).map(memory).collect())
}

/// Whether the run is interrupted or killed, its cluster ends.
#[test]
fn no_cluster_outlives_its_run() {
    let Some(jar) = cluster_jar() else {
        testing::skip!(JavaCluster, "the cluster's member is not built; `make cluster` does it");
    };
    for end in [Signal::INT, Signal::KILL] {
        let place = tempfile::tempdir().unwrap();
        let file = scenario_with(&["cluster"], place.path());
        let out = place.path().join("runs");
        let sets = ["seconds=60", &cluster_program(&jar)];
        let mut command = two_zones(&file, &["cluster"], &out, &sets);
        let run = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        // The cluster of the trial has no client.
        wait_for("a client", || children(run.id(), "trade").first().copied());
        let (pids, memory) = processes(run.id(), &out);
        signal(run.id(), end);
        let done = run.wait_with_output().unwrap();
        for pid in pids {
            wait_for("the end of a process", || {
                let is_gone = !Path::new(&format!("/proc/{pid}")).exists();
                is_gone.then_some(())
            });
        }
        let stayed: Vec<_> = memory.iter().filter(|directory| directory.exists()).collect();
        assert!(stayed.is_empty(), "{end:?}: {stayed:?}");
        if end == Signal::INT {
            assert_eq!(done.status.code(), Some(3), "{}", text(&done.stderr));
            let run = only_run(&out);
            assert_eq!((left(&run), record(&run)["complete"].as_bool()), (0, Some(false)));
        }
    }
}
