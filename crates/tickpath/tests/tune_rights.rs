//! `tickpath tune` where it may not write, with systemd's program, and on the scheduler's real
//! settings. A program of its own: other tests compare the machine before and after their runs.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use host::Scheduling;
use record::tune::{Survey, TuneReport};
use tempfile::TempDir;
use testing::skip;

/// The machine is one: its tests take turns.
static TURN: Mutex<()> = Mutex::new(());

fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn tickpath(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tickpath"));
    command.stdin(Stdio::null()).args(arguments).output().unwrap()
}

/// Runs a script in a mount namespace of its own, with `$STATE` and `$TICKPATH`; `None` where that
/// is not allowed.
fn in_mounts(state: &TempDir, script: &str) -> Option<Output> {
    let mut command = Command::new("unshare");
    command.args(["--mount", "bash", "-c", &format!("set -e\n{script}")]);
    command.env("TICKPATH", env!("CARGO_BIN_EXE_tickpath")).env("STATE", state.path());
    let done = command.stdin(Stdio::null()).output().ok()?;
    (!text(&done.stderr).contains("Operation not permitted")).then_some(done)
}

fn account(done: &Output) -> TuneReport {
    serde_json::from_slice(&done.stdout).unwrap_or_else(|error| {
        panic!("{error}: {}{}", text(&done.stdout), text(&done.stderr));
    })
}

/// Settings that every kernel has and that no default has as wanted.
const ANY: &str = "--setting sysctl.vm.swappiness --setting sysctl.vm.stat_interval \
                   --setting sysctl.net.core.rmem_max --setting thp.khugepaged";

/// The last of the cores: on it is measured.
fn last_core() -> Option<usize> {
    host::thread::allowed().unwrap().get(1..)?.last().copied()
}

/// Each setting that can't be written is named with the reason, nothing is changed, and there is
/// nothing to take back.
fn each_says_why(done: &Output, state: &TempDir, why: &str) {
    let applied = account(done);
    assert_eq!(done.status.code(), Some(1), "{applied:?}");
    assert!(!applied.ok && !applied.changed, "{applied:?}");
    assert!(applied.results.len() > 2, "{applied:?}");
    for one in &applied.results {
        assert_eq!(one.outcome, "failed", "{one:?}");
        assert!(one.detail.contains(why), "{one:?}");
    }
    let journal = state.path().join("tune");
    let here = ["--state", journal.to_str().unwrap(), "--json"];
    let reverted = account(&tickpath(&[&["tune", "revert"][..], &here].concat()));
    assert!(reverted.ok && !reverted.changed, "{reverted:?}");
    let status = account(&tickpath(&[&["tune", "status"][..], &here].concat()));
    assert!(status.results.is_empty(), "{status:?}");
}

/// As in a container: root by name, and the kernel's files are mounted read-only.
#[test]
fn where_files_are_read_only_each_setting_says_so() {
    let _turn = turn();
    if !is_root() {
        skip!(Root, "read-only mounts");
    }
    let Some(core) = last_core() else { skip!(Cores, "one to measure on, one for the rest") };
    let state = tempfile::tempdir().unwrap();
    let script = format!(
        "for place in /proc/sys /proc/irq /sys; do\n\
         mount --bind $place $place; mount -o remount,bind,ro $place; done\n\
         \"$TICKPATH\" tune inspect --cores {core} > $STATE/inspected\n\
         \"$TICKPATH\" tune apply --yes --json --live-only --cores {core} --state $STATE/tune {ANY}"
    );
    let Some(done) = in_mounts(&state, &script) else { skip!(Root, "mounts of its own") };
    each_says_why(&done, &state, "read-only, as in most containers");
    assert!(fs::metadata(state.path().join("inspected")).unwrap().len() > 1_000);
}

