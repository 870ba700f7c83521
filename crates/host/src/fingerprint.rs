//! Captures the machine at one moment for the record: fixed facts, load, and probes.

use std::collections::BTreeMap;

use clock::Clock;
use record::machine::{Fingerprint, FixedFacts, IdleState, Load, Nic, Ticks};

use crate::instance::instance;
use crate::probe;
use crate::root::Root;
use crate::topology::Topology;

const CPU: &str = "sys/devices/system/cpu";

/// The machine now. Measures round trips between the two `probe_cores`, `None` on a machine with
/// one core. Takes some milliseconds for reading and at most 300 ms for probing.
pub fn capture(root: &Root, clock: &Clock, probe_cores: Option<(usize, usize)>) -> Fingerprint {
    let (nics, interfaces_virtual) = interfaces(root);
    Fingerprint {
        fixed: FixedFacts { nics, ..fixed(root, &Topology::read(root)) },
        // Before the probes, because they are a load themselves.
        load: Load { interfaces_virtual, ..load(root) },
        probes: probe::run(clock, probe_cores),
        instance: instance(root),
    }
}

fn fixed(root: &Root, topology: &Topology) -> FixedFacts {
    let info = processor(&root.read("proc/cpuinfo").unwrap_or_default());
    let dmi_vendor = root.read_text("sys/class/dmi/id/sys_vendor");
    let dmi_product = root.read_text("sys/class/dmi/id/product_name");
    let sources = words(root, "sys/devices/system/clocksource/clocksource0/available_clocksource");
    let hypervisor = hypervisor(root, sources.as_deref().unwrap_or_default());
    let online = || topology.online.iter().flatten().copied();
    FixedFacts {
        architecture: Some(std::env::consts::ARCH.to_owned()),
        cpu_model: info.model,
        cpu_vendor: info.vendor,
        microcode: info.microcode,
        cores_online: topology.online.clone(),
        cores_isolated: topology.isolated.clone(),
        cores_nohz_full: topology.nohz_full.clone(),
        smt: root.read_text(format!("{CPU}/smt/control")),
        siblings: topology.siblings.clone(),
        numa_nodes: topology.nodes.clone(),
        frequency_driver: online().find_map(|core| cpufreq(root, core, "scaling_driver")),
        governors: online().map(|core| (core, cpufreq(root, core, "scaling_governor"))).collect(),
        turbo: turbo(root),
        idle_driver: root.read_text(format!("{CPU}/cpuidle/current_driver")),
        idle_governor: root
            .read_text(format!("{CPU}/cpuidle/current_governor"))
            .or_else(|| root.read_text(format!("{CPU}/cpuidle/current_governor_ro"))),
        idle_states: online().filter_map(|core| Some((core, idle_states(root, core)?))).collect(),
        kernel_release: root.read_text("proc/sys/kernel/osrelease"),
        kernel_version: root.read_text("proc/sys/kernel/version"),
        kernel_command_line: root.read("proc/cmdline"),
        mitigations: mitigations(root),
        clock_source: root
            .read_text("sys/devices/system/clocksource/clocksource0/current_clocksource"),
        clock_sources_available: sources,
        rt_runtime_us: root.read_value("proc/sys/kernel/sched_rt_runtime_us"),
        rt_period_us: root.read_value("proc/sys/kernel/sched_rt_period_us"),
        fair_server_runtime_ns: fair_server_runtime_ns(root),
        transparent_huge_pages: root.read_choice("sys/kernel/mm/transparent_hugepage/enabled"),
        autogroup: root.read_flag("proc/sys/kernel/sched_autogroup_enabled"),
        tcp_congestion_control: root.read("proc/sys/net/ipv4/tcp_congestion_control"),
        cgroup_cpu_max: cgroup_cpu_max(root),
        is_virtual: is_virtual(
            info.has_hypervisor_flag,
            hypervisor.as_deref(),
            dmi_vendor.as_deref(),
            dmi_product.as_deref(),
        ),
        hypervisor,
        dmi_vendor,
        dmi_product,
        container: container(root),
        memory_total_kib: root.read("proc/meminfo").and_then(|text| {
            let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
            line.split_whitespace().next()?.parse().ok()
        }),
        nics: None,
    }
}

/// The first processor in `/proc/cpuinfo`.
#[derive(Default)]
struct Processor {
    model: Option<String>,
    vendor: Option<String>,
    microcode: Option<String>,
    /// `None` if the processor has no x86 flags.
    has_hypervisor_flag: Option<bool>,
}

