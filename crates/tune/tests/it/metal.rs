//! Two bare-metal machines: one fully tuned, and the same one with default settings.

use crate::room::{Room, check};
use expect_test::expect;

/// Two sockets of four cores, SMT off, cores 2-3 and 6-7 isolated, the NIC on the first socket.
const TUNED: &str = r"
    proc/cpuinfo: processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: Intel(R) Xeon(R) Gold 6246R CPU @ 3.40GHz\nflags\t\t: fpu tsc constant_tsc nonstop_tsc
    proc/cmdline: BOOT_IMAGE=/vmlinuz ro isolcpus=managed_irq,domain,2-3,6-7 nohz_full=2-3,6-7 rcu_nocbs=2-3,6-7 intel_idle.max_cstate=1 mitigations=off
    proc/loadavg: 0.02 0.05 0.01 1/412 9001
    proc/stat: cpu  9000 0 9000 982000 0 0 0 0 0 0\ncpu0 4000 0 4000 92000 0 0 0 0 0 0\ncpu2 10 0 10 99980 0 0 0 0 0 0\ncpu3 10 0 10 99980 0 0 0 0 0 0
    proc/interrupts:            CPU0       CPU1       CPU2       CPU3       CPU4       CPU5       CPU6       CPU7\n  61:     812345          0          0          0          0          0          0          0  IR-PCI-MSIX-0000:18:00.0    1-edge      mlx5_comp0@pci:0000:18:00.0\n  62:          0          0          0          0          0          0          0          0  IR-PCI-MSIX-0000:18:00.0    2-edge      mlx5_comp1@pci:0000:18:00.0\n LOC:    9000000    9000000       1000       1000    9000000    9000000       1000       1000   Local timer interrupts\n TLB:         10         10          0          0         10         10          0          0   TLB shootdowns
    proc/irq/61/smp_affinity_list: 0-1
    proc/irq/61/effective_affinity_list: 0
    proc/irq/62/smp_affinity_list: 2
    proc/irq/62/effective_affinity_list: 2
    proc/self/cgroup: 0::/user.slice/user-0.slice/session-1.scope
    proc/1/cgroup: 0::/init.scope
    proc/self/limits: Limit                     Soft Limit           Hard Limit           Units     \nMax open files            1048576              1048576              files     \nMax locked memory         unlimited            unlimited            bytes     \nMax realtime priority     99                   99                   
    proc/thread-self/status: CapEff:\t0000000000000000
    proc/sys/kernel/osrelease: 6.8.0-45-lowlatency
    proc/sys/kernel/version: #45 SMP PREEMPT_DYNAMIC Mon
    proc/sys/kernel/sched_rt_runtime_us: -1
    proc/sys/kernel/sched_rt_period_us: 1000000
    proc/sys/kernel/sched_autogroup_enabled: 0
    proc/sys/kernel/numa_balancing: 0
    proc/sys/kernel/watchdog: 1
    proc/sys/kernel/watchdog_cpumask: 0-1,4-5
    proc/sys/vm/stat_interval: 120
    proc/sys/net/core/busy_poll: 50
    proc/sys/net/core/busy_read: 50
    proc/sys/net/ipv4/tcp_congestion_control: cubic
    sys/fs/cgroup/cgroup.controllers: cpuset cpu io memory pids
    sys/devices/system/cpu/online: 0-7
    sys/devices/system/cpu/isolated: 2-3,6-7
    sys/devices/system/cpu/nohz_full: 2-3,6-7
    sys/devices/system/cpu/smt/control: off
    sys/devices/system/cpu/intel_pstate/no_turbo: 0
    sys/devices/system/cpu/cpuidle/current_driver: intel_idle
    sys/devices/system/cpu/cpu{0-7}/cpufreq/scaling_driver: intel_pstate
    sys/devices/system/cpu/cpu{0-7}/cpufreq/scaling_governor: performance
    sys/devices/system/cpu/cpu{0-7}/cpuidle/state0/name: POLL
    sys/devices/system/cpu/cpu{0-7}/cpuidle/state0/disable: 0
    sys/devices/system/cpu/cpu{0-7}/cpuidle/state0/latency: 0
    sys/devices/system/cpu/cpu{0-7}/cpuidle/state1/name: C1
    sys/devices/system/cpu/cpu{0-7}/cpuidle/state1/disable: 0
    sys/devices/system/cpu/cpu{0-7}/cpuidle/state1/latency: 2
    sys/devices/system/cpu/cpu0/topology/thread_siblings_list: 0
    sys/devices/system/cpu/cpu1/topology/thread_siblings_list: 1
    sys/devices/system/cpu/cpu2/topology/thread_siblings_list: 2
    sys/devices/system/cpu/cpu3/topology/thread_siblings_list: 3
    sys/devices/system/cpu/cpu4/topology/thread_siblings_list: 4
    sys/devices/system/cpu/cpu5/topology/thread_siblings_list: 5
    sys/devices/system/cpu/cpu6/topology/thread_siblings_list: 6
    sys/devices/system/cpu/cpu7/topology/thread_siblings_list: 7
    sys/devices/system/cpu/cpu{0-3}/cache/index3/shared_cpu_list: 0-3
    sys/devices/system/cpu/cpu{4-7}/cache/index3/shared_cpu_list: 4-7
    sys/devices/system/cpu/vulnerabilities/meltdown: Not affected
    sys/devices/system/cpu/vulnerabilities/mds: Not affected
    sys/devices/system/cpu/vulnerabilities/spectre_v2: Vulnerable; IBPB: disabled; STIBP: disabled
    sys/devices/system/node/node0/cpulist: 0-3
    sys/devices/system/node/node1/cpulist: 4-7
    sys/devices/system/clocksource/clocksource0/available_clocksource: tsc hpet acpi_pm
    sys/devices/system/clocksource/clocksource0/current_clocksource: tsc
    sys/devices/virtual/workqueue/cpumask: 33
    sys/kernel/mm/transparent_hugepage/enabled: always madvise [never]
    sys/kernel/mm/transparent_hugepage/defrag: always defer defer+madvise [madvise] never
    sys/kernel/mm/ksm/run: 0
    sys/class/dmi/id/sys_vendor: Dell Inc.
    sys/class/dmi/id/product_name: PowerEdge R640
    sys/class/net/lo/mtu: 65536
    sys/class/net/ens1f0np0/mtu: 1500
    sys/class/net/ens1f0np0/device/numa_node: 0
    sys/class/net/ens1f0np0/device/driver -> ../../../../bus/pci/drivers/mlx5_core
