//! The files of `tickpath tune` for the machine's next start, with the programs that read them:
//! systemd as process 1 and udev, in namespaces; and a trial that goes on after a restart.
//!
//! A program of its own: other tests compare the machine before and after their runs.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use record::tune::{NOISE_SHARE, Survey, Trial, TuneReport};
use stats::verdict::Outcome;
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

fn read(state: &TempDir, name: &str) -> String {
    fs::read_to_string(state.path().join(name)).unwrap_or_default()
}

fn account(state: &TempDir, name: &str) -> TuneReport {
    let said = read(state, name);
    serde_json::from_str(&said).unwrap_or_else(|error| panic!("{name}: {error}: {said}"))
}

/// Runs a script in namespaces of its own, with `$STATE` and `$TICKPATH`; `None` where that is not
/// allowed.
fn in_namespaces(of: &[&str], state: &TempDir, script: &str) -> Option<Output> {
    let mut command = Command::new("unshare");
    command.arg("--mount").args(of).args(["bash", "-c", &format!("set -e\n{script}")]);
    command.env("TICKPATH", env!("CARGO_BIN_EXE_tickpath")).env("STATE", state.path());
    let done = command.stdin(Stdio::null()).output().ok()?;
    (!text(&done.stderr).contains("Operation not permitted")).then_some(done)
}

/// An interface of four queues, all of whose packets may go to two cores.
const NIC: &str = "mount -t sysfs none /sys\n\
    ip link add tick0 numtxqueues 4 numrxqueues 4 type veth peer name tick1\n\
    ip link set tick0 up\nip link set tick1 up\n\
    for queue in 0 1; do echo 3 > /sys/class/net/tick0/queues/rx-$queue/rps_cpus; done\n";

/// Directories of our own in place of those that the machine is started from. Ours are empty, so
/// systemd starts none of the machine's services. It may write to no kernel setting but the
/// network's, which is the namespace's.
const SYSTEM: &str = r#"
mount --make-rprivate /
mount -t proc proc /proc
mkdir $STATE/units
cd /lib/systemd/system
cp sysinit.target basic.target shutdown.target network.target multi-user.target umount.target \
    systemd-sysctl.service $STATE/units/
mount --bind $STATE/units /lib/systemd/system
for place in /lib/systemd/system-generators /etc/systemd/system /etc/sysctl.d /usr/lib/sysctl.d \
    /etc/udev/rules.d /var/lib /run /boot; do if [ -d $place ]; then mount -t tmpfs none $place; fi; done
echo 0123456789abcdef0123456789abcdef > $STATE/machine-id
mount --bind $STATE/machine-id /etc/machine-id
ethtool -K tick0 gro on
mount -t cgroup2 none /sys/fs/cgroup
"#;

/// Our files, checked by systemd's own program, and a unit that looks at the result and ends all.
const START: &str = r#"
"$TICKPATH" tune apply --yes --json --persist-only $GOAL --state $STATE/files > $STATE/written
systemd-analyze verify /etc/systemd/system/tickpath-tune.service > $STATE/verified 2>&1
units=/etc/systemd/system
mkdir -p $units/multi-user.target.wants $units/sysinit.target.wants
ln -s ../check.service $units/multi-user.target.wants/
ln -s /lib/systemd/system/systemd-sysctl.service $units/sysinit.target.wants/
cat > $units/check.service << END
[Unit]
After=tickpath-tune.service
SuccessAction=exit-force
FailureAction=exit-force
[Service]
Type=oneshot
ExecStart=/bin/bash $STATE/check
END
cat > $STATE/check << END
exec > $STATE/started 2>&1
cat /proc/1/comm
systemctl show -p ActiveState,Result tickpath-tune.service
ethtool -k tick0 | grep generic-receive-offload
echo rps \$(cat /sys/class/net/tick0/queues/rx-0/rps_cpus)
echo autocorking \$(cat /proc/sys/net/ipv4/tcp_autocorking)
echo held \$(ls -l /proc/[0-9]*/fd 2> /dev/null | grep -c cpu_dma_latency)
"$TICKPATH" tune revert --json > $STATE/reverted
ethtool -k tick0 | grep generic-receive-offload | sed 's/^/back to /'
END
mount --bind /proc/sys /proc/sys; mount -o remount,bind,ro /proc/sys
mount --bind /proc/sys/net /proc/sys/net; mount -o remount,bind,rw /proc/sys/net
export container=tickpath
exec setpriv --bounding-set=-sys_time,-sys_boot,-sys_module,-sys_rawio \
    /lib/systemd/systemd --system --log-target=null --unit=multi-user.target