fn processor(cpuinfo: &str) -> Processor {
    let value = |key: &str| {
        let found = cpuinfo.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            (name.trim_end() == key).then(|| value.trim().to_owned())
        });
        found.filter(|value| !value.is_empty())
    };
    let arm_model = || {
        let part = value("CPU part")?;
        let number = |key| value(key).unwrap_or_else(|| "unknown".to_owned());
        let (variant, revision) = (number("CPU variant"), number("CPU revision"));
        Some(format!("part {part} variant {variant} revision {revision}"))
    };
    let arm_vendor = || Some(format!("implementer {}", value("CPU implementer")?));
    Processor {
        model: value("model name").or_else(arm_model),
        vendor: value("vendor_id").or_else(arm_vendor),
        microcode: value("microcode"),
        has_hypervisor_flag: value("flags")
            .map(|flags| flags.split_whitespace().any(|flag| flag == "hypervisor")),
    }
}

fn cpufreq(root: &Root, core: usize, file: &str) -> Option<String> {
    root.read_text(format!("{CPU}/cpu{core}/cpufreq/{file}"))
}

fn turbo(root: &Root) -> Option<bool> {
    let is_off = root.read_flag(format!("{CPU}/intel_pstate/no_turbo"));
    is_off.map(|off| !off).or_else(|| root.read_flag(format!("{CPU}/cpufreq/boost")))
}

fn idle_states(root: &Root, core: usize) -> Option<Vec<IdleState>> {
    let directory = format!("{CPU}/cpu{core}/cpuidle");
    let state = |number| {
        let file = |name: &str| format!("{directory}/state{number}/{name}");
        Some(IdleState {
            name: root.read_text(file("name"))?,
            is_disabled: root.read_flag(file("disable")),
            exit_latency_us: root.read_value(file("latency")),
        })
    };
    Some(root.numbered(&directory, "state")?.into_iter().filter_map(state).collect())
}

fn mitigations(root: &Root) -> Option<BTreeMap<String, String>> {
    let directory = format!("{CPU}/vulnerabilities");
    let word = |name: String| {
        let text = root.read(format!("{directory}/{name}"))?;
        Some((name, text))
    };
    Some(root.names(&directory)?.into_iter().filter_map(word).collect())
}

fn fair_server_runtime_ns(root: &Root) -> Option<u64> {
    let directory = "sys/kernel/debug/sched/fair_server";
    let cores = root.numbered(directory, "cpu")?;
    cores.iter().filter_map(|n| root.read_value(format!("{directory}/cpu{n}/runtime"))).max()
}

fn words(root: &Root, path: &str) -> Option<Vec<String>> {
    Some(root.read(path)?.split_whitespace().map(str::to_owned).collect())
}

/// The tightest quota of this process's control groups, and its period.
fn cgroup_cpu_max(root: &Root) -> Option<String> {
    let groups = root.read("proc/self/cgroup")?;
    let mut limits: Vec<(Option<u64>, u64)> = Vec::new();
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else { continue };
        // A process outside its namespace's tree sees a useless path with `..`.
        let path = if path.contains("..") { "" } else { path.trim_start_matches('/') };
        let mounts: &[&str] = match controllers {
            "" => &["sys/fs/cgroup", "sys/fs/cgroup/unified"],
            names if names.split(',').any(|name| name == "cpu") => {
                &["sys/fs/cgroup/cpu", "sys/fs/cgroup/cpu,cpuacct"]
            }
            _ => continue,
        };
        for mount in mounts {
            let steps = path.match_indices('/').map(|(end, _)| &path[..end]);
            for step in std::iter::once("").chain(steps).chain([path]) {
                limits.extend(cgroup_limit(root, &format!("{mount}/{step}")));
            }
        }
    }
    let share = |&(quota, period): &(Option<u64>, u64)| {
        quota.map_or(f64::INFINITY, |quota| quota as f64 / period as f64)
    };
    let tightest = limits.into_iter().min_by(|a, b| share(a).total_cmp(&share(b)))?;
    let quota = tightest.0.map_or("max".to_owned(), |quota| quota.to_string());
    Some(format!("{quota} {}", tightest.1))
}

/// Quota (`None` without a limit) and period of one control group, us.
fn cgroup_limit(root: &Root, directory: &str) -> Option<(Option<u64>, u64)> {
    let (quota, period) = match root.read(format!("{directory}/cpu.max")) {
        Some(text) => {
            let (quota, period) = text.split_once(' ')?;
            (quota.to_owned(), period.parse().ok()?)
        }
        None => (
            root.read(format!("{directory}/cpu.cfs_quota_us"))?,
            root.read_value(format!("{directory}/cpu.cfs_period_us"))?,
        ),
    };
    match quota.as_str() {
        "max" | "-1" => Some((None, period)),
        quota => Some((Some(quota.parse().ok()?), period)),
    }
}

