//! `tickpath tune` on the kernel that runs the tests, as root: each place holds the same bytes
//! afterwards, whether the test passes or fails.
//!
//! A program of its own: other tests compare the machine before and after their runs.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use record::tune::{State, Survey, TuneReport};
use tempfile::TempDir;
use testing::skip;

/// The machine is one: its tests take turns.
static TURN: Mutex<()> = Mutex::new(());

fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn tickpath(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tickpath"));
    command.stdin(Stdio::null()).args(arguments).output().unwrap()
}

fn account(done: &Output) -> TuneReport {
    serde_json::from_slice(&done.stdout).unwrap_or_else(|error| {
        panic!("{error}: {}{}", text(&done.stdout), text(&done.stderr));
    })
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Takes back what the journal names, and then writes what still differs, also after a panic.
struct Guard {
    state: TempDir,
    before: BTreeMap<String, String>,
}

impl Guard {
    fn of(paths: impl IntoIterator<Item = String>) -> Guard {
        let read = |path: String| Some((path.clone(), fs::read_to_string(&path).ok()?));
        Guard {
            state: tempfile::tempdir().unwrap(),
            before: paths.into_iter().filter_map(read).collect(),
        }
    }

    fn state(&self) -> &str {
        self.state.path().to_str().unwrap()
    }

    fn differing(&self) -> Vec<&String> {
        let differs =
            |path: &&String| fs::read_to_string(path).ok().as_ref() != self.before.get(*path);
        self.before.keys().filter(differs).collect()
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        tickpath(&["tune", "revert", "--force", "--state", self.state()]);
        let differing = self.differing();
        for path in &differing {
            let value = &self.before[*path];
            let value = value.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
            let value = value.map_or(self.before[*path].trim(), |(chosen, _)| chosen);
            let _ = fs::write(path, format!("{value}\n"));
        }
        if !differing.is_empty() && !thread::panicking() {
            panic!("revert left {differing:?} changed; written again by the test");
        }
    }
}

/// Settings that everything else on the machine can stand for some seconds.
const LIVE: [&str; 12] = [
    "sysctl.vm.stat_interval",
    "sysctl.vm.swappiness",
    "sysctl.vm.compaction_proactiveness",
    "sysctl.net.core.rmem_max",
    "thp.enabled",
    "thp.defrag",
    "thp.khugepaged",
    "workqueue.cpumask",
    "workqueue.writeback",
    "irq.affinity",
    "irq.default_affinity",
    "cpu.dma_latency",
];

fn with_settings<'a>(verb: &[&'a str], ids: &[&'a str]) -> Vec<&'a str> {
    let named = ids.iter().flat_map(|id| ["--setting", id]);
    verb.iter().copied().chain(named).collect()
}

#[test]
fn live_settings_go_there_and_back_on_this_kernel() {
    let _turn = turn();
    if !is_root() {
        skip!(Root, "writing settings");
    }
    let cores = host::thread::allowed().unwrap();
    let Some(&core) = cores.get(1) else { skip!(Cores, "one to measure on, one for the rest") };
    let core = core.to_string();
    let looked = ["tune", "plan", "--json", "--live-only", "--cores", &core];
    let done = tickpath(&with_settings(&looked, &LIVE));
    let plan: Survey = serde_json::from_slice(&done.stdout).unwrap();
    let steps = || plan.settings.iter().flat_map(|one| &one.steps);
    let files = steps().filter_map(|step| step.place.strip_prefix("kernel:").map(str::to_owned));
    let guard = Guard::of(files);
    let can_write = |path: &String| fs::OpenOptions::new().write(true).open(path).is_ok();
    if !guard.before.keys().all(can_write) {
        skip!(Root, "writing to {:?}", guard.before.keys());
    }
    assert!(plan.persistence.is_empty(), "{:?}", plan.persistence);
    let apply = ["tune", "apply", "--yes", "--json", "--live-only", "--cores", &core];
    let apply = [&apply[..], &["--state", guard.state()]].concat();
    let applied = account(&tickpath(&with_settings(&apply, &LIVE)));
    assert_eq!(applied.results.len(), steps().count(), "{applied:?}");
    for one in &applied.results {
        // An interrupt that the kernel manages can't be moved; the reason is given.
        let is_managed = one.setting == "irq.affinity" && one.detail.contains("manages");
        assert!(one.outcome == "changed" || is_managed, "{one:?}");
    }
    if plan.settings.iter().any(|one| one.id == "cpu.dma_latency" && !one.steps.is_empty()) {
        assert_eq!(tune::hold::effective_us().unwrap(), 0);
    }
    let again = tickpath(&with_settings(&looked, &LIVE));
    let again: Survey = serde_json::from_slice(&again.stdout).unwrap();
    for one in again.settings.iter().filter(|one| one.id != "irq.affinity") {
        assert_ne!(one.state, State::Better, "{one:?}");
    }
    let here = ["--state", guard.state(), "--json"];
    let status = account(&tickpath(&[&["tune", "status"][..], &here].concat()));
    assert!(status.results.iter().all(|one| one.outcome != "drifted"), "{status:?}");
    let verify = ["tune", "verify", "--cores", &core];
    let verified = account(&tickpath(&[&verify[..], &here].concat()));
    let moved = verified.results.iter().find(|one| one.place.starts_with("interrupts on"));
    let is_steered = applied.results.iter().any(|one| one.setting == "irq.affinity");
    assert_eq!(moved.is_some(), is_steered, "{verified:?}");
    let reverted = account(&tickpath(&[&["tune", "revert"][..], &here].concat()));
    assert!(reverted.ok, "{reverted:?}");
    assert!(guard.differing().is_empty(), "{:?}", guard.differing());
    let left: Vec<_> = fs::read_dir(guard.state.path()).unwrap().flatten().collect();
    assert!(left.iter().all(|one| one.file_name() == "lock"), "{left:?}");
}

/// A network of its own, with a pair of interfaces of four queues; everything in it goes with it.
fn in_network(script: &str) -> Option<Output> {
    let whole = format!(
        "set -e\nmount -t sysfs none /sys\n\
         ip link add tick0 numtxqueues 4 numrxqueues 4 type veth peer name tick1\n\
         ip link set tick0 up\nip link set tick1 up\n{script}"
    );
    let mut command = Command::new("unshare");
    command.args(["--net", "--mount", "bash", "-c", &whole]);
    command.env("TICKPATH", env!("CARGO_BIN_EXE_tickpath")).stdin(Stdio::null());
    let done = command.output().ok()?;
    (!text(&done.stderr).contains("Operation not permitted")).then_some(done)
}

/// A requirement of the script that this machine lacks.
fn missing(done: &Output) -> Option<&'static str> {
    let said = text(&done.stderr);
    let needs = [
        ("Unknown device type", "veth devices"),
        ("ethtool: command not found", "the program ethtool; `scripts/setup tests` installs it"),
    ];
    needs.into_iter().find(|(sign, _)| said.contains(sign)).map(|(_, need)| need)
}

