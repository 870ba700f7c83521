//! `machine.json`: the machine before and after a run, and the changes in between.
//!
//! There are three kinds of facts. [`FixedFacts`] must be equal before and after, or the run is
//! void. [`Probes`] are short measurements that tell a quiet machine from a contended one; they may
//! differ by a ratio. [`Load`] is recorded but never judged. A fact that could not be read is
//! `None`. Readers ignore keys they don't know and take absent ones at their default.

use std::collections::{BTreeMap, BTreeSet};

use crate::instance::Instance;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Largest ratio of the probes of one machine in one regime.
pub const PROBE_RATIO_MAX: f64 = 1.5;

/// The content of `machine.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Machine {
    /// Taken before the first run.
    pub before: Fingerprint,
    /// Taken after the last run; `None` until then, and if the runs were interrupted.
    pub after: Option<Fingerprint>,
}

/// The machine at one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Fingerprint {
    /// Facts that must not change during a run.
    pub fixed: FixedFacts,
    /// Measurements that show the machine's regime.
    pub probes: Probes,
    /// Other activity on the machine.
    pub load: Load,
    /// Its place in a cloud.
    pub instance: Instance,
}

/// Facts that must be equal before and after a run. A field is `None` if it could not be read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FixedFacts {
    /// The architecture that tickpath was built for, for example `x86_64`.
    pub architecture: Option<String>,
    /// The processor's model name; on ARM its part, variant and revision numbers.
    pub cpu_model: Option<String>,
    /// The processor's vendor; on ARM its implementer number.
    pub cpu_vendor: Option<String>,
    /// Microcode revision.
    pub microcode: Option<String>,
    /// Online cores.
    pub cores_online: Option<Vec<usize>>,
    /// Cores without load balancing (`isolcpus`, isolated cpuset partitions).
    pub cores_isolated: Option<Vec<usize>>,
    /// Cores without a scheduling tick while a single thread runs on them (`nohz_full`).
    pub cores_nohz_full: Option<Vec<usize>>,
    /// Simultaneous multithreading in the kernel's words: `on`, `off`, `forceoff`, `notsupported`,
    /// `notimplemented`.
    pub smt: Option<String>,
    /// For each online core, the cores that share its execution units, itself included.
    pub siblings: BTreeMap<usize, Vec<usize>>,
    /// Cores of each NUMA node.
    pub numa_nodes: Option<BTreeMap<usize, Vec<usize>>>,
    /// Frequency driver, for example `intel_pstate`.
    pub frequency_driver: Option<String>,
    /// Frequency governor of each online core; `None` without cpufreq.
    pub governors: BTreeMap<usize, Option<String>>,
    /// Whether the processor may exceed its nominal frequency.
    pub turbo: Option<bool>,
    /// Idle driver, for example `intel_idle`.
    pub idle_driver: Option<String>,
    /// Idle governor, for example `menu`.
    pub idle_governor: Option<String>,
    /// Idle states of each online core, shallowest first.
    pub idle_states: BTreeMap<usize, Vec<IdleState>>,
    /// Kernel release, for example `6.8.0-45-generic`.
    pub kernel_release: Option<String>,
    /// Kernel version: build number, options, date.
    pub kernel_version: Option<String>,
    /// The kernel's command line.
    pub kernel_command_line: Option<String>,
    /// The kernel's status of each processor vulnerability.
    pub mitigations: Option<BTreeMap<String, String>>,
    /// The kernel's clock source.
    pub clock_source: Option<String>,
    /// Clock sources that the kernel could use.
    pub clock_sources_available: Option<Vec<String>>,
    /// Run time of real-time threads per period, us; -1 is unlimited.
    pub rt_runtime_us: Option<i64>,
    /// The period of `rt_runtime_us`, us.
    pub rt_period_us: Option<i64>,
    /// Time per second that the kernel reserves for threads starved by a real-time thread, ns: the
    /// largest of all cores. Linux 6.12 and later; readable by root if debugfs is mounted.
    pub fair_server_runtime_ns: Option<u64>,
    /// Transparent huge pages: `always`, `madvise` or `never`.
    pub transparent_huge_pages: Option<String>,
    /// Whether the scheduler groups threads by session.
    pub autogroup: Option<bool>,
    /// Congestion control of new TCP connections (`net.ipv4.tcp_congestion_control`). BBR paces its
    /// sends with timers, on loopback too.
    pub tcp_congestion_control: Option<String>,
    /// The tightest processor limit of this process's control groups, as cgroup v2 writes it: quota
    /// and period in us (`200000 100000`), or `max 100000` without a limit.
    pub cgroup_cpu_max: Option<String>,
    /// Whether it is a virtual machine.
    pub is_virtual: Option<bool>,
    /// The hypervisor's name if it reveals it: `kvm`, `xen`, `hyper-v`.
    pub hypervisor: Option<String>,
    /// The machine's vendor in its firmware tables, for example `Amazon EC2`.
    pub dmi_vendor: Option<String>,
    /// The product in its firmware tables; in clouds often the instance type.
    pub dmi_product: Option<String>,
    /// The kind of container of this process; `None` if there is no sign of one.
    pub container: Option<String>,
    /// Memory of the kernel, KiB.
    pub memory_total_kib: Option<u64>,
    /// `lo` and the interfaces with hardware. Others come and go with containers: see
    /// [`Load::interfaces_virtual`].
    pub nics: Option<Vec<Nic>>,
}