";

/// Two seconds later: the tick ran on the housekeeping cores.
const TUNED_LATER: &str = r"
    proc/stat: cpu  9004 0 9004 983592 0 0 0 0 0 0\ncpu0 4004 0 4004 92192 0 0 0 0 0 0\ncpu2 10 0 10 100180 0 0 0 0 0 0\ncpu3 10 0 10 100180 0 0 0 0 0 0
    proc/interrupts:            CPU0       CPU1       CPU2       CPU3       CPU4       CPU5       CPU6       CPU7\n  61:     812545          0          0          0          0          0          0          0  IR-PCI-MSIX-0000:18:00.0    1-edge      mlx5_comp0@pci:0000:18:00.0\n  62:          0          0          0          0          0          0          0          0  IR-PCI-MSIX-0000:18:00.0    2-edge      mlx5_comp1@pci:0000:18:00.0\n LOC:    9000500    9000500       1002       1002    9000500    9000500       1002       1002   Local timer interrupts\n TLB:         10         10          0          0         10         10          0          0   TLB shootdowns
";

const ALL: [usize; 8] = [0, 1, 2, 3, 4, 5, 6, 7];
const TUNED_ROOM: Room<'_> = Room {
    text: TUNED,
    later: TUNED_LATER,
    allowed: &ALL,
    cpu: "auto",
    probes_ns: Some([19, 120, 14_000]),
};

