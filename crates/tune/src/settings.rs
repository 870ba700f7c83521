//! The settings of the operating system that shape the tail: a flat table. Whoever wants to look at one,
//! and later to set it, goes through this table.
//!
//! What is not here, and why: `vm.swappiness` (what measures locks its memory), `transparent_hugepage/
//! shmem_enabled`, `kernel.timer_migration`, `kernel.sched_*_granularity` (gone since 6.6, and without effect
//! on a core with one thread), `net.ipv4.tcp_low_latency` (without effect since 4.14), TCP buffer sizes
//! (without effect on one message in flight).

use measure::doctor::Grade;

use crate::setting::Setting;
use crate::{readings, rules};

/// All of them, those that matter most first.
pub static SETTINGS: [Setting; 22] = [
    Setting {
        id: "kernel.isolcpus",
        wanted: "all measured cores isolated",
        why: "On a core that is not isolated the scheduler runs any thread, each time for up to a time \
              slice of some ms, while the measured one waits.",
        what_to_do: "Boot with isolcpus=managed_irq,domain,LIST, or make an isolated cpuset partition of \
                     them; leave at least one core to everything else.",
        removes: &["thread.NAME"],
        read: readings::isolated,
        judge: rules::isolated,
        absent: (Grade::Unknown, "the kernel doesn't say which cores are isolated"),
    },
    Setting {
        id: "kernel.nohz_full",
        wanted: "no scheduling tick on the measured cores",
        why: "The tick interrupts a running thread 100 to 1000 times a second for some us each: seen from \
              p99.9 on.",
        what_to_do: "Boot with nohz_full=LIST, on a kernel that is built with NO_HZ_FULL. It works while \
                     one thread runs on the core, so isolate the core too.",
        removes: &["tick", "softirq.timer", "softirq.sched"],
        read: readings::nohz_full,
        judge: rules::nohz_full,
        absent: (Grade::Warn, "this kernel is built without NO_HZ_FULL: every core keeps its tick"),
    },
    Setting {
        id: "kernel.rcu_nocbs",
        wanted: "RCU callbacks of the measured cores offloaded",
        why: "Memory that the kernel frees late is freed in a softirq on the core that used it: after \
              system calls, tens of us at a time.",
        what_to_do: "Boot with rcu_nocbs=LIST; nohz_full=LIST brings it along.",
        removes: &["softirq.rcu", "thread.rcuc"],
        read: readings::rcu_nocbs,
        judge: rules::rcu_nocbs,
        absent: (Grade::Unknown, "the kernel's command line doesn't say"),
    },
    Setting {
        id: "irq.affinity",
        wanted: "no device interrupts on the measured cores",
        why: "A device's interrupt takes the core for some us, and the softirq behind it for as long as \
              there are packets or blocks.",
        what_to_do: "Stop irqbalance or ban the cores there (IRQBALANCE_BANNED_CPULIST), then write other \
                     cores to /proc/irq/N/smp_affinity_list. The NIC's go to a core of its NUMA node.",
        removes: &["irq.NAME", "softirq.net_rx", "softirq.net_tx", "softirq.block"],
        read: readings::irq_affinity,
        judge: rules::irq_affinity,
        absent: (Grade::Unknown, "no interrupts are listed"),
    },
    Setting {
        id: "workqueue.cpumask",
        wanted: "no measured core in it",
        why: "Deferred work of drivers and file systems that is bound to no core runs on these.",
        what_to_do: "Write a mask without the measured cores to \
                     /sys/devices/virtual/workqueue/cpumask. Isolated cores are left out by themselves.",
        removes: &["workqueue.FUNC", "thread.kworker"],
        read: readings::workqueue_cpumask,
        judge: rules::workqueue_cpumask,
        absent: (Grade::Unknown, "the kernel doesn't say where its deferred work runs"),
    },
    Setting {
        id: "cpu.smt",
        wanted: "no other thread on the measured physical cores",
        why: "Two hardware threads share one core's execution units and its level 1 and 2 caches: what \
              runs on the other takes a third or more of the speed, without a gap that could be seen.",
        what_to_do: "Write off to /sys/devices/system/cpu/smt/control, take the siblings offline, or \
                     isolate them too; in a cloud choose one thread a core.",
        removes: &[],
        read: readings::smt,
        judge: rules::smt,
        absent: (Grade::Unknown, "the kernel doesn't say"),
    },
    Setting {
        id: "cpu.governor",
        wanted: "performance",
        why: "Where the frequency follows the load, the first messages after a pause run at a lower one, and \
              two runs at two.",
        what_to_do: "cpupower frequency-set -g performance",
        removes: &[],
        read: readings::governor,
        judge: rules::governor,
        absent: (
            Grade::Unknown,
            "the frequency is the hypervisor's or the firmware's: not seen from here",
        ),
    },
    Setting {
        id: "cpu.idle_states",
        wanted: "no state on the measured cores that takes more than 10 us to leave",
        why: "A thread that blocks is woken late by as much as its core takes to leave its idle state, \
              C6 100 us and more, and a halt under a hypervisor about as much. One that spins is not hit.",
        what_to_do: "Boot with intel_idle.max_cstate=1 or idle=poll, disable the deep states in cpuidle, \
                     or hold /dev/cpu_dma_latency open at 0 while measuring (not seen here).",
        removes: &[],
        read: readings::idle_states,
        judge: rules::idle_states,
        absent: (Grade::Unknown, "the kernel doesn't say how its cores idle"),
    },
    Setting {
        id: "clock.source",
        wanted: "tsc on x86-64, arch_sys_counter on aarch64",
        why: "Other sources cost a system call and up to some us a stamp, which is added to everything that \
              is measured with it.",
        what_to_do: "If tsc is in available_clocksource, write it to current_clocksource, both in \
                     /sys/devices/system/clocksource/clocksource0. If not, the kernel found it unstable: \
                     see dmesg; tsc=reliable only if you know better.",
        removes: &[],
        read: readings::clock_source,
        judge: rules::clock_source,
        absent: (Grade::Unknown, "the kernel doesn't say"),
    },
    Setting {
        id: "sysctl.kernel.sched_rt_runtime_us",
        wanted: "-1",
        why: "Before Linux 6.12 the kernel stops a real-time thread that spins for the rest of each \
              period: a stall of 50 ms a second.",
        what_to_do: "sysctl -w kernel.sched_rt_runtime_us=-1, on cores where nothing else has to run.",
        removes: &["rt_throttling"],
        read: readings::rt_runtime,
        judge: rules::rt_runtime,
        absent: (Grade::Ok, "this kernel does not throttle real-time threads"),
    },
    Setting {
        id: "sched.fair_server",
        wanted: "0 ns",
        why: "From Linux 6.12 on a thread that waits for a core on which a real-time thread spins gets up \
              to 50 ms of each second.",
        what_to_do: "Keep other threads off these cores (isolcpus), or write 0 to \
                     /sys/kernel/debug/sched/fair_server/cpuN/runtime while measuring.",
        removes: &["fair_server"],
        read: readings::fair_server,
        judge: rules::fair_server,
        absent: (Grade::Ok, "none before Linux 6.12"),
    },
    Setting {
        id: "sched.autogroup",
        wanted: "0",
        why: "Threads are weighed by terminal session: nice has no effect against what runs in another \
              one. It concerns threads that share a core, and no real-time thread.",
        what_to_do: "sysctl -w kernel.sched_autogroup_enabled=0",
        removes: &["thread.NAME"],
        read: readings::autogroup,
        judge: rules::autogroup,
        absent: (Grade::Ok, "this kernel has none"),
    },
    Setting {
        id: "thp.enabled",
        wanted: "madvise or never",
        why: "With always, any first touch may clear 2 MiB (100 us and more), and khugepaged moves pages \
              under running threads.",
        what_to_do: "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled",
        removes: &["page_fault", "thread.khugepaged"],
        read: readings::thp_enabled,
        judge: rules::thp_enabled,
        absent: (Grade::Ok, "this kernel has none"),
    },
    Setting {
        id: "thp.defrag",
        wanted: "madvise, defer or never",
        why: "With always, a page fault waits until memory was compacted for a huge page: ms.",
        what_to_do: "echo madvise > /sys/kernel/mm/transparent_hugepage/defrag",
        removes: &["page_fault", "thread.kcompactd"],
        read: readings::thp_defrag,
        judge: rules::thp_defrag,
        absent: (Grade::Ok, "this kernel has none"),
    },
    Setting {
        id: "sysctl.kernel.numa_balancing",
        wanted: "0",
        why: "The kernel unmaps pages to see who touches them: page faults in running threads, and pages \
              that move.",
        what_to_do: "sysctl -w kernel.numa_balancing=0",
        removes: &["page_fault"],
        read: readings::numa_balancing,
        judge: rules::numa_balancing,
        absent: (Grade::Ok, "this kernel has none"),
    },
    Setting {
        id: "ksm.run",
        wanted: "0",
        why: "The kernel looks for equal pages and shares them; who writes to one faults and copies it.",
        what_to_do: "echo 2 > /sys/kernel/mm/ksm/run takes what is shared apart again.",
        removes: &["page_fault", "thread.ksmd"],
        read: readings::ksm,
        judge: rules::ksm,
        absent: (Grade::Ok, "this kernel has none"),
    },
    Setting {
        id: "sysctl.vm.stat_interval",
        wanted: "10 s or more, on isolated cores",
        why: "Each core gathers its memory statistics so often, in a worker of some us. Without isolation \
              it is lost among other noise.",
        what_to_do: "sysctl -w vm.stat_interval=120. From Linux 6.5 on isolated cores are left out anyway.",
        removes: &["workqueue.vmstat_update"],
        read: readings::stat_interval,
        judge: rules::stat_interval,
        absent: (Grade::Unknown, "the kernel doesn't say"),
    },
    Setting {
        id: "sysctl.kernel.watchdog_cpumask",
        wanted: "no measured core in it, where they are isolated",
        why: "Every 4 s the watchdog's timer wakes a thread of the highest class on each of these cores. \
              Without isolation it is lost among other noise.",
        what_to_do: "sysctl -w kernel.watchdog_cpumask=LIST of the other cores, or kernel.watchdog=0. \
                     nohz_full cores are left out by themselves.",
        removes: &["thread.migration", "tick"],
        read: readings::watchdog_cores,
        judge: rules::watchdog_cores,
        absent: (Grade::Ok, "this kernel has none"),
    },
    Setting {
        id: "kernel.mitigations",
        wanted: "none that works at every entry to the kernel",
        why: "These work at every system call and interrupt: from 0.1 us to more than 1 us each way. A \
              decision of security first; machines that are compared should have equal ones.",
        what_to_do: "Nothing, unless nothing foreign ever runs here: then mitigations=off. Newer processors \
                     need fewer.",
        removes: &[],
        read: readings::mitigations,
        judge: rules::mitigations,
        absent: (Grade::Unknown, "the kernel doesn't say"),
    },
    Setting {
        id: "net.busy_poll",
        wanted: "50 us",
        why: "Who waits in poll or epoll looks into the NIC's queue himself for so long, instead of waiting \
              for an interrupt and a wake-up. Loopback has no queue.",
        what_to_do: "sysctl -w net.core.busy_poll=50, where the NIC's driver knows busy polling.",
        removes: &["irq.NAME", "softirq.net_rx"],
        read: readings::busy_poll,
        judge: rules::busy_polling,
        absent: (Grade::Unknown, "not to be seen in this network namespace"),
    },
    Setting {
        id: "net.busy_read",
        wanted: "50 us",
        why: "As net.busy_poll, for who waits in read or recv, and once for each read that does not wait.",
        what_to_do: "sysctl -w net.core.busy_read=50, where the NIC's driver knows busy polling.",
        removes: &["irq.NAME", "softirq.net_rx"],
        read: readings::busy_read,
        judge: rules::busy_polling,
        absent: (Grade::Unknown, "not to be seen in this network namespace"),
    },
    Setting {
        id: "sysctl.net.ipv4.tcp_congestion_control",
        wanted: "cubic or reno",
        why: "BBR sends by timers at a rate that it estimated, on loopback too: a burst of orders waits for \
              its own pacing.",
        what_to_do: "sysctl -w net.ipv4.tcp_congestion_control=cubic",
        removes: &["tick"],
        read: readings::congestion_control,
        judge: rules::congestion_control,
        absent: (Grade::Unknown, "not to be seen in this network namespace"),
    },
];