impl FixedFacts {
    /// Four letters, the same for the same machine with the same settings; two others share them
    /// once in 456 976 times. Ignores facts that could not be read, so that a field that a later
    /// version adds does not change the letters of old records.
    pub fn identity(&self) -> String {
        let mut fields = serde_json::to_value(self).unwrap_or_default();
        if let Value::Object(fields) = &mut fields {
            fields.retain(|_, value| !value.is_null());
        }
        crate::identity::letters(&fields)
    }
}

/// One idle state of a core.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct IdleState {
    /// For example `C6`.
    pub name: String,
    /// Whether it is disabled; `None` if unknown.
    pub is_disabled: Option<bool>,
    /// Time to leave it, us, as the driver states it.
    pub exit_latency_us: Option<u64>,
}

/// One network interface.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Nic {
    /// For example `eth0`.
    pub name: String,
    /// Driver; `None` for `lo` and virtual interfaces.
    pub driver: Option<String>,
    /// The driver's version if its module states one.
    pub driver_version: Option<String>,
    /// Link speed, Mb/s; `None` if the driver doesn't know.
    pub speed_mbit: Option<u64>,
    /// Largest packet, bytes.
    pub mtu_bytes: Option<u64>,
}

/// Measurements that show a machine's regime, quiet or contended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Probes {
    /// The two cores of the round trips.
    pub cores: Option<(usize, usize)>,
    /// Two pinned threads pass one cache line back and forth: median over batches of a batch's mean
    /// round trip, ns.
    pub cache_line_round_trip_ns_p50: Option<u64>,
    /// Two pinned threads exchange 120 bytes over loopback TCP, blocking: median round trip, ns.
    pub blocking_round_trip_ns_p50: Option<u64>,
    /// Median cost of one reading of the clock, ns.
    pub clock_cost_ns: Option<u64>,
    /// The counter that tickpath's clock reads.
    pub clock_counter: Option<String>,
    /// Why a probe is missing, a sentence each.
    pub missing_because: Vec<String>,
}

/// Activity around the run: recorded but never judged.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Load {
    /// Load average over 1, 5 and 15 minutes.
    pub load_average: Option<[f64; 3]>,
    /// Threads that were running or runnable.
    pub threads_runnable: Option<u64>,
    /// Time since boot, seconds.
    pub uptime_seconds: Option<f64>,
    /// Time counters of each core.
    pub ticks: BTreeMap<usize, Ticks>,
    /// Interfaces other than `lo` without hardware: veth, bridges, bonds.
    pub interfaces_virtual: Vec<Nic>,
}

/// Time counters of a core since boot, in ticks of 1/`USER_HZ` s (10 ms).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Ticks {
    /// Ticks in which the hypervisor ran something else.
    pub steal: u64,
    /// Ticks in which nothing ran, including waits for a disk. 0 in older records.
    pub idle: u64,
    /// All ticks.
    pub total: u64,
}

/// Probes that differ by less count as equal, ns: one tick of the slowest counter, a 25 MHz ARM
/// generic timer.
pub const PROBE_SLACK_NS: u64 = 40;

/// Forbidden changes between two fingerprints: a sentence for every fixed field that is not equal
/// and every probe that differs by more than `probe_ratio_max` (1.5 by the rules of validity) and
/// more than [`PROBE_SLACK_NS`]. Empty if the machine stayed the same.
pub fn differences(before: &Fingerprint, after: &Fingerprint, probe_ratio_max: f64) -> Vec<String> {
    let mut sentences = fixed_differences(&before.fixed, &after.fixed);
    sentences.extend(probe_differences(&before.probes, &after.probes, probe_ratio_max));
    sentences
}

/// A sentence for every unequal field. Compares the JSON of both, so that no field of
/// [`FixedFacts`] can be forgotten here.
fn fixed_differences(before: &FixedFacts, after: &FixedFacts) -> Vec<String> {
    if before == after {
        return Vec::new();
    }
    let (Ok(Value::Object(before)), Ok(Value::Object(after))) =
        (serde_json::to_value(before), serde_json::to_value(after))
    else {
        return vec![
            "the machines can't be compared, because one can't be written as JSON".to_owned(),
        ];
    };
    before.iter().filter_map(|(name, old)| field_difference(name, old, &after[name])).collect()
}

