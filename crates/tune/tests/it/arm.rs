//! A cloud ARM machine, and a machine without any readable facts.

use crate::room::{Room, check};
use expect_test::expect;

const ALL: [usize; 4] = [0, 1, 2, 3];

/// Four cores of one thread each. ARM has no time-stamp counter, no microcode, no hypervisor flag.
const GRAVITON: &str = r"
    proc/cpuinfo: processor\t: 0\nBogoMIPS\t: 2100.00\nFeatures\t: fp asimd atomics\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x0\nCPU part\t: 0xd4f\nCPU revision\t: 1
    proc/cmdline: BOOT_IMAGE=/vmlinuz-6.12.20-23.97.amzn2023.aarch64 root=UUID=x ro isolcpus=2-3 rcu_nocbs=2-3 idle=poll
    proc/loadavg: 0.03 0.02 0.00 1/140 1999
    proc/stat: cpu  1 0 1 1 0 0 0 0 0 0\ncpu2 50000 0 50000 900000 0 0 0 20 0 0\ncpu3 50000 0 50000 900000 0 0 0 0 0 0
    proc/interrupts:            CPU0       CPU1       CPU2       CPU3\n 11:     900000     800000       5000       6000     GICv3  27 Level     arch_timer\n 14:      61000          0          0          0   ITS-PCI-MSI-0000:00:04.0   0 Edge      nvme0q0\n 16:     912345          0          0          0   ITS-PCI-MSI-0000:00:05.0   1 Edge      ens5-Tx-Rx-0\n 17:          0     812345          0          0   ITS-PCI-MSI-0000:00:05.0   2 Edge      ens5-Tx-Rx-1\nIPI0:      1000       1100         10         11       Rescheduling interrupts\nIPI1:      2000       2100         20         21       Function call interrupts\nErr:          0
    proc/irq/14/smp_affinity_list: 0-1
    proc/irq/16/smp_affinity_list: 0
    proc/irq/17/smp_affinity_list: 1
    proc/self/cgroup: 0::/system.slice/amazon-ssm-agent.service
    proc/1/cgroup: 0::/init.scope
    sys/fs/cgroup/cgroup.controllers: cpuset cpu io memory pids
    proc/self/limits: Limit                     Soft Limit           Hard Limit           Units     \nMax open files            65535                65535                files     \nMax locked memory         unlimited            unlimited            bytes     \nMax realtime priority     0                    0                    
    proc/thread-self/status: CapEff:\t000001ffffffffff
    proc/sys/kernel/osrelease: 6.12.20-23.97.amzn2023.aarch64
    proc/sys/kernel/version: #1 SMP
    proc/sys/kernel/sched_rt_runtime_us: 950000
    proc/sys/kernel/sched_rt_period_us: 1000000
    proc/sys/kernel/numa_balancing: 1
    proc/sys/kernel/watchdog: 0
    proc/sys/kernel/watchdog_cpumask: 0-3
    proc/sys/vm/stat_interval: 1
    proc/sys/net/core/busy_poll: 0
    proc/sys/net/core/busy_read: 0
    proc/sys/net/ipv4/tcp_congestion_control: reno
    sys/devices/system/cpu/online: 0-3
    sys/devices/system/cpu/isolated: 2-3
    sys/devices/system/cpu/nohz_full:
    sys/devices/system/cpu/smt/control: notimplemented
    sys/devices/system/cpu/cpu0/topology/thread_siblings_list: 0
    sys/devices/system/cpu/cpu1/topology/thread_siblings_list: 1
    sys/devices/system/cpu/cpu2/topology/thread_siblings_list: 2
    sys/devices/system/cpu/cpu3/topology/thread_siblings_list: 3
    sys/devices/system/cpu/cpu{0-3}/cache/index3/shared_cpu_list: 0-3
    sys/devices/system/cpu/vulnerabilities/meltdown: Not affected
    sys/devices/system/cpu/vulnerabilities/spectre_v2: Mitigation: CSV2, BHB
    sys/devices/system/node/node0/cpulist: 0-3
    sys/devices/system/clocksource/clocksource0/available_clocksource: arch_sys_counter
    sys/devices/system/clocksource/clocksource0/current_clocksource: arch_sys_counter
    sys/devices/virtual/workqueue/cpumask: 3
    sys/kernel/debug/sched/fair_server/cpu{0-3}/runtime: 50000000
    sys/kernel/mm/transparent_hugepage/enabled: always [madvise] never
    sys/kernel/mm/transparent_hugepage/defrag: always defer defer+madvise [madvise] never
    sys/kernel/mm/ksm/run: 0
    sys/class/dmi/id/sys_vendor: Amazon EC2
    sys/class/dmi/id/product_name: c8g.xlarge
    sys/class/net/lo/mtu: 65536
    sys/class/net/ens5/mtu: 9001
    sys/class/net/ens5/device/driver -> ../../../../bus/pci/drivers/ena
";

const GRAVITON_LATER: &str = r"
    proc/stat: cpu  1 0 1 1 0 0 0 0 0 0\ncpu2 50000 0 50000 900200 0 0 0 20 0 0\ncpu3 50000 0 50000 900200 0 0 0 0 0 0
";

