//! Cloud machines: a Nitro guest, a container with a narrow cpuset.

use crate::room::{Room, check};
use expect_test::expect;
use record::doctor::Grade;

/// Two physical cores of two threads, with default settings, and the clock that was the default
/// before tsc.
const NITRO: &str = r"
    proc/cpuinfo: processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: Intel(R) Xeon(R) Platinum 8488C\nflags\t\t: fpu tsc constant_tsc nonstop_tsc hypervisor
    proc/cmdline: BOOT_IMAGE=(hd0,gpt1)/boot/vmlinuz-6.1.115-126.197.amzn2023.x86_64 root=UUID=x ro console=tty0 nvme_core.io_timeout=4294967295
    proc/loadavg: 0.00 0.01 0.00 1/150 2301
    proc/stat: cpu  50000 0 50000 900000 0 0 0 2000 0 0\ncpu1 20000 0 20000 159000 0 0 0 1000 0 0\ncpu3 20000 0 20000 158800 0 0 0 1200 0 0
    proc/interrupts:            CPU0       CPU1       CPU2       CPU3\n 25:      51000          0          0          0   PCI-MSI  65536-edge      nvme0q0\n 27:          0       7000          0          0   PCI-MSI  81920-edge      ena-mgmnt@pci:0000:00:05.0\n 28:          0          0     612345          0   PCI-MSI  81921-edge      ens5-Tx-Rx-0\n 29:          0          0          0     512345   PCI-MSI  81922-edge      ens5-Tx-Rx-1\nLOC:     900000     910000     920000     930000   Local timer interrupts\nRES:       1000       1100       1200       1300   Rescheduling interrupts\nCAL:       2000       2100       2200       2300   Function call interrupts\nTLB:         50         51         52         53   TLB shootdowns
    proc/irq/25/smp_affinity_list: 0-3
    proc/irq/25/effective_affinity_list: 0
    proc/irq/27/smp_affinity_list: 0-3
    proc/irq/27/effective_affinity_list: 1
    proc/irq/28/smp_affinity_list: 0-3
    proc/irq/28/effective_affinity_list: 2
    proc/irq/29/smp_affinity_list: 0-3
    proc/irq/29/effective_affinity_list: 3
    proc/self/cgroup: 0::/user.slice/user-1000.slice/session-1.scope
    proc/1/cgroup: 0::/init.scope
    sys/fs/cgroup/cgroup.controllers: cpuset cpu io memory hugetlb pids rdma misc
    sys/fs/cgroup/user.slice/cpu.max: max 100000
    proc/self/limits: Limit                     Soft Limit           Hard Limit           Units     \nMax open files            65535                65535                files     \nMax locked memory         8388608              8388608              bytes     \nMax realtime priority     0                    0                    
    proc/thread-self/status: CapEff:\t0000000000000000
    proc/sys/kernel/osrelease: 6.1.115-126.197.amzn2023.x86_64
    proc/sys/kernel/version: #1 SMP PREEMPT_DYNAMIC Tue Nov  5 17:36:57 UTC 2024
    proc/sys/kernel/sched_rt_runtime_us: 950000
    proc/sys/kernel/sched_rt_period_us: 1000000
    proc/sys/kernel/numa_balancing: 0
    proc/sys/kernel/watchdog: 1
    proc/sys/kernel/watchdog_cpumask: 0-3
    proc/sys/vm/stat_interval: 1
    proc/sys/net/core/busy_poll: 0
    proc/sys/net/core/busy_read: 0
    proc/sys/net/ipv4/tcp_congestion_control: cubic
    sys/hypervisor/properties/features: 0
    sys/devices/system/cpu/online: 0-3
    sys/devices/system/cpu/isolated:
    sys/devices/system/cpu/smt/control: on
    sys/devices/system/cpu/cpuidle/current_driver: intel_idle
    sys/devices/system/cpu/cpu{0-3}/cpuidle/state0/name: POLL
    sys/devices/system/cpu/cpu{0-3}/cpuidle/state0/disable: 0
    sys/devices/system/cpu/cpu{0-3}/cpuidle/state0/latency: 0
    sys/devices/system/cpu/cpu{0-3}/cpuidle/state1/name: C1
    sys/devices/system/cpu/cpu{0-3}/cpuidle/state1/disable: 0
    sys/devices/system/cpu/cpu{0-3}/cpuidle/state1/latency: 1
    sys/devices/system/cpu/cpu{0,2}/topology/thread_siblings_list: 0,2
    sys/devices/system/cpu/cpu{1,3}/topology/thread_siblings_list: 1,3
    sys/devices/system/cpu/cpu{0-3}/cache/index3/shared_cpu_list: 0-3
    sys/devices/system/cpu/vulnerabilities/meltdown: Not affected
    sys/devices/system/cpu/vulnerabilities/mmio_stale_data: Not affected
    sys/devices/system/cpu/vulnerabilities/spectre_v2: Mitigation: Enhanced / Automatic IBRS; IBPB: conditional; RSB filling
    sys/devices/system/node/node0/cpulist: 0-3
    sys/devices/system/clocksource/clocksource0/available_clocksource: kvm-clock tsc acpi_pm
    sys/devices/system/clocksource/clocksource0/current_clocksource: kvm-clock
    sys/devices/virtual/workqueue/cpumask: f
    sys/kernel/mm/transparent_hugepage/enabled: always [madvise] never
    sys/kernel/mm/transparent_hugepage/defrag: always defer defer+madvise [madvise] never
    sys/kernel/mm/ksm/run: 0
    sys/class/dmi/id/sys_vendor: Amazon EC2
    sys/class/dmi/id/product_name: m7i.xlarge
    sys/class/net/lo/mtu: 65536
    sys/class/net/ens5/mtu: 9001
    sys/class/net/ens5/device/numa_node: -1
    sys/class/net/ens5/device/driver -> ../../../../bus/pci/drivers/ena
    sys/bus/pci/drivers/ena/module/version: 2.13.0g