/// Prints what is there, so that it can be compared; queues and offloads as another program reads
/// them.
const SHOW: &str = "show() { for file in /sys/class/net/tick0/queues/*/*ps_cpus \
                    /proc/sys/net/ipv4/tcp_{autocorking,no_metrics_save,rmem,wmem}; do \
                    printf '%s ' \"$file\"; cat \"$file\"; done; \
                    ethtool -k tick0; ethtool -l tick0; }\nethtool -K tick0 gro on\n";

const NETWORK: &str = "--nic tick0 --live-only --setting nic.rps --setting nic.xps \
                       --setting nic.gro --setting sysctl.net.ipv4.tcp_autocorking \
                       --setting sysctl.net.ipv4.tcp_no_metrics_save \
                       --setting sysctl.net.ipv4.tcp_rmem --setting sysctl.net.ipv4.tcp_wmem";

#[test]
fn queues_go_there_and_back() {
    if !is_root() {
        skip!(Root, "a network of its own");
    }
    let cores = host::thread::allowed().unwrap();
    let Some(core) = cores.get(1) else { skip!(Cores, "one to measure on, one for the rest") };
    let state = tempfile::tempdir().unwrap();
    let script = format!(
        "{SHOW}for queue in 0 1; do echo 3 > /sys/class/net/tick0/queues/rx-$queue/rps_cpus; done\n\
         show > $STATE/before\n\
         \"$TICKPATH\" tune apply --yes --cores {core} --state $STATE/queues {NETWORK}\n\
         show > $STATE/applied\n\
         \"$TICKPATH\" tune status --json --state $STATE/queues > $STATE/status\n\
         \"$TICKPATH\" tune apply --yes --cores {core} --state $STATE/channels --nic tick0 \
         --live-only --setting nic.channels\n\
         ethtool -l tick0 > $STATE/fewer\n\
         \"$TICKPATH\" tune revert --state $STATE/channels\n\
         show > $STATE/between\n\
         \"$TICKPATH\" tune revert --state $STATE/queues\n\
         show > $STATE/after\n"
    );
    let script = script.replace("$STATE", &state.path().display().to_string());
    let Some(done) = in_network(&script) else { skip!(Root, "a network and a mount of its own") };
    if let Some(missing) = missing(&done) {
        skip!(Kernel, "{missing}");
    }
    assert!(done.status.success(), "{}{}", text(&done.stdout), text(&done.stderr));
    let read = |name: &str| fs::read_to_string(state.path().join(name)).unwrap();
    assert_eq!(read("before"), read("after"));
    assert_ne!(read("before"), read("between"));
    assert!(read("before").contains("rps_cpus 3"), "{}", read("before"));
    let said = text(&done.stdout);
    for changed in ["rx-0/rps_cpus", "tx-0/xps_cpus", "rx-channels", "tcp_rmem", "gro"] {
        assert!(said.contains(changed), "{changed}: {said}");
    }
    assert!(read("before").contains("generic-receive-offload: on"), "{}", read("before"));
    assert!(read("applied").contains("generic-receive-offload: off"), "{}", read("applied"));
    assert_ne!(read("before").split("Channel").nth(1), Some(&*read("fewer")));
    let status: TuneReport = serde_json::from_str(&read("status")).unwrap();
    assert!(status.ok && !status.results.is_empty(), "{status:?}");
}