/// The fields in which two machines differ, with both values; empty for the same machine with the
/// same settings.
pub(crate) fn fixed_changes(
    ours: &FixedFacts,
    theirs: &FixedFacts,
) -> Vec<(String, String, String)> {
    let mut changes = Vec::new();
    let json = |fixed| serde_json::to_value(fixed).unwrap_or_default();
    collect_changes(String::new(), &json(ours), &json(theirs), &mut changes);
    changes
}

fn field_difference(name: &str, before: &Value, after: &Value) -> Option<String> {
    let mut changes = Vec::new();
    collect_changes(name.to_owned(), before, after, &mut changes);
    let more = match changes.len() {
        0 | 1 => String::new(),
        2 => " (and 1 more change there)".to_owned(),
        n => format!(" (and {} more changes there)", n - 1),
    };
    let (path, old, new) = changes.into_iter().next()?;
    Some(format!("{path} changed: {old} before, {new} after{more}"))
}

/// Descends into objects and arrays of objects to name the changed leaf. Arrays of numbers (lists
/// of cores) stay whole.
pub(crate) fn collect_changes(
    path: String,
    before: &Value,
    after: &Value,
    changes: &mut Vec<(String, String, String)>,
) {
    match (before, after) {
        _ if before == after => {}
        (Value::Object(old), Value::Object(new)) => {
            for key in old.keys().chain(new.keys()).collect::<BTreeSet<_>>() {
                let (old, new) = (old.get(key), new.get(key));
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                let (old, new) = (old.unwrap_or(&Value::Null), new.unwrap_or(&Value::Null));
                collect_changes(path, old, new, changes);
            }
        }
        (Value::Array(old), Value::Array(new))
            if old.len() == new.len() && old.iter().chain(new).all(Value::is_object) =>
        {
            for (index, (old, new)) in old.iter().zip(new).enumerate() {
                let name = old.get("name").and_then(Value::as_str);
                let key = name.map_or_else(|| index.to_string(), str::to_owned);
                collect_changes(format!("{path}.{key}"), old, new, changes);
            }
        }
        _ => changes.push((path, shown(before), shown(after))),
    }
}

/// A value within a sentence.
pub(crate) fn shown(value: &Value) -> String {
    match value {
        Value::Null => "absent or unreadable".to_owned(),
        other => other.to_string(),
    }
}

fn probe_differences(before: &Probes, after: &Probes, ratio_max: f64) -> Vec<String> {
    let mut sentences = Vec::new();
    if before.clock_counter != after.clock_counter {
        sentences.push(format!(
            "the clock read another counter: {} before, {} after",
            before.clock_counter.as_deref().unwrap_or("none"),
            after.clock_counter.as_deref().unwrap_or("none"),
        ));
    }
    let mut compare = |what: &str, before: Option<u64>, after: Option<u64>| {
        sentences.extend(probe_difference(what, before, after, ratio_max));
    };
    compare("one reading of the clock", before.clock_cost_ns, after.clock_cost_ns);
    if let (Some(old), Some(new)) = (before.cores, after.cores)
        && old != new
    {
        sentences.push(format!(
            "the probes ran on cores {} and {} before, on {} and {} after: they can't be compared",
            old.0, old.1, new.0, new.1,
        ));
        return sentences;
    }
    compare(
        "a cache line's round trip",
        before.cache_line_round_trip_ns_p50,
        after.cache_line_round_trip_ns_p50,
    );
    compare(
        "a blocking round trip",
        before.blocking_round_trip_ns_p50,
        after.blocking_round_trip_ns_p50,
    );
    sentences
}

fn probe_difference(
    what: &str,
    before: Option<u64>,
    after: Option<u64>,
    ratio_max: f64,
) -> Option<String> {
    match (before, after) {
        (None, None) => None,
        (Some(before), None) => Some(format!(
            "{what} took {before} ns before the run and could not be measured after it"
        )),
        (None, Some(after)) => Some(format!(
            "{what} could not be measured before the run and took {after} ns after it"
        )),
        (Some(before), Some(after)) => {
            let (low, high) = (before.min(after), before.max(after));
            let ratio = high as f64 / low.max(1) as f64;
            (high - low > PROBE_SLACK_NS && ratio > ratio_max).then(|| {
                format!(
                    "{what} took {before} ns before the run and {after} ns after it: a ratio of \
                     {ratio:.2}, above {ratio_max}"
                )
            })
        }
    }
}

#[cfg(test)]
#[path = "machine_tests.rs"]
mod tests;
