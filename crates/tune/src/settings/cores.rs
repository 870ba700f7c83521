//! Settings that keep cores free.

use host::topology::format_core_list;
use record::doctor::Grade;

use super::{readings, rules, wishes};
use crate::goal::{Goal, Profile};
use crate::setting::{BASE, Check, Risk, Scope, Setting, Wishes};

/// The measured cores.
fn list(goal: &Goal) -> String {
    format_core_list(&goal.cores)
}

pub(super) static SETTINGS: [Setting; 10] = [
    Setting {
        id: "kernel.isolcpus",
        tier: 1,
        wanted: "all measured cores isolated",
        why: "On a core that is not isolated the scheduler runs any thread, each time for up to a \
              time slice of some ms, while the measured one waits.",
        cost: "These cores run only what is pinned to them; a reboot.",
        what_to_do: "Boot with isolcpus=managed_irq,domain,LIST, or make an isolated cpuset \
              partition of them; leave at least one core to everything else.",
        source: "Documentation/admin-guide/kernel-parameters.txt: isolcpus",
        removes: &["thread.NAME"],
        scope: Scope::Cores,
        risk: Risk::Medium,
        conflicts: &["cpuset.partition"],
        profiles: &[Profile::TickToTrade, Profile::Exchange, Profile::Measure],
        check: Some(Check {
            read: readings::isolated,
            judge: rules::isolated,
            absent: (Grade::Unknown, "the kernel doesn't say which cores are isolated"),
        }),
        wishes: Wishes::Boot(|goal| vec![format!("isolcpus=managed_irq,domain,{}", list(goal))]),
    },
    Setting {
        id: "cpuset.partition",
        tier: 1,
        wanted: "an isolated partition of the measured cores",
        why: "The scheduler leaves the cores of an isolated partition alone, as isolcpus does, \
              without a reboot.",
        cost: "Only threads in the control group /sys/fs/cgroup/tickpath may run on these cores, \
              so programs have to be started in it.",
        what_to_do: "Write the cores to cpuset.cpus of a control group and isolated to its \
              cpuset.cpus.partition.",
        source: "Documentation/admin-guide/cgroup-v2.rst: cpuset.cpus.partition",
        removes: &["thread.NAME"],
        scope: Scope::Cores,
        risk: Risk::Medium,
        conflicts: &["kernel.isolcpus"],
        wishes: Wishes::Of(wishes::cpuset_partition),
        ..BASE
    },
    Setting {
        id: "kernel.nohz_full",
        tier: 1,
        wanted: "no scheduling tick on the measured cores",
        why: "The tick interrupts a running thread 100 to 1000 times a second for some us each: \
              seen from p99.9 on.",
        cost: "System calls and interrupts on these cores take some 100 ns longer; a reboot.",
        what_to_do: "Boot with nohz_full=LIST, on a kernel that is built with NO_HZ_FULL. It \
              works while one thread runs on the core, so isolate the core too.",
        source: "Documentation/timers/no_hz.rst",
        removes: &["tick", "softirq.timer", "softirq.sched"],
        scope: Scope::Cores,
        profiles: &[Profile::TickToTrade, Profile::Exchange, Profile::Measure],
        check: Some(Check {
            read: readings::nohz_full,
            judge: rules::nohz_full,
            absent: (
                Grade::Warn,
                "this kernel is built without NO_HZ_FULL: every core keeps its tick",
            ),
        }),
        wishes: Wishes::Boot(|goal| vec![format!("nohz_full={}", list(goal))]),
        ..BASE
    },
    Setting {
        id: "kernel.rcu_nocbs",
        tier: 2,
        wanted: "RCU callbacks of the measured cores offloaded",
        why: "Memory that the kernel frees late is freed in a softirq on the core that used it: \
              after system calls, tens of us at a time.",
        cost: "The callbacks take time on the other cores; a reboot.",
        what_to_do: "Boot with rcu_nocbs=LIST; nohz_full=LIST brings it along.",
        source: "Documentation/admin-guide/kernel-parameters.txt: rcu_nocbs",
        removes: &["softirq.rcu", "thread.rcuc"],
        scope: Scope::Cores,
        profiles: &[Profile::TickToTrade, Profile::Exchange, Profile::Measure],
        check: Some(Check {
            read: readings::rcu_nocbs,
            judge: rules::rcu_nocbs,
            absent: (Grade::Unknown, "the kernel's command line doesn't say"),
        }),
        wishes: Wishes::Boot(|goal| vec![format!("rcu_nocbs={}", list(goal))]),
        ..BASE
    },
    Setting {
        id: "kernel.skew_tick",
        tier: 3,
        wanted: "skew_tick=1",
        why: "All cores take their tick at the same moment and wait for the same locks.",
        cost: "A little power; a reboot.",
        what_to_do: "Boot with skew_tick=1.",
        source: "Documentation/admin-guide/kernel-parameters.txt: skew_tick",
        removes: &["tick"],
        profiles: &[Profile::TickToTrade, Profile::Exchange],
        wishes: Wishes::Boot(|_| vec!["skew_tick=1".to_owned()]),
        ..BASE
    },
    Setting {
        id: "kernel.irqaffinity",
        tier: 2,
        wanted: "the other cores",
        why: "Interrupts that a driver requests later start on these cores.",
        cost: "A reboot.",
        what_to_do: "Boot with irqaffinity=LIST of the other cores.",
        source: "Documentation/admin-guide/kernel-parameters.txt: irqaffinity",
        removes: &["irq.NAME"],
        scope: Scope::Cores,
        profiles: &[Profile::TickToTrade, Profile::Exchange, Profile::Measure],
        wishes: Wishes::Boot(|goal| {
            vec![format!("irqaffinity={}", format_core_list(&goal.housekeeping))]
        }),
        ..BASE
    },
    Setting {
        id: "cpu.smt",
        tier: 1,
        wanted: "no other thread on the measured physical cores",
        why: "Two hardware threads share one core's execution units and its level 1 and 2 caches: \
              what runs on the other takes a third or more of the speed, without a gap that could \
              be seen.",
        cost: "Half of the hardware threads: a third less throughput for other work.",
        what_to_do: "Write off to /sys/devices/system/cpu/smt/control, take the siblings offline, \
              or isolate them too; in a cloud choose one thread a core.",
        source: "Documentation/admin-guide/hw-vuln/core-scheduling.rst and \
              ABI/testing/sysfs-devices-system-cpu",
        risk: Risk::Medium,
        profiles: &[Profile::TickToTrade, Profile::Exchange, Profile::Measure],
        check: Some(Check {
            read: readings::smt,
            judge: rules::smt,
            absent: (Grade::Unknown, "the kernel doesn't say"),
        }),
        wishes: Wishes::Of(wishes::smt_off),
        ..BASE
    },
    Setting {
        id: "workqueue.cpumask",
        tier: 2,
        wanted: "no measured core in it",
        why: "Deferred work of drivers and file systems that is bound to no core runs on these.",
        cost: "The other cores do this work.",
        what_to_do: "Write a mask without the measured cores to \
              /sys/devices/virtual/workqueue/cpumask. Isolated cores are left out by themselves.",
        source: "Documentation/core-api/workqueue.rst",
        removes: &["workqueue.FUNC", "thread.kworker"],
        scope: Scope::Cores,
        profiles: &Profile::ALL,
        check: Some(Check {
            read: readings::workqueue_cpumask,
            judge: rules::workqueue_cpumask,
            absent: (Grade::Unknown, "the kernel doesn't say where its deferred work runs"),
        }),
        wishes: Wishes::Of(wishes::workqueue_cpumask),
        ..BASE
    },
    Setting {
        id: "workqueue.writeback",
        tier: 2,
        wanted: "no measured core in it",
        why: "Writing dirty pages to disk is deferred work with a mask of its own.",
        cost: "The other cores write back.",
        what_to_do: "Write a mask without the measured cores to \
              /sys/bus/workqueue/devices/writeback/cpumask.",
        source: "Documentation/core-api/workqueue.rst",
        removes: &["workqueue.FUNC", "thread.kworker"],
        scope: Scope::Cores,
        profiles: &Profile::ALL,
        wishes: Wishes::Of(wishes::writeback_cpumask),
        ..BASE
    },
    Setting {
        id: "kernel.mitigations",
        tier: 3,
        wanted: "none that works at every entry to the kernel",
        why: "These work at every system call and interrupt: from 0.1 us to more than 1 us each \
              way. A decision of security first; machines that are compared should have equal \
              ones.",
        cost: "Protection between programs.",
        what_to_do: "Nothing, unless nothing foreign ever runs here: then mitigations=off. Newer \
              processors need fewer.",
        source: "Documentation/admin-guide/hw-vuln/index.rst",
        risk: Risk::High,
        profiles: &[Profile::Measure],
        check: Some(Check {
            read: readings::mitigations,
            judge: rules::mitigations,
            absent: (Grade::Unknown, "the kernel doesn't say"),
        }),
        ..BASE
    },
];