/// Killed after any time, in a network of its own: what the journal names goes back.
#[test]
fn a_killed_apply_goes_back() {
    if !is_root() {
        skip!(Root, "a network of its own");
    }
    let cores = host::thread::allowed().unwrap();
    let Some(core) = cores.get(1) else { skip!(Cores, "one to measure on, one for the rest") };
    let state = tempfile::tempdir().unwrap();
    // The clock's calibration and the inspection take some 100 ms; the steps follow.
    let script = format!(
        "{SHOW}show > $STATE/before\nkilled=0\n\
         for wait in 02 05 08 11 14 17 20 23 26 29 32 35; do\n\
         \"$TICKPATH\" tune apply --yes --cores {core} --state $STATE/journal {NETWORK} \
         > /dev/null 2>&1 & pid=$!\n\
         sleep 0.$wait; if kill -9 $pid 2> /dev/null; then killed=$((killed + 1)); fi\n\
         wait $pid 2> /dev/null || true\n\
         \"$TICKPATH\" tune revert --state $STATE/journal > $STATE/said\n\
         show > $STATE/after; cmp $STATE/before $STATE/after\ndone\necho $killed killed\n"
    );
    let script = script.replace("$STATE", &state.path().display().to_string());
    let Some(done) = in_network(&script) else { skip!(Root, "a network and a mount of its own") };
    if let Some(missing) = missing(&done) {
        skip!(Kernel, "{missing}");
    }
    assert!(done.status.success(), "{}{}", text(&done.stdout), text(&done.stderr));
}

#[test]
fn a_plan_is_made_elsewhere_from_an_inspection() {
    // Both plans must see the same settings.
    let _turn = turn();
    let cores = host::thread::allowed().unwrap();
    if cores.len() < 2 {
        skip!(Cores, "one to measure on, one for the rest");
    }
    let core = cores[1].to_string();
    let goal = ["--cores", &core, "--profile", "exchange", "--json"];
    let inspected = tickpath(&[&["tune", "inspect"][..], &goal].concat());
    let survey: Survey = serde_json::from_slice(&inspected.stdout).unwrap();
    assert!(survey.files.len() > 50 && survey.settings.len() > 80, "{}", survey.files.len());
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("inspect.json");
    fs::write(&file, &inspected.stdout).unwrap();
    let from = ["tune", "plan", "--from", file.to_str().unwrap()];
    let there = tickpath(&[&from[..], &goal].concat());
    let here = tickpath(&[&["tune", "plan"][..], &goal].concat());
    let plan = |done: &Output| -> Survey {
        serde_json::from_slice(&done.stdout).unwrap_or_else(|_| panic!("{}", text(&done.stderr)))
    };
    let ids = |plan: &Survey| -> Vec<(String, State)> {
        plan.settings.iter().map(|one| (one.id.clone(), one.state)).collect()
    };
    assert_eq!(ids(&plan(&there)), ids(&plan(&here)));
    assert!(!Path::new(&format!("/tmp/tickpath-inspection-{}", std::process::id())).exists());
}

#[test]
fn wrong_words_are_rejected_and_nothing_changes() {
    let fails_with = |arguments: &[&str], expected: &str| {
        let done = tickpath(&[&["tune"], arguments].concat());
        let said = text(&done.stderr);
        assert_eq!(done.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains(expected), "{arguments:?}: {said}");
    };
    fails_with(&["plan", "--profile", "fastest"], "tick-to-trade, exchange, measure, host-shared");
    fails_with(&["plan", "--cores", "9999"], "core");
    fails_with(&["plan", "--nic", "nowhere0"], "no network interface");
    if host::thread::allowed().unwrap().len() > 1 {
        fails_with(&["plan", "--setting", "no.such"], "no setting \"no.such\"");
        fails_with(&["apply", "--setting", "thp.enabled"], "--yes");
    }
    let state = tempfile::tempdir().unwrap();
    let path = state.path().join("journal.jsonl");
    fs::write(&path, "no journal\n").unwrap();
    let name = state.path().to_str().unwrap();
    fails_with(&["status", "--state", name], "do not remove it");
    fails_with(&["revert", "--state", name], "line 1");
    assert_eq!(fs::read_to_string(&path).unwrap(), "no journal\n");
}