";

const NITRO_LATER: &str = r"
    proc/stat: cpu  50000 0 50000 900000 0 0 0 2000 0 0\ncpu1 20000 0 20000 159200 0 0 0 1000 0 0\ncpu3 20000 0 20000 159000 0 0 0 1200 0 0
    proc/interrupts:            CPU0       CPU1       CPU2       CPU3\n 25:      51004          0          0          0   PCI-MSI  65536-edge      nvme0q0\n 27:          0       7001          0          0   PCI-MSI  81920-edge      ena-mgmnt@pci:0000:00:05.0\n 28:          0          0     612355          0   PCI-MSI  81921-edge      ens5-Tx-Rx-0\n 29:          0          0          0     512365   PCI-MSI  81922-edge      ens5-Tx-Rx-1\nLOC:     900500     910020     920500     930020   Local timer interrupts\nRES:       1000       1101       1200       1300   Rescheduling interrupts\nCAL:       2000       2100       2200       2304   Function call interrupts\nTLB:         50         51         52         53   TLB shootdowns
";

const ALL: [usize; 4] = [0, 1, 2, 3];

#[test]
fn a_nitro_guest() {
    let room = Room {
        text: NITRO,
        later: NITRO_LATER,
        allowed: &ALL,
        cpu: "auto",
        probes_ns: Some([33, 190, 21_000]),
    };
    check(
        &room.examine(),
        expect![[r#"
            not fit on [0, 1]
            bad host.steal: 2.44 % of the time that core 1 wanted, since the start
            warn time.source: no program sets the wall clock
            warn irq.came: on cores 0-1 in 2.0 s: nvme0q0 2.0/s, ena-mgmnt@pci:0000:00:05.0 0.5/s, Rescheduling interrupts (RES) 0.5/s
            warn host.virtual: a virtual machine on kvm (Amazon EC2 m7i.xlarge)
            warn permission.real_time: no CAP_SYS_NICE, and RLIMIT_RTPRIO is 0
            warn kernel.isolcpus: cores 0-1 not isolated
            warn kernel.nohz_full: this kernel is built without NO_HZ_FULL: every core keeps its tick
            warn kernel.rcu_nocbs: cores 0-1 with callbacks of their own
            warn cpu.smt: others may run on the second hardware threads, cores 2-3
            warn workqueue.cpumask: deferred work may run on cores 0-1
            warn irq.affinity: may come to cores 0-1: 25 nvme0q0, 27 ena-mgmnt@pci:0000:00:05.0
            warn clock.source: kvm-clock (available: kvm-clock tsc acpi_pm): no system call, but more than the counter alone
            warn sysctl.kernel.sched_rt_runtime_us: real-time threads get 950000 of each 1000000 us
            warn limit.memlock: 8388608 bytes at most
            warn net.busy_poll: off
            warn net.busy_read: off
            unknown nic.deferral: no interface says it
            unknown nic.llq: the driver of ens5 doesn't say it
            unknown nic.zero_copy: the routes can't be read
            unknown cpu.governor: the frequency is the hypervisor's or the firmware's: not seen from here
            ok cores.count: 4 of 4 may be used, 0-1 would be measured on
            ok cores.placement: cores 0-1 lie on one NUMA node, no two are siblings
            ok cgroup.cpu_max: no limit
            ok load.on_cores: 0.0 % of 2.0 s on core 1, the busiest
            ok load.on_siblings: 0.0 % of 2.0 s on core 3, the busiest
            ok load.average: 0.00 threads in the last minute
            ok clock.cost: 33 ns a stamp, from a counter
            ok probe.cache_line: 190 ns between cores 0 and 1
            ok probe.blocking: 21000 ns between cores 0 and 1
            ok host.container: nothing hints at one
            ok kernel.release: 6.1.115-126.197.amzn2023.x86_64, PREEMPT_DYNAMIC
            ok nic.driver: ens5: ena 2.13.0g
            ok nic.node: one NUMA node
            ok nic.driver_version: ens5: 2.13.0g
            ok permission.net_admin: not judged: no CAP_NET_ADMIN, and no scenario that takes it
            ok kernel.mitigations: none works at every entry to the kernel
            ok cpu.idle_states: POLL, C1; the deepest, C1, takes 1 us to leave
            ok sched.fair_server: none before Linux 6.12
            ok sched.autogroup: this kernel has none
            ok sysctl.kernel.watchdog_cpumask: looks at cores 0-1
            ok sysctl.vm.stat_interval: every 1 s
            ok limit.nofile: 65535
            ok thp.enabled: madvise
            ok thp.defrag: madvise
            ok sysctl.kernel.numa_balancing: off
            ok ksm.run: off
            ok sysctl.net.ipv4.tcp_congestion_control: cubic
        "#]],
    );
}

/// Both threads of one physical core.
#[test]
fn siblings_measure_each_other() {
    let room = Room {
        text: NITRO,
        later: "",
        allowed: &ALL,
        cpu: "1,3",
        probes_ns: Some([33, 40, 21_000]),
    };
    let findings = room.examine();
    assert!(!findings.fit);
    let bad: Vec<&str> = findings
        .findings
        .iter()
        .filter(|one| one.grade == Grade::Bad)
        .map(|one| one.id.as_str())
        .collect();
    // The fixture's steal is a crowded host's.
    assert_eq!(bad, ["cores.placement", "host.steal"]);
}

/// A container's view of a bare-metal host of eight cores: its cpuset has two, its quota one and a
/// half.
const CONTAINER: &str = r"
    .dockerenv:
    proc/cpuinfo: processor\t: 0\nvendor_id\t: AuthenticAMD\nmodel name\t: AMD EPYC 9354\nflags\t\t: fpu tsc constant_tsc nonstop_tsc
    proc/cmdline: BOOT_IMAGE=/boot/vmlinuz-6.12.41 root=/dev/sda1 ro
    proc/loadavg: 3.10 2.90 2.80 4/1200 77
    proc/stat: cpu  1 0 1 1 0 0 0 0 0 0\ncpu4 50000 0 50000 900000 0 0 0 0 0 0\ncpu5 50000 0 50000 900000 0 0 0 0 0 0
    proc/self/cgroup: 0::/
    proc/1/cgroup: 0::/
    proc/self/limits: Limit                     Soft Limit           Hard Limit           Units     \nMax open files            1048576              1048576              files     \nMax locked memory         65536                65536                bytes     \nMax realtime priority     0                    0                    
    proc/thread-self/status: CapEff:\t00000000a80425fb
    proc/sys/kernel/osrelease: 6.12.41
    proc/sys/kernel/version: #1 SMP PREEMPT_DYNAMIC
    proc/sys/kernel/sched_rt_runtime_us: 950000
    proc/sys/kernel/sched_rt_period_us: 1000000
    proc/sys/kernel/sched_autogroup_enabled: 1
    proc/sys/net/core/somaxconn: 4096
    proc/sys/net/ipv4/tcp_congestion_control: cubic
    sys/fs/cgroup/cgroup.controllers: cpuset cpu io memory pids
    sys/fs/cgroup/cpu.max: 150000 100000
    sys/devices/system/cpu/online: 0-7
    sys/devices/system/cpu/isolated:
    sys/devices/system/cpu/smt/control: off
    sys/devices/system/cpu/cpu{0-7}/cpufreq/scaling_driver: acpi-cpufreq
    sys/devices/system/cpu/cpu{0-7}/cpufreq/scaling_governor: schedutil
    sys/devices/system/cpu/cpu4/topology/thread_siblings_list: 4
    sys/devices/system/cpu/cpu5/topology/thread_siblings_list: 5
    sys/devices/system/cpu/cpu{0-7}/cache/index3/shared_cpu_list: 0-7
    sys/devices/system/node/node0/cpulist: 0-7
    sys/devices/system/clocksource/clocksource0/available_clocksource: hpet acpi_pm
    sys/devices/system/clocksource/clocksource0/current_clocksource: hpet
    sys/kernel/mm/transparent_hugepage/enabled: [always] madvise never
    sys/kernel/mm/transparent_hugepage/defrag: always defer defer+madvise [madvise] never
    sys/class/net/lo/mtu: 65536
    sys/class/net/eth0/mtu: 1500
";

const CONTAINER_LATER: &str = r"
    proc/stat: cpu  1 0 1 1 0 0 0 0 0 0\ncpu4 50000 0 50000 900200 0 0 0 0 0 0\ncpu5 50040 0 50000 900160 0 0 0 0 0 0
";

#[test]
fn a_container() {
    let room = Room {
        text: CONTAINER,
        later: CONTAINER_LATER,
        allowed: &[4, 5],
        cpu: "auto",
        probes_ns: Some([620, 110, 30_000]),
    };
    check(
        &room.examine(),
        expect![[r#"
            not fit on [4, 5]
            bad cgroup.cpu_max: 1.5 cores' worth: 150000 us of each 100000 us, for cores 4-5 that spin
            bad load.on_cores: 20.0 % of 2.0 s on core 5, the busiest
            bad clock.cost: 620 ns a stamp, from a counter
            bad clock.source: hpet (available: hpet acpi_pm): a system call for each stamp
            warn cores.count: 2 of 8 may be used, 4-5 would be measured on
            warn load.average: 3.10 threads in the last minute
            warn host.container: docker, without a NIC of its own
            warn nic.driver: none: only loopback can be measured
            warn permission.real_time: no CAP_SYS_NICE, and RLIMIT_RTPRIO is 0
            warn kernel.isolcpus: cores 4-5 not isolated
            warn kernel.nohz_full: this kernel is built without NO_HZ_FULL: every core keeps its tick
            warn kernel.rcu_nocbs: cores 4-5 with callbacks of their own
            warn cpu.governor: schedutil (acpi-cpufreq): the frequency follows the load
            warn sched.autogroup: on
            warn limit.memlock: 65536 bytes at most
            warn thp.enabled: always
            unknown time.source: a container doesn't see which program sets its host's clock
            unknown irq.came: the interrupts can't be read
            unknown nic.deferral: no interface says it
            unknown nic.zero_copy: the routes can't be read
            unknown workqueue.cpumask: can't be read here
            unknown kernel.mitigations: the kernel doesn't say
            unknown irq.affinity: can't be read here
            unknown sched.fair_server: can't be read here
            unknown sysctl.vm.stat_interval: can't be read here
            unknown net.busy_poll: not visible in this network namespace
            unknown net.busy_read: not visible in this network namespace
            ok cores.placement: cores 4-5 lie on one NUMA node, no two are siblings
            ok load.on_siblings: no second hardware threads are shown
            ok host.steal: no hypervisor to steal
            ok probe.cache_line: 110 ns between cores 4 and 5
            ok probe.blocking: 30000 ns between cores 4 and 5
            ok host.virtual: bare metal
            ok kernel.release: 6.12.41, PREEMPT_DYNAMIC
            ok nic.node: one NUMA node
            ok nic.llq: not judged: no interface is an ENA
            ok nic.driver_version: not judged: no interface is an ENA
            ok permission.net_admin: not judged: no CAP_NET_ADMIN, and no scenario that takes it
            ok cpu.smt: off; no second threads
            ok cpu.idle_states: idle cores halt (C1)
            ok sysctl.kernel.sched_rt_runtime_us: 950000, but from Linux 6.12 on sched.fair_server counts
            ok sysctl.kernel.watchdog_cpumask: this kernel has none
            ok limit.nofile: 1048576
            ok thp.defrag: madvise
            ok sysctl.kernel.numa_balancing: this kernel has none
            ok ksm.run: this kernel has none
            ok sysctl.net.ipv4.tcp_congestion_control: cubic
        "#]],
    );
}