#[test]
fn a_graviton_guest() {
    let room = Room {
        text: GRAVITON,
        later: GRAVITON_LATER,
        allowed: &ALL,
        cpu: "auto",
        probes_ns: Some([12, 95, 15_000]),
    };
    check(
        &room.examine(),
        expect![[r#"
            fit on [2, 3]
            warn time.source: no program sets the wall clock
            warn host.virtual: a virtual machine (Amazon EC2 c8g.xlarge)
            warn kernel.nohz_full: cores 2-3 with a tick
            warn sched.fair_server: 50000000 ns of each second are kept for other threads
            warn net.busy_poll: off
            warn net.busy_read: off
            unknown nic.deferral: no interface says it
            unknown nic.llq: the driver of ens5 doesn't say it
            unknown nic.zero_copy: the routes can't be read
            unknown cpu.governor: the frequency is the hypervisor's or the firmware's: not seen from here
            ok cores.count: 4 of 4 may be used, 2-3 would be measured on
            ok cores.placement: cores 2-3 lie on one NUMA node, no two are siblings
            ok cgroup.cpu_max: no limit
            ok load.on_cores: 0.0 % of 2.0 s on core 3, the busiest
            ok load.on_siblings: no second hardware threads are shown
            ok load.average: 0.03 threads in the last minute
            ok host.steal: 0.02 % of the time that core 2 wanted, since the start
            ok clock.cost: 12 ns a stamp, from a counter
            ok probe.cache_line: 95 ns between cores 2 and 3
            ok probe.blocking: 15000 ns between cores 2 and 3
            ok irq.came: on cores 2-3 in 2.0 s: none
            ok host.container: nothing hints at one
            ok kernel.release: 6.12.20-23.97.amzn2023.aarch64
            ok nic.driver: ens5: ena
            ok nic.node: one NUMA node
            ok nic.driver_version: ens5: the kernel's own driver
            ok permission.net_admin: CAP_NET_ADMIN
            ok permission.real_time: CAP_SYS_NICE
            ok kernel.isolcpus: cores 2-3 isolated
            ok kernel.rcu_nocbs: cores 2-3 offloaded
            ok cpu.smt: notimplemented; no second threads
            ok workqueue.cpumask: deferred work keeps off cores 2-3
            ok kernel.mitigations: none works at every entry to the kernel
            ok irq.affinity: no active device interrupt can reach cores 2-3
            ok cpu.idle_states: idle cores poll
            ok clock.source: arch_sys_counter
            ok sysctl.kernel.sched_rt_runtime_us: 950000, but from Linux 6.12 on sched.fair_server counts
            ok sched.autogroup: this kernel has none
            ok sysctl.kernel.watchdog_cpumask: keeps off cores 2-3
            ok sysctl.vm.stat_interval: every 1 s, isolated cores left out
            ok limit.memlock: any amount, by CAP_IPC_LOCK
            ok limit.nofile: 65535
            ok thp.enabled: madvise
            ok thp.defrag: madvise
            ok sysctl.kernel.numa_balancing: on, without effect on one node
            ok ksm.run: off
            ok sysctl.net.ipv4.tcp_congestion_control: reno
        "#]],
    );
}

/// Unreadable facts are never ok.
#[test]
fn nothing_at_all() {
    let room = Room { text: "", later: "", allowed: &ALL, cpu: "auto", probes_ns: None };
    check(
        &room.examine(),
        expect![[r#"
            fit on [1, 2]
            unknown cores.placement: which cores are siblings can't be read
            unknown cgroup.cpu_max: the control groups can't be read
            unknown load.on_cores: nobody watched
            unknown load.on_siblings: which cores are siblings can't be read
            unknown load.average: the load average can't be read
            unknown host.steal: the cores have not run long enough to tell
            unknown clock.cost: was not measured
            unknown time.source: processes can't be listed
            unknown probe.cache_line: was not measured
            unknown probe.blocking: was not measured
            unknown irq.came: the interrupts can't be read
            unknown host.virtual: whether it is bare metal can't be told
            unknown host.container: there is no /proc to tell
            unknown kernel.release: the kernel's release can't be read
            unknown nic.driver: the interfaces can't be listed
            unknown nic.node: the NUMA nodes can't be read
            unknown nic.deferral: no interface says it
            unknown nic.llq: the interfaces can't be listed
            unknown nic.driver_version: the interfaces can't be listed
            unknown nic.zero_copy: the routes can't be read
            unknown permission.net_admin: capabilities can't be read
            unknown permission.real_time: capabilities and limits can't be read
            unknown kernel.isolcpus: can't be read here
            unknown kernel.nohz_full: can't be read here
            unknown kernel.rcu_nocbs: can't be read here
            unknown cpu.smt: can't be read here
            unknown workqueue.cpumask: can't be read here
            unknown kernel.mitigations: can't be read here
            unknown irq.affinity: can't be read here
            unknown cpu.governor: can't be read here
            unknown cpu.idle_states: can't be read here
            unknown clock.source: can't be read here
            unknown sysctl.kernel.sched_rt_runtime_us: can't be read here
            unknown sched.fair_server: can't be read here
            unknown sched.autogroup: can't be read here
            unknown sysctl.kernel.watchdog_cpumask: can't be read here
            unknown sysctl.vm.stat_interval: can't be read here
            unknown limit.memlock: capabilities and limits can't be read
            unknown limit.nofile: the limit can't be read
            unknown thp.enabled: can't be read here
            unknown thp.defrag: can't be read here
            unknown sysctl.kernel.numa_balancing: can't be read here
            unknown ksm.run: can't be read here
            unknown net.busy_poll: can't be read here
            unknown net.busy_read: can't be read here
            unknown sysctl.net.ipv4.tcp_congestion_control: can't be read here
            ok cores.count: 4 of 4 may be used, 1-2 would be measured on
        "#]],
    );
}