#[test]
fn without_rights_each_setting_says_so() {
    let _turn = turn();
    if !is_root() {
        skip!(Root, "giving rights up");
    }
    let Some(core) = last_core() else { skip!(Cores, "one to measure on, one for the rest") };
    let state = tempfile::tempdir().unwrap();
    fs::set_permissions(state.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let binary = state.path().join("tickpath");
    fs::copy(env!("CARGO_BIN_EXE_tickpath"), &binary).unwrap();
    let script = format!(
        "cd $STATE; exec setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set=-all \
         ./tickpath tune apply --yes --json --live-only --cores {core} --state $STATE/tune {ANY}"
    );
    let Some(done) = in_mounts(&state, &script) else { skip!(Root, "giving rights up") };
    if text(&done.stderr).contains("setpriv: command not found") {
        skip!(Kernel, "the program setpriv");
    }
    each_says_why(&done, &state, "run as root, outside of a container");
}

/// Stands for systemd: keeps `active enabled` of each unit in a file, as `systemctl` answers.
const SYSTEMCTL: &str = r#"#!/bin/bash
unit=${@: -1}; file=$STATE/units/$unit; read -r active enabled 2> /dev/null < $file
case $1 in
show)
  [ -e $file ] && load=loaded || load=not-found
  printf 'LoadState=%s\nActiveState=%s\nUnitFileState=%s\n' $load "$active" "$enabled"; exit ;;
esac
[ -e $file ] || { echo "Unit $unit not loaded." >&2; exit 5; }
echo "$1 $unit" >> $STATE/calls
case $1 in
start) active=active ;; stop) active=inactive ;; enable) enabled=enabled ;;
disable) enabled=disabled ;; *) exit 1 ;;
esac
echo "$active $enabled" > $file
"#;

/// The real path through `systemctl`, with a stand-in for it: this test may stop nobody's services.
#[test]
fn services_are_stopped_and_come_back_as_they_were() {
    let _turn = turn();
    if !is_root() {
        skip!(Root, "a /run of its own");
    }
    let Some(core) = last_core() else { skip!(Cores, "one to measure on, one for the rest") };
    let state = tempfile::tempdir().unwrap();
    let path = |name: &str| state.path().join(name);
    for directory in ["bin", "units"] {
        fs::create_dir(path(directory)).unwrap();
    }
    fs::write(path("bin/systemctl"), SYSTEMCTL).unwrap();
    fs::set_permissions(path("bin/systemctl"), fs::Permissions::from_mode(0o755)).unwrap();
    let units = [
        ("cron.service", "active enabled"),
        ("anacron.timer", "inactive disabled"),
        ("irqbalance.service", "active static"),
    ];
    for (unit, stands) in units {
        fs::write(path("units").join(unit), format!("{stands}\n")).unwrap();
    }
    let script = format!(
        "mount -t tmpfs none /run; mkdir -p /run/systemd/system; export PATH=$STATE/bin:$PATH\n\
         goal='--cores {core} --setting service.cron --setting service.irqbalance'\n\
         \"$TICKPATH\" tune plan --json $goal > $STATE/plan\n\
         grep -q file: $STATE/plan && exit 9\n\
         \"$TICKPATH\" tune apply --yes --json $goal --state $STATE/tune > $STATE/applied\n\
         grep . $STATE/units/* > $STATE/between; cat $STATE/calls > $STATE/called\n\
         \"$TICKPATH\" tune status --json --state $STATE/tune > $STATE/status\n\
         \"$TICKPATH\" tune revert --json --state $STATE/tune"
    );
    let Some(done) = in_mounts(&state, &script) else { skip!(Root, "mounts of its own") };
    let read = |name: &str| fs::read_to_string(path(name)).unwrap_or_default();
    assert!(done.status.success(), "{}{}", read("applied"), text(&done.stderr));
    let between = read("between");
    for expected in ["cron.service:inactive disabled", "irqbalance.service:inactive static"] {
        assert!(between.contains(expected), "{between}");
    }
    let called = read("called");
    assert!(!called.contains("able irqbalance"), "a unit that others start: {called}");
    assert!(!called.contains("anacron"), "what was off stays as it is: {called}");
    assert!(account(&done).ok, "{}", text(&done.stdout));
    for (unit, stands) in units {
        assert_eq!(read(&format!("units/{unit}")), format!("{stands}\n"), "{unit}");
    }
}

/// The scheduling class of the calling thread, by the kernel: 0 other, 1 fifo, 2 rr.
fn policy() -> u32 {
    let stat = fs::read_to_string("/proc/thread-self/stat").unwrap();
    let after_name = stat.rsplit_once(')').unwrap().1;
    // The 41st field; the third one follows the name.
    after_name.split_whitespace().nth(38).unwrap().parse().unwrap()
}