"#;

/// A control group for a systemd of our own; it goes with everything in it.
struct Group(std::path::PathBuf);

impl Group {
    fn make() -> Option<Group> {
        let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
        let mount = mounts.lines().find(|line| line.split(' ').nth(2) == Some("cgroup2"))?;
        let path =
            Path::new(mount.split(' ').nth(1)?).join(format!("tickpath-{}", std::process::id()));
        fs::create_dir(&path).ok()?;
        Some(Group(path))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Processes that were killed leave their group a moment later.
        let find = ["-depth", "-type", "d", "-exec", "rmdir", "{}", ";"];
        for _ in 0..50 {
            let _ = Command::new("find").arg(&self.0).args(find).stderr(Stdio::null()).status();
            if !self.0.exists() {
                return;
            }
            thread::sleep(Duration::from_millis(20));
        }
    }
}

#[test]
fn systemd_starts_the_unit_and_the_settings_are_back() {
    let _turn = turn();
    if !is_root() {
        skip!(Root, "namespaces");
    }
    let cores = host::thread::allowed().unwrap();
    let Some(core) = cores.get(1) else { skip!(Cores, "one to measure on, one for the rest") };
    let systemd = Path::new("/lib/systemd/systemd");
    if !systemd.exists() || !Path::new("/etc/machine-id").exists() {
        skip!(Kernel, "systemd; `scripts/setup tests` installs it");
    }
    let Some(group) = Group::make() else { skip!(Root, "a control group of its own") };
    let state = tempfile::tempdir().unwrap();
    let ids = ["nic.gro", "nic.rps", "sysctl.net.ipv4.tcp_autocorking", "cpu.dma_latency"];
    let ids: String = ids.map(|id| format!(" --setting {id}")).concat();
    // The outer shell enters the group, so that it is the root that the inner one sees.
    let script = format!("{NIC}{SYSTEM}GOAL='--cores {core} --nic tick0{ids}'\n{START}");
    fs::write(state.path().join("script"), format!("set -e\n{script}")).unwrap();
    let enter = format!(
        "echo $$ > {}/cgroup.procs\nexec timeout --kill-after=2 60 unshare --mount --net --pid \
         --fork --kill-child --ipc --uts --cgroup bash $STATE/script",
        group.0.display()
    );
    let Some(done) = in_namespaces(&[], &state, &enter) else { skip!(Root, "namespaces") };
    let said = text(&done.stderr);
    if said.contains("Unknown device type") || said.contains("command not found") {
        skip!(Kernel, "{}", said.trim());
    }
    let started = read(&state, "started");
    let all = || format!("{}{started}{said}", read(&state, "written"));
    assert!(account(&state, "written").changed, "{}", all());
    assert_eq!(read(&state, "verified"), "", "systemd-analyze found something");
    let expected = [
        "systemd\n",
        "Result=success",
        "ActiveState=active",
        "generic-receive-offload: off",
        "rps 1",
        "autocorking 0",
        "back to generic-receive-offload: on",
    ];
    for expected in expected {
        assert!(started.contains(expected), "{expected}: {}", all());
    }
    // The process that holds the latency outlives the one that the unit started.
    if Path::new("/dev/cpu_dma_latency").exists() {
        assert!(started.contains("held 1"), "{}", all());
    }
    assert!(account(&state, "reverted").ok, "{}", all());
}