#[test]
fn tuned() {
    check(
        &TUNED_ROOM.examine(),
        expect![[r#"
            fit on [2, 3]
            warn time.source: no program sets the wall clock
            unknown nic.deferral: no interface says it
            unknown nic.zero_copy: the routes can't be read
            ok cores.count: 8 of 8 may be used, 2-3 would be measured on
            ok cores.placement: cores 2-3 lie on one NUMA node, no two are siblings
            ok cgroup.cpu_max: no limit
            ok load.on_cores: 0.0 % of 2.0 s on core 3, the busiest
            ok load.on_siblings: no second hardware threads are shown
            ok load.average: 0.02 threads in the last minute
            ok host.steal: no hypervisor to steal
            ok clock.cost: 19 ns a stamp, from a counter
            ok probe.cache_line: 120 ns between cores 2 and 3
            ok probe.blocking: 14000 ns between cores 2 and 3
            ok irq.came: on cores 2-3 in 2.0 s: none
            ok host.virtual: bare metal (Dell Inc. PowerEdge R640)
            ok host.container: nothing hints at one
            ok kernel.release: 6.8.0-45-lowlatency, PREEMPT_DYNAMIC
            ok nic.driver: ens1f0np0: mlx5_core
            ok nic.node: the NICs are on the measured cores' node
            ok nic.llq: not judged: no interface is an ENA
            ok nic.driver_version: not judged: no interface is an ENA
            ok permission.net_admin: not judged: no CAP_NET_ADMIN, and no scenario that takes it
            ok permission.real_time: up to priority 99
            ok kernel.isolcpus: cores 2-3 isolated
            ok kernel.nohz_full: cores 2-3 without a tick while one thread runs there
            ok kernel.rcu_nocbs: offloaded from cores 2-3
            ok cpu.smt: off; no second threads
            ok workqueue.cpumask: deferred work keeps off cores 2-3
            ok kernel.mitigations: none works at every entry to the kernel
            ok irq.affinity: no active device interrupt can reach cores 2-3
            ok cpu.governor: performance (intel_pstate, turbo on)
            ok cpu.idle_states: POLL, C1; the deepest, C1, takes 2 us to leave
            ok clock.source: tsc
            ok sysctl.kernel.sched_rt_runtime_us: -1: no throttling
            ok sched.fair_server: none before Linux 6.12
            ok sched.autogroup: off
            ok sysctl.kernel.watchdog_cpumask: keeps off cores 2-3
            ok sysctl.vm.stat_interval: every 120 s, isolated cores left out
            ok limit.memlock: any amount
            ok limit.nofile: 1048576
            ok thp.enabled: never
            ok thp.defrag: madvise
            ok sysctl.kernel.numa_balancing: off
            ok ksm.run: off
            ok net.busy_poll: 50 us
            ok net.busy_read: 50 us
            ok sysctl.net.ipv4.tcp_congestion_control: cubic
        "#]],
    );
}

/// On the other socket, and with a core that is not isolated.
#[test]
fn tuned_but_elsewhere() {
    let elsewhere = Room { cpu: "5,6", ..TUNED_ROOM };
    let mut findings = elsewhere.examine();
    let here = TUNED_ROOM.examine();
    findings.findings.retain(|one| !here.findings.contains(one));
    check(
        &findings,
        expect![[r#"
            fit on [5, 6]
            warn nic.node: ens1f0np0 is on node 0, cores 5-6 are not
            warn kernel.isolcpus: core 5 not isolated
            warn kernel.nohz_full: core 5 with a tick
            warn kernel.rcu_nocbs: core 5 with callbacks of their own
            warn workqueue.cpumask: deferred work may run on core 5
            unknown load.on_cores: the kernel's time counters can't be read or stand still
            ok cores.count: 8 of 8 may be used, 5-6 would be measured on
            ok cores.placement: cores 5-6 lie on one NUMA node, no two are siblings
            ok probe.cache_line: 120 ns between cores 5 and 6
            ok probe.blocking: 14000 ns between cores 5 and 6
            ok irq.came: on cores 5-6 in 2.0 s: none
            ok irq.affinity: no active device interrupt can reach cores 5-6
            ok sysctl.kernel.watchdog_cpumask: looks at core 5
            ok sysctl.vm.stat_interval: every 120 s
        "#]],
    );
}

/// The differences without tuning.
const UNTUNED: &str = r"
    proc/cmdline: BOOT_IMAGE=/vmlinuz ro quiet
    proc/loadavg: 1.35 1.05 0.91 2/900 9001
    proc/interrupts:            CPU0       CPU1       CPU2       CPU3       CPU4       CPU5       CPU6       CPU7\n  61:      12345      23456      34567      45678          0          0          0          0  IR-PCI-MSIX-0000:18:00.0    1-edge      mlx5_comp0@pci:0000:18:00.0\n  62:          0        777          0          0          0          0          0          0  IR-PCI-MSIX-0000:3b:00.0    2-edge      nvme0q1\n LOC:    9000000    9000000    9000000    9000000    9000000    9000000    9000000    9000000   Local timer interrupts\n TLB:         10         10         10         10         10         10         10         10   TLB shootdowns
    proc/irq/61/smp_affinity_list: 0-7
    proc/irq/61/effective_affinity_list: 3
    proc/irq/62/smp_affinity_list: 1,5
    proc/irq/62/effective_affinity_list: 1
    proc/self/limits: Limit                     Soft Limit           Hard Limit           Units     \nMax open files            1024                 1048576              files     \nMax locked memory         8388608              8388608              bytes     \nMax realtime priority     0                    0                    
    proc/sys/kernel/osrelease: 6.8.0-45-generic
    proc/sys/kernel/sched_rt_runtime_us: 950000
    proc/sys/kernel/sched_autogroup_enabled: 1
    proc/sys/kernel/numa_balancing: 1
    proc/sys/kernel/watchdog_cpumask: 0-7
    proc/sys/vm/stat_interval: 1
    proc/sys/net/core/busy_poll: 0
    proc/sys/net/core/busy_read: 0
    proc/sys/net/ipv4/tcp_congestion_control: cubic
    sys/devices/system/cpu/isolated:
    sys/devices/system/cpu/nohz_full: (null)
    sys/devices/system/cpu/smt/control: on
    sys/devices/system/cpu/intel_pstate/no_turbo: 0
    sys/devices/system/cpu/cpu{0-7}/cpufreq/scaling_governor: powersave
    sys/devices/system/cpu/cpu{0-7}/cpuidle/state2/name: C1E
    sys/devices/system/cpu/cpu{0-7}/cpuidle/state2/disable: 0
    sys/devices/system/cpu/cpu{0-7}/cpuidle/state2/latency: 10
    sys/devices/system/cpu/cpu{0-7}/cpuidle/state3/name: C6
    sys/devices/system/cpu/cpu{0-7}/cpuidle/state3/disable: 0
    sys/devices/system/cpu/cpu{0-7}/cpuidle/state3/latency: 133
    sys/devices/system/cpu/cpu{0,4}/topology/thread_siblings_list: 0,4
    sys/devices/system/cpu/cpu{1,5}/topology/thread_siblings_list: 1,5
    sys/devices/system/cpu/cpu{2,6}/topology/thread_siblings_list: 2,6
    sys/devices/system/cpu/cpu{3,7}/topology/thread_siblings_list: 3,7
    sys/devices/system/cpu/cpu{0-7}/cache/index3/shared_cpu_list: 0-7
    sys/devices/system/cpu/vulnerabilities/mds: Mitigation: Clear CPU buffers; SMT vulnerable
    sys/devices/system/cpu/vulnerabilities/meltdown: Mitigation: PTI
    sys/devices/system/node/node0/cpulist: 0,2,4,6
    sys/devices/system/node/node1/cpulist: 1,3,5,7
    sys/devices/virtual/workqueue/cpumask: ff
    sys/kernel/mm/transparent_hugepage/enabled: [always] madvise never
    sys/kernel/mm/transparent_hugepage/defrag: [always] defer defer+madvise madvise never
    sys/kernel/mm/ksm/run: 1
    proc/stat: cpu  9000 0 9000 982000 0 0 0 0 0 0\ncpu1 4000 0 4000 92000 0 0 0 0 0 0\ncpu3 10 0 10 99980 0 0 0 0 0 0\ncpu5 10 0 10 99980 0 0 0 0 0 0\ncpu7 1 1 1 1 1 1 1 1 0 0
    proc/77/stat: 77 (backup job) S 1 77 77 0 -1 4194304 1 2 3 4 50 60 7 8 20 0 1 0 99 0 0
    proc/78/stat: 78 (sshd) S 1 78 78 0 -1 4194304 1 2 3 4 1 1 7 8 20 0 1 0 99 0 0
";

/// Core 7, a sibling of core 3, is busy half of the time.
const UNTUNED_LATER: &str = r"
    proc/77/stat: 77 (backup job) S 1 77 77 0 -1 4194304 1 2 3 4 140 70 7 8 20 0 1 0 99 0 0
    proc/stat: cpu  9000 0 9000 982000 0 0 0 0 0 0\ncpu1 4001 0 4001 92198 0 0 0 0 0 0\ncpu3 10 0 10 100180 0 0 0 0 0 0\ncpu5 10 0 10 100180 0 0 0 0 0 0\ncpu7 101 1 1 101 1 1 1 1 0 0
    proc/interrupts:            CPU0       CPU1       CPU2       CPU3       CPU4       CPU5       CPU6       CPU7\n  61:      12345      23456      34567      45878          0          0          0          0  IR-PCI-MSIX-0000:18:00.0    1-edge      mlx5_comp0@pci:0000:18:00.0\n  62:          0        777          0          0          0          0          0          0  IR-PCI-MSIX-0000:3b:00.0    2-edge      nvme0q1\n LOC:    9000500    9000500    9000500    9000500    9000500    9000500    9000500    9000500   Local timer interrupts\n TLB:         10         10         10         12         10         10         10         10   TLB shootdowns
";

#[test]
fn untuned() {
    let text = format!("{TUNED}\n{UNTUNED}");
    let room = Room {
        text: &text,
        later: UNTUNED_LATER,
        allowed: &ALL,
        cpu: "1,3",
        probes_ns: Some([19, 120, 62_000]),
    };
    check(
        &room.examine(),
        expect![[r#"
            not fit on [1, 3]
            bad load.on_siblings: 50.0 % of 2.0 s on core 7, the busiest; busiest on any core: backup job (77) 1.00 s
            warn load.on_cores: 1.0 % of 2.0 s on core 1, the busiest; busiest on any core: backup job (77) 1.00 s
            warn load.average: 1.35 threads in the last minute
            warn time.source: no program sets the wall clock
            warn probe.blocking: 62000 ns between cores 1 and 3
            warn irq.came: on cores 1,3 in 2.0 s: mlx5_comp0@pci:0000:18:00.0 100.0/s, TLB shootdowns (TLB) 1.0/s
            warn nic.node: ens1f0np0 is on node 0, cores 1,3 are not
            warn permission.real_time: no CAP_SYS_NICE, and RLIMIT_RTPRIO is 0
            warn kernel.isolcpus: cores 1,3 not isolated
            warn kernel.nohz_full: cores 1,3 with a tick
            warn kernel.rcu_nocbs: cores 1,3 with callbacks of their own
            warn cpu.smt: others may run on the second hardware threads, cores 5,7
            warn workqueue.cpumask: deferred work may run on cores 1,3
            warn kernel.mitigations: mds: Mitigation: Clear CPU buffers; SMT vulnerable; meltdown: Mitigation: PTI
            warn irq.affinity: may come to cores 1,3: 61 mlx5_comp0@pci:0000:18:00.0, 62 nvme0q1
            warn cpu.governor: powersave (intel_pstate, turbo on): the processor chooses, and slows down when it waits
            warn cpu.idle_states: POLL, C1, C1E, C6; the deepest, C6, takes 133 us to leave
            warn sysctl.kernel.sched_rt_runtime_us: real-time threads get 950000 of each 1000000 us
            warn sched.autogroup: on
            warn limit.memlock: 8388608 bytes at most
            warn limit.nofile: 1024
            warn thp.enabled: always
            warn thp.defrag: always
            warn sysctl.kernel.numa_balancing: on, over 2 nodes
            warn ksm.run: runs
            warn net.busy_poll: off
            warn net.busy_read: off
            unknown nic.deferral: no interface says it
            unknown nic.zero_copy: the routes can't be read
            ok cores.count: 8 of 8 may be used, 1,3 would be measured on
            ok cores.placement: cores 1,3 lie on one NUMA node, no two are siblings
            ok cgroup.cpu_max: no limit
            ok host.steal: no hypervisor to steal
            ok clock.cost: 19 ns a stamp, from a counter
            ok probe.cache_line: 120 ns between cores 1 and 3
            ok host.virtual: bare metal (Dell Inc. PowerEdge R640)
            ok host.container: nothing hints at one
            ok kernel.release: 6.8.0-45-generic, PREEMPT_DYNAMIC
            ok nic.driver: ens1f0np0: mlx5_core
            ok nic.llq: not judged: no interface is an ENA
            ok nic.driver_version: not judged: no interface is an ENA
            ok permission.net_admin: not judged: no CAP_NET_ADMIN, and no scenario that takes it
            ok clock.source: tsc
            ok sched.fair_server: none before Linux 6.12
            ok sysctl.kernel.watchdog_cpumask: looks at cores 1,3
            ok sysctl.vm.stat_interval: every 1 s
            ok sysctl.net.ipv4.tcp_congestion_control: cubic
        "#]],
    );
}