#[test]
fn a_real_time_class_and_its_limits_go_there_and_back() {
    let _turn = turn();
    if !is_root() {
        skip!(Root, "a real-time class");
    }
    let Some(core) = last_core() else { skip!(Cores, "one to measure on, one for the rest") };
    let core = core.to_string();
    let ids = ["sysctl.kernel.sched_rt_runtime_us", "sched.fair_server", "sched.autogroup"];
    let with = |verb: &[&str]| -> Output {
        let named = ids.iter().flat_map(|id| ["--setting", id]);
        tickpath(&verb.iter().copied().chain(named).collect::<Vec<_>>())
    };
    let planned = with(&["tune", "plan", "--json", "--live-only", "--cores", &core]);
    let plan: Survey = serde_json::from_slice(&planned.stdout).unwrap();
    let steps = plan.settings.iter().flat_map(|one| &one.steps);
    let files: Vec<String> =
        steps.filter_map(|step| step.place.strip_prefix("kernel:").map(str::to_owned)).collect();
    let can_write = |path: &String| fs::OpenOptions::new().write(true).open(path).is_ok();
    if files.is_empty() || !files.iter().all(can_write) {
        skip!(Root, "writing to {files:?}");
    }
    let bytes = || -> BTreeMap<&String, String> {
        files.iter().map(|path| (path, fs::read_to_string(path).unwrap())).collect()
    };
    let before = bytes();
    let state = tempfile::tempdir().unwrap();
    let state = state.path().to_str().unwrap();
    let apply = ["tune", "apply", "--yes", "--json", "--live-only", "--cores", &core];
    let applied = account(&with(&[&apply[..], &["--state", state]].concat()));
    let between = bytes();
    let class = std::thread::spawn(|| {
        let first = policy();
        let set = host::thread::set_scheduling(Scheduling::Fifo(1));
        let then = policy();
        let back = host::thread::set_scheduling(Scheduling::Other);
        (first, set.is_ok(), then, back.is_ok(), policy())
    });
    let class = class.join().unwrap();
    let reverted = account(&tickpath(&["tune", "revert", "--json", "--state", state]));
    // Only after everything is back may the test fail.
    assert!(applied.ok && applied.changed, "{applied:?}");
    assert!(reverted.ok, "{reverted:?}");
    assert_eq!(before, bytes());
    assert_ne!(before, between);
    assert_eq!(class, (0, true, 1, true, 0));
}

#[test]
fn a_cpuset_partition_goes_there_and_back() {
    let _turn = turn();
    if !is_root() {
        skip!(Root, "a control group");
    }
    let Some(core) = last_core() else { skip!(Cores, "one to measure on, one for the rest") };
    let state = tempfile::tempdir().unwrap();
    let script = format!(
        "mount -t cgroup2 none /sys/fs/cgroup\n\
         grep -q cpuset /sys/fs/cgroup/cgroup.controllers || exit 7\n\
         show() {{ ls /sys/fs/cgroup; cat /sys/fs/cgroup/cgroup.subtree_control \
         /sys/fs/cgroup/cpuset.cpus.isolated 2>&1; }}\n\
         show > $STATE/before\n\
         \"$TICKPATH\" tune apply --yes --json --live-only --cores {core} --state $STATE/tune \
         --setting cpuset.partition > $STATE/applied\n\
         show > $STATE/between\n\
         \"$TICKPATH\" tune revert --json --state $STATE/tune > $STATE/reverted\n\
         show > $STATE/after"
    );
    let Some(done) = in_mounts(&state, &script) else { skip!(Root, "mounts of its own") };
    let read = |name: &str| fs::read_to_string(state.path().join(name)).unwrap_or_default();
    if done.status.code() == Some(7) {
        skip!(Kernel, "cpuset in the second version of control groups: the first one has it here");
    }
    assert!(done.status.success(), "{}{}", read("applied"), text(&done.stderr));
    assert_eq!(read("before"), read("after"));
    assert_ne!(read("before"), read("between"));
}
