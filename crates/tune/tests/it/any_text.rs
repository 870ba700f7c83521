//! For any contents of the files: nothing panics, and every finding has a result.
//! about.

use crate::room::Room;
use proptest::prelude::*;

/// Every path that is read, with a placeholder for its content.
const PATHS: &[&str] = &[
    "proc/cpuinfo",
    "proc/cmdline",
    "proc/loadavg",
    "proc/uptime",
    "proc/stat",
    "proc/meminfo",
    "proc/interrupts",
    "proc/irq/1/smp_affinity_list",
    "proc/irq/1/effective_affinity_list",
    "proc/self/cgroup",
    "proc/self/limits",
    "proc/thread-self/status",
    "proc/1/cgroup",
    "proc/1/stat",
    "proc/sys/kernel/osrelease",
    "proc/sys/kernel/version",
    "proc/sys/kernel/sched_rt_runtime_us",
    "proc/sys/kernel/sched_rt_period_us",
    "proc/sys/kernel/sched_autogroup_enabled",
    "proc/sys/kernel/numa_balancing",
    "proc/sys/kernel/watchdog",
    "proc/sys/kernel/watchdog_cpumask",
    "proc/sys/vm/stat_interval",
    "proc/sys/net/core/busy_poll",
    "proc/sys/net/core/busy_read",
    "proc/sys/net/ipv4/tcp_congestion_control",
    "run/systemd/container",
    "sys/fs/cgroup/cgroup.controllers",
    "sys/fs/cgroup/cpu.max",
    "sys/devices/system/cpu/online",
    "sys/devices/system/cpu/isolated",
    "sys/devices/system/cpu/nohz_full",
    "sys/devices/system/cpu/smt/control",
    "sys/devices/system/cpu/intel_pstate/no_turbo",
    "sys/devices/system/cpu/cpuidle/current_driver",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_driver",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
    "sys/devices/system/cpu/cpu0/cpuidle/state0/name",
    "sys/devices/system/cpu/cpu0/cpuidle/state0/disable",
    "sys/devices/system/cpu/cpu0/cpuidle/state0/latency",
    "sys/devices/system/cpu/cpu0/topology/thread_siblings_list",
    "sys/devices/system/cpu/cpu0/cache/index3/shared_cpu_list",
    "sys/devices/system/cpu/vulnerabilities/meltdown",
    "sys/devices/system/node/node0/cpulist",
    "sys/devices/system/clocksource/clocksource0/available_clocksource",
    "sys/devices/system/clocksource/clocksource0/current_clocksource",
    "sys/devices/virtual/workqueue/cpumask",
    "sys/hypervisor/type",
    "sys/kernel/debug/sched/fair_server/cpu0/runtime",
    "sys/kernel/mm/transparent_hugepage/enabled",
    "sys/kernel/mm/transparent_hugepage/defrag",
    "sys/kernel/mm/ksm/run",
    "sys/class/dmi/id/sys_vendor",
    "sys/class/dmi/id/product_name",
    "sys/class/net/eth0/mtu",
    "sys/class/net/eth0/device/numa_node",
];

/// The content of a file: anything, or similar to a kernel's text.
fn content() -> impl Strategy<Value = String> {
    prop_oneof![
        "[^\r\n{}]{0,40}",
        "[-0-9., ]{0,20}",
        "(0|1|-1|max|18446744073709551615|9223372036854775808|99999999999999999999)( 100000)?",
        "(always|\\[madvise\\]|never|\\[|\\]| ){0,5}",
        // Like proc/stat, proc/interrupts and limits.
        "(cpu[0-9]?( [0-9]{1,20}){0,10}\\\\n){0,4}",
        "( CPU[0-9]{1,5}){0,3}(\\\\n *[0-9A-Z]{0,3}:( [0-9]{1,20}){0,4}  [a-z]{0,4}){0,4}",
        "(Max (open files|locked memory|realtime priority) +[0-9a-z]{0,20}\\\\n){0,3}",
        "1 \\([a-z)]{0,4}\\) S( -?[0-9]{1,20}){10,14}",
        "(isolcpus|rcu_nocbs|idle)(=[-0-9a-z,]{0,8})?( |=){0,2}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testing::cases(32)))]
    #[test]
    fn every_text_is_a_finding(
        now in prop::collection::vec(prop::option::of(content()), PATHS.len()),
        later in prop::collection::vec(prop::option::of(content()), PATHS.len()),
    ) {
        let text = |contents: &[Option<String>]| -> String {
            let files = PATHS.iter().zip(contents);
            let lines = files.filter_map(|(path, text)| Some(format!("{path}: {}\n", text.as_ref()?)));
            // An arrow would mean a link.
            lines.map(|line| line.replace(" -> ", " > ")).collect()
        };
        let (now, later) = (text(&now), text(&later));
        // No core of a list is surely online, so don't request any.
        let room = Room { text: &now, later: &later, allowed: &[0, 1], cpu: "auto", probes_ns: None };
        let findings = room.examine();
        prop_assert!(findings.findings.len() > 20);
        for one in &findings.findings {
            prop_assert!(!one.found.is_empty(), "{}", one.id);
        }
        // The output can be parsed again.
        let printed = serde_json::to_string(&findings).unwrap();
        let read = serde_json::from_str::<record::doctor::Findings>(&printed).unwrap();
        prop_assert_eq!(read, findings);
    }
}