/// A renamed interface shows up as "move": its name is new then.
#[test]
fn udev_writes_what_our_rules_say() {
    let _turn = turn();
    if !is_root() {
        skip!(Root, "namespaces");
    }
    let cores = host::thread::allowed().unwrap();
    let Some(core) = cores.get(1) else { skip!(Cores, "one to measure on, one for the rest") };
    if Command::new("udevadm").arg("--version").output().is_err() {
        skip!(Udev, "its `udevadm test`");
    }
    let state = tempfile::tempdir().unwrap();
    let script = format!(
        "mount --make-rprivate /\n{NIC}mount -t tmpfs none /run\nmount -t tmpfs none /boot\n\
         mkdir $STATE/etc; cp -a /etc/. $STATE/etc; mount --bind $STATE/etc /etc\n\
         mkdir -p /etc/udev/rules.d\n\
         \"$TICKPATH\" tune apply --yes --json --persist-only --cores {core} --nic tick0 \
         --setting nic.rps --setting nic.xps --setting nic.napi_defer --state $STATE/files \
         > $STATE/written\n\
         udevadm test --action=move /sys/class/net/tick0 > $STATE/said 2>&1\n\
         cd /sys/class/net/tick0; grep . queues/*/[rx]ps_cpus napi_defer_hard_irqs > $STATE/set\n\
         \"$TICKPATH\" tune plan --json --cores {core} --nic tick0 --live-only \
         --setting nic.rps --setting nic.xps --setting nic.napi_defer > $STATE/left\n\
         \"$TICKPATH\" tune revert --json --state $STATE/files > $STATE/reverted\n\
         ls /etc/udev/rules.d > $STATE/rules"
    );
    let Some(done) = in_namespaces(&["--net"], &state, &script) else {
        skip!(Root, "namespaces");
    };
    let said = text(&done.stderr);
    if said.contains("Unknown device type") {
        skip!(Kernel, "{}", said.trim());
    }
    assert!(done.status.success(), "{said}{}", read(&state, "said"));
    assert!(account(&state, "written").changed, "{}", read(&state, "written"));
    let set = read(&state, "set");
    assert!(set.contains("rx-0/rps_cpus:1\n") && set.contains("hard_irqs:2\n"), "{set}");
    let left: Survey = serde_json::from_str(&read(&state, "left")).unwrap();
    assert!(left.settings.iter().all(|one| one.steps.is_empty()), "{:?}", left.settings);
    assert!(account(&state, "reverted").ok, "{}", read(&state, "reverted"));
    assert!(!read(&state, "rules").contains("tickpath"), "{}", read(&state, "rules"));
}