/// The hypervisor's name, from its own entry or from its clock source.
fn hypervisor(root: &Root, clock_sources: &[String]) -> Option<String> {
    let from_clock = || {
        clock_sources.iter().find_map(|source| match source.as_str() {
            "kvm-clock" => Some("kvm"),
            "xen" => Some("xen"),
            name if name.starts_with("hyperv_clocksource") => Some("hyper-v"),
            _ => None,
        })
    };
    root.read_text("sys/hypervisor/type").or_else(|| from_clock().map(str::to_owned))
}

/// On x86 by a processor flag. ARM has none, so the firmware's names decide.
fn is_virtual(
    has_hypervisor_flag: Option<bool>,
    hypervisor: Option<&str>,
    dmi_vendor: Option<&str>,
    dmi_product: Option<&str>,
) -> Option<bool> {
    let from_firmware = || match (dmi_vendor?, dmi_product?) {
        ("Amazon EC2", product) => Some(!product.contains(".metal")),
        ("QEMU" | "Google" | "Microsoft Corporation", _) => Some(true),
        _ => None,
    };
    has_hypervisor_flag.or(hypervisor.map(|_| true)).or_else(from_firmware)
}

/// The kind of container, from the usual signs.
fn container(root: &Root) -> Option<String> {
    let stated = root.read_text("run/systemd/container");
    let marked = || {
        let marks = [(".dockerenv", "docker"), ("run/.containerenv", "podman")];
        marks.iter().find(|(path, _)| root.exists(path)).map(|(_, kind)| (*kind).to_owned())
    };
    let grouped = || {
        let groups = root.read("proc/1/cgroup")?;
        let kinds = ["kubepods", "docker", "libpod", "containerd", "lxc"];
        kinds.iter().find(|kind| groups.contains(**kind)).map(|kind| (*kind).to_owned())
    };
    stated.or_else(grouped).or_else(marked)
}

/// First `lo` and hardware interfaces, then all others.
fn interfaces(root: &Root) -> (Option<Vec<Nic>>, Vec<Nic>) {
    const NET: &str = "sys/class/net";
    let Some(names) = root.names(NET) else { return (None, Vec::new()) };
    // The directory also contains files, such as `bonding_masters`.
    let is_interface = |name: &String| root.exists(format!("{NET}/{name}/mtu"));
    let nic = |name: String| {
        let file = |path: &str| format!("{NET}/{name}/{path}");
        Nic {
            driver: root.link_name(file("device/driver")),
            driver_version: root.read_text(file("device/driver/module/version")),
            // -1 if the driver doesn't know.
            speed_mbit: root.read_value(file("speed")),
            mtu_bytes: root.read_value(file("mtu")),
            name,
        }
    };
    let (fixed, other) = names
        .into_iter()
        .filter(is_interface)
        .map(nic)
        .partition(|nic| nic.name == "lo" || root.exists(format!("{NET}/{}/device", nic.name)));
    (Some(fixed), other)
}

/// The present load, without interfaces.
pub fn load(root: &Root) -> Load {
    let text = root.read("proc/loadavg").unwrap_or_default();
    let fields: Vec<&str> = text.split_whitespace().collect();
    // JSON has no infinite numbers.
    let number = |field: &&str| field.parse().ok().filter(|number: &f64| number.is_finite());
    let averages: Vec<f64> = fields.iter().take(3).filter_map(number).collect();
    let uptime = root.read("proc/uptime").unwrap_or_default();
    Load {
        load_average: averages.try_into().ok(),
        threads_runnable: fields.get(3).and_then(|field| field.split_once('/')?.0.parse().ok()),
        uptime_seconds: uptime.split_whitespace().next().as_ref().and_then(number),
        ticks: ticks(&root.read("proc/stat").unwrap_or_default()),
        interfaces_virtual: Vec::new(),
    }
}

/// Per core, from `/proc/stat`: user, nice, system, idle, iowait, irq, softirq, steal. Ignores
/// guest time, which is included in user time.
fn ticks(stat: &str) -> BTreeMap<usize, Ticks> {
    const FIELDS: usize = 8;
    let core = |line: &str| {
        let mut fields = line.strip_prefix("cpu")?.split_whitespace();
        let core = fields.next()?.parse().ok()?;
        let counts: Vec<u64> = fields.take(FIELDS).map_while(|count| count.parse().ok()).collect();
        let total = counts.iter().fold(0_u64, |sum, &count| sum.saturating_add(count));
        let [_, _, _, idle, waiting, _, _, steal] = counts[..] else { return None };
        Some((core, Ticks { steal, idle: idle.saturating_add(waiting), total }))
    };
    // The first line, `cpu` and a space, sums up all cores.
    stat.lines().filter(|line| !line.starts_with("cpu ")).filter_map(core).collect()
}