/// The kernel's and the boot loader's files of a machine that can be restarted.
const MACHINE: &str = r#"
mount --make-rprivate /
line='BOOT_IMAGE=/vmlinuz root=/dev/sda1 ro quiet'
restart() { echo "$line$1" > $STATE/cmdline; cat /proc/sys/kernel/random/uuid > $STATE/boot_id; }
restart
ip link set lo up
mount --bind $STATE/cmdline /proc/cmdline
mount --bind $STATE/boot_id /proc/sys/kernel/random/boot_id
mount -t tmpfs none /boot; mount -t tmpfs none /etc/default
mkdir /boot/grub
printf 'menuentry x {\n\tlinux /vmlinuz root=/dev/sda1 ro quiet\n}\n' > /boot/grub/grub.cfg
echo 'GRUB_CMDLINE_LINUX_DEFAULT="quiet"' > /etc/default/grub
show() { tail -n +1 /boot/grub/* /etc/default/*; }
show > $STATE/files-before
"#;

/// Segments of 48 bytes, each acknowledged before the next is sent: an order takes more than ten
/// times as long.
const SLOW: &str = "ip link set lo mtu 80 gso_max_segs 1
ip route replace table local local 127.0.0.1 dev lo proto kernel scope host src 127.0.0.1 \
    mtu lock 80 cwnd lock 1 quickack 1
";

const FAST: &str = "ip route del table local local 127.0.0.1 dev lo
ip route add table local local 127.0.0.1 dev lo proto kernel scope host src 127.0.0.1
ip link set lo mtu 65536 gso_max_segs 65535
";

/// The network is slow until the restart, as if the setting had mended it. A change that the
/// verdict must find is then there, and everything else is the real path.
#[test]
fn a_trial_over_a_restart_has_a_verdict_that_apply_takes() {
    let _turn = turn();
    if !is_root() {
        skip!(Root, "files of its own in place of the kernel's and the boot loader's");
    }
    let cores = host::thread::allowed().unwrap();
    let [server, client, ..] = cores[..] else { skip!(Cores, "a server and a client") };
    let state = tempfile::tempdir().unwrap();
    let sets = format!(
        "--set exchange.cores=[{server}] --set subject.rust.cores=[{client}] --set seconds=0.2 \
         --set warm_up_seconds=0.05 --set hiccup_seconds=0 --set exchange.book=empty \
         --set exchange.replay_inputs_max=0"
    );
    let script = format!(
        "{MACHINE}{SLOW}cd $STATE; trial='tune trial --state journal --quiet --out runs'\n\
         \"$TICKPATH\" $trial --reboot --yes --budget 6m --cores {client} --scenario ping-pong {sets} \
         --setting kernel.skew_tick > began\n\
         restart ' skew_tick=1'\n{FAST}\
         \"$TICKPATH\" $trial --resume > table || echo $? > status\n\
         mv runs/*-trial/trial.json . && show > files-between\n\
         apply='tune apply --yes --json --persist-only --state journal --from-trial trial.json'\n\
         \"$TICKPATH\" $apply --cores {client} > again || true\n\
         \"$TICKPATH\" tune revert --json --state journal > reverted; show > files-after; restart\n\
         \"$TICKPATH\" $apply --cores {client} > applied || true; show > files-applied\n\
         \"$TICKPATH\" tune revert --json --state journal > undone; show > files-undone\n"
    );
    let Some(done) = in_namespaces(&["--net"], &state, &script) else {
        skip!(Root, "mounts of its own")
    };
    let said = text(&done.stderr);
    if said.contains("runs were made before") {
        skip!(QuietCore, "six runs of 0.2 s in three minutes: {said}");
    }
    assert!(done.status.success(), "{said}{}", read(&state, "began"));
    check_the_verdict(&state, &said);
}

fn check_the_verdict(state: &TempDir, said: &str) {
    let trial: Trial = serde_json::from_str(&read(state, "trial.json")).unwrap();
    let table = read(state, "table");
    let [one] = &trial.tried[..] else { panic!("{trial:?}") };
    assert!(trial.restarted && one.id == "kernel.skew_tick" && one.pairs >= 6, "{trial:?}");
    let before = read(state, "files-before");
    let with_word = before.replace("quiet", "quiet skew_tick=1");
    assert_eq!(read(state, "files-between"), with_word);
    for after in ["files-after", "files-undone"] {
        assert_eq!(read(state, after), before, "{after}");
    }
    let noise = one.figures.iter().find(|figure| figure.figure == NOISE_SHARE);
    let share = noise.and_then(|figure| figure.effect.as_ref()).map(|effect| effect.b);
    if one.outcome != Outcome::Better && share.is_none_or(|ppm| ppm > 150_000) {
        skip!(QuietCore, "runs after the restart that nothing else disturbs: {one:?}");
    }
    assert_eq!(one.outcome, Outcome::Better, "{one:?}");
    assert_eq!(read(state, "status"), "", "{table}{said}");
    for expected in ["better        kernel.skew_tick", "helps after a restart: kernel.skew_tick"] {
        assert!(table.contains(expected), "{expected}: {table}");
    }
    assert_eq!(trial.chosen, ["kernel.skew_tick"]);
    let again = account(state, "again");
    assert!(again.ok && !again.changed, "it is applied already: {again:?}");
    assert!(account(state, "applied").changed, "{said}");
    assert_eq!(read(state, "files-applied"), with_word);
}
